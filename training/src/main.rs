//! The binary `tesla-train`.

use std::path::PathBuf;
use std::process::ExitCode;

use burn::tensor::Device;
use clap::{Args, Parser, Subcommand};
use tesla_engine::console::terminal::interruptible;
use tesla_training::datagen::import::ImportArgs;
use tesla_training::datagen::inspect::{self, InspectArgs};
use tesla_training::datagen::merge::MergeArgs;
use tesla_training::datagen::{self, command::DatagenArgs};
use tesla_training::evaluate_command::{self, EvaluateArgs};
use tesla_training::matches::command::{self, MatchArgs};
use tesla_training::matches::suite_command::{self, SuiteArgs};
use tesla_training::report::command::{self as report_command, ReportArgs};
use tesla_training::train_command::{self, TrainArgs};
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
    Train(Box<TrainArgs>),
    /// Measure a network: value, policy, action values and their calibration on held-out games, by
    /// staleness; and puzzles by rating, solved by each head alone and by searches.
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
    /// Put everything that was measured on one page, which a browser shows offline.
    Report(ReportArgs),
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
        Command::Evaluate(args) => {
            evaluate_command::run(&args, &complain).map(|()| ExitCode::SUCCESS)
        }
        Command::Export(args) => export(&args).map(|()| ExitCode::SUCCESS),
        Command::Match(args) => play(&args),
        Command::Suite(args) => examine(&args),
        Command::Datagen(args) => make_games(&args),
        Command::Import(args) => import(&args),
        Command::Merge(args) => merge(&args),
        Command::Inspect(args) => inspect::run(&args).map(|()| ExitCode::SUCCESS),
        Command::Tune(command) => tune(&command),
        Command::Report(args) => report_command::run(&args, &complain).map(|()| ExitCode::SUCCESS),
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

fn train(args: &TrainArgs) -> Result<ExitCode, Box<dyn std::error::Error>> {
    train_command::run(args, &interruptible()?, &complain)
}

fn export(args: &ExportArgs) -> Result<(), Box<dyn std::error::Error>> {
    let network = tesla_nn::weights::load_file(&args.weights, &Device::flex())?;
    let path = tesla_nn::weights::save(&network.model, &network.config, &args.out)?;
    complain(&format!("wrote {}", path.display()));
    Ok(())
}
