//! Tesla's rule, which this engine is about: each evaluation goes where its benefit per cost is
//! highest ([`super::benefit_cost_ratio`]).

use crate::best_first::error_model::Model;
use crate::best_first::explain::{Ratings, ratings};
use crate::best_first::fill_batch::BatchFiller;
use crate::best_first::params::Params;
use crate::best_first::root;
use crate::best_first::rule::{Rule, TableUse};
use crate::best_first::stop::Spent;
use crate::tree::arena::Tree;
use crate::tree::leaf_queue::{BatchRequest, LeafQueue, Selected};
use crate::tree::node::{ExpansionId, NodeId, ROOT};
use crate::tree::sweep::Backup;

/// The gain of further search is not estimated before one part in this many of the planned time.
const FIRST_LOOK: f32 = 20.0;

/// Selection by benefit per cost, backup by minimax.
#[derive(Debug)]
pub struct Tesla {
    params: Params,
    model: Model,
}

impl Tesla {
    /// The rule with these tunables.
    pub fn new(params: &Params) -> Self {
        Self { params: params.clone(), model: Model::new(params) }
    }
}

impl Backup for Tesla {
    fn recompute(&self, tree: &mut Tree, id: ExpansionId) {
        self.model.recompute(tree, id);
    }
}

impl Rule for Tesla {
    fn name(&self) -> &'static str {
        "Tesla"
    }

    fn model(&self) -> &Model {
        &self.model
    }

    fn select(&mut self, tree: &mut Tree, request: &BatchRequest<'_>) -> Selected {
        let queue = LeafQueue::new(tree, request);
        BatchFiller::new(tree, &self.model, &self.params, queue).select(request.root)
    }

    fn table_use(&self) -> TableUse {
        let Params { table_policy, table_depth, .. } = self.params;
        TableUse { leaves: true, policy: table_policy, depth: table_depth }
    }

    fn choose(&self, tree: &Tree, taken: &[NodeId]) -> Option<NodeId> {
        root::choose(tree, &self.model, &self.params, taken)
    }

    fn ratings(&self, tree: &Tree, id: ExpansionId, desired: f32) -> Ratings {
        ratings(tree, (id, desired), &self.model, &self.params)
    }

    fn gains(&self, tree: &Tree, evaluations: f32) -> Vec<f32> {
        root::gains(tree, &self.model, &self.params, evaluations)
    }

    /// The seed's satisfaction: stops when the benefit of further search is below the price of its
    /// time. At the planned time a typical position is satisfied; one with a single good move is
    /// sooner, a close choice later.
    fn is_enough(&self, tree: &Tree, spent: &Spent) -> bool {
        let used = spent.elapsed.saturating_sub(spent.pondered);
        let own = spent.planned.saturating_sub(spent.pondered);
        if spent.evaluations == 0 || used < own.div_f32(FIRST_LOOK) {
            return false;
        }
        let size = tree.node(ROOT).visits as f32;
        let gain = self.gains(tree, size).into_iter().fold(0.0, f32::max);
        used >= own.mul_f32(self.params.doubt_extension)
            || gain < spent.price(self.params.stop_gain, size)
    }
}
