//! Mates that need no evaluation: a mate in two among all moves of a position that is worth the
//! look, some dozens of microseconds, and at the root the mate that the table knows. Leaves are
//! looked through for checks only, before they are evaluated (`leaf_queue.rs`).

use shakmaty::{Chess, Move, Position as _};

use crate::chess::game::{Game, key_after, position_key};
use crate::chess::mates::mate_by_any;
use crate::chess::score::Verdict;
use crate::search::table::Table;
use crate::tree::arena::Tree;
use crate::tree::node::{EXCLUDED, ExpansionId, Goal, PENDING, ROOT, Slot};
use crate::tree::remember::proof;

/// Proves a move of this expanded position, one that is allowed, after which the opponent is mated
/// in two plies, if one is left without a search; returns whether there is one. What was searched
/// would have been proven as a leaf.
pub fn prove_mate(
    tree: &mut Tree,
    id: ExpansionId,
    position: &Chess,
    is_allowed: impl Fn(Move) -> bool,
) -> bool {
    let moves = position.legal_moves();
    let expansion = tree.expansion(id);
    let nodes = tree.children(expansion).iter().enumerate();
    let bare = nodes.filter(|(_, child)| {
        !child.is_expanded()
            && !child.is_proven()
            && !child.has(PENDING | EXCLUDED)
            && is_allowed(child.played)
    });
    let mut found = mate_by_any(position, bare.map(|(index, child)| (index, child.played)));
    if found.is_none() {
        let edges = tree.edges(expansion).iter().zip(&moves).enumerate();
        let left = edges.filter(|(_, (edge, played))| !edge.is_taken() && is_allowed(**played));
        let edge = mate_by_any(position, left.map(|(index, (_, &played))| (index, played)));
        let create = |edge: usize| tree.create_child(id, edge, moves[edge]).map(usize::from);
        found = edge.and_then(create);
    }
    let Some(index) = found else { return false };
    let node = tree.at(Slot { parent: id, index: index as u8 });
    tree.node_mut(node).verdict = Verdict::Loss(2);
    true
}

/// Proves the root's move that mates by what the table knows of the root, where that is sooner than
/// by what the tree knows. Otherwise a longer mate by another move, which the table knows too,
/// could be played again and again. What was searched below the root shows its own line.
pub fn recall_mate(tree: &mut Tree, table: &Table, game: &Game) {
    let Some(expansion) = tree.expansion_of(ROOT).filter(|_| tree.goal() == Goal::Result) else {
        return;
    };
    let Some(entry) = table.probe(expansion.key) else { return };
    let Some(Verdict::Win(plies @ 1..)) = proof(&entry) else { return };
    let root = game.position();
    let Some(best) = entry.best else { return };
    let mut children = expansion.children();
    let Some(id) = children.find(|&child| best.matches(tree.node(child).played)) else { return };
    let child = tree.node(id);
    let is_sooner = match child.verdict {
        Verdict::Open => !child.is_expanded() && !child.has(PENDING | EXCLUDED),
        Verdict::Loss(known) => known >= plies,
        _ => false,
    };
    // The table knows no clocks and no games.
    let is_late = root.halfmoves() + u32::from(plies) >= 100;
    if is_sooner && !is_late && !may_repeat(game, child.played) {
        tree.node_mut(id).verdict = Verdict::Loss(plies - 1);
    }
}

/// Whether a reply to this move leads to a position that occurred twice.
pub fn may_repeat(game: &Game, played: Move) -> bool {
    if played.is_zeroing() {
        return false;
    }
    let position = game.position();
    let key = key_after(position, position_key(position), played);
    let mut after = position.clone();
    after.play_unchecked(played);
    let is_draw = |&reply: &Move| game.earlier(key_after(&after, key, reply)) > 1;
    after.legal_moves().iter().any(is_draw)
}
