//! Positions as files of text name them.

use std::path::Path;

use shakmaty::fen::Fen;
use shakmaty::{Chess, EnPassantMode, Position as _};

use crate::chess::notation::from_fen;

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
