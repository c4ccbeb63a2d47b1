//! The command lines of `tesla-train`, one file each.

pub mod datagen;
pub mod evaluate;
pub mod export;
pub mod import;
pub mod inspect;
pub mod matches;
pub mod merge;
pub mod report;
pub mod suite;
pub mod train;
pub mod tune;

use std::io::Write as _;
use std::process::ExitCode;

use tesla_engine::console::terminal::INTERRUPTED;

/// What a command has come to: an exit code, or the sentence that it ends with.
pub type Outcome = Result<ExitCode, Box<dyn std::error::Error>>;

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
