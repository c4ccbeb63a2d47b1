//! What an evaluated position has besides its node.

use std::ops::Range;

use crate::tree::node::{ExpansionId, NONE, NodeId, Slot};

/// [`Expansion::best`] if the best move has no node.
const NO_INDEX: u8 = u8::MAX;

/// What an evaluated position has besides its node.
#[derive(Clone, Copy, Debug)]
pub struct Expansion {
    /// Key of the position.
    pub key: u64,
    /// Where its node is.
    pub(super) parent: ExpansionId,
    pub(super) index: u8,
    /// How many of its moves have nodes, the first of them, and which size of block they are in.
    pub(super) count: u8,
    pub(super) block: u8,
    /// Index of the best among the nodes, or [`NO_INDEX`].
    pub(super) best: u8,
    pub(super) first: NodeId,
    /// The first of its edges, and how many legal moves there are.
    pub(super) edges: u32,
    pub(super) moves: u8,
    /// Depth at which the value last went into the table, whole plies.
    pub stored_depth: u8,
    /// Moves from the root.
    pub ply: u8,
    /// Set while the expansion waits in a sweep.
    pub is_dirty: bool,
    /// The evaluator's cache id of the position.
    pub cache_id: u32,
    /// The evaluator's own value.
    pub static_value: f32,
    /// Value known before expansion, from the table or a folded subtree.
    pub known_value: f32,
    /// Depth of that value; -1 for none.
    pub known_depth: f32,
    /// Whether it rests on the path: repetition or the fifty-move rule.
    pub known_rests_on_path: bool,
}

impl Expansion {
    /// The expansion of a node: nothing known but the evaluator's own value.
    pub fn new(key: u64, node: Slot, static_value: f32) -> Self {
        Self {
            key,
            parent: node.parent,
            index: node.index,
            count: 0,
            block: 0,
            best: NO_INDEX,
            first: NONE,
            edges: 0,
            moves: 0,
            stored_depth: 0,
            ply: 0,
            is_dirty: false,
            cache_id: 0,
            static_value,
            known_value: 0.0,
            known_depth: -1.0,
            known_rests_on_path: false,
        }
    }

    /// The expansion its node belongs to; [`NONE`] at the root.
    pub fn parent(&self) -> ExpansionId {
        self.parent
    }

    /// Where its node is.
    pub fn slot(&self) -> Slot {
        Slot { parent: self.parent, index: self.index }
    }

    /// The nodes below it.
    pub fn children(&self) -> Range<NodeId> {
        if self.count == 0 { 0..0 } else { self.first..self.first + NodeId::from(self.count) }
    }

    /// Whether some move has no node.
    pub fn has_edges_left(&self) -> bool {
        self.count < self.moves
    }

    /// The best child, if it has a node.
    pub fn best_child(&self) -> Option<NodeId> {
        (self.best < self.count).then(|| self.first + NodeId::from(self.best))
    }

    /// Sets the best child, by its index; `None` = a move without a node.
    pub fn set_best(&mut self, index: Option<u8>) {
        self.best = index.unwrap_or(NO_INDEX);
    }
}
