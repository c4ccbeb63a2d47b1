//! Keys and values of evaluated tokens, the positions made of them, and who is least attended.
//!
//! A *slot* holds what later queries need of one token: its keys and values in every layer, and
//! its part of the move heads. On the CPU that is a block of floats; on another device it is a row
//! of the tensors there, and the slot here is only its number. A *node* is an evaluated position: the slots of the pieces that
//! stand in it and of the readouts of its chain. Slots are counted by the nodes that hold them, so
//! a node may go while its descendants keep what they see of it.
//!
//! Every *session* (one search) has nodes of its own and the same bound, so that what it is
//! answered depends on its own requests only. Where there may be only so many sessions, one too many
//! keeps nothing.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use shakmaty::{Chess, Color, Square};

/// Share of the bound that is freed at once when a session has reached it.
const EVICT_DIVISOR: usize = 8;
/// The weight at which the running averages are scaled down again.
const HEAVY: f64 = 1e100;
/// Memory of a node beside its slots, in bytes per slot: lists, hash entries, allocator.
const OVERHEAD: usize = 384;

/// A kept position.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// The position, to be encoded whole when it becomes an anchor.
    pub(crate) position: Chess,
    /// How often it occurred before on its path.
    pub(crate) repetitions: u8,
    /// Side to move at the chain's anchor, from which all its tokens are seen.
    pub(crate) side: Color,
    /// Slots of the pieces, by the squares on which they stand.
    pub(crate) pieces: Vec<(Square, u32)>,
    /// Slots of the readouts, the anchor's first; its length is the chain's.
    pub(crate) readouts: Vec<u32>,
    /// The slots that were filled for it, a child's two or three or an anchor's all.
    pub(crate) own: Vec<u32>,
    /// The node it was made from.
    pub(crate) parent: Option<u32>,
    /// Evaluations below it.
    pub(crate) work: u32,
}

impl Node {
    fn slots(&self) -> impl Iterator<Item = u32> {
        self.pieces.iter().map(|&(_, slot)| slot).chain(self.readouts.iter().copied())
    }
}

/// A slot as it was at some time: what is stored in it later is another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    slot: u32,
    version: u32,
}

#[derive(Debug, Default)]
struct Slot<T> {
    data: T,
    nodes: u32,
    /// How often it has become free.
    version: u32,
    /// Running average of the attention received, in the weight of its session's present.
    attention: f64,
}

/// One search's nodes.
#[derive(Debug)]
struct Session {
    nodes: HashMap<u32, Node>,
    /// Slots in use.
    used: usize,
    /// Never evicted: the principal variation.
    protected: HashSet<u32>,
    /// What attention counts now; it grows, so that what is older counts less.
    weight: f64,
}

/// Slots of `bytes` each that fit into a bound, the memory of their nodes included.
pub(crate) fn slots_within(bound: usize, bytes: usize) -> usize {
    bound / (bytes + OVERHEAD)
}

/// All sessions' slots and nodes; a slot holds a `T`.
#[derive(Debug)]
pub(crate) struct Cache<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
    /// What free slots held, for the threads that fill it again.
    spare: Mutex<Vec<T>>,
    sessions: HashMap<u32, Session>,
    next: u32,
    limit: usize,
    most_sessions: usize,
    evicted: u64,
}

impl<T: Default> Cache<T> {
    /// A cache of `limit` slots for each of at most so many sessions. Memory is taken as needed, and
    /// no slot's number reaches the limits' sum.
    pub(crate) fn new(limit: usize, most_sessions: usize) -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            spare: Mutex::default(),
            sessions: HashMap::new(),
            next: 0,
            limit,
            most_sessions,
            evicted: 0,
        }
    }

    /// Slots that a session may use.
    pub(crate) fn limit(&self) -> usize {
        self.limit
    }

    /// Slots in use, all sessions together.
    pub(crate) fn used(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Nodes evicted so far.
    pub(crate) fn evicted(&self) -> u64 {
        self.evicted
    }

    /// What a free slot held, if there is one; its content is not cleared.
    pub(crate) fn spare(&self) -> Option<T> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// The node, while it is kept.
    pub(crate) fn node(&self, session: u32, id: u32) -> Option<&Node> {
        self.sessions.get(&session)?.nodes.get(&id)
    }

    /// The content of a slot that a node holds.
    pub(crate) fn data(&self, slot: u32) -> &T {
        &self.slots[slot as usize].data
    }

    /// The slot as it is now.
    pub(crate) fn seen(&self, slot: u32) -> Seen {
        Seen { slot, version: self.slots[slot as usize].version }
    }

    /// Counts one more evaluation below a node and its ancestors.
    pub(crate) fn visit(&mut self, session: u32, id: u32) {
        let Some(session) = self.sessions.get_mut(&session) else { return };
        let mut next = Some(id);
        // A chain is short; the bound guards against names that were used twice.
        for _ in 0..64 {
            let Some(node) = next.and_then(|id| session.nodes.get_mut(&id)) else { return };
            node.work += 1;
            next = node.parent;
        }
    }

    /// Notes attention that a slot received.
    pub(crate) fn attend(&mut self, session: u32, slot: u32, attention: f32) {
        let weight = self.sessions.get(&session).map_or(1.0, |session| session.weight);
        self.slots[slot as usize].attention += f64::from(attention) * weight;
    }

    /// Attention that a slot has received.
    #[cfg(test)]
    pub(crate) fn attention(&self, slot: u32) -> f64 {
        self.slots[slot as usize].attention
    }

    /// Notes attention of a while ago, unless the slot has become free since.
    pub(crate) fn attend_late(&mut self, session: u32, seen: Seen, attention: f32) {
        if self.slots.get(seen.slot as usize).is_some_and(|slot| slot.version == seen.version) {
            self.attend(session, seen.slot, attention);
        }
    }

    /// One evaluation later: earlier attention counts for less. Its half-life is the number of
    /// evaluations that fill a quarter of the bound.
    pub(crate) fn tick(&mut self, session: u32) {
        let half_life = (self.limit as f64 / 8.0).max(64.0);
        let Some(session) = self.sessions.get_mut(&session) else { return };
        session.weight *= half_life.recip().exp2();
        if session.weight > HEAVY {
            for &slot in session.nodes.values().flat_map(|node| &node.own) {
                self.slots[slot as usize].attention /= session.weight;
            }
            session.weight = 1.0;
        }
    }

    /// A name for a node; it is an empty name until [`Self::keep`].
    pub(crate) fn name(&mut self) -> u32 {
        self.next = self.next.wrapping_add(1);
        self.next
    }

    /// Evicts the session's least attended nodes until `wanted` more slots are within the bound;
    /// never a protected one nor one of `needed`. The bound may stay out of reach.
    pub(crate) fn make_room(&mut self, session: u32, wanted: usize, needed: &HashSet<u32>) {
        let limit = self.limit;
        let Some(entry) = self.sessions.get(&session) else { return };
        if entry.used + wanted <= limit {
            return;
        }
        let target = limit.saturating_sub(wanted).min(limit - limit / EVICT_DIVISOR);
        let may_go = |id: &&u32| !entry.protected.contains(id) && !needed.contains(id);
        let mut ranked: Vec<(f64, u32)> = entry
            .nodes
            .keys()
            .filter(may_go)
            .map(|&id| {
                let own = &entry.nodes[&id].own;
                let attention = own.iter().map(|&slot| self.slots[slot as usize].attention);
                (attention.fold(0.0, f64::max), id)
            })
            .collect();
        // Names tell equals apart: the older goes first, on every run the same.
        ranked.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for (_, id) in ranked {
            if self.sessions.get(&session).is_none_or(|session| session.used <= target) {
                return;
            }
            self.release(session, id);
            self.evicted += 1;
        }
    }

    /// Stores filled blocks into slots that nobody holds yet; nothing where the session's bound
    /// leaves no room.
    pub(crate) fn store(&mut self, session: u32, blocks: Vec<T>) -> Option<Vec<u32>> {
        if self.sessions.len() < self.most_sessions {
            self.sessions.entry(session).or_insert_with(|| Session {
                nodes: HashMap::new(),
                used: 0,
                protected: HashSet::new(),
                weight: 1.0,
            });
        }
        let limit = self.limit;
        let fits = |entry: &&mut Session| entry.used + blocks.len() <= limit;
        let Some(entry) = self.sessions.get_mut(&session).filter(fits) else {
            self.recycle(blocks);
            return None;
        };
        entry.used += blocks.len();
        let slots = blocks.into_iter().map(|data| {
            let slot = Slot { data, nodes: 0, version: 0, attention: 0.0 };
            if let Some(index) = self.free.pop() {
                let old = &mut self.slots[index as usize];
                *old = Slot { version: old.version, ..slot };
                return index;
            }
            self.slots.push(slot);
            self.slots.len() as u32 - 1
        });
        Some(slots.collect())
    }

    fn recycle(&mut self, blocks: impl IntoIterator<Item = T>) {
        self.spare.get_mut().unwrap_or_else(PoisonError::into_inner).extend(blocks);
    }

    /// Keeps `node` under `id`, in place of what had the name.
    pub(crate) fn keep(&mut self, session: u32, id: u32, node: Node) {
        for slot in node.slots() {
            self.slots[slot as usize].nodes += 1;
        }
        let Some(entry) = self.sessions.get_mut(&session) else { return };
        if let Some(old) = entry.nodes.insert(id, node) {
            self.let_go(session, &old);
        }
    }

    /// Forgets a node; slots that no other node holds become free.
    fn release(&mut self, session: u32, id: u32) {
        let entry = self.sessions.get_mut(&session);
        if let Some(node) = entry.and_then(|entry| entry.nodes.remove(&id)) {
            self.let_go(session, &node);
        }
    }

    fn let_go(&mut self, session: u32, node: &Node) {
        let mut freed = 0;
        for index in node.slots() {
            let slot = &mut self.slots[index as usize];
            slot.nodes -= 1;
            if slot.nodes == 0 {
                slot.version = slot.version.wrapping_add(1);
                let data = std::mem::take(&mut slot.data);
                self.recycle([data]);
                self.free.push(index);
                freed += 1;
            }
        }
        if let Some(entry) = self.sessions.get_mut(&session) {
            entry.used -= freed;
        }
    }

    /// From now on these nodes of the session are never evicted, and no others.
    pub(crate) fn protect(&mut self, session: u32, ids: impl Iterator<Item = u32>) {
        if let Some(entry) = self.sessions.get_mut(&session) {
            entry.protected.clear();
            entry.protected.extend(ids);
        }
    }

    /// Forgets all nodes of a session but these.
    pub(crate) fn retain(&mut self, session: u32, ids: &HashSet<u32>) {
        let Some(entry) = self.sessions.get(&session) else { return };
        let gone: Vec<u32> = entry.nodes.keys().filter(|id| !ids.contains(id)).copied().collect();
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
mod tests {
    use super::*;

    fn node(own: &[u32], parent: Option<u32>, seen: &[u32]) -> Node {
        Node {
            position: Chess::default(),
            repetitions: 0,
            side: Color::White,
            pieces: own[1..].iter().chain(seen).map(|&slot| (Square::A1, slot)).collect(),
            readouts: own[..1].to_vec(),
            own: own.to_vec(),
            parent,
            work: 0,
        }
    }

    fn blocks(count: usize) -> Vec<[f32; 8]> {
        vec![[0.0; 8]; count]
    }

    #[test]
    fn slots_come_back_with_their_last_node() {
        let mut cache = Cache::new(slots_within(3 * (32 + OVERHEAD), 32), usize::MAX);
        assert_eq!(cache.limit(), 3);
        let slots = cache.store(0, blocks(2)).unwrap();
        let (a, b) = (cache.name(), cache.name());
        cache.keep(0, a, node(&slots, None, &[]));
        let more = cache.store(0, blocks(1)).unwrap();
        cache.keep(0, b, node(&more, Some(a), &slots[1..]));
        assert_eq!(cache.used(), 3);
        assert!(cache.store(0, blocks(1)).is_none());
        assert!(cache.store(1, blocks(3)).is_some(), "another session has room of its own");
        cache.visit(0, b);
        assert_eq!(cache.node(0, a).unwrap().work, 1);
        cache.retain(0, &HashSet::from([b]));
        assert!(cache.node(0, a).is_none() && cache.node(0, b).is_some());
        assert_eq!(cache.used(), 3 + 2);
        // Named anew: the old content goes.
        let last = cache.store(0, blocks(1)).unwrap();
        cache.keep(0, b, node(&last, None, &[]));
        assert_eq!(cache.used(), 3 + 1);
        cache.forget(0);
        assert_eq!(cache.used(), 3);
        cache.clear();
        assert_eq!((cache.used(), cache.limit()), (0, 3));
    }

    #[test]
    fn the_least_attended_goes_first() {
        let mut cache = Cache::new(16, usize::MAX);
        let ids: Vec<u32> = (0..8)
            .map(|_| {
                let slots = cache.store(7, blocks(2)).unwrap();
                let id = cache.name();
                cache.attend(7, slots[0], 1.0);
                cache.keep(7, id, node(&slots, None, &[]));
                id
            })
            .collect();
        // The second was attended to long ago, the third lately.
        let own = |cache: &Cache<[f32; 8]>, id| cache.node(7, id).unwrap().own[0];
        cache.attend(7, own(&cache, ids[1]), 5.0);
        for _ in 0..1000 {
            cache.tick(7);
        }
        for &id in &ids[2..] {
            cache.attend(7, own(&cache, id), 1.0);
        }
        cache.protect(7, [ids[0]].into_iter());
        cache.make_room(7, 3, &HashSet::from([ids[2]]));
        let left: Vec<bool> = ids.iter().map(|&id| cache.node(7, id).is_some()).collect();
        assert_eq!(left, [true, false, true, false, true, true, true, true]);
        assert_eq!((cache.used(), cache.evicted()), (12, 2));
        cache.make_room(7, 1000, &HashSet::new());
        assert_eq!(cache.used(), 2, "the protected one stays");
    }
}
