//! Reading games, learning from them, and going on after an interruption.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[path = "support/games.rs"]
mod support;

use std::path::Path;
use std::sync::Arc;

use burn::tensor::Device;
use tesla_engine::search::StopToken;
use tesla_nn::model::ModelConfig;
use tesla_training::labelled::{RecordError, read_file};
use tesla_training::train::config::{GateConfig, TrainConfig};
use tesla_training::train::dataset::Dataset;
use tesla_training::train::loss::{LossWeights, consistency};
use tesla_training::train::optimizer::Optimizer;
use tesla_training::train::trainer::{TrainError, Trainer};

use support::{Folder, games, write};

fn config(steps: u64) -> TrainConfig {
    TrainConfig {
        seed: 3,
        window: 5,
        batch: 8,
        steps,
        warm_up: 0,
        final_rate: 1.0,
        ..TrainConfig::new(ModelConfig::tiny())
    }
}

fn train(folder: &Path, steps: u64, data: &Arc<Dataset>) -> Vec<u8> {
    let config = config(steps);
    let mut trainer = Trainer::open(config.clone(), folder, &Device::flex()).unwrap();
    trainer.run(data, &StopToken::default(), &|_| ()).unwrap();
    assert_eq!(trainer.step(), steps);
    tesla_nn::weights::to_exact_bytes(&trainer.network(), &config.model).unwrap()
}

#[test]
fn games_round_trip_and_damage_is_told_in_words() {
    let folder = Folder::new("records");
    let path = folder.file("some.games.zst");
    let bytes = games(3, 1);
    write(&path, &bytes);
    let read = read_file(&path).unwrap();
    assert_eq!(read.len(), 3);
    let mut dataset = Dataset::default();
    for game in read {
        dataset.push(game);
    }
    assert_eq!(dataset.dropped_plies, 0);
    for length in [1, 20, bytes.len() - 1] {
        write(&path, &bytes[..length]);
        assert!(matches!(read_file(&path), Err(RecordError::Damaged { .. })), "cut at {length}");
    }
    std::fs::write(&path, b"no zstd at all").unwrap();
    assert!(matches!(read_file(&path), Err(RecordError::NotGames { .. })));
    assert!(matches!(Dataset::read(&folder.file("none"), "valid"), Err(RecordError::File(_))));
}

#[test]
fn an_epoch_holds_every_position_once() {
    let folder = Folder::new("epoch");
    write(&folder.file("a.games.zst"), &games(20, 2));
    write(&folder.file("valid.games.zst"), &games(5, 9));
    let dataset = Dataset::read(&folder.0, "valid").unwrap();
    assert_eq!(dataset.games(), 20);
    let mut seen = std::collections::BTreeSet::new();
    for window in dataset.plan(9, 4, 1, 0).concat() {
        for ply in window.start..window.start + window.length {
            assert!(seen.insert((window.game, ply)));
        }
    }
    assert_eq!(seen.len(), dataset.positions());
    assert_eq!(dataset.plan(9, 4, 1, 0), dataset.plan(9, 4, 1, 0));
    assert_ne!(dataset.plan(9, 4, 1, 0), dataset.plan(9, 4, 1, 1));
}

/// Files of a run, without what time and pace say.
fn lines(folder: &Path) -> Vec<Vec<String>> {
    let log = std::fs::read_to_string(folder.join("loss.csv")).unwrap();
    let timeless = |line: &str| {
        let fields = line.split(',').map(str::to_owned).enumerate();
        fields.filter(|(column, _)| ![9, 11].contains(column)).map(|(_, field)| field).collect()
    };
    log.lines().map(timeless).collect()
}

#[test]
fn learns_and_resumes_exactly() {
    let folder = Folder::new("resume");
    write(&folder.file("a.games.zst"), &games(30, 4));
    let data = Arc::new(Dataset::read(&folder.0, "valid").unwrap());

    let straight = train(&folder.file("straight"), 110, &data);
    // Stopped within a line of the log and within an epoch.
    for steps in [37, 61, 110] {
        let part = train(&folder.file("parts"), steps, &data);
        assert!(steps < 110 || straight == part, "a resumed run must end with the same weights");
    }
    assert_eq!(lines(&folder.file("straight")), lines(&folder.file("parts")));

    let log = lines(&folder.file("straight"));
    let losses: Vec<f32> = log.iter().skip(1).map(|line| line[3].parse().unwrap()).collect();
    assert_eq!(losses.len(), 2);
    assert!(losses.last().unwrap() < &(losses[0] - 0.05), "the value loss must fall: {losses:?}");
}

/// Trains by this config, measured on the data's own positions; the network's bytes.
fn train_measured(config: &TrainConfig, folder: &Path, data: &Arc<Dataset>) -> Vec<u8> {
    let mut trainer = Trainer::open(config.clone(), folder, &Device::flex()).unwrap();
    trainer.hold_out(data);
    trainer.run(data, &StopToken::default(), &|_| ()).unwrap();
    tesla_nn::weights::to_exact_bytes(&trainer.network(), &config.model).unwrap()
}

/// A kill between two checkpoints: everything since the last one is done again, to the same end;
/// with each part that a checkpoint has.
#[test]
fn a_killed_run_resumes_from_its_last_checkpoint() {
    let folder = Folder::new("killed");
    write(&folder.file("a.games.zst"), &games(30, 7));
    let data = Arc::new(Dataset::read(&folder.0, "valid").unwrap());
    let plain = TrainConfig { valid_steps: 50, ..config(60) };
    let muon = Optimizer { muon: 1.0, ..plain.optimizer };
    let with_muon = TrainConfig { optimizer: muon, ..plain.clone() };
    let averaged = TrainConfig { average: 0.9, ..with_muon.clone() };
    let mut ends = Vec::new();
    for (name, config) in [("plain", plain), ("muon", with_muon), ("averaged", averaged)] {
        let straight = folder.file(&format!("{name}-straight"));
        let end = train_measured(&config, &straight, &data);
        let log = lines(&straight);
        // Step 50 is measured; the best move of these games is a matter of luck.
        let measured = log[1][11..].iter().map(|field| field.parse::<f32>().unwrap());
        assert!(measured.clone().all(f32::is_finite) && measured.count() == 4, "{log:?}");

        let run = folder.file(&format!("{name}-run"));
        let every = TrainConfig { checkpoint_steps: Some(16), ..config.clone() };
        assert!(train_measured(&every, &run, &data) == end);
        // What a kill after step 55 would have left: the checkpoint of step 48, the log of step 50.
        let killed = folder.file(&format!("{name}-killed"));
        std::fs::create_dir_all(&killed).unwrap();
        train_measured(&TrainConfig { steps: 48, ..every }, &killed, &data);
        std::fs::copy(run.join("loss.csv"), killed.join("loss.csv")).unwrap();
        assert!(train_measured(&config, &killed, &data) == end, "{name}");
        assert_eq!(lines(&killed), log, "{name}");
        ends.push(end);
    }
    assert!(ends[0] != ends[1] && ends[1] != ends[2]);
}

#[test]
fn encoders_change_nothing_but_the_pace() {
    let folder = Folder::new("encoders");
    write(&folder.file("a.games.zst"), &games(10, 8));
    let data = Arc::new(Dataset::read(&folder.0, "valid").unwrap());
    let with = |encoders: usize| {
        let run = folder.file(&encoders.to_string());
        let config = TrainConfig { encoders, ..config(25) };
        let mut trainer = Trainer::open(config.clone(), &run, &Device::flex()).unwrap();
        trainer.run(&data, &StopToken::default(), &|_| ()).unwrap();
        tesla_nn::weights::to_exact_bytes(&trainer.network(), &config.model).unwrap()
    };
    let one = with(1);
    assert!(one == with(2) && one == with(3));
}

#[test]
fn a_damaged_checkpoint_is_told_in_words() {
    let folder = Folder::new("checkpoint");
    write(&folder.file("a.games.zst"), &games(4, 5));
    let data = Arc::new(Dataset::read(&folder.0, "valid").unwrap());
    let run = folder.file("run");
    let _ = train(&run, 2, &data);
    let optimizer = run.join("checkpoint").join("optimizer.safetensors");
    let bytes = std::fs::read(&optimizer).unwrap();
    std::fs::write(&optimizer, &bytes[..bytes.len() / 2]).unwrap();
    let error = Trainer::open(config(4), &run, &Device::flex()).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("damaged"), "{error}");
}

#[test]
fn a_resumed_run_keeps_its_options_and_its_log() {
    let folder = Folder::new("options");
    write(&folder.file("a.games.zst"), &games(30, 6));
    let data = Arc::new(Dataset::read(&folder.0, "valid").unwrap());
    let run = folder.file("run");
    assert_eq!(Trainer::stored_config(&run).unwrap(), None);
    let _ = train(&run, 60, &data);
    assert_eq!(Trainer::stored_config(&run).unwrap(), Some(config(60)));

    // As after a kill: the log is ahead of the checkpoint.
    let log = run.join("loss.csv");
    let mut text = std::fs::read_to_string(&log).unwrap();
    let kept = text.clone();
    text.push_str("100,1,0.1,1,1,1,1,1,1,1,1,1,1\n15");
    std::fs::write(&log, &text).unwrap();
    let mut trainer = Trainer::open(config(60), &run, &Device::flex()).unwrap();
    assert!(trainer.is_resumed());
    trainer.run(&data, &StopToken::default(), &|_| ()).unwrap();
    assert_eq!((trainer.step(), std::fs::read_to_string(&log).unwrap()), (60, kept));
    drop(trainer);

    // It does not end before the step that it is at.
    let error = Trainer::open(config(59), &run, &Device::flex()).map(drop).unwrap_err();
    assert!(error.to_string().contains("has made 60 steps"), "{error}");
    assert_eq!(Trainer::stored_config(&run).unwrap(), Some(config(60)));

    let fresh = Trainer::open(config(60), &folder.file("fresh"), &Device::flex()).unwrap();
    assert!(!fresh.is_resumed());
}

#[test]
fn a_folder_is_trained_in_by_one_at_a_time_and_only_where_it_is_a_runs() {
    let folder = Folder::new("taken");
    let open = |name: &str| Trainer::open(config(1), &folder.file(name), &Device::flex());
    let refused = |name: &str| open(name).map(drop).unwrap_err().to_string();
    let first = open("run").unwrap();
    assert!(refused("run").contains("another run trains in"), "{}", refused("run"));
    drop(first);
    // Killed before its first checkpoint.
    open("run").unwrap();

    std::fs::create_dir(folder.file("games")).unwrap();
    let stored = folder.file("games/config.json");
    for (text, whose) in [
        (r#"{"config": {"games": 9}, "openings_sha256": "a"}"#, "games that datagen made"),
        ("{}", "no config of tesla-train"),
        ("notes", "no config of tesla-train"),
    ] {
        std::fs::write(&stored, text).unwrap();
        let said = refused("games");
        assert!(said.contains(whose) && said.contains("choose another folder"), "{said}");
        assert!(!said.contains("delete"), "{said}");
        assert_eq!(std::fs::read_to_string(&stored).unwrap(), text);
    }
    // Written over by an earlier version: the checkpoint is still a run's.
    std::fs::create_dir(folder.file("games/checkpoint")).unwrap();
    std::fs::write(&stored, r#"{"config": {}, "openings_sha256": "a"}"#).unwrap();
    assert!(refused("games").contains("games that datagen made"));
}

#[test]
fn impossible_numbers_are_refused_in_words() {
    let folder = Folder::new("numbers");
    let wrong: [fn(&mut TrainConfig); 13] = [
        |config| config.micro_batches = 0,
        |config| config.micro_batches = usize::MAX,
        |config| config.batch = 0,
        |config| config.workers = 0,
        |config| config.window = 0,
        |config| config.window = 32,
        |config| config.rate = f32::NAN,
        |config| config.encoders = 0,
        |config| config.checkpoint_steps = Some(0),
        |config| config.optimizer.beta_2 = 1.0,
        |config| config.average = 1.0,
        |config| config.decided = -0.1,
        |config| config.gate = GateConfig { games: 2, steps: 0, nodes: 1 },
    ];
    for change in wrong {
        let mut config = config(4);
        change(&mut config);
        let error = Trainer::open(config, &folder.0, &Device::flex()).map(|_| ()).unwrap_err();
        assert!(matches!(error, TrainError::Config(_)), "{error}");
    }
    // Games without a single position are no data.
    write(&folder.file("empty.games.zst"), &{
        let fen = b"8/8/8/8/8/k7/8/K6R w - - 0 1";
        let mut bytes = vec![fen.len() as u8];
        bytes.extend_from_slice(fen);
        bytes.extend_from_slice(&[1, 0, 0]);
        bytes
    });
    assert!(matches!(Dataset::read(&folder.0, "valid"), Err(RecordError::Empty(_))));
}

/// Readouts after refuted moves weigh as much as if a search had made the windows.
#[test]
fn paths_can_be_weighed_as_a_searchs() {
    let folder = Folder::new("paths");
    write(&folder.file("train-00.games.zst"), &games(20, 5));
    let mut data = Dataset::read(&folder.0, "valid").unwrap();
    let actual = data.refuted();
    assert!(actual > 0.5 && actual < 1.0, "random moves are rarely the best: {actual}");
    let share = |data: &Dataset| {
        let (mut refuted, mut all) = (0.0, 0.0);
        for windows in data.plan(2, 8, 1, 0) {
            let (_, labels) = data.batch(&windows);
            let longest = windows.iter().map(|w| usize::from(w.length)).max().unwrap();
            for (row, window) in windows.iter().enumerate().filter(|(_, w)| w.length == 2) {
                let weight = labels.weight[row * longest + 1];
                let before = data.game(window.game as usize).plies[usize::from(window.start)];
                refuted += if before.played == before.best { 0.0 } else { weight };
                all += weight;
            }
        }
        refuted / all
    };
    assert!((share(&data) - actual).abs() < 0.02);
    data.weigh_as_refuted(0.5);
    assert!((share(&data) - 0.5).abs() < 0.03, "{}", share(&data));
}

/// The consistency loss draws stale readouts to whole encodes.
#[test]
fn stale_readouts_can_be_drawn_to_whole_encodes() {
    let folder = Folder::new("consistent");
    write(&folder.file("train-00.games.zst"), &games(12, 6));
    let data = Arc::new(Dataset::read(&folder.0, "valid").unwrap());
    let windows = data.plan(5, 16, 9, 0).remove(0);
    let (batch, _) = data.batch(&windows);
    let whole = data.whole(&windows);
    let divergence_after = |name: &str, weight: f32| {
        let loss = LossWeights { consistency: weight, ..LossWeights::default() };
        let config = TrainConfig { loss, rate: 1e-2, ..config(20) };
        let mut trainer = Trainer::open(config, &folder.file(name), &Device::flex()).unwrap();
        trainer.run(&data, &StopToken::default(), &|_| ()).unwrap();
        let device = Device::flex();
        let (model, rows) = (trainer.network(), &whole.readouts);
        let (stale, fresh) = (model.forward(&batch, &device), model.forward(&whole.batch, &device));
        let divergence = consistency(&stale, fresh, rows, &device).into_data();
        divergence.try_to_vec::<f32>().unwrap()[0]
    };
    let (without, with) = (divergence_after("without", 0.0), divergence_after("with", 20.0));
    assert!(with >= 0.0 && with < 0.7 * without, "{with} against {without}");
}
