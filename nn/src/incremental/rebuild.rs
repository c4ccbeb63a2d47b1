//! Which cached positions are rebuilt before a batch, from what, and in which order.
//!
//! A position's tokens are *rebuilt* when it gets another child after they were evicted, or when it
//! becomes an anchor. An anchor is encoded whole, and the chains below it begin there.

use std::collections::HashMap;

use shakmaty::Move;

use super::cache::Cache;
use super::node::Node;
use super::plan::{CHILD_ROWS, whole_rows};

/// Maximum positions in a chain, the anchor included: the longest chain that the network was
/// trained on.
pub(super) const LONGEST_CHAIN: usize = 9;

/// Positions between a node and an ancestor with tokens from which it is rebuilt; from farther
/// away a whole encode costs little more.
const LONGEST_PATH: usize = 5;
/// Plies above a node whose chain is full at which an ancestor becomes an anchor: the lines that
/// share it are rebuilt from it, and every one has as many plies to go before its chain is full.
const SHARED_ANCHOR: usize = 4;

/// When a cached position becomes an anchor, that is, is encoded whole so that its children start
/// new chains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnchorPolicy {
    /// Evaluations below it.
    pub work: u32,
    /// Plies since its own anchor.
    pub staleness: usize,
}

impl Default for AnchorPolicy {
    fn default() -> Self {
        Self { work: 128, staleness: 1 }
    }
}

/// A cached position that is rebuilt before its next child.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rebuild {
    pub(crate) session: u32,
    pub(crate) id: u32,
    /// The node that it is made from and the move that leads from there; none for an anchor.
    pub(super) base: Option<(u32, Move)>,
    /// What has a level is planned after all of the levels before are rebuilt. Anchors come first:
    /// they read no other tokens, but evict old ones that something could be made from.
    pub(crate) level: usize,
    /// Tokens that are made.
    pub(super) rows: usize,
}

impl Rebuild {
    /// The node that it is made from.
    pub(crate) fn base(&self) -> Option<u32> {
        self.base.map(|(base, _)| base)
    }

    fn whole(session: u32, id: u32, node: &Node) -> Self {
        Self { session, id, base: None, level: 0, rows: whole_rows(node.standing.pieces()) }
    }
}

/// What a node's tokens will be after its rebuild.
#[derive(Clone, Copy, Debug)]
struct Planned {
    /// Positions in its chain.
    chain: usize,
    /// As of [`Rebuild`].
    level: usize,
}

/// The rebuilds of one batch.
#[derive(Debug)]
pub(super) struct Schedule {
    anchors: AnchorPolicy,
    /// By session and node.
    planned: HashMap<(u32, u32), Planned>,
    rebuilds: Vec<Rebuild>,
}

impl Schedule {
    /// Of a batch without requests.
    pub(super) fn new(anchors: AnchorPolicy) -> Self {
        Self { anchors, planned: HashMap::new(), rebuilds: Vec::new() }
    }

    /// Adds what a node's next child needs.
    pub(super) fn add<T: Default>(&mut self, cache: &Cache<T>, session: u32, id: u32) {
        if self.planned.contains_key(&(session, id)) {
            return;
        }
        for rebuild in self.needed(cache, session, id) {
            let chain = 1 + rebuild.base.map_or(0, |(base, _)| {
                let planned = self.planned.get(&(session, base)).map(|planned| planned.chain);
                planned.or_else(|| cache.node(session, base)?.chain()).unwrap_or(0)
            });
            let planned = Planned { chain, level: rebuild.level };
            self.planned.insert((session, rebuild.id), planned);
            self.rebuilds.push(rebuild);
        }
    }

    /// The rebuilds, level by level.
    pub(super) fn finish(mut self) -> Vec<Rebuild> {
        self.rebuilds.sort_by_key(|rebuild| rebuild.level);
        self.rebuilds
    }

    /// What must be rebuilt before the next child of a node, beside what is planned already: the
    /// node itself, whole, or step by step from its nearest ancestor that has tokens and a chain
    /// short enough. Where all chains are too long, an ancestor becomes an anchor.
    fn needed<T: Default>(&self, cache: &Cache<T>, session: u32, id: u32) -> Vec<Rebuild> {
        let Some(node) = cache.node(session, id) else { return Vec::new() };
        let chain = node.chain();
        let is_stale = chain.is_none_or(|chain| chain > self.anchors.staleness);
        if node.work >= self.anchors.work && is_stale {
            return vec![Rebuild::whole(session, id, node)];
        }
        if chain.is_some_and(|chain| chain < LONGEST_CHAIN) {
            return Vec::new();
        }
        let mut path = Vec::new();
        let (mut below, mut below_id) = (node, id);
        let mut is_too_long = chain.is_some();
        let mut anchor = None;
        while path.len() < LONGEST_PATH
            && let Some((above_id, played)) = below.parent
            && let Some(above) = cache.node(session, above_id)
            // Where positions come back, so does the way up.
            && above_id != below_id
            && path.iter().all(|step: &Rebuild| step.id != above_id)
        {
            let base = Some((above_id, played));
            path.push(Rebuild { session, id: below_id, base, level: 0, rows: CHILD_ROWS });
            let present = above.chain().map(|chain| Planned { chain, level: 0 });
            let planned = self.planned.get(&(session, above_id)).copied();
            if let Some(from) = planned.or(present) {
                // The children of the last must fit into the chain too.
                if from.chain + path.len() < LONGEST_CHAIN {
                    return downwards(path, from.level);
                }
                if planned.is_some() {
                    // What two requests of a batch need is made in one way only.
                    return vec![Rebuild::whole(session, id, node)];
                }
                is_too_long = true;
            }
            if path.len() <= SHARED_ANCHOR {
                anchor = Some(Rebuild::whole(session, above_id, above));
            }
            (below, below_id) = (above, above_id);
        }
        let Some(anchor) = anchor.filter(|_| is_too_long) else {
            return vec![Rebuild::whole(session, id, node)];
        };
        path.truncate(SHARED_ANCHOR);
        let mut rebuilds = vec![anchor];
        rebuilds.extend(downwards(path, 0));
        rebuilds
    }
}

/// A path from a node upwards as steps downwards, the first of them on the level after `level`.
fn downwards(mut path: Vec<Rebuild>, level: usize) -> Vec<Rebuild> {
    path.reverse();
    for (place, step) in path.iter_mut().enumerate() {
        step.level = level + 1 + place;
    }
    path
}
