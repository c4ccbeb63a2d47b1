//! The binary `tesla-train`.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use burn::tensor::Device;
use clap::{Args, Parser, Subcommand, ValueEnum};
use tesla_engine::search_api::StopToken;
use tesla_nn::model::ModelConfig;
use tesla_training::datagen::import::ImportArgs;
use tesla_training::datagen::inspect::{self, InspectArgs};
use tesla_training::datagen::merge::MergeArgs;
use tesla_training::datagen::{self, command::DatagenArgs};
use tesla_training::dataset::Dataset;
use tesla_training::loss::LossWeights;
use tesla_training::matches::command::{self, MatchArgs};
use tesla_training::matches::suite_command::{self, SuiteArgs};
use tesla_training::train_config::TrainConfig;
use tesla_training::trainer::Trainer;
use tesla_training::tune::command::{self as tune_command, TuneCommand};

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
    ///
    /// A resumed run keeps its own options where none are given here.
    Train(TrainArgs),
    /// Measure a network on held-out games: value, policy and error by staleness.
    Evaluate(EvaluateArgs),
    /// Write a checkpoint's weights as a file to ship: f16, its hash in the name.
    Export(ExportArgs),
    /// Play games between configurations of ours and UCI engines; resumes the match in the folder.
    ///
    /// Every finished game is on disk at once: the same command with the same folder goes on after
    /// Ctrl-C, a crash or a power cut, and a match may be extended by asking for more games. Our own
    /// sides run in this process; with limits in nodes or depth they share their device's batches and
    /// play the same games at any concurrency.
    Match(Box<MatchArgs>),
    /// Ask configurations of ours and UCI engines about positions with known answers.
    ///
    /// Reads EPD suites (bm, am, points in c7 to c9, dm) and puzzles in the CSV form of the Lichess
    /// database. Every answer is on disk at once, and the same command with the same folder goes on.
    /// With two sides their answers are compared item by item.
    Suite(Box<SuiteArgs>),
    /// Make labelled games: a teacher plays and labels, and by design is not always obeyed.
    ///
    /// The teacher is any UCI engine, or our own search with all games on one device. Every finished
    /// game is on disk at once, and the same command with the same folder goes on after Ctrl-C, a
    /// crash or a power cut. With a limit in nodes or depth and one thread the games follow from
    /// seed and options, whatever interrupts them and however many are played at once.
    Datagen(Box<DatagenArgs>),
    /// Take over others' labelled games: PGN with scores in the comments, or Stockfish binpacks.
    Import(ImportArgs),
    /// Put games of several folders or machines in one place, none twice.
    Merge(MergeArgs),
    /// Say what is in files of games, and show positions.
    Inspect(InspectArgs),
    /// Fit the search's numbers to its own trees.
    #[command(subcommand)]
    Tune(TuneCommand),
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
    /// Shape of the network [default: small].
    #[arg(long, value_enum)]
    shape: Option<Shape>,
    /// Steps of the whole run [default: 20000].
    #[arg(long)]
    steps: Option<u64>,
    /// Steps of linear warm-up [default: 500].
    #[arg(long)]
    warm_up: Option<u64>,
    /// Windows per worker and step [default: 32].
    #[arg(long)]
    batch: Option<usize>,
    /// Workers, each with its own share of a step [default: 2].
    #[arg(long)]
    workers: Option<usize>,
    /// Positions per window, the anchor included [default: 9].
    #[arg(long)]
    window: Option<u16>,
    /// Largest learning rate [default: 0.003].
    #[arg(long)]
    rate: Option<f32>,
    /// Weights file to start a new run from: every tensor that fits is taken, the rest is fresh.
    #[arg(long)]
    start_from: Option<PathBuf>,
    /// Weight of the policy's part of the loss [default: 2].
    #[arg(long)]
    policy_weight: Option<f32>,
    /// Share of the moves on a search's paths that are refuted, as `tesla-benches paths` counts
    /// them: readouts after such moves get the weight of that share in value, policy and error
    /// [default: the data's share].
    #[arg(long)]
    refuted: Option<f32>,
    /// Weight of the divergence between a chain's last readout and the whole encode of the same
    /// position [default: 0].
    #[arg(long)]
    consistency: Option<f32>,
    /// Seed of the weights and of the order of the windows [default: 1]; choose another one with
    /// --start-from, or the run sees the same windows in the same order again.
    #[arg(long)]
    seed: Option<u64>,
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
        Command::Train(args) => train(&args).map(|()| ExitCode::SUCCESS),
        Command::Evaluate(args) => evaluate(&args).map(|()| ExitCode::SUCCESS),
        Command::Export(args) => export(&args).map(|()| ExitCode::SUCCESS),
        Command::Match(args) => play(&args),
        Command::Suite(args) => examine(&args),
        Command::Datagen(args) => make_games(&args),
        Command::Import(args) => import(&args),
        Command::Merge(args) => merge(&args),
        Command::Inspect(args) => inspect::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Tune(command) => tune(&command),
    };
    match result {
        Ok(code) => code,
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

impl TrainArgs {
    /// What the command line says over `base`, the config of the run that is resumed or the
    /// defaults.
    fn over(&self, base: TrainConfig) -> TrainConfig {
        TrainConfig {
            seed: self.seed.unwrap_or(base.seed),
            window: self.window.unwrap_or(base.window),
            batch: self.batch.unwrap_or(base.batch),
            workers: self.workers.unwrap_or(base.workers),
            steps: self.steps.unwrap_or(base.steps),
            warm_up: self.warm_up.unwrap_or(base.warm_up),
            rate: self.rate.unwrap_or(base.rate),
            refuted: self.refuted.or(base.refuted),
            loss: LossWeights {
                consistency: self.consistency.unwrap_or(base.loss.consistency),
                policy: self.policy_weight.unwrap_or(base.loss.policy),
                ..base.loss
            },
            ..base
        }
    }

    fn model(&self) -> ModelConfig {
        match self.shape.unwrap_or(Shape::Small) {
            Shape::Tiny => ModelConfig::tiny(),
            Shape::Small => ModelConfig::small(),
            Shape::Base => ModelConfig::base(),
        }
    }
}

/// A token that Ctrl-C and SIGTERM set; the second Ctrl-C ends the program at once.
fn interruptible() -> std::io::Result<StopToken> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let code = i32::from(command::INTERRUPTED);
        signal_hook::flag::register_conditional_shutdown(signal, code, Arc::clone(&flag))?;
        signal_hook::flag::register(signal, Arc::clone(&flag))?;
    }
    Ok(StopToken::from(flag))
}

fn play(args: &MatchArgs) -> Result<ExitCode, Box<dyn std::error::Error>> {
    command::run(args, &interruptible()?, &complain)
}

fn examine(args: &SuiteArgs) -> Result<ExitCode, Box<dyn std::error::Error>> {
    suite_command::run(args, &interruptible()?, &complain)
}

fn make_games(args: &DatagenArgs) -> Result<ExitCode, Box<dyn std::error::Error>> {
    datagen::command::run(args, &interruptible()?, &complain)
}

fn import(args: &ImportArgs) -> Result<ExitCode, Box<dyn std::error::Error>> {
    datagen::import::run(args, &interruptible()?, &complain)
}

fn merge(args: &MergeArgs) -> Result<ExitCode, Box<dyn std::error::Error>> {
    datagen::merge::run(args, &interruptible()?, &complain)
}

fn tune(command: &TuneCommand) -> Result<ExitCode, Box<dyn std::error::Error>> {
    tune_command::run(command, &interruptible()?, &complain)
}

fn train(args: &TrainArgs) -> Result<(), Box<dyn std::error::Error>> {
    let stop = interruptible()?;
    let stored = Trainer::stored_config(&args.out)?;
    if let (Some(stored), Some(_)) = (&stored, args.shape)
        && stored.model != args.model()
    {
        return Err(format!(
            "{} holds a run of another shape ({}); leave --shape out to resume it, or choose \
             another folder with --out",
            args.out.display(),
            stored.model.name
        )
        .into());
    }
    let mut dataset = Dataset::read(&args.data, "valid")?;
    complain(&format!(
        "{} games, {} positions, {} plies dropped; {:.1} % of the moves are refuted",
        dataset.games(),
        dataset.positions(),
        dataset.dropped_plies,
        100.0 * dataset.refuted()
    ));
    let base = stored.unwrap_or_else(|| TrainConfig::new(args.model()));
    let config = TrainConfig { positions: dataset.positions(), ..args.over(base) };
    if let Some(share) = config.refuted {
        dataset.weigh_as_refuted(share);
    }
    let dataset = Arc::new(dataset);
    let mut trainer = Trainer::open(config, &args.out, &Device::flex())?;
    match (&args.start_from, trainer.is_resumed()) {
        (_, true) => complain(&format!("the run goes on after step {}", trainer.step())),
        (Some(path), false) => {
            let (taken, total) = trainer.start_from(path)?;
            complain(&format!("took {taken} of {total} tensors from {}", path.display()));
        }
        (None, false) => complain("a new run"),
    }
    trainer.run(&dataset, &stop)?;
    if trainer.step() >= trainer.config().steps {
        let shape = &trainer.config().model;
        let path = tesla_nn::weights::save(&trainer.network(), shape, &args.out)?;
        complain(&format!("wrote {}", path.display()));
    }
    Ok(())
}

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
    // Not println, which panics where the reader has gone.
    writeln!(
        std::io::stdout(),
        "Network {}-{}: {blocks} weights in the blocks, {all} in all.\n\n{figures}",
        network.config.name,
        network.hash
    )?;
    Ok(())
}

fn export(args: &ExportArgs) -> Result<(), Box<dyn std::error::Error>> {
    let network = tesla_nn::weights::load_file(&args.weights, &Device::flex())?;
    let path = tesla_nn::weights::save(&network.model, &network.config, &args.out)?;
    complain(&format!("wrote {}", path.display()));
    Ok(())
}
