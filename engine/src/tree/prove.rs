//! Mates in two among all moves of a position that is worth the look: some dozens of microseconds.
//! Leaves are looked through for checks only, before they are evaluated (`leaf_queue.rs`).

use shakmaty::{Chess, Position as _};

use crate::chess::mates::mate_by_any;
use crate::chess::score::Verdict;
use crate::tree::arena::Tree;
use crate::tree::node::{EXCLUDED, ExpansionId, PENDING, Slot};

/// Proves a move of this expanded position after which the opponent is mated in two plies, if one
/// is left without a search; returns whether there is one. What was searched would have been
/// proven as a leaf.
pub fn prove_mate(tree: &mut Tree, id: ExpansionId, position: &Chess) -> bool {
    let moves = position.legal_moves();
    let expansion = tree.expansion(id);
    let nodes = tree.children(expansion).iter().enumerate();
    let bare = nodes.filter(|(_, child)| {
        !child.is_expanded() && !child.is_proven() && !child.has(PENDING | EXCLUDED)
    });
    let mut found = mate_by_any(position, bare.map(|(index, child)| (index, child.played)));
    if found.is_none() {
        let edges = tree.edges(expansion).iter().zip(&moves).enumerate();
        let left = edges.filter(|(_, (edge, _))| !edge.is_taken());
        let edge = mate_by_any(position, left.map(|(index, (_, &played))| (index, played)));
        let create = |edge: usize| tree.create_child(id, edge, moves[edge]).map(usize::from);
        found = edge.and_then(create);
    }
    let Some(index) = found else { return false };
    let node = tree.at(Slot { parent: id, index: index as u8 });
    tree.node_mut(node).verdict = Verdict::Loss(2);
    true
}
