//! A position on its way to the evaluator.

use shakmaty::{Chess, Move};

use crate::tree::node::Slot;

/// A leaf on its way to the evaluator.
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
}
