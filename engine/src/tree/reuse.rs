//! What survives: the tree from one move to the next, values when memory is short, and the tree's
//! soundness when the device fails.

use shakmaty::Position as _;

use crate::best_first::backup::remember;
use crate::best_first::model::Model;
use crate::chess::game::Game;
use crate::search::table::Table;
use crate::tree::arena::{Branch, Tree};
use crate::tree::batch::Leaf;
use crate::tree::node::{BARE, BranchId, KNOWN, Node, NodeId, PATH, PENDING, ROOT, Verdict};

/// Folding must free at least one part in this many.
const FOLD_DIVISOR: usize = 3;

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
    let below = |id: NodeId| tree.branch_of(id).into_iter().flat_map(Branch::children);
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

/// Takes back the believer update of a leaf that will not be answered.
pub fn give_up(tree: &mut Tree, model: &Model, leaf: &Leaf) {
    let take_back = |node: &mut Node| {
        node.work = node.work.saturating_sub(1);
        if !node.has(KNOWN) {
            node.depth = if node.has(BARE) { -1.0 } else { model.depth(node.work) };
        }
    };
    let node = tree.at(leaf.spot);
    tree.node_mut(node).mark(PENDING, false);
    take_back(tree.node_mut(node));
    let above: Vec<BranchId> = tree.upwards(leaf.spot.parent).collect();
    for id in above {
        let node = tree.node_of(tree.branch(id));
        take_back(tree.node_mut(node));
    }
}

/// Drops the subtrees with the least work, keeps their values in node and table, and reports
/// whether that made room. Nothing may be in flight.
pub fn fold(tree: &mut Tree, table: &mut Table) -> bool {
    let before = tree.branch_count();
    let work_of = |id: BranchId| tree.node(tree.node_of(tree.branch(id))).work;
    let mut works: Vec<u32> = (0..tree.branch_count() as BranchId).map(work_of).collect();
    if works.is_empty() {
        return false;
    }
    let middle = works.len() / 2;
    let (_, &mut threshold, _) = works.select_nth_unstable(middle);
    let line = best_branches(tree);
    let mut is_doomed = vec![false; tree.branch_count()];
    for (id, is_doomed) in (0..).zip(&mut is_doomed) {
        let node = tree.node(tree.node_of(tree.branch(id)));
        *is_doomed = (node.work <= threshold || node.is_proven()) && !line.contains(&id);
        if *is_doomed && node.work > 1 {
            remember(tree, table, id, false);
        }
    }
    tree.retain(ROOT, |id, _| !is_doomed[id as usize]);
    let gone = before - tree.branch_count();
    gone > 0 && gone >= before / FOLD_DIVISOR
}

/// Stores the principal variation in the table, tagged as such.
pub fn remember_line(tree: &Tree, table: &mut Table) {
    for id in best_branches(tree) {
        remember(tree, table, id, true);
    }
}

/// The branches along the best line, the root's first.
pub fn best_branches(tree: &Tree) -> Vec<BranchId> {
    let mut ids = Vec::new();
    let mut node = ROOT;
    while let Some(branch) = tree.branch_of(node) {
        ids.push(tree.node(node).branch);
        let Some(best) = branch.best_child() else { break };
        node = best;
    }
    ids
}

/// What rests on draws by repetition or the fifty-move rule is open again; they are judged when picked, and of a
/// folded subtree that rests on them only the evaluator's action value is left.
pub fn forget_path_draws(tree: &mut Tree) {
    tree.for_each_child(|node, edge| {
        if node.has(PATH) && !node.is_expanded() {
            if !node.has(BARE) {
                (node.value, node.depth) = (1.0 - edge.action_value(), 0.0);
            }
            node.verdict = Verdict::Open;
            node.mark(PATH, false);
        }
    });
    for id in 0..tree.branch_count() as BranchId {
        let branch = tree.branch_mut(id);
        if branch.known_rests_on_path {
            (branch.known_depth, branch.known_rests_on_path) = (-1.0, false);
        }
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::{Move, Square};

    use super::*;
    use crate::tree::edge::Edge;
    use crate::tree::node::Spot;

    /// A subtree that rests on a repetition is folded; at the next move nobody knows whether it still repeats.
    #[test]
    fn draws_by_the_path_do_not_outlive_it() {
        let mut tree = Tree::new(1 << 20);
        let edges = [Edge::new(0.6, 0.75), Edge::new(0.4, 0.25)];
        let top = tree.expand(Branch::new(1, Spot::ROOT, 0.5), edges.into_iter());
        let played = Move::EnPassant { from: Square::A1, to: Square::A1 };
        for (edge, verdict) in [(0, Verdict::Draw), (1, Verdict::Open)] {
            let spot = Spot { parent: top, place: tree.promote(top, edge, played).unwrap() };
            tree.expand(Branch::new(2, spot, 0.5), edges.into_iter());
            let id = tree.at(spot);
            let node = tree.node_mut(id);
            (node.verdict, node.value, node.depth, node.work) = (verdict, 0.5, 6.0, 40);
            node.mark(BARE, false);
            node.mark(PATH, true);
        }
        tree.branch_mut(top).known_depth = 9.0;
        tree.branch_mut(top).known_rests_on_path = true;
        tree.retain(ROOT, |id, _| id == top);
        forget_path_draws(&mut tree);
        let branch = *tree.branch_of(ROOT).unwrap();
        assert!(branch.known_depth < 0.0 && !branch.known_rests_on_path);
        for (child, value) in tree.children(&branch).iter().zip([0.25, 0.75]) {
            assert!(child.verdict == Verdict::Open && !child.has(PATH | BARE));
            assert!((child.value - value).abs() < 0.01 && child.depth.abs() < 1e-6, "{child:?}");
        }
    }
}
