//! Positions to measure on.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, Chess};

/// Which positions.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// File of FENs or EPDs, a line each; the start position comes first in any case
    #[arg(long)]
    positions: Option<PathBuf>,
    /// Positions to take from the file
    #[arg(long, default_value_t = 20)]
    take: usize,
}

impl Arguments {
    /// The start position and the file's first.
    pub(crate) fn read(&self) -> Result<Vec<Chess>, Box<dyn Error>> {
        let mut positions = vec![Chess::default()];
        let Some(path) = &self.positions else { return Ok(positions) };
        let text =
            fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        for line in lines.take(self.take) {
            let mut words: Vec<&str> = line.split_whitespace().take(6).collect();
            if words.get(4).is_none_or(|word| word.parse::<u32>().is_err()) {
                words.truncate(4); // an EPD: operations follow
            }
            let fen: Fen = words.join(" ").parse().map_err(|error| format!("'{line}': {error}"))?;
            positions.push(fen.into_position(CastlingMode::Chess960)?);
        }
        Ok(positions)
    }
}
