//! An evaluated position, and which slots hold what its children see.

use shakmaty::{Color, Move, Square};

use super::standing::Standing;

/// A kept position.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// The position, to be encoded anew.
    pub(crate) standing: Standing,
    /// The node it was made from, and by which move.
    pub(crate) parent: Option<(u32, Move)>,
    /// Evaluations below it.
    pub(crate) work: u32,
    /// Nothing once they have made room for others.
    pub(crate) tokens: Option<Box<Tokens>>,
}

/// What a node's children see.
#[derive(Clone, Debug)]
pub(crate) struct Tokens {
    /// Side to move at the chain's anchor, from which all its tokens are seen.
    pub(crate) side: Color,
    /// Slots of the pieces, by the squares on which they stand.
    pub(crate) pieces: Vec<(Square, u32)>,
    /// Slots of the readouts, the anchor's first; its length is the chain's.
    pub(crate) readouts: Vec<u32>,
    /// The slots that were filled for it, a child's two or three or an anchor's all.
    pub(crate) own: Vec<u32>,
}

impl Tokens {
    /// All slots that it holds.
    pub(super) fn slots(&self) -> impl Iterator<Item = u32> {
        self.pieces.iter().map(|&(_, slot)| slot).chain(self.readouts.iter().copied())
    }
}

impl Node {
    /// Positions in its chain, the anchor included, while it has tokens.
    pub(super) fn chain(&self) -> Option<usize> {
        Some(self.tokens.as_ref()?.readouts.len())
    }

    /// The slots that were filled for it, while it has tokens.
    pub(super) fn own(&self) -> Option<&Vec<u32>> {
        Some(&self.tokens.as_ref()?.own)
    }
}
