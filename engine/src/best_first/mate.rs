//! What `go mate N` answers in the searches that keep a tree.
//!
//! Such a search looks for a mate in N moves and for nothing else: a leaf without one where the last move is to be made
//! is settled ([`Harvest::with_mate`](crate::tree::batch::Harvest::with_mate)), and one reply that escapes refutes the move
//! before it ([`Model::seeks_mate`](crate::best_first::model::Model::seeks_mate)). Both are written down as draws that rest on
//! the path. So the root is proven when there is a mate in N or fewer, or when there is none; a longer one is neither
//! found nor taken from the table. The tree is of no use to other searches, and goes when they come.

use crate::best_first::root;
use crate::chess::score::Score;
use crate::chess::score::Verdict;
use crate::search::Task;
use crate::tree::arena::Tree;
use crate::tree::node::{EXCLUDED, NodeId, ROOT};

/// The root move to play: the shortest mate that was found, else what the policy likes best among those that do not
/// lose, else the longest resistance. `None` before the first evaluation, or where all are `taken`.
pub fn choose(tree: &Tree, taken: &[NodeId]) -> Option<NodeId> {
    let branch = tree.branch_of(ROOT)?;
    let mut best: Option<((u8, f32), NodeId)> = None;
    for (id, child) in branch.children().zip(tree.children(branch)) {
        let rank = match child.verdict {
            Verdict::Loss(plies) => (2, -f32::from(plies)),
            Verdict::Open | Verdict::Draw => (1, child.policy),
            Verdict::Win(plies) => (0, f32::from(plies)),
        };
        let is_allowed = !child.has(EXCLUDED) && !taken.contains(&id);
        if is_allowed && best.is_none_or(|(highest, _)| rank > highest) {
            best = Some((rank, id));
        }
    }
    best.map(|(_, id)| id)
}

/// A root move's score: a mate, else what the evaluator says of the root, because the tree tells nothing else.
pub fn score(tree: &Tree, child: NodeId) -> Score {
    match (tree.node(child).verdict, tree.branch_of(ROOT)) {
        (Verdict::Open | Verdict::Draw, Some(root)) => Score::Estimate(root.static_value),
        _ => root::score(tree, child),
    }
}

/// That there is no mate in so many moves, or none that begins as the task wants it, where that is proven.
pub fn refuted(tree: &Tree, task: &Task<'_>, moves: u32) -> Option<String> {
    let root = tree.node(ROOT).verdict;
    let is_refuted = matches!(root, Verdict::Draw | Verdict::Loss(_));
    let which = if task.limits.search_moves.is_empty() { "" } else { " with these moves" };
    is_refuted.then(|| format!("there is no mate in {moves}{which}"))
}
