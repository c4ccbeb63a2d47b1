//! Matches to be run.

use std::path::Path;

use shakmaty::fen::Fen;
use shakmaty::{Chess, EnPassantMode, Position};
use tesla_engine::search::StopToken;
use tesla_training::players::pool::{Pool, RunContext};

/// A run that says nothing.
pub(crate) fn context<'a>(
    folder: &'a Path,
    concurrency: usize,
    interrupted: &'a StopToken,
) -> RunContext<'a> {
    RunContext { folder, pool: Pool { concurrency, interrupted }, say: &|_| {} }
}

/// Every position after one move of each side: 400 openings.
pub(crate) fn book() -> String {
    let mut lines = String::new();
    let start = Chess::default();
    for first in start.legal_moves() {
        let mut after = start.clone();
        after.play_unchecked(first);
        for second in after.legal_moves() {
            let mut position = after.clone();
            position.play_unchecked(second);
            lines += &Fen::from_position(&position, EnPassantMode::Legal).to_string();
            lines.push('\n');
        }
    }
    lines
}
