//! What an evaluated position has besides its node.

use std::ops::Range;

use crate::tree::node::{BranchId, NONE, NodeId, Spot};

/// [`Branch::best`] where no move that was looked at is the best.
const NO_PLACE: u8 = u8::MAX;

/// What an evaluated position has besides its node.
#[derive(Clone, Copy, Debug)]
pub struct Branch {
    /// Key of the position.
    pub key: u64,
    /// Where its node is.
    pub(super) parent: BranchId,
    pub(super) place: u8,
    /// How many of its moves have nodes, the first of them, and which size of block they are in.
    pub(super) count: u8,
    pub(super) block: u8,
    /// Place of the best among the nodes, or [`NO_PLACE`].
    pub(super) best: u8,
    pub(super) first: NodeId,
    /// The first of its edges, and how many legal moves there are.
    pub(super) edges: u32,
    pub(super) moves: u8,
    /// Depth at which the value last went into the table, whole plies.
    pub stored_depth: u8,
    /// Moves from the root.
    pub ply: u8,
    /// Set while the branch waits in a sweep.
    pub is_dirty: bool,
    /// The evaluator's name for the position.
    pub handle: u32,
    /// The evaluator's own value.
    pub static_value: f32,
    /// Value known before expansion, from the table or a folded subtree.
    pub known_value: f32,
    /// Depth of that value; -1 for none.
    pub known_depth: f32,
    /// Whether it rests on the path: repetition or the fifty-move rule.
    pub known_rests_on_path: bool,
}

impl Branch {
    /// The branch of a node: nothing known but the evaluator's own value.
    pub fn new(key: u64, node: Spot, static_value: f32) -> Self {
        Self {
            key,
            parent: node.parent,
            place: node.place,
            count: 0,
            block: 0,
            best: NO_PLACE,
            first: NONE,
            edges: 0,
            moves: 0,
            stored_depth: 0,
            ply: 0,
            is_dirty: false,
            handle: 0,
            static_value,
            known_value: 0.0,
            known_depth: -1.0,
            known_rests_on_path: false,
        }
    }

    /// The branch its node belongs to; [`NONE`] at the root.
    pub fn parent(&self) -> BranchId {
        self.parent
    }

    /// Where its node is.
    pub fn spot(&self) -> Spot {
        Spot { parent: self.parent, place: self.place }
    }

    /// The nodes below it.
    pub fn children(&self) -> Range<NodeId> {
        if self.count == 0 { 0..0 } else { self.first..self.first + NodeId::from(self.count) }
    }

    /// Whether some move was never looked at.
    pub fn has_edges_left(&self) -> bool {
        self.count < self.moves
    }

    /// The best child, if it was looked at.
    pub fn best_child(&self) -> Option<NodeId> {
        (self.best < self.count).then(|| self.first + NodeId::from(self.best))
    }

    /// Says which child is the best, by its place; `None` = one that was never looked at.
    pub fn set_best(&mut self, place: Option<u8>) {
        self.best = place.unwrap_or(NO_PLACE);
    }
}
