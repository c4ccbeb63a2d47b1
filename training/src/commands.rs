//! The command lines of `tesla-train`, one file each.

pub mod book;
pub mod datagen;
pub mod evaluate;
pub mod export;
pub mod import;
pub mod inspect;
pub mod matches;
pub mod merge;
pub mod quickstart;
pub mod report;
pub mod suite;
pub mod train;
pub mod tune;

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tesla_engine::console::terminal::{INTERRUPTED, interruptible};
use tesla_engine::search::StopToken;

/// Trains and measures Tesla's evaluator.
#[derive(Debug, Parser)]
#[command(name = "tesla-train", version)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// From nothing to a network that plays, in a few minutes: games, training, figures, a match, a
    /// page. Prints each command that it does; the same command resumes.
    Quickstart(quickstart::QuickstartArgs),
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
    /// Make a book of balanced openings: random moves, kept where a teacher calls the game even.
    ///
    /// The book inside the program was made by it. The same command with the same folder resumes.
    Book(book::BookArgs),
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

/// What a command has come to: an exit code, or the sentence that it ends with.
pub type Outcome = Result<ExitCode, Box<dyn std::error::Error>>;

/// Does what a command says, until it is done or Ctrl-C is pressed. `say` gets sentences for
/// people.
///
/// # Errors
/// The sentence that it ends with.
pub fn run(command: &Command, say: &dyn Fn(&str)) -> Outcome {
    match command {
        // Nothing of these is kept, so that Ctrl-C may end them at once.
        Command::Evaluate(_) | Command::Export(_) | Command::Inspect(_) | Command::Report(_) => {
            run_until(command, &StopToken::default(), say)
        }
        _ => run_until(command, &interruptible()?, say),
    }
}

/// Does what a command says, until it is done or `interrupted` is set.
fn run_until(command: &Command, interrupted: &StopToken, say: &dyn Fn(&str)) -> Outcome {
    match command {
        Command::Quickstart(args) => quickstart::run(args, interrupted, say),
        Command::Train(args) => train::run(args, interrupted, say),
        Command::Evaluate(args) => done(evaluate::run(args, say)),
        Command::Export(args) => done(export::run(args, say)),
        Command::Match(args) => matches::run(args, interrupted, say),
        Command::Suite(args) => suite::run(args, interrupted, say),
        Command::Datagen(args) => datagen::run(args, interrupted, say),
        Command::Book(args) => book::run(args, interrupted, say),
        Command::Import(args) => import::run(args, interrupted, say),
        Command::Merge(args) => merge::run(args, interrupted, say),
        Command::Inspect(args) => done(inspect::run(args)),
        Command::Tune(command) => tune::run(command, interrupted, say),
        Command::Report(args) => done(report::run(args, say)),
    }
}

fn done<E: Into<Box<dyn std::error::Error>>>(result: Result<(), E>) -> Outcome {
    result.map(|()| ExitCode::SUCCESS).map_err(Into::into)
}

/// Writes to standard output. Unlike `print`, it does not panic where the reader has gone.
fn print(text: impl std::fmt::Display) -> std::io::Result<()> {
    write!(std::io::stdout(), "{text}")
}

/// The end of a command that was interrupted; `say` gets the sentence on how to go on.
fn stopped(say: &dyn Fn(&str), sentence: &str) -> ExitCode {
    say(sentence);
    ExitCode::from(INTERRUPTED)
}

/// Printed when a run was interrupted.
const GOES_ON: &str = "stopped; the same command resumes";

/// Printed when a run that cannot be resumed was interrupted.
const BEGINS_ANEW: &str =
    "stopped; nothing was kept, so the same command starts from the beginning";
