//! Positions as files of text name them.

use std::path::Path;

use shakmaty::fen::Fen;
use shakmaty::{Chess, EnPassantMode, Position as _};
use tesla_nn::files::{LARGEST, read_text};

use crate::chess::notation::from_fen;

/// The text of a file.
pub(super) fn read(path: &Path) -> Result<String, String> {
    read_text(path, LARGEST).map_err(|error| error.to_string())
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
