//! Alpha-beta: the value of [minimax](super::plain) without the moves that cannot change it.

use shakmaty::{Chess, Move, Position};

use super::ordering::sort;
use super::statics::StaticValue;
use super::walk::Walk;
use super::{INFINITE, Line};
use crate::chess::game::position_key;

/// What the sides are assured of elsewhere; only a value between the two matters.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// What the side to move has already.
    pub alpha: i32,
    /// What the opponent will not allow to be reached.
    pub beta: i32,
}

impl Window {
    /// In which every value matters.
    pub const OPEN: Self = Self { alpha: -INFINITE, beta: INFINITE };

    /// The same from the other side, when the side to move has found `best`.
    #[must_use]
    fn turned(self, best: i32) -> Self {
        Self { alpha: -self.beta, beta: -self.alpha.max(best) }
    }
}

impl<S: StaticValue> Walk<'_, S> {
    /// The value of a position and its line, the first move last. Outside the window it is a bound
    /// and has no line.
    fn alphabeta<const ORDERED: bool>(
        &mut self,
        position: &Chess,
        depth: u32,
        window: Window,
    ) -> Option<(i32, Line)> {
        self.enter()?;
        if depth == 0 {
            return Some((self.leaf(position), Line::new()));
        }
        let mut moves = position.legal_moves();
        if let Some(value) = self.end(position, &moves) {
            return Some((value, Line::new()));
        }
        if ORDERED {
            sort(position, &mut moves);
        }
        self.best_within::<ORDERED>(position, &moves, depth, window)
    }

    /// The best of these moves, of which there is at least one. `None` where the walk is over.
    pub(super) fn best_within<const ORDERED: bool>(
        &mut self,
        position: &Chess,
        moves: &[Move],
        depth: u32,
        window: Window,
    ) -> Option<(i32, Line)> {
        let key = position_key(position);
        let mut best = (-INFINITE, Line::new());
        for (place, &played) in moves.iter().enumerate() {
            self.looks_at(played, place, depth);
            let below = window.turned(best.0);
            let (value, mut line) = self.behind(position, key, played, |walk, after| {
                walk.alphabeta::<ORDERED>(after, depth - 1, below)
            })?;
            if value > best.0 {
                best.0 = value;
                if value > window.alpha {
                    line.push(played);
                    best.1 = line;
                }
                if value >= window.beta {
                    break;
                }
            }
        }
        Some(best)
    }

    /// The value of one root move behind those that reached `best`, searched with ordered moves;
    /// exact only where it is better. The line's first move is last.
    pub fn try_move(
        &mut self,
        position: &Chess,
        played: Move,
        depth: u32,
        best: i32,
    ) -> Option<(i32, Line)> {
        let window = Window { alpha: best, beta: INFINITE };
        self.best_within::<true>(position, &[played], depth, window)
    }
}
