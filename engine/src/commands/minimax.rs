//! `tesla minimax`: what pruning saves, and mates counted exactly.

mod mates;
mod table;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use shakmaty::{Chess, EnPassantMode, Position, fen::Fen};

use crate::chess::notation::from_fen;
use crate::console::output::Output;
use crate::minimax::Pruning;

/// What `tesla minimax` can do.
#[derive(Clone, Debug, Subcommand)]
pub enum MinimaxCommand {
    /// Counts the positions that minimax and alpha-beta look at for the same values; Markdown
    Table(TableArgs),
    /// Counts mates exactly, by exhaustive search, and compares with the `dm` of an EPD file
    Mates(MatesArgs),
}

/// What the table is made of.
#[derive(Clone, Debug, Args)]
pub struct TableArgs {
    /// Deepest search in plies; plain minimax takes about 30 times as long for each
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=7))]
    pub depth: u32,
    /// One FEN a line; ten positions of the program's own if not given
    #[arg(long)]
    pub positions: Option<PathBuf>,
}

/// Which mates.
#[derive(Clone, Debug, Args)]
pub struct MatesArgs {
    /// EPD with `dm N`: mate in N moves, negative where the side to move is mated
    pub file: PathBuf,
    /// Longest mate that is tried, in moves
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=20))]
    pub longest: u32,
    /// None is minimax itself, and takes long from mates in 4 on
    #[arg(long, value_parser = clap::builder::PossibleValuesParser::new(Pruning::NAMES),
          default_value = "Ordered")]
    pub pruning: String,
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

/// The text of a file.
pub(super) fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| {
        format!("{} cannot be read ({error}); name a text file of positions", path.display())
    })
}

/// A position to search, from its FEN.
pub(super) fn position(fen: &str) -> Result<Chess, String> {
    let position = from_fen(fen, false).map_err(|problem| problem.to_string())?;
    if position.legal_moves().is_empty() {
        return Err(format!("the game is over in '{fen}'; leave that position out"));
    }
    Ok(position)
}

/// A position as it is read.
pub(super) fn fen(position: &Chess) -> String {
    Fen::from_position(position, EnPassantMode::Legal).to_string()
}
