//! Where a run stands, as its checkpoint keeps it.

use serde::{Deserialize, Serialize};

use super::gradients::PARTS;
use super::guard::Guard;
use super::held_out::HeldOut;
use crate::train::config::Plan;

/// Where a run stands.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Progress {
    /// Steps done, those left out included.
    pub(super) step: u64,
    pub(super) epoch: u64,
    /// Batches of the epoch that are done.
    pub(super) batch: usize,
    /// Labelled positions seen.
    pub(super) positions: u64,
    /// What `epoch` and `batch` count in; `None` = of a version that did not say.
    #[serde(default)]
    pub(super) plan: Option<Plan>,
    #[serde(default)]
    pub(super) guard: Guard,
    /// Of the line of `loss.csv` that is not written yet.
    #[serde(default)]
    pub(super) sums: Sums,
    /// For that line, where it was measured.
    #[serde(default)]
    pub(super) held_out: Option<HeldOut>,
}

/// Sums over the steps since the last line; a part of the checkpoint, so that a resumed run writes
/// the lines of an undisturbed one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Sums {
    pub(super) steps: u64,
    pub(super) positions: u64,
    pub(super) parts: [f64; PARTS],
    pub(super) norm: f64,
}

impl Sums {
    /// A step that counted.
    pub(super) fn add(&mut self, parts: &[([f32; PARTS], u64)], norm: f32) {
        for (own, positions) in parts {
            for (sum, part) in self.parts.iter_mut().zip(own) {
                *sum += f64::from(*part) * *positions as f64;
            }
            self.positions += positions;
        }
        self.steps += 1;
        self.norm += f64::from(norm);
    }

    /// The parts, each a mean over the positions.
    pub(super) fn means(&self) -> [f64; PARTS] {
        self.parts.map(|sum| sum / self.positions.max(1) as f64)
    }
}
