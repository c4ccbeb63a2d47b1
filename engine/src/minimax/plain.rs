//! Minimax as the seeds write it: a recursion that returns the score and the line.
//!
//! Seed 002 gives the sides turns at the highest and the lowest value; here each side takes the
//! highest from its own point of view, which is the same.

use shakmaty::{Chess, Move, Position};

use super::statics::StaticValue;
use super::walk::Walk;
use super::{INFINITE, Line};
use crate::chess::game::position_key;

impl<S: StaticValue> Walk<'_, S> {
    /// The value of a position, searched so many plies deep, and the line that reaches it, its
    /// first move last.
    fn minimax(&mut self, position: &Chess, depth: u32) -> Option<(i32, Line)> {
        self.enter()?;
        if depth == 0 {
            return Some((self.leaf(position), Line::new()));
        }
        let moves = position.legal_moves();
        match self.end(position, &moves) {
            Some(value) => Some((value, Line::new())),
            None => self.best_of(position, &moves, depth),
        }
    }

    /// The best of these moves, of which there is at least one. `None` where the walk is over.
    pub(super) fn best_of(
        &mut self,
        position: &Chess,
        moves: &[Move],
        depth: u32,
    ) -> Option<(i32, Line)> {
        let key = position_key(position);
        let mut best = (-INFINITE, Line::new());
        for (place, &played) in moves.iter().enumerate() {
            self.looks_at(played, place, depth);
            let (value, mut line) =
                self.behind(position, key, played, |walk, after| walk.minimax(after, depth - 1))?;
            if value > best.0 {
                line.push(played);
                best = (value, line);
            }
        }
        Some(best)
    }
}
