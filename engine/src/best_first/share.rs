//! The shares of the next evaluations. A rule sends each evaluation to the child with the highest
//! rate, which lowers that rate, so the rates of all children that get any become equal.

use crate::tree::node::Node;

/// Bisection steps towards that common rate.
const STEPS: u32 = 60;
/// The next evaluations are this share of those that a node has, and at least this many.
const NEXT: f32 = 0.125;
const NEXT_LEAST: f32 = 16.0;

/// How many of the next evaluations below this node the shares refer to.
pub(super) fn next_evaluations(node: &Node) -> f32 {
    (node.visits as f32 * NEXT).max(NEXT_LEAST)
}

/// The shares of the next `evaluations` among `count` children. It takes `needed(child, rate)` more
/// evaluations to lower a child to this rate; rates lie between `low` and `high`. `None` if no
/// child takes any.
pub(super) fn shares(
    count: usize,
    evaluations: f32,
    (low, high): (f32, f32),
    needed: impl Fn(usize, f64) -> f64,
) -> Option<Vec<f32>> {
    let at = |rate: f64| (0..count).map(|child| needed(child, rate).max(0.0)).sum::<f64>();
    let (mut low, mut high) = (f64::from(low), f64::from(high));
    for _ in 0..STEPS {
        let middle = 0.5 * (low + high);
        if at(middle) > f64::from(evaluations) {
            low = middle;
        } else {
            high = middle;
        }
    }
    let total = at(low);
    let share = |child| (needed(child, low).max(0.0) / total) as f32;
    (total > 0.0 && total.is_finite()).then(|| (0..count).map(share).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rates that fall as benefit by evaluations: the next one always goes to the highest.
    #[test]
    fn shares_are_those_of_one_by_one() {
        let benefits = [0.5_f64, 0.2, 0.1, 0.01];
        let start = [100.0_f64, 10.0, 100.0, 1.0];
        let needed = |child: usize, rate: f64| benefits[child] / rate - start[child];
        let evaluations = 400.0_f32;
        let found = shares(4, evaluations, (0.0, 1.0), needed).unwrap();
        let mut visits = start;
        for _ in 0..400 {
            let rate = |child: &usize| benefits[*child] / visits[*child];
            let best = (0..4).max_by(|a, b| rate(a).total_cmp(&rate(b))).unwrap();
            visits[best] += 1.0;
        }
        for child in 0..4 {
            let one_by_one = (visits[child] - start[child]) / f64::from(evaluations);
            assert!((f64::from(found[child]) - one_by_one).abs() < 0.01, "{child}: {found:?}");
        }
        assert!((found.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        assert_eq!(shares(3, 16.0, (0.0, 1.0), |_, _| 0.0), None);
    }
}
