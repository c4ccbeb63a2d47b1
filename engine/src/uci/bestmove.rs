//! The answer to a `go`: the last `info` and, directly behind it, `bestmove`.

use std::fmt::Write as _;

use shakmaty::{Chess, Move, Position};

use crate::console::output::Style;
use crate::search::Outcome;

/// The answer where there is no legal move, with the score that such a position has.
pub(super) fn game_over(position: &Chess) -> String {
    let score = if position.is_check() { "mate 0" } else { "cp 0" };
    format!("info depth 0 score {score}\nbestmove 0000")
}

/// The answer without a search.
pub(super) fn unsearched(style: Style, played: Move) -> String {
    format!("bestmove {}", style.written(played))
}

/// The answer of a search in `position`, which found `hits` positions in endgame tables. The move
/// is the first of its line.
pub(super) fn searched(style: Style, position: &Chess, mut outcome: Outcome, hits: u64) -> String {
    if outcome.info.pv.first() != Some(&outcome.best) {
        outcome.info.pv = vec![outcome.best];
    }
    let mut text =
        format!("{}\n{}", style.info(&outcome.info, hits), unsearched(style, outcome.best));
    let mut next = position.clone();
    next.play_unchecked(outcome.best);
    if let Some(ponder) = outcome.ponder.filter(|&ponder| next.is_legal(ponder)) {
        // Writing to a String cannot fail.
        let _ = write!(text, " ponder {}", style.written(ponder));
    }
    text
}
