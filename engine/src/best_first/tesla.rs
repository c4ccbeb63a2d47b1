//! Tesla's rule, which this engine is about: each evaluation goes where its benefit per cost is
//! highest ([`super::benefit_cost_ratio`]).

use crate::best_first::error_model::Model;
use crate::best_first::explain::{Ratings, ratings};
use crate::best_first::fill_batch::BatchFiller;
use crate::best_first::params::Params;
use crate::best_first::root;
use crate::best_first::rule::{Rule, TableUse};
use crate::best_first::satisfaction;
use crate::best_first::spent::Spent;
use crate::tree::arena::Tree;
use crate::tree::leaf_queue::{BatchRequest, LeafQueue, Selected};
use crate::tree::node::{ExpansionId, NodeId};
use crate::tree::sweep::Backup;

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

    fn gains(&self, tree: &Tree, visits: f32) -> Vec<f32> {
        satisfaction::gains(tree, &self.model, &self.params, visits)
    }

    fn is_enough(&self, tree: &Tree, spent: &Spent) -> bool {
        satisfaction::is_satisfied(tree, &self.model, &self.params, spent)
    }
}
