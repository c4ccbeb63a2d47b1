//! What is kept, what goes first, and what comes back.

use shakmaty::{Chess, Color, Position as _, Square};

use super::*;
use crate::encode::PLAIN_RULES;
use crate::incremental::standing::Standing;

fn node(own: &[u32], parent: Option<u32>, seen: &[u32]) -> Node {
    let tokens = Tokens {
        side: Color::White,
        pieces: own[1..].iter().chain(seen).map(|&slot| (Square::A1, slot)).collect(),
        readouts: own[..1].to_vec(),
        own: own.to_vec(),
    };
    let (position, tokens) = (Chess::default(), Some(Box::new(tokens)));
    let parent = parent.map(|id| (id, position.legal_moves()[0]));
    Node { standing: Standing::new(&position, PLAIN_RULES), parent, work: 0, tokens }
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
    cache.protect(7, HashSet::from([ids[0]]));
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

/// A tree of positions whose slots have drawn attention; some have lost their tokens.
fn tree(nodes: u32, seed: u64) -> Cache<[f32; 8]> {
    let mut cache = Cache::new(3 * nodes as usize, usize::MAX);
    let mut state = seed;
    let mut draw = |below: u32| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 33) as u32) % below
    };
    for index in 0..nodes {
        let slots = cache.store(0, blocks(2 + index as usize % 2)).unwrap();
        // Coarse, so that some are equal.
        for &slot in &slots {
            cache.attend(0, slot, draw(9) as f32);
        }
        let id = cache.name();
        let parent = (index > 0).then(|| id - 1 - draw(index.min(40)));
        cache.keep(0, id, node(&slots, parent, &[]));
        if draw(4) == 0 {
            cache.drop_tokens(0, id - draw(index + 1));
        }
    }
    cache
}

#[test]
fn nodes_go_in_the_order_of_attention_below_them() {
    let cache = tree(400, 1);
    let session = &cache.sessions[&0];
    let own = |id: u32| session.node(id).and_then(Node::own);
    let with_tokens: Vec<u32> = (1..=400).filter(|&id| own(id).is_some()).collect();
    assert!((200..390).contains(&with_tokens.len()), "{}", with_tokens.len());
    assert!(with_tokens.iter().copied().eq(session.with_tokens().map(|(id, _)| id)));
    // What a node's descendants with tokens have, by walking up from each of them.
    let mut ranks: HashMap<u32, (f64, u32)> = HashMap::new();
    for &id in &with_tokens {
        let slots = own(id).into_iter().flatten();
        let attention = slots.map(|&slot| cache.attention(slot)).fold(0.0, f64::max);
        let (mut at, mut height) = (Some(id), 0);
        while let Some(id) = at.filter(|&id| own(id).is_some()) {
            let rank = ranks.entry(id).or_default();
            *rank = (rank.0.max(attention), rank.1.max(height));
            height += 1;
            at = session.node(id).and_then(|node| Some(node.parent.as_ref()?.0));
        }
    }
    let needed = HashSet::from([with_tokens[3], with_tokens[70]]);
    let mut expected: Vec<u32> =
        with_tokens.into_iter().filter(|id| !needed.contains(id)).collect();
    expected.sort_by(|a, b| {
        let [(a_attention, a_height), (b_attention, b_height)] = [ranks[a], ranks[b]];
        a_attention.total_cmp(&b_attention).then((a_height, a).cmp(&(b_height, b)))
    });
    let order = eviction::order(session, &needed, |slot| cache.attention(slot));
    assert_eq!(order.collect::<Vec<_>>(), expected);
}
