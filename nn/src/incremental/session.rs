//! One search's nodes.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use super::node::Node;

/// Ids are consecutive numbers, so the hash only has to spread them.
#[derive(Debug, Default)]
pub(super) struct NameHasher(u64);

impl Hasher for NameHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(u32::from(byte));
        }
    }

    fn write_u32(&mut self, name: u32) {
        self.0 = (self.0 ^ u64::from(name)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
}

/// One search's nodes, and what they use of the cache.
#[derive(Debug)]
pub(super) struct Session {
    /// By name; a descendant's is later than its ancestors'.
    pub(super) nodes: HashMap<u32, Node, BuildHasherDefault<NameHasher>>,
    /// Slots in use.
    pub(super) used: usize,
    /// Never evicted: the principal variation.
    pub(super) protected: HashSet<u32>,
    /// The weight of new attention; it grows, so that older attention counts less.
    pub(super) weight: f64,
}

impl Session {
    /// An empty session.
    pub(super) fn new() -> Self {
        Self { nodes: HashMap::default(), used: 0, protected: HashSet::new(), weight: 1.0 }
    }

    /// Counts one more evaluation below a node and its ancestors.
    pub(super) fn visit(&mut self, id: u32) {
        let mut next = Some(id);
        // Deeper trees than this are rare; the bound also guards against names used twice.
        for _ in 0..64 {
            let Some(node) = next.and_then(|id| self.nodes.get_mut(&id)) else { return };
            node.work += 1;
            next = node.parent.map(|(id, _)| id);
        }
    }

    /// Forgets the older half of the positions that have no tokens.
    pub(super) fn forget_old_positions(&mut self) {
        let bare = self.nodes.iter().filter(|(_, node)| node.tokens.is_none());
        let mut ids: Vec<u32> = bare.map(|(&id, _)| id).collect();
        ids.sort_unstable();
        for id in &ids[..ids.len().div_ceil(2)] {
            self.nodes.remove(id);
        }
    }
}
