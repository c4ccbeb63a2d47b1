//! One search's nodes.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use shakmaty::Move;

use super::node::{Node, Tokens};
use super::plan::CHILD_ROWS;

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

/// What the order of eviction asks of a node with tokens. It asks all of them at once, so this lies
/// close together.
#[derive(Debug)]
pub(super) struct Filled {
    /// The name of its parent.
    pub(super) parent: Option<u32>,
    own: Own,
}

/// The slots that were filled for a node.
#[derive(Debug)]
enum Own {
    /// A child's, the last one repeated.
    Few([u32; CHILD_ROWS]),
    /// An anchor's.
    Many(Box<[u32]>),
}

impl Filled {
    fn of(node: &Node) -> Option<Self> {
        let own = node.own()?;
        let own = match own.last() {
            Some(&last) if own.len() <= CHILD_ROWS => {
                Own::Few(std::array::from_fn(|index| own.get(index).copied().unwrap_or(last)))
            }
            _ => Own::Many(own.as_slice().into()),
        };
        Some(Self { parent: node.parent.map(|(id, _)| id), own })
    }

    /// The slots that were filled for it, perhaps one of them several times.
    pub(super) fn own(&self) -> &[u32] {
        match &self.own {
            Own::Few(slots) => slots,
            Own::Many(slots) => slots,
        }
    }
}

/// One search's nodes, and what they use of the cache.
#[derive(Debug)]
pub(super) struct Session {
    /// By name; a descendant's is later than its ancestors', unless it was reached again.
    nodes: HashMap<u32, Node, BuildHasherDefault<NameHasher>>,
    /// Those that have tokens, a part of them where memory is short.
    with_tokens: BTreeMap<u32, Filled>,
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
        Self {
            nodes: HashMap::default(),
            with_tokens: BTreeMap::new(),
            used: 0,
            protected: HashSet::new(),
            weight: 1.0,
        }
    }

    /// Positions that are known.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// The node, while its position is known.
    pub(super) fn node(&self, id: u32) -> Option<&Node> {
        self.nodes.get(&id)
    }

    /// All nodes.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.nodes.values()
    }

    /// Names of all nodes.
    pub(super) fn names(&self) -> impl Iterator<Item = u32> {
        self.nodes.keys().copied()
    }

    /// The nodes that have tokens, earlier ones first.
    pub(super) fn with_tokens(&self) -> impl ExactSizeIterator<Item = (u32, &Filled)> {
        self.with_tokens.iter().map(|(&id, filled)| (id, filled))
    }

    /// Keeps `node` under `id`; answers with what had the name.
    pub(super) fn insert(&mut self, id: u32, node: Node) -> Option<Node> {
        match Filled::of(&node) {
            Some(filled) => drop(self.with_tokens.insert(id, filled)),
            None => drop(self.with_tokens.remove(&id)),
        }
        self.nodes.insert(id, node)
    }

    /// Forgets a node.
    pub(super) fn remove(&mut self, id: u32) -> Option<Node> {
        self.with_tokens.remove(&id);
        self.nodes.remove(&id)
    }

    /// Gives a node new tokens; answers with those that nobody has any more: its old ones, or the
    /// new ones where there is no such node.
    pub(super) fn replace_tokens(&mut self, id: u32, tokens: Tokens) -> Option<Box<Tokens>> {
        let tokens = Box::new(tokens);
        let Some(node) = self.nodes.get_mut(&id) else { return Some(tokens) };
        let old = node.tokens.replace(tokens);
        self.with_tokens.extend(Filled::of(node).map(|filled| (id, filled)));
        old
    }

    /// Takes a node's tokens.
    pub(super) fn take_tokens(&mut self, id: u32) -> Option<Box<Tokens>> {
        self.with_tokens.remove(&id);
        self.nodes.get_mut(&id)?.tokens.take()
    }

    /// Another way to a node: where it has no tokens, they will be rebuilt from this parent's.
    pub(super) fn reach(&mut self, id: u32, parent: (u32, Move)) {
        if let Some(node) = self.nodes.get_mut(&id).filter(|node| node.tokens.is_none()) {
            node.parent = Some(parent);
        }
    }

    /// Counts one more evaluation below a node and its ancestors.
    pub(super) fn visit(&mut self, id: u32) {
        let mut next = id;
        // Deeper trees than this are rare; the bound also guards against names used twice.
        for _ in 0..64 {
            let Some(node) = self.nodes.get_mut(&next) else { return };
            node.work += 1;
            match node.parent {
                // Another way to a node may lead through itself.
                Some((parent, _)) if parent != id => next = parent,
                _ => return,
            }
        }
    }

    /// Forgets the older half of the positions that have no tokens.
    pub(super) fn forget_old_positions(&mut self) {
        let bare = self.nodes.iter().filter(|(_, node)| node.tokens.is_none());
        let mut ids: Vec<u32> = bare.map(|(&id, _)| id).collect();
        let half = ids.len().div_ceil(2);
        if half < ids.len() {
            // Names rise with age; among a million a sort would be a pause that can be seen.
            ids.select_nth_unstable(half);
        }
        for id in &ids[..half] {
            self.nodes.remove(id);
        }
    }
}
