//! The ratings of all children of a node in full, for display: the same numbers as
//! [`benefit_cost_ratio`](crate::best_first::benefit_cost_ratio), which keeps only the highest.

use crate::best_first::backup::{child_value, prior_value};
use crate::best_first::benefit_cost_ratio::{Rater, error_scale};
use crate::best_first::cost::{cost_at, cost_here};
use crate::best_first::error_model::Model;
use crate::best_first::lead::{Child, Lead};
use crate::best_first::overtake::posterior;
use crate::best_first::params::Params;
use crate::best_first::share::{next_evaluations, shares};
use crate::chess::score::Verdict;
use crate::search::report::Rating;
use crate::tree::arena::Tree;
use crate::tree::node::{EXCLUDED, ExpansionId, Node};

/// A rule's ratings of the children of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ratings {
    /// The leader, which the others may overtake.
    pub leader: Option<Child>,
    /// Of the children that have nodes, in their order.
    pub nodes: Vec<Rating>,
    /// Of all legal moves, in their order, where some have no node; empty otherwise.
    pub edges: Vec<Rating>,
}

/// One child as the rule sees it.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    child: Child,
    /// Distance to the best value, score units.
    gap: f32,
    /// Error scale, score units; 0 where proven.
    scale: f32,
    policy: f32,
    cost: f32,
    /// Whether it can take evaluations.
    is_open: bool,
}

/// The children of one node with the inputs of their ratings.
struct Rated<'a> {
    model: &'a Model,
    rater: Rater<'a>,
    lead: Lead,
    verify: f32,
    /// Whether the leader mates: nothing overtakes it.
    is_won: bool,
    candidates: Vec<Candidate>,
}

/// Rates the children of a node of this desired depth, plies, by benefit per cost.
pub fn ratings(
    tree: &Tree,
    (id, desired): (ExpansionId, f32),
    model: &Model,
    params: &Params,
) -> Ratings {
    let expansion = tree.expansion(id);
    let node = tree.node(tree.node_of(expansion));
    let (children, edges) = (tree.children(expansion), tree.edges(expansion));
    let lead = Lead::of(children, edges, model);
    let is_root = expansion.ply == 0;
    let decay = model.decay(node.visits);
    let mut candidates: Vec<Candidate> = Vec::with_capacity(edges.len());
    candidates.extend(children.iter().enumerate().map(|(index, child)| {
        let is_open = !child.is_proven() && !child.has(EXCLUDED);
        Candidate {
            child: Child::Node(index),
            gap: lead.first - child_value(child, model),
            scale: if is_open { decay * error_scale(child, desired, model) } else { 0.0 },
            policy: child.policy,
            cost: cost_here(child, is_root, model),
            is_open,
        }
    }));
    if expansion.has_edges_left() {
        let scale = decay * model.scale(desired, node.spread, false);
        candidates.extend(edges.iter().enumerate().map(|(index, edge)| Candidate {
            child: Child::Edge(index),
            gap: lead.first - prior_value(edge.action_value(), model),
            scale,
            policy: edge.policy(),
            cost: 1.0,
            is_open: !edge.is_taken(),
        }));
    }
    let mates = |child: &Node| matches!(child.verdict, Verdict::Loss(_));
    let rated = Rated {
        model,
        rater: Rater::new(model, params),
        lead,
        verify: if is_root { params.verify_root } else { params.verify },
        is_won: matches!(lead.best, Child::Node(index) if children.get(index).is_some_and(mates)),
        candidates,
    };
    rated.ratings(children.len(), if node.is_proven() { 0.0 } else { next_evaluations(node) })
}

impl Rated<'_> {
    /// Of the first `nodes` candidates, and of the others; shares are of so many evaluations.
    fn ratings(&self, nodes: usize, evaluations: f32) -> Ratings {
        let best = self.lead.best;
        let others = self.candidates.iter().filter(|candidate| candidate.child != best);
        let rival = others.map(|other| self.overtake(other)).fold(0.0, f32::max);
        let mut ratings: Vec<Rating> =
            self.candidates.iter().map(|c| self.rate(c, rival)).collect();
        if let Some(next) = self.shares(&ratings, evaluations) {
            for (rating, next) in ratings.iter_mut().zip(next) {
                rating.next = Some(next);
            }
        }
        let edges = ratings.split_off(nodes);
        let has_leader = self.lead.first > f32::NEG_INFINITY;
        Ratings { leader: has_leader.then_some(best), nodes: ratings, edges }
    }

    /// Probability that a candidate is better than the leader.
    fn overtake(&self, candidate: &Candidate) -> f32 {
        if !candidate.is_open || self.is_won || self.lead.first <= f32::NEG_INFINITY {
            return 0.0;
        }
        let alone = self.model.overtake(candidate.gap, candidate.scale);
        posterior(alone, self.rater.odds(candidate.policy, self.lead.policy))
    }

    fn rate(&self, candidate: &Candidate, rival: f32) -> Rating {
        let is_leader = candidate.child == self.lead.best;
        let overtake = if is_leader { rival } else { self.overtake(candidate) };
        if !candidate.is_open {
            let overtake = if is_leader { rival } else { 0.0 };
            return Rating { error: Some(0.0), overtake: Some(overtake), ..Rating::default() };
        }
        let weighed = if is_leader {
            let own = self.model.overtake(self.lead.first - self.lead.second, candidate.scale);
            own + self.verify * (0.5 - own)
        } else {
            overtake
        };
        let benefit = self.model.benefit(weighed, candidate.policy);
        Rating {
            error: Some(candidate.scale),
            overtake: Some(overtake),
            benefit: Some(benefit),
            cost: Some(candidate.cost),
            rate: Some(benefit / candidate.cost),
            ..Rating::default()
        }
    }

    /// Each child's share of the next evaluations: its rate falls in inverse proportion to its
    /// evaluations.
    fn shares(&self, ratings: &[Rating], evaluations: f32) -> Option<Vec<f32>> {
        if evaluations <= 0.0 {
            return None;
        }
        let highest = ratings.iter().filter_map(|rating| rating.rate).fold(0.0, f32::max);
        shares(ratings.len(), evaluations, (0.0, highest), |child, level| {
            let Rating { benefit: Some(benefit), cost: Some(cost), rate: Some(rate), .. } =
                ratings[child]
            else {
                return 0.0;
            };
            // Evaluations cost in proportion to those that are there already.
            let each = f64::from(cost_at(1e6, self.model)) / 1e6;
            let more = (f64::from(benefit) / level - f64::from(cost)) / each;
            if f64::from(rate) > level { more } else { 0.0 }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use shakmaty::{Chess, Position};
    use tesla_nn::classical::ClassicalEvaluator;

    use super::*;
    use crate::best_first::BestFirst;
    use crate::chess::game::Game;
    use crate::search::clock::Budget;
    use crate::search::{Limits, Search as _, StopToken, Task};
    use crate::tree::node::{ROOT, UNEVALUATED};

    fn searched(nodes: u64) -> BestFirst {
        let mut search = BestFirst::new(Box::new(ClassicalEvaluator::new()));
        let mut position = Chess::default();
        for played in ["e2e4", "c7c5", "g1f3"] {
            let played = crate::chess::notation::parse_move(played, &position).unwrap();
            position.play_unchecked(played);
        }
        let limits = Limits { nodes: Some(nodes), ..Limits::default() };
        let budget = Budget::new(&limits, Duration::ZERO);
        let (game, stop) = (Game::new(position), StopToken::default());
        let task = Task { game: &game, limits: &limits, budget: &budget, stop: &stop };
        search.search(&task, &mut |_| {});
        search
    }

    /// The reported ratings are those that the search uses.
    #[test]
    fn the_highest_rate_is_the_searchs_pick() {
        for nodes in [1, 40, 700] {
            let search = searched(nodes);
            let (tree, params) = (search.tree(), search.params());
            let rater = Rater::new(search.model(), params);
            for id in 0..tree.expansion_count().min(200) as ExpansionId {
                let node = tree.node(tree.node_of(tree.expansion(id)));
                let desired = node.depth + params.horizon;
                let Some(pick) = rater.best_pick(tree, id, desired) else { continue };
                let told = ratings(tree, (id, desired), search.model(), params);
                let rating = match pick.child {
                    Child::Node(index) => told.nodes[index],
                    Child::Edge(index) => told.edges[index],
                };
                let rate = rating.rate.unwrap();
                assert!((rate / pick.rate - 1.0).abs() < 1e-3, "{id}: {rating:?} {pick:?}");
                let all = told.nodes.iter().chain(&told.edges);
                assert!(all.filter_map(|rating| rating.rate).all(|other| other <= rate * 1.001));
            }
        }
    }

    #[test]
    fn the_leader_has_its_largest_rivals_chance() {
        let search = searched(300);
        let (tree, params) = (search.tree(), search.params());
        let desired = tree.node(ROOT).depth + params.horizon;
        let told = ratings(tree, (0, desired), search.model(), params);
        let Some(Child::Node(leader)) = told.leader else { panic!("{told:?}") };
        let overtake = |index: usize| told.nodes[index].overtake.unwrap();
        let others = (0..told.nodes.len()).filter(|&index| index != leader);
        assert!((overtake(leader) - others.map(overtake).fold(0.0, f32::max)).abs() < 1e-9);
        let next: f32 = told.nodes.iter().filter_map(|rating| rating.next).sum();
        assert!((next - 1.0).abs() < 1e-4 && overtake(leader) > 0.0);
    }

    #[test]
    fn nothing_overtakes_a_mate() {
        let mut search = searched(300);
        let desired = search.tree().node(ROOT).depth + search.params().horizon;
        let children = search.tree().expansion(0).children();
        for (verdict, is_zero) in [(Verdict::Draw, false), (Verdict::Loss(2), true)] {
            let tree = search.tree_mut();
            let child = tree.node_mut(children.start);
            child.verdict = verdict;
            child.mark(UNEVALUATED, false);
            let told = ratings(search.tree(), (0, desired), search.model(), search.params());
            assert_eq!(told.nodes[0].error, Some(0.0));
            let highest =
                told.nodes.iter().filter_map(|rating| rating.overtake).fold(0.0, f32::max);
            assert_eq!(highest <= 0.0, is_zero, "{told:?}");
        }
    }
}
