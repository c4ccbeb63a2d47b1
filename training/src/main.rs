//! The binary `tesla-train`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use burn::tensor::Device;
use clap::{Args, Parser, Subcommand, ValueEnum};
use tesla_nn::model::ModelConfig;
use tesla_training::adamw::AdamW;
use tesla_training::dataset::Dataset;
use tesla_training::loss::LossWeights;
use tesla_training::trainer::{TrainConfig, Trainer};

/// glibc gives big tensors back to the system after every operation; mimalloc keeps them, which
/// makes training on the CPU about one and a half times as fast.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Trains and measures Tesla's evaluator.
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Train a network on labelled games; resumes the run that is in the folder.
    Train(TrainArgs),
    /// Measure a network on held-out games: value, policy and error by staleness.
    Evaluate(EvaluateArgs),
    /// Write a checkpoint's weights as a file to ship: f16, its hash in the name.
    Export(ExportArgs),
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shape {
    Tiny,
    Small,
    Base,
}

#[derive(Debug, Args)]
struct TrainArgs {
    /// Folder with .games.zst files (valid* is kept out), or one file.
    #[arg(long)]
    data: PathBuf,
    /// Folder for checkpoints, loss.csv, config.json and the final weights.
    #[arg(long)]
    out: PathBuf,
    /// Shape of the network.
    #[arg(long, value_enum, default_value = "small")]
    shape: Shape,
    /// Steps of the whole run.
    #[arg(long, default_value_t = 20_000)]
    steps: u64,
    /// Steps of linear warm-up.
    #[arg(long, default_value_t = 500)]
    warm_up: u64,
    /// Windows per worker and step.
    #[arg(long, default_value_t = 32)]
    batch: usize,
    /// Workers, each with its own share of a step.
    #[arg(long, default_value_t = 2)]
    workers: usize,
    /// Positions per window, the anchor included.
    #[arg(long, default_value_t = 9)]
    window: u16,
    /// Largest learning rate.
    #[arg(long, default_value_t = 1.5e-3)]
    rate: f32,
    /// Weight of the policy's part of the loss.
    #[arg(long, default_value_t = 1.0)]
    policy_weight: f32,
    /// Seed of the weights and of the order of the windows.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Args)]
struct EvaluateArgs {
    /// Weights file.
    #[arg(long)]
    weights: PathBuf,
    /// Held-out .games.zst file, or a folder of them.
    #[arg(long)]
    data: PathBuf,
    /// Use every n-th game only.
    #[arg(long, default_value_t = 1)]
    every: usize,
    /// Threads.
    #[arg(long, default_value_t = 2)]
    threads: usize,
}

#[derive(Debug, Args)]
struct ExportArgs {
    /// Weights file, of a checkpoint or shipped.
    #[arg(long)]
    weights: PathBuf,
    /// Folder for the new file.
    #[arg(long)]
    out: PathBuf,
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Train(args) => train(&args),
        Command::Evaluate(args) => evaluate(&args),
        Command::Export(args) => export(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error.to_string());
            ExitCode::from(2)
        }
    }
}

#[expect(clippy::print_stderr, reason = "the one place where errors reach people")]
fn complain(sentence: &str) {
    eprintln!("tesla-train: {sentence}");
}

fn train(args: &TrainArgs) -> Result<(), Box<dyn std::error::Error>> {
    let config = TrainConfig {
        model: match args.shape {
            Shape::Tiny => ModelConfig::tiny(),
            Shape::Small => ModelConfig::small(),
            Shape::Base => ModelConfig::base(),
        },
        seed: args.seed,
        window: args.window,
        batch: args.batch,
        workers: args.workers,
        steps: args.steps,
        warm_up: args.warm_up,
        rate: args.rate,
        final_rate: 0.02,
        optimizer: AdamW::default(),
        loss: LossWeights { policy: args.policy_weight, ..LossWeights::default() },
    };
    let stop = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal_hook::consts::SIGINT, Arc::clone(&stop))?;
    signal_hook::flag::register(signal_hook::consts::SIGTERM, Arc::clone(&stop))?;
    let dataset = Arc::new(Dataset::read(&args.data, "valid")?);
    complain(&format!(
        "{} games, {} positions, {} plies dropped",
        dataset.games(),
        dataset.positions(),
        dataset.dropped_plies
    ));
    let mut trainer = Trainer::open(config.clone(), &args.out, &Device::flex())?;
    trainer.run(&dataset, &stop)?;
    if trainer.step() >= config.steps {
        let path = tesla_nn::weights::save(&trainer.network(), &config.model, &args.out)?;
        complain(&format!("wrote {}", path.display()));
    }
    Ok(())
}

#[expect(clippy::print_stdout, reason = "the table is what the command is for")]
fn evaluate(args: &EvaluateArgs) -> Result<(), Box<dyn std::error::Error>> {
    let device = Device::flex();
    let network = tesla_nn::weights::load_file(&args.weights, &device)?;
    let dataset = Dataset::read(&args.data, "train")?;
    let (blocks, all) = network.model.parameters();
    let figures = tesla_training::evaluate::evaluate(
        &network.model,
        &dataset,
        args.every,
        args.threads,
        &device,
    );
    println!(
        "Network {}-{}: {blocks} weights in the blocks, {all} in all.\n\n{figures}",
        network.config.name, network.hash
    );
    Ok(())
}

fn export(args: &ExportArgs) -> Result<(), Box<dyn std::error::Error>> {
    let network = tesla_nn::weights::load_file(&args.weights, &Device::flex())?;
    let path = tesla_nn::weights::save(&network.model, &network.config, &args.out)?;
    complain(&format!("wrote {}", path.display()));
    Ok(())
}
