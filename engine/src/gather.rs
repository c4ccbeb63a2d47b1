//! Choosing the next batch: budget flows from the root to where one evaluation is worth most.
//!
//! At each node the child with the best value of computation is granted evaluations until another
//! child's is better, and passes them on in the same way. A leaf reached is queued and counts as
//! answered with its present value (*believer* update): work and depth grow along the path, which
//! sends the next grant elsewhere; the leaf itself is no candidate until its answer is in.

use shakmaty::{Chess, Position};

use crate::backup::{Backup as _, worth};
use crate::estimate::Model;
use crate::leaf::{Gathered, Harvest, Picked};
use crate::node::{
    BARE, BLOCKED, BranchId, EXCLUDED, KNOWN, NONE, Node, NodeId, PENDING, ROOT, Verdict,
};
use crate::params::Params;
use crate::tree::Tree;

/// What a visit did.
#[derive(Clone, Copy, Debug, Default)]
struct Grant {
    /// Evaluations queued.
    used: u32,
    /// Whether values below changed because something was proven.
    changed: bool,
}

/// The candidates at one node: the best two by value of computation.
#[derive(Clone, Copy, Debug)]
struct Pick {
    child: NodeId,
    rate: f32,
    next_rate: f32,
}

/// Best and second best worth among a node's children.
#[derive(Clone, Copy, Debug)]
pub struct Lead {
    /// The best child's place.
    pub best: usize,
    /// Its worth.
    pub first: f32,
    /// The worth of the next best; [`f32::NEG_INFINITY`] if there is none.
    pub second: f32,
}

impl Lead {
    /// The two best of these children that do not lose by force. A child that was not looked at is
    /// the best only where none was: then it is the one with the highest policy.
    pub fn of(children: &[Node], model: &Model) -> Self {
        let mut lead = Self { best: 0, first: f32::NEG_INFINITY, second: f32::NEG_INFINITY };
        let mut likeliest: Option<usize> = None;
        for (place, child) in children.iter().enumerate() {
            if child.has(EXCLUDED) || matches!(child.verdict, Verdict::Win(_)) {
                continue;
            }
            if child.has(BARE) && !child.is_proven() {
                if likeliest.is_none_or(|best| child.policy > children[best].policy) {
                    likeliest = Some(place);
                }
                continue;
            }
            let value = worth(child, model);
            if value > lead.first {
                lead = Self { best: place, first: value, second: lead.first };
            } else if value > lead.second {
                lead.second = value;
            }
        }
        if let Some(place) = likeliest {
            let value = worth(&children[place], model);
            if lead.first == f32::NEG_INFINITY {
                lead = Self { best: place, first: value, second: value };
            } else if lead.second == f32::NEG_INFINITY {
                lead.second = value.min(lead.first);
            }
        }
        lead
    }

    /// Distance of a child from what would make it decide differently: from the best, or for the
    /// best from the second.
    pub fn gap(&self, place: usize, value: f32) -> f32 {
        if place == self.best { self.first - self.second } else { self.first - value }
    }
}

/// Error scale of a child in a node of this desired depth.
pub fn error_scale(child: &Node, desired: f32, model: &Model) -> f32 {
    model.scale(desired - 1.0 - child.depth, child.spread, child.depth >= 0.0)
}

/// Evaluations that one more ply below this child costs.
pub fn cost(child: &Node, model: &Model) -> f32 {
    let work = child.work as f32;
    model.cost(if child.has(KNOWN) { work.max(model.work(child.depth)) } else { work })
}

/// Chance that a child is better than the best, from what its value alone says and from the `odds`
/// that the policy gives it against the best (Bayes' rule, the policy as prior).
fn posterior(overtake: f32, odds: f32) -> f32 {
    let ours = overtake * odds;
    ours / (ours + 1.0 - overtake).max(f32::MIN_POSITIVE)
}

/// Picks leaves for one batch. Made anew for each.
#[derive(Debug)]
pub struct Gatherer<'a> {
    tree: &'a mut Tree,
    model: &'a Model,
    params: &'a Params,
    harvest: Harvest<'a>,
    blocked: Vec<NodeId>,
}

impl<'a> Gatherer<'a> {
    /// A gatherer for this tree that puts what it picks into `harvest`.
    pub fn new(
        tree: &'a mut Tree,
        model: &'a Model,
        params: &'a Params,
        harvest: Harvest<'a>,
    ) -> Self {
        Self { tree, model, params, harvest, blocked: Vec::new() }
    }

    /// Picks up to `budget` leaves below the root.
    pub fn gather(mut self, root: &Chess, budget: u32) -> Gathered {
        let mut left = budget;
        while left > 0 && self.harvest.may_go_on() && !self.tree.node(ROOT).is_proven() {
            let desired = self.tree.node(ROOT).depth + self.params.horizon;
            let grant = self.visit(ROOT, NONE, root, left, desired);
            left -= grant.used;
            if grant.used == 0 && !grant.changed {
                break;
            }
        }
        for &node in &self.blocked {
            self.tree.node_mut(node).mark(BLOCKED, false);
        }
        self.harvest.finish(self.tree)
    }

    /// Spends up to `budget` evaluations at and below `node`.
    fn visit(
        &mut self,
        node: NodeId,
        parent: BranchId,
        position: &Chess,
        budget: u32,
        desired: f32,
    ) -> Grant {
        let id = self.tree.node(node).branch;
        if id == NONE {
            return self.pick(node, parent, position);
        }
        self.harvest.keys.push(self.tree.branch(id).key);
        let mut total = Grant::default();
        while total.used < budget && self.harvest.may_go_on() {
            let Some(pick) = self.best_pick(id, desired) else {
                self.block(node);
                break;
            };
            let grant = self.descend(id, pick, position, budget - total.used, desired);
            total.used += grant.used;
            let here = self.tree.node_mut(node);
            here.work += grant.used;
            here.depth = here.depth.max(self.model.depth(here.work));
            if grant.changed {
                total.changed = true;
                self.model.recompute(self.tree, id);
                if self.tree.node(node).is_proven() {
                    break;
                }
            }
        }
        self.harvest.keys.pop();
        total
    }

    /// Grants the picked child its share of `left` evaluations.
    fn descend(&mut self, id: BranchId, pick: Pick, at: &Chess, left: u32, desired: f32) -> Grant {
        let child = *self.tree.node(pick.child);
        let mut position = at.clone();
        position.play_unchecked(child.played);
        // The child's rate falls as 1/work: this is when the next child catches up.
        let lead = child.work as f32 * (pick.rate / pick.next_rate - 1.0);
        let most = (child.work as f32 * self.params.grant_share).max(1.0);
        let grant = (lead.clamp(1.0, most) as u32).max(1).min(left);
        let own = child.depth + self.params.horizon;
        let below = own + self.params.inherit * (desired - 1.0 - own);
        self.visit(pick.child, id, &position, grant, below)
    }

    /// The child whose next evaluation is worth most, if any child can take one.
    fn best_pick(&self, id: BranchId, desired: f32) -> Option<Pick> {
        let branch = self.tree.branch(id);
        let children = self.tree.children(branch);
        let lead = Lead::of(children, self.model);
        let is_root = branch.ply == 0;
        let verify = if is_root { self.params.verify_root } else { self.params.verify };
        let trust = self.params.policy_trust;
        let is_whole_prior = trust.total_cmp(&1.0).is_eq();
        let best_policy = children.get(lead.best).map_or(1.0, |best| best.policy);
        let mut pick: Option<Pick> = None;
        for (place, child) in children.iter().enumerate() {
            if child.has(PENDING | BLOCKED | EXCLUDED) || child.is_proven() {
                continue;
            }
            let gap = lead.gap(place, worth(child, self.model));
            let mut overtake = self.model.overtake(gap, error_scale(child, desired, self.model));
            if place == lead.best {
                overtake += verify * (0.5 - overtake);
            } else {
                let odds = child.policy / best_policy.max(f32::MIN_POSITIVE);
                // A power is the dearest part of the loop.
                let odds = if is_whole_prior { odds } else { odds.powf(trust) };
                overtake = posterior(overtake, odds);
            }
            let cost = cost(child, self.model);
            let rate = self.model.value_of_computation(overtake, child.policy, cost);
            match &mut pick {
                Some(best) if rate <= best.rate => best.next_rate = best.next_rate.max(rate),
                _ => {
                    let next_rate = pick.map_or(f32::MIN_POSITIVE, |best| best.rate);
                    pick = Some(Pick { child: branch.first + place as NodeId, rate, next_rate });
                }
            }
        }
        pick
    }

    /// Queues a leaf for evaluation, or settles it without one.
    fn pick(&mut self, node: NodeId, parent: BranchId, position: &Chess) -> Grant {
        match self.harvest.pick(self.tree, self.model, [node, parent], position) {
            Picked::Queued => Grant { used: 1, changed: false },
            Picked::Settled => Grant { used: 0, changed: true },
            Picked::Refused => {
                if !self.harvest.is_full {
                    self.block(node);
                }
                Grant::default()
            }
        }
    }

    fn block(&mut self, node: NodeId) {
        self.tree.node_mut(node).mark(BLOCKED, true);
        self.blocked.push(node);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Verdict;

    fn bare(value: f32, policy: f32) -> Node {
        let played =
            shakmaty::Move::EnPassant { from: shakmaty::Square::A1, to: shakmaty::Square::A1 };
        Node::bare(played, value, policy, 1.0)
    }

    #[test]
    fn policy_is_the_prior() {
        assert!((posterior(0.3, 1.0) - 0.3).abs() < 1e-6);
        assert!((posterior(0.5, 0.25) - 0.2).abs() < 1e-6);
        assert!(posterior(0.0, 9.0) == 0.0 && posterior(1.0, 0.0) <= 1.0);
    }

    /// What was not looked at leads only where nothing was, and then by its policy.
    #[test]
    fn a_guess_does_not_lead() {
        let model = Model::new(&Params::default());
        let mut children = [bare(0.1, 0.2), bare(0.4, 0.7), bare(0.9, 0.1)];
        assert_eq!(Lead::of(&children, &model).best, 1);
        children[2].mark(BARE, false); // worth 0.1, while the first promises 0.9
        let lead = Lead::of(&children, &model);
        assert_eq!(lead.best, 2);
        assert!((lead.first - 0.1).abs() < 1e-6 && lead.second <= lead.first);
        children[2].verdict = Verdict::Win(3);
        assert_eq!(Lead::of(&children, &model).best, 1);
    }
}
