//! Networks that are exported: without their idle hidden units, and averaged.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[path = "support/games.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use burn::tensor::Device;
use clap::Parser as _;
use tesla_engine::search::StopToken;
use tesla_nn::model::ModelConfig;
use tesla_nn::weights::{self, Loaded};
use tesla_training::commands::{Cli, run};
use tesla_training::train::config::TrainConfig;
use tesla_training::train::dataset::Dataset;
use tesla_training::train::optimizer::Optimizer;
use tesla_training::train::trainer::Trainer;

use support::{Folder, games, write};

/// One test at a time: the seed is the process's.
static SEED: Mutex<()> = Mutex::new(());

/// Whether each hidden unit acts, `[layers][feed_forward]`.
fn acting(network: &Loaded) -> Vec<Vec<bool>> {
    let layers = network.model.unit_strengths().into_iter();
    layers.map(|layer| layer.iter().map(|&strength| strength > 0.0).collect()).collect()
}

fn read(path: &Path) -> Loaded {
    weights::load_file(path, &Device::flex()).unwrap()
}

/// The one network in a folder.
fn network_in(folder: &Path) -> PathBuf {
    let mut entries = std::fs::read_dir(folder).unwrap();
    let path = entries.next().unwrap().unwrap().path();
    assert!(entries.next().is_none());
    path
}

#[test]
fn idle_units_are_left_out_and_stay_out_in_training() {
    let _alone = SEED.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Folder::new("export");
    let data = folder.file("a.games.zst");
    write(&data, &games(4, 5));
    let device = Device::flex();
    device.seed(14); // all units but the weak ones do something in these games
    let config = ModelConfig::tiny();
    let layers = |of: fn(usize, usize) -> f32| -> Vec<Vec<f32>> {
        let layer = |layer| (0..config.feed_forward).map(|unit| of(layer, unit)).collect();
        (0..config.layers).map(layer).collect()
    };
    // Every third unit fires, but gives nothing to speak of.
    let factors = layers(|layer, unit| if (unit + layer) % 3 == 0 { 0.01 } else { 1.0 });
    let weak = config.init(&device).scale_units(&factors);
    let weak = weights::save(&weak, &config, &folder.file("weak")).unwrap();
    assert!(acting(&read(&weak)).iter().flatten().all(|&acts| acts));
    let out = folder.file("out");
    let [from, games, to] = [&weak, &data, &out].map(|path| path.to_str().unwrap());
    let line = ["tesla-train", "export", "--weights", from, "--out", to, "--prune", games];
    run(&Cli::try_parse_from(line).unwrap().command, &|_| ()).unwrap();
    let pruned = network_in(&out);
    let busy: Vec<Vec<bool>> =
        factors.iter().map(|layer| layer.iter().map(|&factor| factor > 0.5).collect()).collect();
    assert_eq!(acting(&read(&pruned)), busy);

    let data = Arc::new(Dataset::read(&data, "").unwrap());
    for muon in [0.0, 1.0] {
        let optimizer = Optimizer { muon, ..Optimizer::default() };
        let config =
            TrainConfig { steps: 3, batch: 4, optimizer, ..TrainConfig::new(config.clone()) };
        let run = folder.file(&format!("run-{muon}"));
        let mut trainer = Trainer::open(config.clone(), &run, &device).unwrap();
        trainer.start_from(&pruned).unwrap();
        trainer.run(&data, &StopToken::default(), &|_| ()).unwrap();
        let trained = weights::save(&trainer.network(), &config.model, &run.join("out")).unwrap();
        assert_ne!(trained.file_name(), pruned.file_name(), "it has learnt");
        assert_eq!(acting(&read(&trained)), busy);
    }
}

#[test]
fn networks_of_one_shape_have_a_mean() {
    let _alone = SEED.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = Folder::new("export-mean");
    let device = Device::flex();
    let network = |seed: u64, config: &ModelConfig| {
        device.seed(seed);
        weights::save(&config.init(&device), config, &folder.file("in")).unwrap()
    };
    let tiny = ModelConfig::tiny();
    let [a, b, c] = [1, 2, 3].map(|seed| network(seed, &tiny));
    let export = |first: &Path, others: &[&Path], out: &str| {
        let out = folder.file(out);
        let mut line = vec!["tesla-train", "export", "--weights", first.to_str().unwrap()];
        line.extend(["--out", out.to_str().unwrap(), "--average"]);
        line.extend(others.iter().map(|other| other.to_str().unwrap()));
        run(&Cli::try_parse_from(line).unwrap().command, &|_| ()).map(|_| network_in(&out))
    };
    let strengths = |path: &Path| read(path).model.unit_strengths();
    let same = export(&a, &[&a, &a], "same").unwrap();
    assert_eq!(same.file_name(), a.file_name());
    let [ab, ba] =
        [("ab", &a, &b), ("ba", &b, &a)].map(|(out, x, y)| export(x, &[y], out).unwrap());
    assert_eq!(ab.file_name(), ba.file_name());
    assert!(ab.file_name() != a.file_name() && ab.file_name() != b.file_name());
    // Of three each counts a third: the order matters to rounding only.
    let [abc, cba] =
        [("abc", &a, &c), ("cba", &c, &a)].map(|(out, x, y)| export(x, &[&b, y], out).unwrap());
    for (one, other) in strengths(&abc).iter().flatten().zip(strengths(&cba).iter().flatten()) {
        assert!((one - other).abs() < 1e-2 * one.abs().max(1e-3), "{one} {other}");
    }
    let small = network(1, &ModelConfig { layers: tiny.layers + 1, ..tiny.clone() });
    let refused = export(&a, &[&small], "refused").unwrap_err().to_string();
    assert!(refused.contains("only networks of one shape have a mean"), "{refused}");
}
