//! When the choice of a move is good enough: further search is not worth the price of its time.

use crate::best_first::backup::child_value;
use crate::best_first::cost::cost;
use crate::best_first::error_model::Model;
use crate::best_first::lead::{Child, Lead};
use crate::best_first::overtake::posterior;
use crate::best_first::params::Params;
use crate::best_first::root::{root_children, root_error};
use crate::best_first::spent::Spent;
use crate::chess::score::Verdict;
use crate::tree::arena::Tree;
use crate::tree::node::{EXCLUDED, Node, ROOT, UNEVALUATED};

/// The gain of further search is not estimated before one part in this many of the planned time.
const FIRST_LOOK: f32 = 20.0;

/// The seed's satisfaction: more search is not worth its time. A typical position stops near the
/// planned time, one with a single good move earlier, a close choice later: after
/// `doubt_extension` planned times at the latest.
pub fn is_satisfied(tree: &Tree, model: &Model, params: &Params, spent: &Spent) -> bool {
    let used = spent.elapsed.saturating_sub(spent.pondered);
    let own = spent.planned.saturating_sub(spent.pondered);
    if used >= own.mul_f32(params.doubt_extension) {
        return true;
    }
    if spent.visits == 0 || used < own.div_f32(FIRST_LOOK) {
        return false;
    }
    let size = tree.node(ROOT).visits as f32;
    let gain = gains(tree, model, params, size).into_iter().fold(0.0, f32::max);
    gain < spent.price(params, size)
}

/// The gain that `visits` more promise of each root move, score units: how much better than
/// the present choice it would be where it overtakes, times the probability of that by which the
/// search ranks the moves, with the policy as prior. Beside a proven win nothing is gained.
pub fn gains(tree: &Tree, model: &Model, params: &Params, visits: f32) -> Vec<f32> {
    let (_, children) = root_children(tree);
    let lead = Lead::of(children, &[], model);
    let wins = |child: &Node| matches!(child.verdict, Verdict::Loss(_)) && !child.has(EXCLUDED);
    let is_won = children.iter().any(wins);
    let is_open = |child: &Node| !is_won && !child.has(EXCLUDED) && !child.is_proven();
    let is_rival = |&(index, child): &(usize, &Node)| {
        Child::Node(index) != lead.best && is_open(child) && !child.has(UNEVALUATED)
    };
    let value = |child: &Node| child_value(child, model);
    let rivals = children.iter().enumerate().filter(is_rival);
    let second = rivals.max_by(|(_, one), (_, other)| value(one).total_cmp(&value(other)));
    let gain = |(index, child): (usize, &Node)| {
        if !is_open(child) {
            return 0.0;
        }
        let is_best = Child::Node(index) == lead.best;
        // The best loses its place to the second.
        let rival =
            if is_best { second.map_or(1.0, |(_, second)| second.policy) } else { child.policy };
        let odds = (rival / lead.policy.max(f32::MIN_POSITIVE)).powf(params.policy_trust);
        let gap = lead.gap(Child::Node(index), value(child));
        let scale = root_error(tree, child, model, params);
        let overtake = model.overtake(gap, scale);
        let share = posterior(overtake, odds) / overtake.max(f32::MIN_POSITIVE);
        share * model.gain(gap, scale) * (visits / cost(child, model)).min(1.0)
    };
    children.iter().enumerate().map(gain).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Before the first answer only the time ends the search.
    #[test]
    fn a_search_without_visits_ends() {
        let (tree, params) = (Tree::new(1 << 16), Params::default());
        let model = Model::new(&params);
        let planned = Duration::from_millis(100);
        let spent = |elapsed| Spent {
            elapsed,
            planned,
            pondered: Duration::ZERO,
            searched: elapsed,
            visits: 0,
            possible: None,
        };
        let last = planned.mul_f32(params.doubt_extension);
        assert!(!is_satisfied(&tree, &model, &params, &spent(planned / 2)));
        assert!(is_satisfied(&tree, &model, &params, &spent(last)));
    }
}
