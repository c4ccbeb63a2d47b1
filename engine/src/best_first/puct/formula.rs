//! lc0's formula: which child the next visit goes to, and the ratings to report.

use super::Puct;
use crate::best_first::backup::child_value;
use crate::best_first::explain::Ratings;
use crate::best_first::lead::Child;
use crate::best_first::share::{next_evaluations, shares};
use crate::chess::score::Verdict;
use crate::search::report::Rating;
use crate::tree::arena::Tree;
use crate::tree::edge::Edge;
use crate::tree::node::{EXCLUDED, ExpansionId, Goal, Node, Slot};

/// lc0's values lie in [-1, 1]: one score unit is two of them.
const UNIT: f32 = 0.5;

/// What the children of a node have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Formula {
    /// c(N)·√ΣN, score units: U is this times policy by visits.
    weight: f32,
    /// Value of a child never visited.
    unvisited: f32,
    /// Visits of the most visited child that does not lose, those in flight included.
    most_visits: u32,
}

impl Puct {
    /// The formula at a node.
    pub(super) fn formula(&self, tree: &Tree, id: ExpansionId) -> Formula {
        let expansion = tree.expansion(id);
        let node = tree.node(tree.node_of(expansion));
        let visits = self.visits(node, expansion.slot());
        let (mut most_visits, mut visited_policy) = (0, 0.0);
        for (slot, child) in numbered(tree, id).filter(|(_, child)| !child.has(EXCLUDED)) {
            if !matches!(child.verdict, Verdict::Win(_)) {
                most_visits = most_visits.max(child.visits);
            }
            let visits = self.visits(child, slot);
            visited_policy += if visits > 0 { child.policy } else { 0.0 };
        }
        let base = self.params.puct_base;
        let growth = self.params.puct_growth * ((visits as f32 + base) / base).ln();
        let rest = visits.saturating_sub(1).max(1) as f32;
        let weight = UNIT * (self.params.puct_exploration + growth) * rest.sqrt();
        let reduction = UNIT * self.params.puct_reduction * visited_policy.sqrt();
        Formula { weight, unvisited: node.value - reduction, most_visits }
    }

    /// The child that the next visit goes to, of so many that are left.
    pub(super) fn best_child(&self, tree: &Tree, id: ExpansionId, left: u32) -> Option<Child> {
        let expansion = tree.expansion(id);
        let seeks_mate = tree.goal() != Goal::Result;
        let may_be_beaten = expansion.ply == 0 && !seeks_mate;
        let Formula { weight, unvisited, most_visits } = self.formula(tree, id);
        let mut best: Option<(f32, Child)> = None;
        let mut offer = |rank: f32, child: Child| {
            if best.is_none_or(|(highest, _)| rank > highest) {
                best = Some((rank, child));
            }
        };
        for (slot, child) in numbered(tree, id) {
            let answered = self.visits(child, slot);
            // At the root, what cannot become the most visited child any more is left alone.
            let is_beaten = may_be_beaten && left < most_visits.saturating_sub(child.visits);
            if child.has(EXCLUDED) || is_beaten {
                continue;
            }
            // What is no mate is no answer either, however good.
            if seeks_mate && child.is_proven() {
                continue;
            }
            let flight = self.in_flight_at(slot);
            let started = answered + flight.pending + flight.collided;
            let value = if answered > 0 { child_value(child, &self.model) } else { unvisited };
            let rank = value + weight * child.policy / (1.0 + started as f32);
            offer(rank, Child::Node(usize::from(slot.index)));
        }
        // Among those without a node, the policy alone decides. All of the root's have nodes.
        if let Some((index, edge)) = Edge::likeliest(tree.edges(expansion)) {
            offer(unvisited + weight * edge.policy(), Child::Edge(index));
        }
        best.map(|(_, child)| child)
    }
}

impl Formula {
    /// U of every child, and its share of the next visits.
    pub(super) fn ratings(self, rule: &Puct, tree: &Tree, id: ExpansionId) -> Ratings {
        let expansion = tree.expansion(id);
        // Value, policy and visits; no policy where no visit can go.
        let mut terms: Vec<(f32, f32, f32)> = Vec::new();
        for (slot, child) in numbered(tree, id) {
            let visits = rule.visits(child, slot);
            let value = if visits > 0 { child_value(child, &rule.model) } else { self.unvisited };
            let policy = if child.has(EXCLUDED) { 0.0 } else { child.policy };
            terms.push((value, policy, visits as f32));
        }
        let nodes = terms.len();
        if expansion.has_edges_left() {
            terms.extend(tree.edges(expansion).iter().map(|edge| {
                let policy = if edge.is_taken() { 0.0 } else { edge.policy() };
                (self.unvisited, policy, 0.0)
            }));
        }
        let exploration = |&(_, policy, visits): &(f32, f32, f32)| {
            Some(self.weight * policy / (1.0 + visits)).filter(|_| policy > 0.0)
        };
        let mut ratings: Vec<Rating> = terms
            .iter()
            .map(|term| Rating { exploration: exploration(term), ..Rating::default() })
            .collect();
        let node = tree.node(tree.node_of(expansion));
        for (rating, share) in ratings.iter_mut().zip(self.shares(&terms, node).unwrap_or_default())
        {
            rating.next = Some(share);
        }
        let edges = ratings.split_off(nodes);
        Ratings { leader: None, nodes: ratings, edges }
    }

    /// Each one's share of the next visits, its value as it is now.
    fn shares(self, terms: &[(f32, f32, f32)], node: &Node) -> Option<Vec<f32>> {
        if node.is_proven() {
            return None;
        }
        // The level lies above every value: U is never zero.
        let open = terms.iter().filter(|(_, policy, _)| *policy > 0.0);
        let highest = open.clone().map(|term| term.0).fold(f32::NEG_INFINITY, f32::max);
        let most = open.map(|term| term.0 + self.weight * term.1 / (1.0 + term.2));
        let most = most.fold(highest, f32::max);
        shares(terms.len(), next_evaluations(node), (highest, most), |child, level| {
            let (value, policy, visits) = terms[child];
            let over = (level - f64::from(value)).max(f64::MIN_POSITIVE);
            f64::from(self.weight) * f64::from(policy) / over - 1.0 - f64::from(visits)
        })
    }
}

/// The nodes below an expansion and where they are.
pub(super) fn numbered(tree: &Tree, parent: ExpansionId) -> impl Iterator<Item = (Slot, &Node)> {
    let children = tree.children(tree.expansion(parent)).iter();
    (0..).zip(children).map(move |(index, child)| (Slot { parent, index }, child))
}
