//! The rule this engine is about: each evaluation goes where its benefit per cost is highest.

use crate::best_first::model::Model;
use crate::best_first::params::Params;
use crate::best_first::ratings::{Ratings, ratings};
use crate::best_first::root;
use crate::best_first::rule::{Rule, Spent, TableUse};
use crate::best_first::select::Selector;
use crate::tree::arena::Tree;
use crate::tree::batch::{Batch, BatchRequest, Selected};
use crate::tree::node::{ExpansionId, NodeId};
use crate::tree::sweep::Backup;

/// The gain of further search is not estimated before one part in this many of the planned time.
const FIRST_LOOK: f32 = 20.0;

/// Benefit per cost, and minimax.
#[derive(Debug)]
pub struct BenefitCost {
    params: Params,
    model: Model,
}

impl BenefitCost {
    /// The rule with these tunables.
    pub fn new(params: &Params) -> Self {
        Self { params: params.clone(), model: Model::new(params) }
    }
}

impl Backup for BenefitCost {
    fn recompute(&self, tree: &mut Tree, id: ExpansionId) {
        self.model.recompute(tree, id);
    }
}

impl Rule for BenefitCost {
    fn name(&self) -> &'static str {
        "Tesla"
    }

    fn model(&self) -> &Model {
        &self.model
    }

    fn select(&mut self, tree: &mut Tree, request: &BatchRequest<'_>) -> Selected {
        let batch = Batch::new(tree, request);
        Selector::new(tree, &self.model, &self.params, batch).select(request.root, request.size)
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

    /// Stops at the planned time unless the best move is new or not the most searched one; stops
    /// earlier when no root move promises a gain any more.
    fn is_enough(&self, tree: &Tree, spent: &Spent) -> bool {
        let evaluations = spent.evaluations as f32;
        let own = spent.planned.saturating_sub(spent.pondered);
        if spent.elapsed >= spent.planned {
            let extension = (self.params.doubt_extension - 1.0).max(0.0);
            let is_settled = spent.best_for as f32 >= self.params.settled_share * evaluations
                && root::is_most_searched(tree, spent.best);
            return is_settled || spent.elapsed >= spent.planned + own.mul_f32(extension);
        }
        if spent.evaluations == 0 || spent.searched < own.div_f32(FIRST_LOOK) {
            return false;
        }
        let expected = spent.expected();
        self.gains(tree, expected).into_iter().fold(0.0, f32::max) < self.params.stop_gain
    }
}
