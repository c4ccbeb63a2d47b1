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

/// A position to search, from a line of FEN or EPD.
pub(super) fn position(line: &str) -> Result<Chess, String> {
    let fen = without_operations(line);
    let position = from_fen(&fen, false).map_err(|problem| problem.to_string())?;
    if position.legal_moves().is_empty() {
        return Err(format!("the game is over in '{fen}'; leave that position out"));
    }
    Ok(position)
}

/// A line of FEN as it is, one of EPD without its operations.
fn without_operations(line: &str) -> String {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let is_epd = fields.get(4).is_some_and(|field| field.parse::<u32>().is_err());
    fields[..if is_epd { 4 } else { fields.len() }].join(" ")
}

/// A position as it is read.
pub(super) fn fen(position: &Chess) -> String {
    Fen::from_position(position, EnPassantMode::Legal).to_string()
}
