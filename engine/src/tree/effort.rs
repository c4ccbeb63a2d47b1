//! Depth and evaluations, converted into each other.
//!
//! Depth is what an ordinary search of this effective branching factor would reach with the same
//! number of evaluations.

/// Numbers of evaluations up to which the depth is read from a table.
const TABLE: usize = 4096;

/// The conversion, with its table.
#[derive(Clone, Debug)]
pub struct Effort {
    branching: f32,
    depths: Vec<f32>,
}

impl Effort {
    /// For this effective branching factor.
    pub fn new(branching: f32) -> Self {
        let depths = (0..TABLE).map(|visits| exact_depth(visits as f32, branching)).collect();
        Self { branching, depths }
    }

    /// Depth in plies that `visits` evaluations amount to; -1 for none.
    pub fn depth(&self, visits: u32) -> f32 {
        let known = self.depths.get(visits as usize).copied();
        known.unwrap_or_else(|| exact_depth(visits as f32, self.branching))
    }

    /// Evaluations that amount to `depth` plies.
    pub fn visits(&self, depth: f32) -> f32 {
        1.0 + (self.branching.powf(depth) - 1.0) / (self.branching - 1.0)
    }

    /// The cost of one more ply below a node with this many visits, evaluations.
    pub fn cost(&self, visits: f32) -> f32 {
        ((self.branching - 1.0) * visits).max(1.0)
    }
}

/// Inverse of `visits = 1 + (EBF^depth - 1) / (EBF - 1)`.
fn exact_depth(visits: f32, branching: f32) -> f32 {
    if visits < 1.0 {
        -1.0
    } else {
        (1.0 + (branching - 1.0) * (visits - 1.0)).ln() / branching.ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_and_work_are_inverse() {
        let effort = Effort::new(2.2);
        assert!((effort.depth(0) + 1.0).abs() < 1e-6);
        assert!(effort.depth(1).abs() < 1e-6);
        for visits in [2_u32, 17, 900, 4095, 4096, 1_000_000] {
            let back = effort.visits(effort.depth(visits));
            assert!((back / visits as f32 - 1.0).abs() < 1e-3, "{visits} {back}");
            assert!(effort.depth(visits) >= effort.depth(visits - 1));
        }
    }
}
