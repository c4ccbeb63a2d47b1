//! What a run keeps of itself: the games that it learns from, and its networks' matches.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[path = "support/games.rs"]
mod support;

use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use tesla_engine::search::StopToken;
use tesla_nn::model::ModelConfig;
use tesla_nn::weights;
use tesla_training::players::pool::{Pool, RunContext};
use tesla_training::train::config::{GateConfig, TrainConfig};
use tesla_training::train::dataset::Dataset;
use tesla_training::train::gate::{self, Gate, read_gates};
use tesla_training::train::learnt::{self, Learnt};
use tesla_training::train::trainer::Trainer;

use support::{Folder, games, write};

#[test]
fn a_run_knows_its_games() {
    let folder = Folder::new("learnt");
    write(&folder.file("a.games.zst"), &games(6, 1));
    write(&folder.file("b.games.zst"), &games(5, 2));
    let [a, b] = ["a", "b"]
        .map(|name| Dataset::read(&folder.file(&format!("{name}.games.zst")), "").unwrap());
    let (run, network) = (folder.file("run"), folder.file("run/checkpoint/weights.safetensors"));
    let count = |network: &Path, games| Learnt::of(network).unwrap().map(|it| it.count(games));
    assert_eq!(count(&network, &a), None);
    learnt::note(&run, &a, Learnt::default()).unwrap();
    assert_eq!(count(&network, &a), Some(6));
    assert_eq!(count(&network, &b), Some(0));
    // Resumed with other data.
    learnt::note(&run, &b, Learnt::by_run(&run).unwrap()).unwrap();
    let all = learnt::note(&run, &b, Learnt::by_run(&run).unwrap()).unwrap();
    assert_eq!(std::fs::metadata(run.join("games.learnt")).unwrap().len(), 11 * 8);
    assert_eq!(count(&run.join("tesla.safetensors"), &b), Some(5));
    assert_eq!(Learnt::of(&network).unwrap(), Some(all));
    // A run that starts from its network knows the games of both.
    write(&folder.file("c.games.zst"), &games(4, 3));
    let c = Dataset::read(&folder.file("c.games.zst"), "").unwrap();
    let next = folder.file("next");
    learnt::note(&next, &c, Learnt::of(&network).unwrap().unwrap()).unwrap();
    let network = next.join("gates/tesla.safetensors");
    assert_eq!([&a, &b, &c].map(|games| count(&network, games)), [Some(6), Some(5), Some(4)]);
}

/// Whatever file the run started from is gone or has changed, its first match is against that
/// network; matches of an earlier run do not pass for its own.
#[test]
fn a_run_keeps_the_network_that_it_started_from() {
    let folder = Folder::new("first");
    let gate = GateConfig { games: 4, steps: 5, nodes: 4 };
    let config = TrainConfig { gate, ..TrainConfig::new(ModelConfig::tiny()) };
    let run = folder.file("run");
    let mut trainer = Trainer::open(config.clone(), &run, &Device::flex()).unwrap();
    let start = folder.file("start.safetensors");
    let saved = weights::save(&trainer.network(), &config.model, &folder.0).unwrap();
    std::fs::rename(saved, &start).unwrap();
    trainer.start_from(&start).unwrap();
    let of = |start: Option<&Path>| Gate::of(trainer.config(), &run, start).map(drop);
    // A run of an earlier version, which kept no copy, resumed without the file.
    assert!(of(None).unwrap_err().to_string().contains("name its file with --start-from"));
    gate::check_none(&run).unwrap();
    of(Some(&start)).unwrap();
    let hash = trainer.config().started_from.clone().unwrap();
    let copy = run.join(format!("gates/first-{hash}.safetensors"));
    assert_eq!(std::fs::read(&copy).unwrap(), std::fs::read(&start).unwrap());
    std::fs::write(&start, b"another").unwrap();
    of(None).unwrap();
    of(Some(&start)).unwrap();
    // A run that ended before its first checkpoint has left it.
    gate::check_none(&run).unwrap();
    std::fs::create_dir(run.join("gates/step-5")).unwrap();
    std::fs::remove_file(&copy).unwrap();
    assert!(of(Some(&start)).unwrap_err().to_string().contains(&hash));
    let fault = gate::check_none(&run).unwrap_err().to_string();
    assert!(fault.contains("step-5 is of an earlier run"), "{fault}");
}

/// Networks meet the last one that passed; a match that has a result is not played again.
#[test]
fn networks_are_gated_by_games() {
    let folder = Folder::new("gate");
    write(&folder.file("a.games.zst"), &games(10, 9));
    let book = folder.file("book.epd");
    let lines = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -\n\
                 rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -\n";
    std::fs::write(&book, lines).unwrap();
    let data = Arc::new(Dataset::read(&folder.file("a.games.zst"), "").unwrap());
    let gate = GateConfig { games: 4, steps: 5, nodes: 4 };
    let config = TrainConfig {
        window: 5,
        batch: 8,
        steps: 10,
        gate,
        gate_openings: book.into(),
        ..TrainConfig::new(ModelConfig::tiny())
    };
    let run = folder.file("run");
    let mut trainer = Trainer::open(config.clone(), &run, &Device::flex()).unwrap();
    let lost = TrainConfig { gate_openings: "no/such.epd".into(), ..config.clone() };
    let fault = Gate::of(&lost, &run, None).unwrap().unwrap().check().unwrap_err().to_string();
    assert!(fault.contains("such.epd"), "{fault}");
    let gate = Gate::of(&config, &run, None).unwrap().unwrap();
    gate.check().unwrap();
    let stop = StopToken::default();
    let pool = Pool { concurrency: 2, interrupted: &stop };
    let context = RunContext { folder: &run, pool, say: &|_| () };
    for step in [5, 10] {
        assert!(!gate.is_due(trainer.step()).unwrap());
        trainer.run_to(gate.next(trainer.step()), &data, &stop, &|_| ()).unwrap();
        assert_eq!(trainer.step(), step);
        assert!(gate.is_due(step).unwrap());
        let line = gate.play(&trainer, &context).unwrap().unwrap();
        assert_eq!((line.step, line.wins + line.draws + line.losses), (step, 4));
        assert!(run.join("gates").join(&line.network).is_file());
        assert!(!gate.is_due(step).unwrap());
    }
    let lines = read_gates(&run).unwrap();
    assert_eq!((lines.len(), lines[0].opponent.as_str()), (2, "embedded"));
    // Five steps make nothing that beats the shipped network.
    assert!(!lines[0].passed && lines[1].opponent == "embedded", "{lines:?}");
    // Stopped in the middle of a match: it goes on with the same network.
    std::fs::remove_file(run.join("gates.csv")).unwrap();
    assert!(gate.is_due(10).unwrap());
    std::fs::remove_dir_all(run.join("gates/step-10")).unwrap();
    let stopped = StopToken::default();
    stopped.stop();
    let pool = Pool { interrupted: &stopped, ..pool };
    assert!(gate.play(&trainer, &RunContext { pool, ..context }).unwrap().is_none());
    assert!(gate.is_due(10).unwrap());
    let again = gate.play(&trainer, &context).unwrap().unwrap();
    assert_eq!((again.network, again.opponent.as_str()), (lines[1].network.clone(), "embedded"));
}
