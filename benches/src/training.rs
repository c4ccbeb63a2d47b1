//! One training run on the CPU: how many positions it learns from in a second, by the clock and of
//! the processor. Reading the games is not measured; encoding them is.
//!
//! The games are random and so are their labels: they take as much time as others, and nothing has
//! to be at hand. A first run warms up and leaves its checkpoint, from which the measured one goes
//! on. To compare two builds, run both in turns on a machine that does nothing else and compare
//! medians of the positions per second of the processor, which other programs disturb least.
//!
//! Reads the clock: it is what it measures.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use std::{env, fs, process};

use burn::tensor::Device;
use clap::ValueEnum as _;
use shakmaty::{Chess, Position as _};
use tesla_engine::search::StopToken;
use tesla_nn::model::Precision;
use tesla_training::labelled::{GameRecord, Ply, pack};
use tesla_training::train::config::{Shape, TrainConfig};
use tesla_training::train::dataset::Dataset;
use tesla_training::train::trainer::Trainer;

use crate::processor::process_seconds;

/// Plies of a game at most.
const PLIES: usize = 100;
/// Steps before those that are measured.
const WARM_UP: u64 = 5;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Shape of the network
    #[arg(long, value_enum, default_value = "small")]
    shape: Shape,
    /// Windows of a batch
    #[arg(long, default_value_t = 32)]
    batch: usize,
    /// Workers
    #[arg(long, default_value_t = 1)]
    workers: usize,
    /// Batches that a worker takes in a step, one after another
    #[arg(long, default_value_t = 1)]
    micro_batches: usize,
    /// Precision of the products
    #[arg(long, default_value_t = Precision::F32)]
    precision: Precision,
    /// Steps
    #[arg(long, default_value_t = 100)]
    steps: u64,
    /// Rate of Muon, as a share of the learning rate; 0 = `AdamW` alone
    #[arg(long, default_value_t = 0.0)]
    muon: f32,
    /// Games
    #[arg(long, default_value_t = 400)]
    games: usize,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let data = Arc::new(dataset(arguments.games));
    let folder = Folder::new();
    open(arguments, WARM_UP, &folder.0)?.run(&data, &StopToken::default(), &|_| ())?;
    let mut trainer = open(arguments, WARM_UP + arguments.steps, &folder.0)?;
    let before = trainer.positions();
    let (start, processor) = (Instant::now(), process_seconds());
    trainer.run(&data, &StopToken::default(), &|_| ())?;
    let seconds = start.elapsed().as_secs_f64();
    let spent = processor.and_then(|before| Some(process_seconds()? - before));
    let positions = (trainer.positions() - before) as f64;
    let of_processor =
        spent.map_or_else(|| "unknown".to_owned(), |spent| format!("{:.0}", positions / spent));
    let name = arguments.shape.to_possible_value();
    println!(
        "| shape | batch | workers | micro-batches | precision | muon | steps | positions | \
         ms/step | positions/s | positions/CPU s |\n|---|---|---|---|---|---|---|---|---|---|---|\n\
         | {} | {} | {} | {} | {} | {} | {} | {positions} | {:.1} | {:.0} | {of_processor} |",
        name.as_ref().map_or("", |name| name.get_name()),
        arguments.batch,
        arguments.workers,
        arguments.micro_batches,
        arguments.precision,
        arguments.muon,
        arguments.steps,
        1000.0 * seconds / arguments.steps.max(1) as f64,
        positions / seconds,
    );
    Ok(())
}

fn open(arguments: &Arguments, steps: u64, folder: &Path) -> Result<Trainer, Box<dyn Error>> {
    let mut config = TrainConfig::new(arguments.shape.into());
    config.batch = arguments.batch;
    config.workers = arguments.workers;
    config.micro_batches = arguments.micro_batches;
    config.precision = arguments.precision;
    config.steps = steps;
    config.optimizer.muon = arguments.muon;
    Ok(Trainer::open(config, folder, &Device::flex())?)
}

/// A folder for the run, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        Self(env::temp_dir().join(format!("tesla-benches-train-{}", process::id())))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Random games with random labels, the same every time.
fn dataset(games: usize) -> Dataset {
    let mut random = Random(0);
    let mut data = Dataset::default();
    for _ in 0..games {
        data.push(game(&mut random));
    }
    data
}

fn game(random: &mut Random) -> GameRecord {
    let start = Chess::default();
    let mut position = start.clone();
    let mut plies = Vec::with_capacity(PLIES);
    while plies.len() < PLIES {
        let moves = position.legal_moves();
        if moves.is_empty() {
            break;
        }
        let played = moves[random.below(moves.len())];
        let best = moves[random.below(moves.len())];
        let score = random.below(601) as i16 - 300;
        plies.push(Ply { played: pack(played), best: pack(best), score });
        position.play_unchecked(played);
    }
    GameRecord { start, result: 1, plies, others: Vec::new() }
}

/// Numbers of `SplitMix64` (Steele et al. 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % end as u64) as usize
    }
}
