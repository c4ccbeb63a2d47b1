//! What survives of the tree from one search to the next.

use shakmaty::Position as _;

use crate::chess::game::{Game, key_after};
use crate::chess::score::Verdict;
use crate::chess::verdicts::repetitions;
use crate::tree::arena::Tree;
use crate::tree::expansion::Expansion;
use crate::tree::node::{ExpansionId, NodeId, PATH, ROOT, UNEVALUATED};

/// Where in the tree of `old` the game `new` has arrived: at the root, a child or a grandchild.
pub fn find_game(tree: &Tree, old: &Game, new: &Game) -> Option<NodeId> {
    let is_same = |game: &Game| {
        let (old, new_position) = (game.position(), new.position());
        // Equal positions may differ in their clocks, which decide what a mate is worth.
        old == new_position
            && old.halfmoves() == new_position.halfmoves()
            && game.earlier_keys() == new.earlier_keys()
    };
    if is_same(old) {
        return Some(ROOT);
    }
    let below = |id: NodeId| tree.expansion_of(id).into_iter().flat_map(Expansion::children);
    for child in below(ROOT) {
        let mut game = old.clone();
        game.play(tree.node(child).played);
        if is_same(&game) {
            return Some(child);
        }
        for grandchild in below(child) {
            let mut game = game.clone();
            game.play(tree.node(grandchild).played);
            if is_same(&game) {
                return Some(grandchild);
            }
        }
    }
    None
}

/// Reopens what rests on draws by repetition or the fifty-move rule. These draws are decided again
/// when selected; a folded subtree that rests on them keeps only its action value.
pub fn forget_path_draws(tree: &mut Tree) {
    tree.for_each_child(|node, edge| {
        if node.has(PATH) && !node.is_expanded() {
            if !node.has(UNEVALUATED) {
                (node.value, node.depth) = (1.0 - edge.action_value(), 0.0);
            }
            node.verdict = Verdict::Open;
            node.mark(PATH, false);
        }
    });
    for id in 0..tree.expansion_count() as ExpansionId {
        let expansion = tree.expansion_mut(id);
        if expansion.known_rests_on_path {
            (expansion.known_depth, expansion.known_rests_on_path) = (-1.0, false);
        }
    }
}

/// Settles the root's moves that are drawn by repetition or the fifty-move rule as the game is now,
/// as those of a new root are.
pub fn settle_root_draws(tree: &mut Tree, game: &Game) {
    let Some(expansion) = tree.expansion_of(ROOT) else { return };
    let (root, key, halfmoves) = (game.position(), expansion.key, game.position().halfmoves() + 1);
    let mut keys = game.earlier_keys().to_vec();
    let path_start = keys.len();
    keys.push(key);
    for id in expansion.children() {
        let node = tree.node_mut(id);
        // What was expanded repeats nothing: of a game that grows, fewer moves are draws.
        if node.is_expanded() || node.is_proven() || node.played.is_zeroing() {
            continue;
        }
        let after = key_after(root, key, node.played);
        if halfmoves >= 100 || repetitions(&keys, path_start, after, halfmoves).is_draw() {
            node.verdict = Verdict::Draw;
            node.mark(PATH, true);
        }
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::{Move, Square};

    use super::*;
    use crate::tree::edge::Edge;
    use crate::tree::node::Slot;

    /// A subtree that rests on a repetition is folded; at the next move nobody knows whether it
    /// still repeats.
    #[test]
    fn draws_by_the_path_do_not_outlive_it() {
        let mut tree = Tree::new(1 << 20);
        let edges = [Edge::new(0.6, 0.75), Edge::new(0.4, 0.25)];
        let top = tree.expand(Expansion::new(1, Slot::ROOT, 0.5), edges.into_iter());
        let played = Move::EnPassant { from: Square::A1, to: Square::A1 };
        for (edge, verdict) in [(0, Verdict::Draw), (1, Verdict::Open)] {
            let slot = Slot { parent: top, index: tree.create_child(top, edge, played).unwrap() };
            tree.expand(Expansion::new(2, slot, 0.5), edges.into_iter());
            let id = tree.at(slot);
            let node = tree.node_mut(id);
            (node.verdict, node.value, node.depth, node.visits) = (verdict, 0.5, 6.0, 40);
            node.mark(UNEVALUATED, false);
            node.mark(PATH, true);
        }
        tree.expansion_mut(top).known_depth = 9.0;
        tree.expansion_mut(top).known_rests_on_path = true;
        tree.retain(ROOT, |id, _| id == top);
        forget_path_draws(&mut tree);
        let expansion = *tree.expansion_of(ROOT).unwrap();
        assert!(expansion.known_depth < 0.0 && !expansion.known_rests_on_path);
        for (child, value) in tree.children(&expansion).iter().zip([0.25, 0.75]) {
            assert!(child.verdict == Verdict::Open && !child.has(PATH | UNEVALUATED));
            assert!((child.value - value).abs() < 0.01 && child.depth.abs() < 1e-6, "{child:?}");
        }
    }
}
