//! Keys and values of evaluated tokens, the positions made of them, and who is least attended.
//!
//! A *slot* holds what later queries need of one token: its keys and values in every layer, and
//! its part of the move heads. On the CPU that is a block of floats; on another device it is a row
//! of the tensors there, and the slot here is only its number. A *node* is an evaluated position with
//! its *tokens*: the slots of the pieces that stand in it and of the readouts of its chain. Slots are
//! counted by the nodes that hold them, so a node's tokens may go while its descendants keep what
//! they see of them. The position itself, which is small, stays for a while: when it is needed again
//! as a parent, its tokens are made again, and its children are cheap again.
//!
//! Every *session* (one search) has nodes of its own and the same bound, so that what it is
//! answered depends on its own requests only. Where there may be only so many sessions, one too many
//! keeps nothing.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use shakmaty::{Chess, Color, Move, Square};

/// Share of the bound that is freed at once when a session has reached it.
const EVICT_DIVISOR: usize = 8;
/// The weight at which the running averages are scaled down again.
const HEAVY: f64 = 1e100;
/// Memory beside a slot's content, bytes: its share of a node's lists, hash entries and allocations,
/// and of the positions whose tokens are gone.
const OVERHEAD: usize = 2000;
/// Positions that are known, in slots: most have no tokens where memory is short.
const POSITIONS: usize = 4;

/// A kept position.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// The position, to be encoded whole when it becomes an anchor.
    pub(crate) position: Chess,
    /// How often it occurred before on its path.
    pub(crate) repetitions: u8,
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
    fn slots(&self) -> impl Iterator<Item = u32> {
        self.pieces.iter().map(|&(_, slot)| slot).chain(self.readouts.iter().copied())
    }
}

impl Node {
    fn own(&self) -> Option<&Vec<u32>> {
        Some(&self.tokens.as_ref()?.own)
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

/// A node's place in the order of eviction.
#[derive(Clone, Copy, Debug)]
struct Rank {
    id: u32,
    /// The most that one of its own slots or of its descendants' has received.
    attention: f64,
    /// Steps to the farthest descendant.
    height: u32,
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

impl Session {
    /// Forgets the older half of the positions that have no tokens.
    fn forget_old_positions(&mut self) {
        let bare = self.nodes.iter().filter(|(_, node)| node.tokens.is_none());
        let mut ids: Vec<u32> = bare.map(|(&id, _)| id).collect();
        ids.sort_unstable();
        for id in &ids[..ids.len().div_ceil(2)] {
            self.nodes.remove(id);
        }
    }
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

    /// The node, while its position is known.
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
        // Deeper trees than this are rare; the bound also guards against names used twice.
        for _ in 0..64 {
            let Some(node) = next.and_then(|id| session.nodes.get_mut(&id)) else { return };
            node.work += 1;
            next = node.parent.map(|(id, _)| id);
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
            for &slot in session.nodes.values().filter_map(Node::own).flatten() {
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

    /// Slots that the session may still fill.
    pub(crate) fn room(&self, session: u32) -> usize {
        self.limit - self.sessions.get(&session).map_or(0, |session| session.used)
    }

    /// Drops the tokens of the session's least attended nodes until `wanted` more slots are within
    /// the bound; never those of a protected node nor of one of `needed`. The bound may stay out of
    /// reach.
    ///
    /// A node counts as attended to as its descendants are: they hold its slots, so that nothing is
    /// won without them, and where they are asked about, it soon will be.
    pub(crate) fn make_room(&mut self, session: u32, wanted: usize, needed: &HashSet<u32>) {
        let limit = self.limit;
        let Some(entry) = self.sessions.get(&session) else { return };
        if entry.used + wanted <= limit {
            return;
        }
        let target = limit.saturating_sub(wanted).min(limit - limit / EVICT_DIVISOR);
        let attention_of = |own: &Vec<u32>| {
            own.iter().map(|&slot| self.slots[slot as usize].attention).fold(0.0, f64::max)
        };
        let rank = |(&id, node): (&u32, &Node)| {
            Some(Rank { id, attention: attention_of(node.own()?), height: 0 })
        };
        let mut ranked: Vec<Rank> = entry.nodes.iter().filter_map(rank).collect();
        // Descendants have later names than their parents.
        ranked.sort_unstable_by_key(|rank| rank.id);
        for index in (0..ranked.len()).rev() {
            let (earlier, later) = ranked.split_at_mut(index);
            let child = &later[0];
            let Some((parent, _)) = entry.nodes[&child.id].parent else { continue };
            if let Ok(parent) = earlier.binary_search_by_key(&parent, |rank| rank.id) {
                let parent = &mut earlier[parent];
                parent.attention = parent.attention.max(child.attention);
                parent.height = parent.height.max(child.height + 1);
            }
        }
        ranked.retain(|Rank { id, .. }| !entry.protected.contains(id) && !needed.contains(id));
        // Among equals, descendants go first, and then the older, on every run the same.
        ranked.sort_unstable_by(|a, b| {
            let attention = a.attention.total_cmp(&b.attention);
            attention.then((a.height, a.id).cmp(&(b.height, b.id)))
        });
        for Rank { id, .. } in ranked {
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
        for slot in node.tokens.iter().flat_map(|tokens| tokens.slots()) {
            self.slots[slot as usize].nodes += 1;
        }
        let limit = self.limit;
        let Some(entry) = self.sessions.get_mut(&session) else { return };
        let old = entry.nodes.insert(id, node);
        if entry.nodes.len() > POSITIONS * limit {
            entry.forget_old_positions();
        }
        if let Some(tokens) = old.and_then(|old| old.tokens) {
            self.let_go(session, &tokens);
        }
    }

    /// Gives a known node new tokens in place of what it had.
    pub(crate) fn set_tokens(&mut self, session: u32, id: u32, tokens: Tokens) {
        for slot in tokens.slots() {
            self.slots[slot as usize].nodes += 1;
        }
        let entry = self.sessions.get_mut(&session);
        let place = entry.and_then(|entry| entry.nodes.get_mut(&id)).map(|node| &mut node.tokens);
        // A node that is gone gives the slots back at once.
        let old = match place {
            Some(place) => place.replace(Box::new(tokens)),
            None => Some(Box::new(tokens)),
        };
        if let Some(old) = old {
            self.let_go(session, &old);
        }
    }

    /// Forgets a node; slots that no other node holds become free.
    fn release(&mut self, session: u32, id: u32) {
        let entry = self.sessions.get_mut(&session);
        let node = entry.and_then(|entry| entry.nodes.remove(&id));
        if let Some(tokens) = node.and_then(|node| node.tokens) {
            self.let_go(session, &tokens);
        }
    }

    /// Forgets a node's tokens, not its position.
    fn drop_tokens(&mut self, session: u32, id: u32) {
        let entry = self.sessions.get_mut(&session);
        let node = entry.and_then(|entry| entry.nodes.get_mut(&id));
        if let Some(tokens) = node.and_then(|node| node.tokens.take()) {
            self.let_go(session, &tokens);
        }
    }

    fn let_go(&mut self, session: u32, tokens: &Tokens) {
        let mut freed = 0;
        for index in tokens.slots() {
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
    use shakmaty::Position as _;

    use super::*;

    fn node(own: &[u32], parent: Option<u32>, seen: &[u32]) -> Node {
        let tokens = Tokens {
            side: Color::White,
            pieces: own[1..].iter().chain(seen).map(|&slot| (Square::A1, slot)).collect(),
            readouts: own[..1].to_vec(),
            own: own.to_vec(),
        };
        let (position, tokens) = (Chess::default(), Some(Box::new(tokens)));
        let parent = parent.map(|id| (id, position.legal_moves()[0]));
        Node { position, repetitions: 0, parent, work: 0, tokens }
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
        let own = |cache: &Cache<[f32; 8]>, id| cache.node(7, id).unwrap().own().unwrap()[0];
        let has_tokens = |cache: &Cache<[f32; 8]>, id| cache.node(7, id).unwrap().own().is_some();
        cache.attend(7, own(&cache, ids[1]), 5.0);
        for _ in 0..1000 {
            cache.tick(7);
        }
        for &id in &ids[2..] {
            cache.attend(7, own(&cache, id), 1.0);
        }
        cache.protect(7, [ids[0]].into_iter());
        cache.make_room(7, 3, &HashSet::from([ids[2]]));
        let left: Vec<bool> = ids.iter().map(|&id| has_tokens(&cache, id)).collect();
        assert_eq!(left, [true, false, true, false, true, true, true, true]);
        assert_eq!((cache.used(), cache.evicted()), (12, 2));
        cache.make_room(7, 1000, &HashSet::new());
        assert_eq!(cache.used(), 2, "the protected one stays");
    }

    #[test]
    fn descendants_go_first_and_positions_last() {
        let mut cache = Cache::new(12, usize::MAX);
        let add = |cache: &mut Cache<[f32; 8]>, parent, attention| {
            let slots = cache.store(0, blocks(2)).unwrap();
            let id = cache.name();
            cache.attend(0, slots[0], attention);
            cache.keep(0, id, node(&slots, parent, &[]));
            id
        };
        let root = add(&mut cache, None, 0.0);
        let dull = add(&mut cache, Some(root), 1.0);
        let child = add(&mut cache, Some(root), 0.5);
        let grandchild = add(&mut cache, Some(child), 3.0);
        let tokens = |cache: &Cache<[f32; 8]>| {
            [root, dull, child, grandchild]
                .map(|id| cache.node(0, id).is_some_and(|node| node.tokens.is_some()))
        };
        cache.make_room(0, 6, &HashSet::new());
        assert_eq!(tokens(&cache), [true, false, true, true]);
        cache.make_room(0, 8, &HashSet::new());
        assert_eq!(tokens(&cache), [true, false, true, false]);
        assert_eq!(cache.room(0), 8);
        // Positions are forgotten when there are many more of them than slots, the oldest first.
        for _ in 0..POSITIONS * 12 {
            let id = cache.name();
            cache.keep(0, id, Node { tokens: None, ..node(&[0], None, &[]) });
        }
        assert!(cache.node(0, dull).is_none() && tokens(&cache)[2]);
    }
}
