//! Evaluated positions and their tokens' keys and values, within a bound.
//!
//! A *slot* holds what later queries need of one token: its keys and values in every layer, and
//! its part of the move heads. On the CPU that is a block of floats; on another device it is a row
//! of the tensors there, and the slot here is only its number. A *node* is an evaluated position
//! with its *tokens*: the slots of the pieces that stand in it and of the readouts of its chain.
//! Slots are counted by the nodes that hold them, so a node's tokens may be evicted while its
//! descendants keep what they see of them. The position itself is small and stays much longer:
//! when it is needed again as a parent, its tokens are rebuilt, and its children are cheap again.
//! Once it is forgotten, every child of it is encoded whole.
//!
//! Every *session* (one search) has nodes of its own and the same bound, so that its answers depend
//! on its own requests only. Where the number of sessions is limited, a session beyond the limit
//! caches nothing.

use std::collections::{HashMap, HashSet};

use shakmaty::Move;

use super::eviction;
use super::node::{Node, Tokens};
use super::session::Session;
use super::slots::{Seen, Slots};

/// Share of the bound that is freed at once when a session has reached it.
const EVICT_DIVISOR: usize = 8;
/// The weight at which the running averages are scaled down again.
const HEAVY: f64 = 1e100;
/// Memory beside a slot's content, bytes: its share of a node's lists, hash entries and
/// allocations, and of the positions whose tokens are evicted.
const OVERHEAD: usize = 2000;
/// Positions that are known, in slots: most have no tokens where memory is short. With the default
/// `KVCache` they are more than a tree of the default `Hash` has.
const POSITIONS: usize = 12;

/// Slots of `bytes` each that fit into a bound, the memory of their nodes included.
pub(crate) fn slots_within(bound: usize, bytes: usize) -> usize {
    bound / (bytes + OVERHEAD)
}

/// All sessions' slots and nodes; a slot holds a `T`.
#[derive(Debug)]
pub(crate) struct Cache<T> {
    slots: Slots<T>,
    sessions: HashMap<u32, Session>,
    next: u32,
    limit: usize,
    most_sessions: usize,
    evicted: u64,
}

impl<T: Default> Cache<T> {
    /// A cache of `limit` slots for each of at most `most_sessions`. Memory is allocated on demand,
    /// and no slot's number reaches the limits' sum.
    pub(crate) fn new(limit: usize, most_sessions: usize) -> Self {
        let (slots, sessions) = (Slots::new(), HashMap::new());
        Self { slots, sessions, next: 0, limit, most_sessions, evicted: 0 }
    }

    /// Slots that a session may use.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Slots in use, all sessions together.
    pub(crate) fn used(&self) -> usize {
        self.slots.used()
    }

    /// Nodes evicted so far.
    pub(crate) fn evicted(&self) -> u64 {
        self.evicted
    }

    /// What a free slot held, if there is one; its content is not cleared.
    pub(crate) fn spare(&self) -> Option<T> {
        self.slots.spare()
    }

    /// The node, while its position is known.
    pub(crate) fn node(&self, session: u32, id: u32) -> Option<&Node> {
        self.sessions.get(&session)?.node(id)
    }

    /// The content of a slot that a node holds.
    pub(crate) fn data(&self, slot: u32) -> &T {
        self.slots.data(slot)
    }

    /// The slot as it is now.
    pub(crate) fn seen(&self, slot: u32) -> Seen {
        self.slots.seen(slot)
    }

    /// Counts one more evaluation below a node and its ancestors.
    pub(crate) fn visit(&mut self, session: u32, id: u32) {
        if let Some(session) = self.sessions.get_mut(&session) {
            session.visit(id);
        }
    }

    /// Notes attention that a slot received.
    pub(crate) fn attend(&mut self, session: u32, slot: u32, attention: f32) {
        self.attend_all(session, [(slot, attention)]);
    }

    /// Notes attention that slots received.
    pub(crate) fn attend_all(&mut self, session: u32, seen: impl IntoIterator<Item = (u32, f32)>) {
        let weight = self.sessions.get(&session).map_or(1.0, |session| session.weight);
        for (slot, attention) in seen {
            *self.slots.attention_mut(slot) += f64::from(attention) * weight;
        }
    }

    /// Attention that a slot has received.
    #[cfg(test)]
    pub(crate) fn attention(&self, slot: u32) -> f64 {
        self.slots.attention(slot)
    }

    /// Notes attention of a while ago, unless the slot has become free since.
    pub(crate) fn attend_late(&mut self, session: u32, seen: Seen, attention: f32) {
        if let Some(slot) = self.slots.unchanged(seen) {
            self.attend(session, slot, attention);
        }
    }

    /// One evaluation later: earlier attention counts for less. Its half-life is the number of
    /// evaluations that fill a quarter of the bound.
    pub(crate) fn tick(&mut self, session: u32) {
        let half_life = (self.limit as f64 / 8.0).max(64.0);
        let Some(session) = self.sessions.get_mut(&session) else { return };
        session.weight *= half_life.recip().exp2();
        if session.weight > HEAVY {
            for &slot in session.nodes().filter_map(Node::own).flatten() {
                *self.slots.attention_mut(slot) /= session.weight;
            }
            session.weight = 1.0;
        }
    }

    /// A name for a node; it is an empty name until [`Self::keep`].
    pub(crate) fn name(&mut self) -> u32 {
        self.next = self.next.wrapping_add(1);
        self.next
    }

    /// Slots that the session may still fill.
    pub(crate) fn room(&self, session: u32) -> usize {
        self.limit - self.sessions.get(&session).map_or(0, |session| session.used)
    }

    /// Drops the tokens of the session's least attended nodes until `wanted` more slots are within
    /// the bound; never those of a protected node nor of one of `needed`. The bound may stay out of
    /// reach.
    pub(crate) fn make_room(&mut self, session: u32, wanted: usize, needed: &HashSet<u32>) {
        let limit = self.limit;
        let Some(entry) = self.sessions.get(&session) else { return };
        if entry.used + wanted <= limit {
            return;
        }
        let target = limit.saturating_sub(wanted).min(limit - limit / EVICT_DIVISOR);
        for id in eviction::order(entry, needed, |slot| self.slots.attention(slot)) {
            if self.sessions.get(&session).is_none_or(|session| session.used <= target) {
                return;
            }
            self.drop_tokens(session, id);
            self.evicted += 1;
        }
    }

    /// Stores filled blocks into slots that nobody holds yet; nothing where the session's bound
    /// leaves no room.
    pub(crate) fn store(&mut self, session: u32, blocks: Vec<T>) -> Option<Vec<u32>> {
        if self.sessions.len() < self.most_sessions {
            self.sessions.entry(session).or_insert_with(Session::new);
        }
        let limit = self.limit;
        let fits = |entry: &&mut Session| entry.used + blocks.len() <= limit;
        let Some(entry) = self.sessions.get_mut(&session).filter(fits) else {
            self.slots.recycle(blocks);
            return None;
        };
        entry.used += blocks.len();
        Some(blocks.into_iter().map(|data| self.slots.fill(data)).collect())
    }

    /// Keeps `node` under `id`, in place of what had the name.
    pub(crate) fn keep(&mut self, session: u32, id: u32, node: Node) {
        if let Some(tokens) = &node.tokens {
            self.slots.hold(tokens);
        }
        let limit = self.limit;
        let Some(entry) = self.sessions.get_mut(&session) else { return };
        let old = entry.insert(id, node);
        if entry.len() > POSITIONS * limit {
            entry.forget_old_positions();
        }
        if let Some(tokens) = old.and_then(|old| old.tokens) {
            self.let_go(session, &tokens);
        }
    }

    /// Gives a known node new tokens in place of what it had.
    pub(crate) fn set_tokens(&mut self, session: u32, id: u32, tokens: Tokens) {
        self.slots.hold(&tokens);
        // A node that is gone gives the slots back at once.
        let old = match self.sessions.get_mut(&session) {
            Some(entry) => entry.replace_tokens(id, tokens),
            None => Some(Box::new(tokens)),
        };
        if let Some(old) = old {
            self.let_go(session, &old);
        }
    }

    /// Forgets a node; slots that no other node holds become free.
    fn release(&mut self, session: u32, id: u32) {
        let node = self.sessions.get_mut(&session).and_then(|entry| entry.remove(id));
        if let Some(tokens) = node.and_then(|node| node.tokens) {
            self.let_go(session, &tokens);
        }
    }

    /// Forgets a node's tokens, not its position.
    pub(crate) fn drop_tokens(&mut self, session: u32, id: u32) {
        let entry = self.sessions.get_mut(&session);
        if let Some(tokens) = entry.and_then(|entry| entry.take_tokens(id)) {
            self.let_go(session, &tokens);
        }
    }

    /// Another way to a node: where it has no tokens, they will be rebuilt from this parent's.
    pub(crate) fn reach(&mut self, session: u32, id: u32, parent: (u32, Move)) {
        if let Some(entry) = self.sessions.get_mut(&session) {
            entry.reach(id, parent);
        }
    }

    /// Gives back what a node of the session held.
    fn let_go(&mut self, session: u32, tokens: &Tokens) {
        let freed = self.slots.let_go(tokens);
        if let Some(entry) = self.sessions.get_mut(&session) {
            entry.used -= freed;
        }
    }

    /// From now on these nodes of the session are never evicted, and no others.
    pub(crate) fn protect(&mut self, session: u32, ids: HashSet<u32>) {
        if let Some(entry) = self.sessions.get_mut(&session) {
            entry.protected = ids;
        }
    }

    /// Forgets all nodes of a session but these.
    pub(crate) fn retain(&mut self, session: u32, ids: &HashSet<u32>) {
        let Some(entry) = self.sessions.get(&session) else { return };
        let gone: Vec<u32> = entry.names().filter(|id| !ids.contains(id)).collect();
        for id in gone {
            self.release(session, id);
        }
    }

    /// Forgets a session.
    pub(crate) fn forget(&mut self, session: u32) {
        self.retain(session, &HashSet::new());
        self.sessions.remove(&session);
    }

    /// Forgets everything and gives the memory back.
    pub(crate) fn clear(&mut self) {
        let empty = Self::new(self.limit, self.most_sessions);
        *self = Self { next: self.next, evicted: self.evicted, ..empty };
    }
}

#[cfg(test)]
mod tests;
