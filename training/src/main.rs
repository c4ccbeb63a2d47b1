//! The binary `tesla-train`.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tesla_engine::console::terminal::interruptible;
use tesla_training::commands::{
    Outcome, datagen, evaluate, export, import, inspect, matches, merge, report, suite, train, tune,
};

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
    /// A resumed run keeps its own options unless others are given here.
    Train(Box<train::TrainArgs>),
    /// Measure a network: value, policy, action values and their calibration on held-out games, by
    /// staleness; and puzzles by rating, solved by each head alone and by searches.
    Evaluate(evaluate::EvaluateArgs),
    /// Write a checkpoint's weights as a file to ship: f16, its hash in the name.
    Export(export::ExportArgs),
    /// Play games between our own configurations and UCI engines; resumes the match in the folder.
    ///
    /// Every finished game is on disk at once: the same command with the same folder resumes after
    /// Ctrl-C, a crash or a power cut, and a match may be extended by asking for more games. Our
    /// own sides run in this process; with limits in nodes or depth they share their device's
    /// batches and play the same games at any concurrency.
    Match(Box<matches::MatchArgs>),
    /// Test our own configurations and UCI engines on positions with known answers.
    ///
    /// Reads EPD suites (bm, am, points in c7 to c9, dm) and puzzles in the CSV form of the Lichess
    /// database. Every answer is on disk at once, and the same command with the same folder
    /// resumes. The answers of two sides are compared item by item.
    Suite(Box<suite::SuiteArgs>),
    /// Make labelled games: a teacher plays and labels; by design some of its moves are replaced by
    /// random ones.
    ///
    /// The teacher is any UCI engine, or our own search with all games on one device. Every
    /// finished game is on disk at once, and the same command with the same folder resumes after
    /// Ctrl-C, a crash or a power cut. With a limit in nodes or depth and one thread the games
    /// depend only on seed and options, whatever interrupts them and however many are played at
    /// once.
    Datagen(Box<datagen::DatagenArgs>),
    /// Import labelled games: PGN with scores in the comments, or Stockfish binpacks.
    Import(import::ImportArgs),
    /// Merge games of several folders or machines, without duplicates.
    Merge(merge::MergeArgs),
    /// Summarise files of games, and show positions.
    Inspect(inspect::InspectArgs),
    /// Fit the search's tunables to its own trees, or tune them by games.
    #[command(subcommand)]
    Tune(tune::TuneCommand),
    /// Collect all measurements on one page, which a browser shows offline.
    Report(report::ReportArgs),
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => {
            complain(&error.to_string());
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> Outcome {
    match command {
        Command::Train(args) => train::run(&args, &interruptible()?, &complain),
        Command::Evaluate(args) => done(evaluate::run(&args, &complain)),
        Command::Export(args) => done(export::run(&args, &complain)),
        Command::Match(args) => matches::run(&args, &interruptible()?, &complain),
        Command::Suite(args) => suite::run(&args, &interruptible()?, &complain),
        Command::Datagen(args) => datagen::run(&args, &interruptible()?, &complain),
        Command::Import(args) => import::run(&args, &interruptible()?, &complain),
        Command::Merge(args) => merge::run(&args, &interruptible()?, &complain),
        Command::Inspect(args) => done(inspect::run(&args)),
        Command::Tune(command) => tune::run(&command, &interruptible()?, &complain),
        Command::Report(args) => done(report::run(&args, &complain)),
    }
}

fn done<E: Into<Box<dyn std::error::Error>>>(result: Result<(), E>) -> Outcome {
    result.map(|()| ExitCode::SUCCESS).map_err(Into::into)
}

#[expect(clippy::print_stderr, reason = "the one place where errors reach people")]
fn complain(sentence: &str) {
    eprintln!("tesla-train: {sentence}");
}
