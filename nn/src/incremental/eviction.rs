//! The order of eviction: the least attended positions first.

use std::collections::HashSet;

use super::node::Node;
use super::session::Session;

/// A node's place in the order.
#[derive(Clone, Copy, Debug)]
struct Rank {
    id: u32,
    /// The most that one of its own slots or of its descendants' has received.
    attention: f64,
    /// Steps to the farthest descendant.
    height: u32,
}

/// The session's nodes in the order in which they are to lose their tokens: all that have any, but
/// for the protected and the `needed`.
///
/// A node ranks by the attention of its descendants too. They hold its slots, so evicting it alone
/// frees nothing; and when they are queried, it soon will be.
pub(super) fn order(
    session: &Session,
    needed: &HashSet<u32>,
    attention: impl Fn(u32) -> f64,
) -> Vec<u32> {
    let nodes = &session.nodes;
    let rank = |(&id, node): (&u32, &Node)| {
        let attention = node.own()?.iter().map(|&slot| attention(slot)).fold(0.0, f64::max);
        Some(Rank { id, attention, height: 0 })
    };
    let mut ranked: Vec<Rank> = nodes.iter().filter_map(rank).collect();
    // Descendants have later names than their parents.
    ranked.sort_unstable_by_key(|rank| rank.id);
    for index in (0..ranked.len()).rev() {
        let (earlier, later) = ranked.split_at_mut(index);
        let child = &later[0];
        let Some((parent, _)) = nodes[&child.id].parent else { continue };
        if let Ok(parent) = earlier.binary_search_by_key(&parent, |rank| rank.id) {
            let parent = &mut earlier[parent];
            parent.attention = parent.attention.max(child.attention);
            parent.height = parent.height.max(child.height + 1);
        }
    }
    ranked.retain(|Rank { id, .. }| !session.protected.contains(id) && !needed.contains(id));
    // Among equals, descendants go first, and then the older, on every run the same.
    ranked.sort_unstable_by(|a, b| {
        let attention = a.attention.total_cmp(&b.attention);
        attention.then((a.height, a.id).cmp(&(b.height, b.id)))
    });
    ranked.into_iter().map(|rank| rank.id).collect()
}
