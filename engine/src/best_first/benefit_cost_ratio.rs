//! The benefit-cost ratio of the next evaluation below each child of a node, by which the children
//! rank: the probability that the child overtakes the best ([`super::overtake`]) over the cost of
//! one more ply ([`super::cost`]), for many children at once by SIMD.

use pulp::{Arch, NullaryFnOnce};

use crate::best_first::backup::{child_value, prior_value};
use crate::best_first::cost::cost_here;
use crate::best_first::error_model::Model;
use crate::best_first::lead::{Child, Lead};
use crate::best_first::overtake::posterior;
use crate::best_first::params::Params;
use crate::tree::arena::Tree;
use crate::tree::node::{BLOCKED, EXCLUDED, ExpansionId, Node, PENDING};

impl Model {
    /// Benefit of one more ply below a child: the probability that the choice changes, of which the
    /// policy has a share.
    pub fn benefit(&self, overtake: f32, policy: f32) -> f32 {
        let floor = self.policy_floor();
        (1.0 - floor) * overtake + floor * policy
    }
}

/// Children whose rates are computed together.
const LANES: usize = 16;

/// The candidates at one node: the best two by benefit-cost ratio.
#[derive(Clone, Copy, Debug)]
pub struct Pick {
    /// The best.
    pub child: Child,
    /// Its benefit-cost ratio.
    pub rate: f32,
    /// The next best one's.
    pub next_rate: f32,
}

impl Pick {
    /// Takes a row of candidates into account, of which the first is `first`.
    fn offer_row(pick: &mut Option<Self>, rates: &[f32; LANES], first: Child) {
        // Most rows hold nothing better: that is one comparison for all of them.
        let known = pick.map_or(f32::NEG_INFINITY, |best| best.next_rate);
        if highest(rates) > known {
            for (lane, &rate) in rates.iter().enumerate() {
                if rate > f32::NEG_INFINITY {
                    Self::offer(pick, first.later(lane), rate);
                }
            }
        }
    }

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

/// The highest of these, by halves, for the processor's vectors.
fn highest(rates: &[f32; LANES]) -> f32 {
    let mut rates = *rates;
    let mut half = LANES / 2;
    while half > 0 {
        let (low, high) = rates.split_at_mut(half);
        for (low, &high) in low.iter_mut().zip(&*high) {
            *low = if high > *low { high } else { *low };
        }
        half /= 2;
    }
    rates[0]
}

/// Error scale of a child in a node of this desired depth and of 100 evaluations: for another,
/// times [`Model::decay`].
pub fn error_scale(child: &Node, desired: f32, model: &Model) -> f32 {
    model.scale(desired - 1.0 - child.depth, child.spread, child.depth >= 0.0)
}

/// Children side by side, for the processor's vectors.
#[derive(Clone, Copy, Debug)]
struct Row {
    gaps: [f32; LANES],
    scales: [f32; LANES],
    policies: [f32; LANES],
    costs: [f32; LANES],
    /// Whether the child can take an evaluation.
    is_open: [bool; LANES],
}

impl Default for Row {
    fn default() -> Self {
        let (nothing, one) = ([0.0; LANES], [1.0; LANES]);
        Self { gaps: nothing, scales: one, policies: nothing, costs: one, is_open: [false; LANES] }
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

/// The default rule, Student's t with two degrees of freedom and a policy of full weight, with one
/// root and one division, for the processor's vectors: [`Model::overtake`] and [`posterior`] in
/// one.
struct Student<'a> {
    row: &'a Row,
    /// Policy of the best child.
    policy: f32,
    floor: f32,
}

impl NullaryFnOnce for Student<'_> {
    type Output = [f32; LANES];

    // Only what is inlined is compiled for the widest vectors.
    #[expect(clippy::inline_always, reason = "asked for by pulp")]
    #[inline(always)]
    fn call(self) -> [f32; LANES] {
        let Self { row, policy: best, floor } = self;
        std::array::from_fn(|lane| {
            let (gap, scale, policy) = (row.gaps[lane], row.scales[lane], row.policies[lane]);
            let root = (gap * gap + 2.0 * scale * scale).sqrt();
            let ours = (root - gap) * policy;
            let all = ours + (root + gap) * best;
            ((1.0 - floor) * ours + floor * policy * all)
                / (all * row.costs[lane]).max(f32::MIN_POSITIVE)
        })
    }
}

/// Rates the children of nodes.
#[derive(Clone, Copy, Debug)]
pub struct Rater<'a> {
    model: &'a Model,
    params: &'a Params,
    is_whole_prior: bool,
    vectors: Arch,
}

impl<'a> Rater<'a> {
    /// By this model and these tunables.
    pub fn new(model: &'a Model, params: &'a Params) -> Self {
        let is_whole_prior = params.policy_trust.total_cmp(&1.0).is_eq();
        Self { model, params, is_whole_prior, vectors: Arch::new() }
    }

    /// The child with the best benefit-cost ratio, if any child can take an evaluation.
    /// `desired` = the node's desired depth, plies.
    pub fn best_pick(&self, tree: &Tree, id: ExpansionId, desired: f32) -> Option<Pick> {
        let expansion = tree.expansion(id);
        let node = tree.node(tree.node_of(expansion));
        let (children, edges) = (tree.children(expansion), tree.edges(expansion));
        let lead = Lead::of(children, edges, self.model);
        let is_root = expansion.ply == 0;
        let verify = if is_root { self.params.verify_root } else { self.params.verify };
        let decay = self.model.decay(node.visits);
        let mut pick: Option<Pick> = None;
        for (number, chunk) in children.chunks(LANES).enumerate() {
            let (mut row, first) = (Row::default(), Child::Node(number * LANES));
            for (lane, child) in chunk.iter().enumerate() {
                let gap = lead.first - child_value(child, self.model);
                let scale = decay * error_scale(child, desired, self.model);
                row.set(lane, [gap, scale, child.policy, cost_here(child, is_root, self.model)]);
                let is_closed = child.has(PENDING | BLOCKED | EXCLUDED) || child.is_proven();
                row.is_open[lane] = !is_closed;
            }
            Pick::offer_row(&mut pick, &self.rates(&row, &lead, first, verify), first);
        }
        if expansion.has_edges_left() {
            // All of them lack the same depth, and cost one evaluation.
            let scale = decay * self.model.scale(desired, node.spread, false);
            for (number, chunk) in edges.chunks(LANES).enumerate() {
                let first = Child::Edge(number * LANES);
                let mut row = Row { scales: [scale; LANES], ..Row::default() };
                for (lane, edge) in chunk.iter().enumerate() {
                    row.gaps[lane] = lead.first - prior_value(edge.action_value(), self.model);
                    row.policies[lane] = edge.policy();
                    row.is_open[lane] = !edge.is_taken();
                }
                Pick::offer_row(&mut pick, &self.rates(&row, &lead, first, verify), first);
            }
        }
        pick
    }

    /// Benefit-cost ratio of the best child, weighted by `verify`.
    fn rate_of_best(&self, row: &Row, lane: usize, lead: &Lead, verify: f32) -> f32 {
        let overtake = self.model.overtake(lead.first - lead.second, row.scales[lane]);
        let overtake = overtake + verify * (0.5 - overtake);
        self.model.benefit(overtake, row.policies[lane]) / row.costs[lane]
    }

    /// Benefit-cost ratios of a row of children, of which the first is `first`; negative infinity
    /// for those that take no evaluation.
    fn rates(&self, row: &Row, lead: &Lead, first: Child, verify: f32) -> [f32; LANES] {
        let mut rates = self.rates_of_others(row, lead);
        match (first, lead.best) {
            (Child::Node(first), Child::Node(best)) | (Child::Edge(first), Child::Edge(best))
                if (first..first + LANES).contains(&best) =>
            {
                rates[best - first] = self.rate_of_best(row, best - first, lead, verify);
            }
            _ => {}
        }
        for (rate, &is_open) in rates.iter_mut().zip(&row.is_open) {
            *rate = if is_open { *rate } else { f32::NEG_INFINITY };
        }
        rates
    }

    /// Benefit-cost ratios of children that are not the best.
    fn rates_of_others(&self, row: &Row, lead: &Lead) -> [f32; LANES] {
        if self.model.is_default_family() && self.is_whole_prior {
            let floor = self.model.policy_floor();
            return self.vectors.dispatch(Student { row, policy: lead.policy, floor });
        }
        std::array::from_fn(|lane| {
            let overtake = self.model.overtake(row.gaps[lane], row.scales[lane]);
            let overtake = posterior(overtake, self.odds(row.policies[lane], lead.policy));
            let (policy, cost) = (row.policies[lane], row.costs[lane]);
            self.model.benefit(overtake, policy) / cost
        })
    }

    /// Odds of a child against the best one by the policy.
    pub(super) fn odds(&self, policy: f32, best: f32) -> f32 {
        let odds = policy / best.max(f32::MIN_POSITIVE);
        // A power is the dearest part of the loop.
        if self.is_whole_prior { odds } else { odds.powf(self.params.policy_trust) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::score::Verdict;
    use crate::tree::node::UNEVALUATED;

    fn bare(value: f32, policy: f32) -> Node {
        let played =
            shakmaty::Move::EnPassant { from: shakmaty::Square::A1, to: shakmaty::Square::A1 };
        Node::unevaluated(played, value, policy, 1.0)
    }

    /// The SIMD form of the rule gives the same ratios as the scalar one.
    #[test]
    fn rates_follow_the_rule() {
        let params = Params::default();
        let model = Model::new(&params);
        let rater = Rater::new(&model, &params);
        let lead = Lead { best: Child::Node(0), policy: 0.4, first: 0.6, second: 0.5 };
        let mut row = Row::default();
        for lane in 0..LANES {
            let step = lane as f32;
            row.set(lane, [0.03 * step - 0.1, 0.02 + 0.01 * step, 0.5 / (1.0 + step), 1.0 + step]);
        }
        for (lane, rate) in rater.rates_of_others(&row, &lead).into_iter().enumerate() {
            let overtake = model.overtake(row.gaps[lane], row.scales[lane]);
            let overtake = posterior(overtake, row.policies[lane] / 0.4);
            let rule = model.benefit(overtake, row.policies[lane]) / row.costs[lane];
            assert!((rate / rule - 1.0).abs() < 1e-4, "{lane}: {rate} {rule}");
        }
    }

    /// An infinite lead would make its ratio not a number, and the move would never be selected.
    #[test]
    fn the_only_move_leads_by_one() {
        let model = Model::new(&Params::default());
        let mut child = bare(0.4, 1.0);
        child.mark(UNEVALUATED, false);
        let lead = Lead::of(&[child], &[], &model);
        assert!((lead.gap(Child::Node(0), lead.first) - 1.0).abs() < 1e-6);
    }

    #[test]
    fn a_row_is_skipped_only_where_nothing_in_it_is_better() {
        for index in 0..LANES {
            let mut rates = [f32::NEG_INFINITY; LANES];
            rates[index] = 0.25;
            assert!((highest(&rates) - 0.25).abs() < 1e-9);
            let mut pick = None;
            Pick::offer_row(&mut pick, &rates, Child::Edge(16));
            rates[index] = 0.125;
            Pick::offer_row(&mut pick, &rates, Child::Node(0));
            let pick = pick.unwrap();
            assert_eq!(pick.child, Child::Edge(16 + index));
            assert!((pick.rate - 0.25).abs() < 1e-9 && (pick.next_rate - 0.125).abs() < 1e-9);
        }
    }

    /// An unsearched move leads only if no move was searched, and then by its policy.
    #[test]
    fn a_guess_does_not_lead() {
        let model = Model::new(&Params::default());
        let mut children = [bare(0.1, 0.2), bare(0.4, 0.7), bare(0.9, 0.1)];
        assert_eq!(Lead::of(&children, &[], &model).best, Child::Node(1));
        children[2].mark(UNEVALUATED, false); // worth 0.1, while the first promises 0.9
        let lead = Lead::of(&children, &[], &model);
        assert_eq!(lead.best, Child::Node(2));
        assert!((lead.first - 0.1).abs() < 1e-6 && lead.second <= lead.first);
        children[2].verdict = Verdict::Win(3);
        assert_eq!(Lead::of(&children, &[], &model).best, Child::Node(1));
    }
}
