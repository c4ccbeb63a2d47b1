//! Quiescence: captures and promotions until nothing hangs; in check all evasions.

use shakmaty::{Chess, MoveList, Position};
use tesla_nn::classical::exchange::{immediate_gain, nets_at_least};

use super::leaf::classical;
use super::ordering::{Hints, Ordered, is_tactical};
use super::value::{DRAW, INFINITE, MATE, MAX_PLY};
use super::worker::Worker;

/// What a capture may gain beyond its material, in centipawns, before delta pruning drops it.
const DELTA: i32 = 180;

/// Positions that one leaf's captures may take before they end where they stand. A game's leaves
/// take some dozens; boards full of queens would take millions.
const MOST_VISITS: u64 = 4_000;

impl Worker<'_> {
    /// The value of a position from the classical evaluation once it is quiet.
    pub(super) fn quiescence(
        &mut self,
        position: &Chess,
        alpha: i32,
        beta: i32,
        ply: usize,
    ) -> i32 {
        self.last_quiet_visit = self.visits + MOST_VISITS;
        self.quiet(position, alpha, beta, ply)
    }

    fn quiet(&mut self, position: &Chess, mut alpha: i32, beta: i32, ply: usize) -> i32 {
        if !self.enter() {
            return DRAW;
        }
        self.selective_depth = self.selective_depth.max(ply);
        if position.board().occupied().count() <= 4 && position.is_insufficient_material() {
            return DRAW;
        }
        let checked = position.is_check();
        let standing = if checked { -INFINITE } else { classical(position) };
        if ply >= MAX_PLY || self.visits > self.last_quiet_visit {
            return if checked { DRAW } else { standing };
        }
        if standing >= beta {
            return standing;
        }
        let mut legal = position.legal_moves();
        if legal.is_empty() {
            return if checked { -MATE + ply as i32 } else { DRAW };
        }
        let mut best = standing;
        alpha = alpha.max(standing);
        if !checked {
            drop_hopeless(position, &mut legal, alpha - standing - DELTA);
        }
        let hints = Hints { history: self.history, table: None, before: None, ply, policy: None };
        for played in Ordered::new(position, legal, &hints) {
            let mut child = position.clone();
            child.play_unchecked(played);
            let value = -self.quiet(&child, -beta, -alpha, ply + 1);
            if self.stopped {
                return DRAW;
            }
            if value > best {
                best = value;
                alpha = alpha.max(value);
                if value >= beta {
                    break;
                }
            }
        }
        best
    }
}

/// Keeps the captures and promotions that lose nothing on their square and could lift the value by
/// `needed` centipawns.
fn drop_hopeless(position: &Chess, legal: &mut MoveList, needed: i32) {
    legal.retain(|candidate| {
        is_tactical(*candidate)
            && immediate_gain(*candidate) >= needed
            && nets_at_least(position, *candidate, 0)
    });
}
