//! Depth and evaluations, converted into each other.
//!
//! Depth is what an ordinary search of this effective branching factor would reach with the same
//! number of evaluations. What one more ply costs by the same law is in `best_first/cost.rs`.

/// Numbers of evaluations up to which the depth is read from a table.
const TABLE: usize = 4096;

/// The effective branching factor, with a table of depths.
#[derive(Clone, Debug)]
pub struct EffectiveBranching {
    factor: f32,
    depths: Vec<f32>,
}

impl EffectiveBranching {
    /// For this factor.
    pub fn new(factor: f32) -> Self {
        let depths = (0..TABLE).map(|visits| exact_depth(visits as f32, factor)).collect();
        Self { factor, depths }
    }

    /// Evaluations of a ply over those of the ply before.
    pub fn factor(&self) -> f32 {
        self.factor
    }

    /// Depth in plies that `visits` evaluations amount to; -1 for none.
    pub fn depth(&self, visits: u32) -> f32 {
        let known = self.depths.get(visits as usize).copied();
        known.unwrap_or_else(|| exact_depth(visits as f32, self.factor))
    }

    /// Evaluations that amount to `depth` plies.
    pub fn visits(&self, depth: f32) -> f32 {
        1.0 + (self.factor.powf(depth) - 1.0) / (self.factor - 1.0)
    }
}

/// Inverse of `visits = 1 + (EBF^depth - 1) / (EBF - 1)`.
fn exact_depth(visits: f32, factor: f32) -> f32 {
    if visits < 1.0 { -1.0 } else { (1.0 + (factor - 1.0) * (visits - 1.0)).ln() / factor.ln() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_and_work_are_inverse() {
        let branching = EffectiveBranching::new(2.2);
        assert!((branching.depth(0) + 1.0).abs() < 1e-6);
        assert!(branching.depth(1).abs() < 1e-6);
        for visits in [2_u32, 17, 900, 4095, 4096, 1_000_000] {
            let back = branching.visits(branching.depth(visits));
            assert!((back / visits as f32 - 1.0).abs() < 1e-3, "{visits} {back}");
            assert!(branching.depth(visits) >= branching.depth(visits - 1));
        }
    }
}
