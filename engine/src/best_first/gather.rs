//! Choosing the next batch: budget flows from the root to where one evaluation is worth most.
//!
//! At each node the child with the best value of computation is granted evaluations until another
//! child's is better, and passes them on in the same way. A leaf reached is queued and counts as
//! answered with its present value (*believer* update): work and depth grow along the path, which
//! sends the next grant elsewhere; the leaf itself is no candidate until its answer is in.

use shakmaty::{Chess, Position};

use crate::best_first::model::Model;
use crate::best_first::params::Params;
use crate::best_first::rates::{Child, Pick, Rater};
use crate::chess::game::{key_after, position_key};
use crate::tree::arena::Tree;
use crate::tree::batch::{Batch, Picked, Selected};
use crate::tree::node::{BLOCKED, BranchId, NONE, ROOT, Spot};
use crate::tree::sweep::Backup as _;

/// What a visit did.
#[derive(Clone, Copy, Debug, Default)]
struct Grant {
    /// Evaluations queued.
    used: u32,
    /// Whether values below changed because something was proven.
    changed: bool,
}

/// Picks leaves for one batch. Made anew for each.
#[derive(Debug)]
pub struct Gatherer<'a> {
    tree: &'a mut Tree,
    model: &'a Model,
    params: &'a Params,
    batch: Batch<'a>,
    rater: Rater<'a>,
    blocked: Vec<Spot>,
}

impl<'a> Gatherer<'a> {
    /// A gatherer for this tree that puts what it picks into `batch`.
    pub fn new(tree: &'a mut Tree, model: &'a Model, params: &'a Params, batch: Batch<'a>) -> Self {
        let rater = Rater::new(model, params);
        Self { tree, model, params, batch, rater, blocked: Vec::new() }
    }

    /// Picks up to `budget` leaves below the root.
    pub fn gather(mut self, root: &Chess, budget: u32) -> Selected {
        let mut left = budget;
        while left > 0 && self.batch.may_go_on() && !self.tree.node(ROOT).is_proven() {
            let desired = self.tree.node(ROOT).depth + self.params.horizon;
            let grant = self.visit(Spot::ROOT, root, left, desired);
            left -= grant.used;
            if grant.used == 0 && !grant.changed {
                break;
            }
        }
        for &spot in &self.blocked {
            let node = self.tree.at(spot);
            self.tree.node_mut(node).mark(BLOCKED, false);
        }
        self.batch.finish(self.tree)
    }

    /// Spends up to `budget` evaluations at and below the node in this spot.
    fn visit(&mut self, spot: Spot, position: &Chess, budget: u32, desired: f32) -> Grant {
        // Nothing is promoted beside the node while it is visited: it stays where it is.
        let node = self.tree.at(spot);
        let id = self.tree.node(node).branch;
        if id == NONE {
            return self.pick(spot, position, position_key(position));
        }
        self.batch.keys.push(self.tree.branch(id).key);
        let mut total = Grant::default();
        while total.used < budget && self.batch.may_go_on() {
            let Some(pick) = self.rater.best_pick(self.tree, id, desired) else {
                self.block(spot);
                break;
            };
            let grant = self.descend(id, pick, position, budget - total.used, desired);
            total.used += grant.used;
            let here = self.tree.node_mut(node);
            here.work += grant.used;
            here.depth = here.depth.max(self.model.effort.depth(here.work));
            if grant.changed {
                total.changed = true;
                self.model.recompute(self.tree, id);
                if self.tree.node(node).is_proven() {
                    break;
                }
            }
        }
        self.batch.keys.pop();
        total
    }

    /// Grants the picked child its share of `left` evaluations.
    fn descend(&mut self, id: BranchId, pick: Pick, at: &Chess, left: u32, desired: f32) -> Grant {
        let place = match pick.child {
            Child::Node(place) => place as u8,
            Child::Edge(edge) => match self.batch.promote(self.tree, id, edge, at) {
                Some(place) => place,
                None => return Grant::default(),
            },
        };
        let spot = Spot { parent: id, place };
        let child = *self.tree.node(self.tree.at(spot));
        let mut position = at.clone();
        position.play_unchecked(child.played);
        if !child.is_expanded() {
            let key = key_after(at, self.tree.branch(id).key, child.played);
            return self.pick(spot, &position, key);
        }
        // The child's rate falls as 1/work: this is when the next child catches up.
        let lead = child.work as f32 * (pick.rate / pick.next_rate - 1.0);
        let most = (child.work as f32 * self.params.grant_share).max(1.0);
        let least = (child.work as f32 * self.params.grant_least).max(1.0);
        let grant = (lead.clamp(least.min(most), most) as u32).max(1).min(left);
        let own = child.depth + self.params.horizon;
        let below = own + self.params.inherit * (desired - 1.0 - own);
        self.visit(spot, &position, grant, below)
    }

    /// Queues a leaf for evaluation, or settles it without one.
    fn pick(&mut self, spot: Spot, position: &Chess, key: u64) -> Grant {
        match self.batch.pick(self.tree, &self.model.effort, spot, (position, key)) {
            Picked::Queued => Grant { used: 1, changed: false },
            Picked::Settled => Grant { used: 0, changed: true },
            Picked::Refused => {
                self.block(spot);
                Grant::default()
            }
        }
    }

    fn block(&mut self, spot: Spot) {
        let node = self.tree.at(spot);
        self.tree.node_mut(node).mark(BLOCKED, true);
        self.blocked.push(spot);
    }
}
