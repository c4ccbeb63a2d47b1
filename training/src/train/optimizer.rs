//! The optimizer's settings.

use serde::{Deserialize, Serialize};

/// Moments below this are set to zero. The moments of rows that no position touches, and of hidden
/// units that never fire, otherwise shrink until they are subnormal and stay there, and arithmetic
/// on subnormal numbers takes a CPU some hundred times as long: after 4,000 steps of `small` it
/// halved the speed of the whole trainer.
pub(super) const NEGLIGIBLE: f32 = 1e-18;

/// Numbers of `AdamW` and of Muon.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Optimizer {
    /// Decay of the first moment.
    pub beta_1: f32,
    /// Decay of the second moment.
    pub beta_2: f32,
    /// Added to the root of the second moment.
    pub epsilon: f32,
    /// Decoupled weight decay per step, times the learning rate.
    pub weight_decay: f32,
    /// Largest global norm of the gradient.
    pub clip_norm: f32,
    /// Rate of Muon, which moves the matrices between hidden layers, as a share of the learning
    /// rate; 0 = `AdamW` moves them too.
    pub muon: f32,
    /// Decay of Muon's momentum.
    pub momentum: f32,
}

impl Optimizer {
    /// Whether the same parameters are moved by the same of the two: their moments differ.
    pub fn moves_alike(&self, other: &Self) -> bool {
        (self.muon > 0.0) == (other.muon > 0.0)
    }
}

impl Default for Optimizer {
    fn default() -> Self {
        Self {
            beta_1: 0.9,
            beta_2: 0.99,
            epsilon: 1e-8,
            weight_decay: 0.01,
            clip_norm: 1.0,
            muon: 0.0,
            momentum: 0.95,
        }
    }
}
