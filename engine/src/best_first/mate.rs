//! `go mate N`: either rule looks for a mate in N moves and for nothing else.
//!
//! In a tree with that [goal](crate::tree::node::Goal::Mate) a leaf without a mate where the last
//! move is to be made is settled, and one reply that escapes refutes the move before it. Both are
//! written down as draws that rest on the path. So the root is proven when there is a mate in N or
//! fewer, or when there is none; a longer one is neither found nor taken from the table. Other
//! searches cannot use the tree, so it is discarded before them.

use tesla_nn::evaluator::Evaluation;

use crate::best_first::error_model::Model;
use crate::best_first::explain::Ratings;
use crate::best_first::root;
use crate::best_first::rule::Rule;
use crate::best_first::spent::Spent;
use crate::chess::score::{Score, Verdict};
use crate::search::Task;
use crate::tree::arena::Tree;
use crate::tree::leaf::Leaf;
use crate::tree::leaf_queue::{BatchRequest, Selected};
use crate::tree::node::{EXCLUDED, ExpansionId, NodeId, ROOT};
use crate::tree::sweep::Backup;

/// Another rule, searching for a mate.
#[derive(Debug)]
pub struct MateSearch(pub Box<dyn Rule>);

impl Backup for MateSearch {
    fn recompute(&self, tree: &mut Tree, id: ExpansionId) {
        self.0.recompute(tree, id);
    }
}

impl Rule for MateSearch {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn model(&self) -> &Model {
        self.0.model()
    }

    fn select(&mut self, tree: &mut Tree, request: &BatchRequest<'_>) -> Selected {
        self.0.select(tree, request)
    }

    fn receive(&mut self, tree: &Tree, leaf: &Leaf, answer: &mut Evaluation) {
        self.0.receive(tree, leaf, answer);
    }

    fn give_up(&mut self, tree: &mut Tree, leaf: &Leaf) {
        self.0.give_up(tree, leaf);
    }

    fn end_batch(&mut self) {
        self.0.end_batch();
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn ratings(&self, tree: &Tree, id: ExpansionId, desired: f32) -> Ratings {
        self.0.ratings(tree, id, desired)
    }

    fn begin(&mut self) {
        self.0.begin();
    }

    fn free_visits(&self, index: usize) -> u32 {
        self.0.free_visits(index)
    }

    /// The shortest mate that was found, else what the policy likes best among those that do not
    /// lose, else the longest resistance.
    fn choose(&self, tree: &Tree, taken: &[NodeId]) -> Option<NodeId> {
        let expansion = tree.expansion_of(ROOT)?;
        let mut best: Option<((u8, f32), NodeId)> = None;
        for (id, child) in expansion.children().zip(tree.children(expansion)) {
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

    /// A mate, else what the evaluator says of the root: the tree has no other values.
    fn score(&self, tree: &Tree, child: NodeId) -> Score {
        match (tree.node(child).verdict, tree.expansion_of(ROOT)) {
            (Verdict::Open | Verdict::Draw, Some(root)) => Score::Estimate(root.static_value),
            _ => root::score(tree, child),
        }
    }

    /// Which of the other moves is best is not asked.
    fn is_enough(&self, _: &Tree, spent: &Spent) -> bool {
        spent.elapsed >= spent.planned
    }
}

/// The sentence that there is no mate in this many moves, or none that begins with the moves of the
/// task, if that is proven.
pub fn refuted(tree: &Tree, task: &Task<'_>) -> Option<String> {
    let moves = task.limits.mate?;
    let root = tree.node(ROOT).verdict;
    let is_refuted = matches!(root, Verdict::Draw | Verdict::Loss(_));
    let which = if task.limits.search_moves.is_empty() { "" } else { " with these moves" };
    is_refuted.then(|| format!("there is no mate in {moves}{which}"))
}
