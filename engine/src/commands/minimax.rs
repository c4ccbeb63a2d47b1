//! `tesla minimax`: what pruning saves, and mates counted exactly.

pub mod mates;
mod positions;
pub mod table;

use clap::Subcommand;

use self::mates::MatesArgs;
use self::table::TableArgs;
use crate::console::output::Output;

/// What `tesla minimax` can do.
#[derive(Clone, Debug, Subcommand)]
pub enum MinimaxCommand {
    /// Counts the positions that minimax and alpha-beta look at for the same values; Markdown
    Table(TableArgs),
    /// Counts mates exactly, by exhaustive search, and compares with the `dm` of an EPD file
    Mates(MatesArgs),
}

/// Does it. An error is a sentence for people.
///
/// # Errors
/// When a file cannot be used, or what was counted is wrong.
pub fn run(command: &MinimaxCommand, output: &Output) -> Result<(), String> {
    match command {
        MinimaxCommand::Table(args) => table::run(args, output),
        MinimaxCommand::Mates(args) => mates::run(args, output),
    }
}
