//! A position that is about to be evaluated.

use shakmaty::{Chess, Move, Position as _};

use crate::tree::evaluations::evaluation_key;
use crate::tree::node::Slot;

/// A leaf that is about to be evaluated.
#[derive(Clone, Debug)]
pub struct Leaf {
    /// Where its node is.
    pub slot: Slot,
    /// The position.
    pub position: Chess,
    /// Key of the position.
    pub key: u64,
    /// Its legal moves, at least one.
    pub moves: Box<[Move]>,
    /// Earlier occurrences on the path and in the game, at most 2.
    pub repetitions: u8,
    /// Where its evaluation comes from.
    pub source: Source,
}

/// Where the evaluation of a leaf comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// From the evaluator.
    Asked,
    /// From the evaluator too, but another leaf with the same position was asked for already.
    Awaited,
    /// It is known.
    Known,
}

impl Leaf {
    /// The key under which its evaluation is kept.
    pub fn evaluation_key(&self) -> u64 {
        evaluation_key(self.key, self.repetitions, self.position.halfmoves())
    }
}
