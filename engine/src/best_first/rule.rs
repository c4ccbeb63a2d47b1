//! What a selection rule decides; tree, batches, evaluator and clock are the same for all rules.
//!
//! [`Tesla`](crate::best_first::tesla::Tesla) is the rule this engine is about,
//! [`Puct`](crate::best_first::puct::Puct) its control, and
//! [`MateSearch`](crate::best_first::mate::MateSearch) turns either into a search for a mate.

use std::fmt::Debug;
use tesla_nn::evaluator::Evaluation;

use crate::best_first::error_model::Model;
use crate::best_first::explain::Ratings;
use crate::best_first::root;
use crate::best_first::spent::Spent;
use crate::chess::score::Score;
use crate::tree::arena::Tree;
use crate::tree::leaf::Leaf;
use crate::tree::leaf_queue::{BatchRequest, Selected, give_up};
use crate::tree::node::{ExpansionId, NodeId};
use crate::tree::sweep::Backup;

/// A selection rule: [`Backup::recompute`] is part of it.
pub trait Rule: Backup + Debug + Send {
    /// The name of its search mode in the option `Search`.
    fn name(&self) -> &'static str;

    /// The error model.
    fn model(&self) -> &Model;

    /// Selects the leaves of a batch; they count as in flight.
    fn select(&mut self, tree: &mut Tree, request: &BatchRequest<'_>) -> Selected;

    /// An answer that is about to go into the tree.
    fn receive(&mut self, _tree: &Tree, _leaf: &Leaf, _answer: &mut Evaluation) {}

    /// A leaf that will not be answered.
    fn give_up(&mut self, tree: &mut Tree, leaf: &Leaf) {
        give_up(tree, &self.model().branching, leaf);
    }

    /// A batch has been answered, or is lost.
    fn end_batch(&mut self) {}

    /// Nothing is in flight any more.
    fn clear(&mut self) {}

    /// What the transposition table is used for; by default only for the lines that are reported.
    fn table_use(&self) -> TableUse {
        TableUse { leaves: false, policy: f32::INFINITY, depth: f32::INFINITY }
    }

    /// The root move to play by what is known so far, among those that are not `taken`.
    fn choose(&self, tree: &Tree, taken: &[NodeId]) -> Option<NodeId>;

    /// A root move's score.
    fn score(&self, tree: &Tree, child: NodeId) -> Score {
        root::score(tree, child)
    }

    /// How it rates the children of an expansion; `desired` = the desired depth of its node, plies.
    fn ratings(&self, tree: &Tree, id: ExpansionId, desired: f32) -> Ratings;

    /// Upper bounds on the gain from this many further visits of each root move, score units;
    /// empty if the rule does not estimate it.
    fn gains(&self, _tree: &Tree, _visits: f32) -> Vec<f32> {
        Vec::new()
    }

    /// A search begins.
    fn begin(&mut self) {}

    /// Visits of this search to a root move, by its index, that cost no evaluation.
    fn free_visits(&self, _index: usize) -> u32 {
        0
    }

    /// The stop rule under a clock: whether further search is not worth its time.
    fn is_enough(&self, tree: &Tree, spent: &Spent) -> bool;

    /// Whether visits that cost no evaluation could go on forever, with this many others left.
    fn is_endless(&self, _tree: &Tree, _visits: u64) -> bool {
        false
    }
}

/// What a rule uses the transposition table for.
#[derive(Clone, Copy, Debug)]
pub struct TableUse {
    /// Leaves start from what the table knows of them.
    pub leaves: bool,
    /// Policy from which a new child is looked up.
    pub policy: f32,
    /// Depth from which a value is stored, plies.
    pub depth: f32,
}
