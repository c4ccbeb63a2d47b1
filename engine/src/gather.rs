//! Choosing the next batch: budget flows from the root to where one evaluation is worth most.
//!
//! At each node the child with the best value of computation is granted evaluations until another
//! child's is better, and passes them on in the same way. A leaf reached is queued and counts as
//! answered with its present value (*believer* update): work and depth grow along the path, which
//! sends the next grant elsewhere; the leaf itself is no candidate until its answer is in.

use shakmaty::{Chess, Position};

use crate::backup::{Backup as _, promise, worth};
use crate::edge::Edge;
use crate::estimate::Model;
use crate::leaf::{Gathered, Harvest, Picked};
use crate::node::{
    BARE, BLOCKED, BranchId, EXCLUDED, KNOWN, NONE, Node, PENDING, ROOT, Spot, Verdict,
};
use crate::params::Params;
use crate::tree::Tree;

/// Children whose rates are computed together.
const LANES: usize = 16;

/// What a visit did.
#[derive(Clone, Copy, Debug, Default)]
struct Grant {
    /// Evaluations queued.
    used: u32,
    /// Whether values below changed because something was proven.
    changed: bool,
}

/// A child: its place among those that were looked at, or that of its move among the legal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Child {
    /// It has a node.
    Node(usize),
    /// It was never looked at.
    Edge(usize),
}

impl Child {
    /// The one so many places later.
    fn later(self, places: usize) -> Self {
        match self {
            Self::Node(place) => Self::Node(place + places),
            Self::Edge(place) => Self::Edge(place + places),
        }
    }
}

/// The candidates at one node: the best two by value of computation.
#[derive(Clone, Copy, Debug)]
struct Pick {
    child: Child,
    rate: f32,
    next_rate: f32,
}

impl Pick {
    /// Takes one more candidate into account.
    fn offer(pick: &mut Option<Self>, child: Child, rate: f32) {
        match pick {
            Some(best) if rate <= best.rate => best.next_rate = best.next_rate.max(rate),
            _ => {
                let next_rate = pick.map_or(f32::MIN_POSITIVE, |best| best.rate);
                *pick = Some(Self { child, rate, next_rate });
            }
        }
    }
}

/// Best and second best worth among a node's children.
#[derive(Clone, Copy, Debug)]
pub struct Lead {
    /// The best child.
    pub best: Child,
    /// Its policy.
    policy: f32,
    /// Its worth.
    pub first: f32,
    /// The worth of the next best; [`f32::NEG_INFINITY`] if there is none.
    pub second: f32,
}

impl Lead {
    /// The two best of these children that do not lose by force. A child that was not looked at is
    /// the best only where none was: then it is the one with the highest policy.
    pub fn of(children: &[Node], edges: &[Edge], model: &Model) -> Self {
        let nothing = f32::NEG_INFINITY;
        let mut lead = Self { best: Child::Node(0), policy: 1.0, first: nothing, second: nothing };
        // Of those not looked at: where it is, its policy and its worth.
        let mut likeliest: Option<(Child, f32, f32)> = None;
        for (place, child) in children.iter().enumerate() {
            if child.has(EXCLUDED) || matches!(child.verdict, Verdict::Win(_)) {
                continue;
            }
            let value = worth(child, model);
            if child.has(BARE) && !child.is_proven() {
                if likeliest.is_none_or(|(_, policy, _)| child.policy > policy) {
                    likeliest = Some((Child::Node(place), child.policy, value));
                }
            } else if value > lead.first {
                let (best, policy) = (Child::Node(place), child.policy);
                lead = Self { best, policy, first: value, second: lead.first };
            } else if value > lead.second {
                lead.second = value;
            }
        }
        if lead.second > nothing {
            return lead;
        }
        if let Some((place, edge)) = Edge::likeliest(edges)
            && likeliest.is_none_or(|(_, policy, _)| edge.policy() > policy)
        {
            let value = promise(edge.action_value(), model);
            likeliest = Some((Child::Edge(place), edge.policy(), value));
        }
        if let Some((best, policy, value)) = likeliest {
            if lead.first <= nothing {
                lead = Self { best, policy, first: value, second: value };
            } else {
                lead.second = value.min(lead.first);
            }
        }
        lead
    }

    /// Distance of a child from what would make it decide differently: from the best, or for the
    /// best from the second.
    pub fn gap(&self, child: Child, value: f32) -> f32 {
        if child == self.best { self.first - self.second } else { self.first - value }
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

/// Children side by side, for the processor's vectors.
#[derive(Clone, Copy, Debug)]
struct Row {
    gaps: [f32; LANES],
    scales: [f32; LANES],
    policies: [f32; LANES],
    costs: [f32; LANES],
}

impl Default for Row {
    fn default() -> Self {
        let (nothing, one) = ([0.0; LANES], [1.0; LANES]);
        Self { gaps: nothing, scales: one, policies: nothing, costs: one }
    }
}

impl Row {
    fn set(&mut self, lane: usize, [gap, scale, policy, cost]: [f32; 4]) {
        self.gaps[lane] = gap;
        self.scales[lane] = scale;
        self.policies[lane] = policy;
        self.costs[lane] = cost;
    }
}

/// Picks leaves for one batch. Made anew for each.
#[derive(Debug)]
pub struct Gatherer<'a> {
    tree: &'a mut Tree,
    model: &'a Model,
    params: &'a Params,
    harvest: Harvest<'a>,
    blocked: Vec<Spot>,
    is_whole_prior: bool,
}

impl<'a> Gatherer<'a> {
    /// A gatherer for this tree that puts what it picks into `harvest`.
    pub fn new(
        tree: &'a mut Tree,
        model: &'a Model,
        params: &'a Params,
        harvest: Harvest<'a>,
    ) -> Self {
        let is_whole_prior = params.policy_trust.total_cmp(&1.0).is_eq();
        Self { tree, model, params, harvest, blocked: Vec::new(), is_whole_prior }
    }

    /// Picks up to `budget` leaves below the root.
    pub fn gather(mut self, root: &Chess, budget: u32) -> Gathered {
        let mut left = budget;
        while left > 0 && self.harvest.may_go_on() && !self.tree.node(ROOT).is_proven() {
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
        self.harvest.finish(self.tree)
    }

    /// Spends up to `budget` evaluations at and below the node in this spot.
    fn visit(&mut self, spot: Spot, position: &Chess, budget: u32, desired: f32) -> Grant {
        // Nothing is promoted beside the node while it is visited: it stays where it is.
        let node = self.tree.at(spot);
        let id = self.tree.node(node).branch;
        if id == NONE {
            return self.pick(spot, position);
        }
        self.harvest.keys.push(self.tree.branch(id).key);
        let mut total = Grant::default();
        while total.used < budget && self.harvest.may_go_on() {
            let Some(pick) = self.best_pick(id, desired) else {
                self.block(spot);
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
        let place = match pick.child {
            Child::Node(place) => place as u8,
            Child::Edge(edge) => match self.harvest.promote(self.tree, id, edge, at) {
                Some(place) => place,
                None => return Grant::default(),
            },
        };
        let spot = Spot { parent: id, place };
        let child = *self.tree.node(self.tree.at(spot));
        let mut position = at.clone();
        position.play_unchecked(child.played);
        // The child's rate falls as 1/work: this is when the next child catches up.
        let lead = child.work as f32 * (pick.rate / pick.next_rate - 1.0);
        let most = (child.work as f32 * self.params.grant_share).max(1.0);
        let grant = (lead.clamp(1.0, most) as u32).max(1).min(left);
        let own = child.depth + self.params.horizon;
        let below = own + self.params.inherit * (desired - 1.0 - own);
        self.visit(spot, &position, grant, below)
    }

    /// The child whose next evaluation is worth most, if any child can take one.
    fn best_pick(&self, id: BranchId, desired: f32) -> Option<Pick> {
        let branch = self.tree.branch(id);
        let (children, edges) = (self.tree.children(branch), self.tree.edges(branch));
        let lead = Lead::of(children, edges, self.model);
        let verify = if branch.ply == 0 { self.params.verify_root } else { self.params.verify };
        let mut pick: Option<Pick> = None;
        let mut offer = |row: &Row, first: Child, is_open: &dyn Fn(usize) -> bool| {
            for (lane, rate) in self.rates(row, &lead).into_iter().enumerate() {
                if is_open(lane) {
                    let child = first.later(lane);
                    let is_best = child == lead.best;
                    let rate = if is_best { self.rate_of_best(row, lane, verify) } else { rate };
                    Pick::offer(&mut pick, child, rate);
                }
            }
        };
        for (number, chunk) in children.chunks(LANES).enumerate() {
            let (mut row, first) = (Row::default(), Child::Node(number * LANES));
            for (lane, child) in chunk.iter().enumerate() {
                let gap = lead.gap(first.later(lane), worth(child, self.model));
                let scale = error_scale(child, desired, self.model);
                row.set(lane, [gap, scale, child.policy, cost(child, self.model)]);
            }
            offer(&row, first, &|lane| {
                chunk.get(lane).is_some_and(|child| {
                    !child.has(PENDING | BLOCKED | EXCLUDED) && !child.is_proven()
                })
            });
        }
        if branch.has_edges_left() {
            // All of them lack the same depth, and cost one evaluation.
            let spread = self.tree.node(self.tree.node_of(branch)).spread;
            let scale = self.model.scale(desired, spread, false);
            for (number, chunk) in edges.chunks(LANES).enumerate() {
                let (mut row, first) = (Row::default(), Child::Edge(number * LANES));
                for (lane, edge) in chunk.iter().enumerate() {
                    let gap = lead.gap(first.later(lane), promise(edge.action_value(), self.model));
                    row.set(lane, [gap, scale, edge.policy(), 1.0]);
                }
                offer(&row, first, &|lane| chunk.get(lane).is_some_and(|edge| !edge.is_taken()));
            }
        }
        pick
    }

    /// Value of computation of the best child. How far it counts as undecided is `verify`.
    fn rate_of_best(&self, row: &Row, lane: usize, verify: f32) -> f32 {
        let overtake = self.model.overtake(row.gaps[lane], row.scales[lane]);
        let overtake = overtake + verify * (0.5 - overtake);
        self.model.value_of_computation(overtake, row.policies[lane], row.costs[lane])
    }

    /// Values of computation of children that are not the best.
    fn rates(&self, row: &Row, lead: &Lead) -> [f32; LANES] {
        let mut rates = [0.0; LANES];
        let (gaps, scales) = (&row.gaps, &row.scales);
        if self.model.is_default_family() && self.is_whole_prior {
            // The rule below for Student's t with two degrees of freedom, with one division, for
            // the processor's vectors.
            let floor = self.model.policy_floor();
            for lane in 0..LANES {
                let (gap, policy) = (gaps[lane], row.policies[lane]);
                let root = (gap * gap + 2.0 * scales[lane] * scales[lane]).sqrt();
                let ours = (root - gap) * policy;
                let all = ours + (root + gap) * lead.policy;
                rates[lane] = ((1.0 - floor) * ours + floor * policy * all)
                    / (all * row.costs[lane]).max(f32::MIN_POSITIVE);
            }
        } else {
            for lane in 0..LANES {
                let overtake = self.model.overtake(gaps[lane], scales[lane]);
                let overtake = posterior(overtake, self.odds(row.policies[lane], lead.policy));
                let (policy, cost) = (row.policies[lane], row.costs[lane]);
                rates[lane] = self.model.value_of_computation(overtake, policy, cost);
            }
        }
        rates
    }

    /// What the policy says of a child against the best one.
    fn odds(&self, policy: f32, best: f32) -> f32 {
        let odds = policy / best.max(f32::MIN_POSITIVE);
        // A power is the dearest part of the loop.
        if self.is_whole_prior { odds } else { odds.powf(self.params.policy_trust) }
    }

    /// Queues a leaf for evaluation, or settles it without one.
    fn pick(&mut self, spot: Spot, position: &Chess) -> Grant {
        match self.harvest.pick(self.tree, self.model, spot, position) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Verdict;

    fn bare(value: f32, policy: f32) -> Node {
        let played =
            shakmaty::Move::EnPassant { from: shakmaty::Square::A1, to: shakmaty::Square::A1 };
        Node::bare(played, value, policy, 1.0)
    }

    /// The vectors' form of the rule is the rule.
    #[test]
    fn rates_follow_the_rule() {
        let (mut tree, params) = (Tree::new(1 << 20), Params::default());
        let model = Model::new(&params);
        let harvest = Harvest::new(None, &[], (0, 0), 1);
        let gatherer = Gatherer::new(&mut tree, &model, &params, harvest);
        let lead = Lead { best: Child::Node(0), policy: 0.4, first: 0.6, second: 0.5 };
        let mut row = Row::default();
        for lane in 0..LANES {
            let step = lane as f32;
            row.set(lane, [0.03 * step - 0.1, 0.02 + 0.01 * step, 0.5 / (1.0 + step), 1.0 + step]);
        }
        for (lane, rate) in gatherer.rates(&row, &lead).into_iter().enumerate() {
            let overtake = model.overtake(row.gaps[lane], row.scales[lane]);
            let overtake = posterior(overtake, row.policies[lane] / 0.4);
            let rule = model.value_of_computation(overtake, row.policies[lane], row.costs[lane]);
            assert!((rate / rule - 1.0).abs() < 1e-4, "{lane}: {rate} {rule}");
        }
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
        assert_eq!(Lead::of(&children, &[], &model).best, Child::Node(1));
        children[2].mark(BARE, false); // worth 0.1, while the first promises 0.9
        let lead = Lead::of(&children, &[], &model);
        assert_eq!(lead.best, Child::Node(2));
        assert!((lead.first - 0.1).abs() < 1e-6 && lead.second <= lead.first);
        children[2].verdict = Verdict::Win(3);
        assert_eq!(Lead::of(&children, &[], &model).best, Child::Node(1));
    }
}
