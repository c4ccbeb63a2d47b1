//! The probability that a child overtakes the best one: what one more ply is worth. The default
//! rule has the same formula in SIMD (`Student` in `benefit_cost_ratio.rs`); a test compares them.

use crate::best_first::error_model::{Family, Model};

impl Model {
    /// Probability that an error of this scale closes the gap, from the values alone.
    pub fn overtake(&self, gap: f32, scale: f32) -> f32 {
        match self.family {
            // One square root and one division less than through z.
            Family::StudentT2 => 0.5 * (1.0 - gap / (gap * gap + 2.0 * scale * scale).sqrt()),
            family => family.survival(gap / scale),
        }
    }
}

/// Probability that a child is better than the best, from what its value alone says and from the
/// `odds` that the policy gives it against the best (Bayes' rule, the policy as prior).
pub fn posterior(overtake: f32, odds: f32) -> f32 {
    let ours = overtake * odds;
    ours / (ours + 1.0 - overtake).max(f32::MIN_POSITIVE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policy_is_the_prior() {
        assert!((posterior(0.3, 1.0) - 0.3).abs() < 1e-6);
        assert!((posterior(0.5, 0.25) - 0.2).abs() < 1e-6);
        assert!(posterior(0.0, 9.0) == 0.0 && posterior(1.0, 0.0) <= 1.0);
    }
}
