//! When a run's network is gated.

use serde::{Deserialize, Serialize};

/// When a network is gated, and how.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GateConfig {
    /// Games of a gating match; 0 = no gating.
    pub games: u64,
    /// Steps between gating matches.
    pub steps: u64,
    /// Evaluations a move.
    pub nodes: u64,
}

impl Default for GateConfig {
    fn default() -> Self {
        Self { games: 0, steps: 10_000, nodes: 400 }
    }
}
