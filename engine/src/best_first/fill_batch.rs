//! Fills a batch by Tesla's rule: a budget of evaluations flows from the root to the leaves with
//! the best benefit-cost ratios.
//!
//! At each node the child with the best ratio is granted evaluations until another child's ratio is
//! better, and passes them on in the same way. A leaf that is reached is queued and counts as
//! evaluated with its present value (a *virtual visit*, where other searches use virtual losses):
//! visits and depth grow along the path, which sends the next grant elsewhere; the leaf itself is
//! not selected again until its answer arrives.

use shakmaty::{Chess, Position};

use crate::best_first::benefit_cost_ratio::{Pick, Rater};
use crate::best_first::error_model::Model;
use crate::best_first::lead::Child;
use crate::best_first::params::Params;
use crate::chess::game::{key_after, position_key};
use crate::tree::arena::Tree;
use crate::tree::leaf_queue::{LeafQueue, Picked, Selected};
use crate::tree::node::{BLOCKED, ExpansionId, NONE, ROOT, Slot};
use crate::tree::prove::prove_mate;
use crate::tree::sweep::Backup as _;

/// What a visit did.
#[derive(Clone, Copy, Debug, Default)]
struct Grant {
    /// Evaluations queued.
    used: u32,
    /// Whether values below changed because something was proven.
    changed: bool,
}

/// What may be spent at and below a node.
#[derive(Clone, Copy, Debug)]
struct VisitBudget {
    evaluations: u32,
    /// The desired depth of the node, plies.
    depth: f32,
}

/// Fills one batch; each batch has a new filler.
#[derive(Debug)]
pub struct BatchFiller<'a> {
    tree: &'a mut Tree,
    model: &'a Model,
    params: &'a Params,
    queue: LeafQueue<'a>,
    rater: Rater<'a>,
    /// Evaluations from which a position's moves are looked through for a mate; 0 = never.
    mate_visits: u32,
    blocked: Vec<Slot>,
}

impl<'a> BatchFiller<'a> {
    /// One that adds leaves of this tree to `queue`.
    pub fn new(
        tree: &'a mut Tree,
        model: &'a Model,
        params: &'a Params,
        queue: LeafQueue<'a>,
    ) -> Self {
        let rater = Rater::new(model, params);
        let mate_visits = if queue.proves_mates() { params.mate_visits as u32 } else { 0 };
        Self { tree, model, params, queue, rater, mate_visits, blocked: Vec::new() }
    }

    /// Picks leaves below the root until the batch is full.
    pub fn select(mut self, root: &Chess) -> Selected {
        while self.queue.left() > 0 && self.queue.may_go_on() && !self.tree.node(ROOT).is_proven() {
            let depth = self.tree.node(ROOT).depth + self.params.horizon;
            let budget = VisitBudget { evaluations: self.queue.left(), depth };
            let grant = self.visit(Slot::ROOT, root, budget);
            if grant.used == 0 && !grant.changed {
                break;
            }
        }
        for &slot in &self.blocked {
            let node = self.tree.at(slot);
            self.tree.node_mut(node).mark(BLOCKED, false);
        }
        self.queue.finish(self.tree)
    }

    /// Spends the budget at and below the node in this slot.
    fn visit(&mut self, slot: Slot, position: &Chess, budget: VisitBudget) -> Grant {
        // Nothing is created beside the node while it is visited: it stays where it is.
        let node = self.tree.at(slot);
        let id = self.tree.node(node).expansion;
        if id == NONE {
            return self.pick(slot, position, position_key(position));
        }
        self.queue.keys.push(self.tree.expansion(id).key);
        let mut total = Grant::default();
        while total.used < budget.evaluations && self.queue.may_go_on() {
            let Some(pick) = self.rater.best_pick(self.tree, id, budget.depth) else {
                self.block(slot);
                break;
            };
            let left = VisitBudget { evaluations: budget.evaluations - total.used, ..budget };
            let grant = self.descend(id, pick, position, left);
            total.used += grant.used;
            let here = self.tree.node_mut(node);
            let before = here.visits;
            here.visits += grant.used;
            here.depth = here.depth.max(self.model.branching.depth(here.visits));
            let is_due = before < self.mate_visits && here.visits >= self.mate_visits;
            if grant.changed | (is_due && prove_mate(self.tree, id, position, |_| true)) {
                total.changed = true;
                self.model.recompute(self.tree, id);
                if self.tree.node(node).is_proven() {
                    self.queue.proven.push(id);
                    break;
                }
            }
        }
        self.queue.keys.pop();
        total
    }

    /// Grants the picked child its share of what is left.
    fn descend(&mut self, id: ExpansionId, pick: Pick, at: &Chess, left: VisitBudget) -> Grant {
        let index = match pick.child {
            Child::Node(index) => index as u8,
            Child::Edge(edge) => match self.queue.create_child(self.tree, id, edge, at) {
                Some(index) => index,
                None => return Grant::default(),
            },
        };
        let slot = Slot { parent: id, index };
        let child = *self.tree.node(self.tree.at(slot));
        let mut position = at.clone();
        position.play_unchecked(child.played);
        if !child.is_expanded() {
            let key = key_after(at, self.tree.expansion(id).key, child.played);
            return self.pick(slot, &position, key);
        }
        // The child's rate falls as 1/visits: this is when the next child catches up.
        let lead = child.visits as f32 * (pick.rate / pick.next_rate - 1.0);
        let most = (child.visits as f32 * self.params.grant_share).max(1.0);
        let least = (child.visits as f32 * self.params.grant_least).max(1.0);
        let evaluations = (lead.clamp(least.min(most), most) as u32).max(1).min(left.evaluations);
        let own = child.depth + self.params.horizon;
        let depth = own + self.params.inherit * (left.depth - 1.0 - own);
        self.visit(slot, &position, VisitBudget { evaluations, depth })
    }

    /// Queues a leaf for evaluation, or settles it without one.
    fn pick(&mut self, slot: Slot, position: &Chess, key: u64) -> Grant {
        match self.queue.pick(self.tree, &self.model.branching, slot, (position, key)) {
            Picked::Queued => Grant { used: 1, changed: false },
            Picked::Settled => Grant { used: 0, changed: true },
            Picked::Refused => {
                self.block(slot);
                Grant::default()
            }
        }
    }

    fn block(&mut self, slot: Slot) {
        let node = self.tree.at(slot);
        self.tree.node_mut(node).mark(BLOCKED, true);
        self.blocked.push(slot);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use shakmaty::CastlingMode;
    use shakmaty::fen::Fen;
    use tesla_nn::classical::ClassicalEvaluator;

    use crate::best_first::BestFirst;
    use crate::chess::game::Game;
    use crate::chess::score::Verdict;
    use crate::search::clock::Budget;
    use crate::search::{Limits, Search as _, StopToken, Task};
    use crate::tree::node::{KNOWN, PATH, ROOT};
    use crate::tree::remember::recall;

    /// What is proven while a batch is filled has no answer that would lead to it.
    #[test]
    fn what_the_selection_proves_is_in_the_table() {
        let fen: Fen = "5b2/2k1Pp2/8/3Q4/8/8/3PPK2/2B3NR b - - 2 31".parse().unwrap();
        let game = Game::new(fen.into_position(CastlingMode::Standard).unwrap());
        let limits = Limits { nodes: Some(400), ..Limits::default() };
        let (budget, stop) = (Budget::new(&limits, Duration::ZERO), StopToken::default());
        let mut search = BestFirst::new(Box::new(ClassicalEvaluator::with_batch_size(4)));
        let task = Task { game: &game, limits: &limits, budget: &budget, stop: &stop };
        search.search(&task, &mut |_| {});
        let (mut proven, mut stored) = (0, 0);
        for id in 0..search.tree.expansion_count() as u32 {
            let expansion = search.tree.expansion(id);
            let node = search.tree.node(search.tree.node_of(expansion));
            if !node.is_proven() || node.has(PATH | KNOWN) {
                continue;
            }
            proven += 1;
            let (_, verdict, _) =
                search.table.probe(expansion.key).and_then(|e| recall(&e)).unwrap();
            stored += u32::from(verdict != Verdict::Open);
        }
        assert!(!search.tree.node(ROOT).is_proven() && proven >= 5, "{proven}");
        assert_eq!(stored, proven);
    }
}
