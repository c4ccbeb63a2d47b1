//! The order of eviction: the least attended positions first.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasherDefault;

use super::session::{NameHasher, Session};

/// A node's place in the order.
#[derive(Clone, Copy, Debug)]
struct Rank {
    id: u32,
    /// The most that one of its own slots or of its descendants' has received.
    attention: f64,
    /// Steps to the farthest descendant.
    height: u32,
}

impl Rank {
    /// Among equals, descendants go first, and then the older, on every run the same.
    fn order(&self, other: &Self) -> Ordering {
        let attention = self.attention.total_cmp(&other.attention);
        attention.then((self.height, self.id).cmp(&(other.height, other.id)))
    }
}

/// Share of the nodes that are brought into order at a time: few of them go at once.
const PART: usize = 8;

/// Nodes in the order in which they are to lose their tokens.
#[derive(Debug)]
pub(super) struct Order {
    ranks: Vec<Rank>,
    next: usize,
    /// How many are in order.
    ordered: usize,
}

impl Iterator for Order {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        if self.next == self.ordered {
            let part = self.ranks.len().div_ceil(PART);
            let rest = self.ranks.get_mut(self.ordered..)?;
            if part < rest.len() {
                rest.select_nth_unstable_by(part, Rank::order);
            }
            let part = part.min(rest.len());
            rest[..part].sort_unstable_by(Rank::order);
            self.ordered += part;
        }
        let rank = self.ranks.get(self.next)?;
        self.next += 1;
        Some(rank.id)
    }
}

/// The session's nodes that have tokens, but for the protected and the `needed`.
///
/// A node ranks by the attention of its descendants too. They hold its slots, so evicting it alone
/// frees nothing; and when they are queried, it soon will be.
pub(super) fn order(
    session: &Session,
    needed: &HashSet<u32>,
    attention: impl Fn(u32) -> f64,
) -> Order {
    let count = session.with_tokens().len();
    let (mut ranks, mut parents) = (Vec::with_capacity(count), Vec::with_capacity(count));
    let mut places = HashMap::<u32, u32, BuildHasherDefault<NameHasher>>::default();
    places.reserve(count);
    for (id, filled) in session.with_tokens() {
        let attention = filled.own().iter().map(|&slot| attention(slot)).fold(0.0, f64::max);
        // Descendants have later names than their parents, so a parent's place is known. A node
        // that was reached from a later one (`Session::reach`) ranks without it.
        parents.push(filled.parent.and_then(|parent| places.get(&parent).copied()));
        places.insert(id, ranks.len() as u32);
        ranks.push(Rank { id, attention, height: 0 });
    }
    for (index, parent) in parents.into_iter().enumerate().rev() {
        let (earlier, later) = ranks.split_at_mut(index);
        let child = &later[0];
        if let Some(parent) = parent {
            let parent = &mut earlier[parent as usize];
            parent.attention = parent.attention.max(child.attention);
            parent.height = parent.height.max(child.height + 1);
        }
    }
    ranks.retain(|Rank { id, .. }| !session.protected.contains(id) && !needed.contains(id));
    Order { ranks, next: 0, ordered: 0 }
}
