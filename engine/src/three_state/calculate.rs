//! The move of the highest value, at depth 1 for the confident and deeper for the uncertain.

use shakmaty::Move;

use super::packed::PackedMove;
use super::quick::Quick;
use crate::minimax::{INFINITE, Line, StaticValue, Walk};
use crate::search::Task;

/// Best of the root moves so far.
pub(super) struct Best {
    pub(super) played: Move,
    pub(super) value: i32,
    /// The first move last.
    pub(super) line: Line,
    /// Plies that its value looks ahead.
    pub(super) depth: u32,
    /// Whether all moves were tried.
    pub(super) is_whole: bool,
}

/// The best of these moves at this depth: one ply first, which orders them, so that a search cut
/// short has tried the likeliest; before those the one that is remembered. There is at least one
/// move.
pub(super) fn best_of(
    walk: &mut Walk<'_, Quick>,
    task: &Task<'_>,
    moves: &[Move],
    remembered: Option<PackedMove>,
    depth: u32,
) -> Best {
    let position = task.game.position();
    let fallback = (moves[0], Quick.of(position), vec![moves[0]]);
    let mut looks = Vec::with_capacity(moves.len());
    for &played in moves {
        let Some((value, line)) = walk.try_move(position, played, 1, -INFINITE) else { break };
        looks.push((played, value, line));
    }
    looks.sort_by_key(|&(_, value, _)| -value);
    let (played, value, line) = looks.first().cloned().unwrap_or(fallback);
    let mut best = Best { played, value, line, depth: 1, is_whole: looks.len() == moves.len() };
    if depth == 1 || !best.is_whole {
        return best;
    }
    let mut order: Vec<Move> = looks.iter().map(|&(played, ..)| played).collect();
    if let Some(first) = remembered.and_then(|first| first.find(moves)) {
        order.sort_by_key(|&played| played != first);
    }
    let mut reached = -INFINITE;
    for played in order {
        let Some((value, line)) = walk.try_move(position, played, depth, reached) else {
            best.is_whole = false;
            return best;
        };
        if value > reached {
            reached = value;
            best = Best { played, value, line, depth, is_whole: true };
        }
    }
    best
}
