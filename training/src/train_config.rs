//! What decides a training run.

use serde::{Deserialize, Serialize};
use tesla_nn::model::ModelConfig;

use crate::adamw::AdamW;
use crate::loss::LossWeights;

/// Longest window in positions: 32 pieces, 30 plies that move one or (twice) two, in 64 bits.
pub const LONGEST_WINDOW: u16 = 31;

/// Everything that decides a training run; stored beside the weights.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrainConfig {
    /// Shape of the network.
    pub model: ModelConfig,
    /// Labelled positions of the data.
    #[serde(default)]
    pub positions: usize,
    /// Hash of the weights that the run started from, if any.
    #[serde(default)]
    pub started_from: Option<String>,
    /// Seed of the weights and of the order of the windows.
    pub seed: u64,
    /// Share of the moves on a search's paths that are refuted; where it is given, readouts after
    /// a move that was not the teacher's best weigh (in value, policy and error) as much as if that
    /// were their share.
    #[serde(default)]
    pub refuted: Option<f32>,
    /// Positions per window, the anchor included.
    pub window: u16,
    /// Windows per worker and step.
    pub batch: usize,
    /// Workers; each takes its own batch of a step, gradients are summed.
    pub workers: usize,
    /// Steps of the whole run.
    pub steps: u64,
    /// Steps of the linear warm-up.
    pub warm_up: u64,
    /// Largest learning rate.
    pub rate: f32,
    /// Learning rate at the end, as a share of the largest.
    pub final_rate: f32,
    /// Optimizer.
    pub optimizer: AdamW,
    /// Weights of the parts of the loss.
    pub loss: LossWeights,
}

impl TrainConfig {
    /// The defaults for a network of this shape; the data are still to be named.
    pub fn new(model: ModelConfig) -> Self {
        Self {
            model,
            positions: 0,
            started_from: None,
            seed: 1,
            refuted: None,
            window: 9,
            batch: 32,
            workers: 2,
            steps: 20_000,
            warm_up: 500,
            rate: 3e-3,
            final_rate: 0.02,
            optimizer: AdamW::default(),
            loss: LossWeights::default(),
        }
    }

    /// Says what is wrong with the numbers, if anything.
    ///
    /// # Errors
    /// A sentence.
    pub fn check(&self) -> Result<(), String> {
        if self.batch == 0 || self.workers == 0 {
            return Err("batch and workers must be at least 1".to_owned());
        }
        if !(1..=LONGEST_WINDOW).contains(&self.window) {
            return Err(format!(
                "the window is {}; it must be 1 to {LONGEST_WINDOW} positions",
                self.window
            ));
        }
        if self.refuted.is_some_and(|share| !(0.0..1.0).contains(&share)) {
            return Err("the share of refuted moves must be at least 0 and below 1".to_owned());
        }
        if !(self.loss.consistency.is_finite() && self.loss.consistency >= 0.0) {
            return Err("the weight of consistency must be 0 or more".to_owned());
        }
        if !(self.rate.is_finite() && self.rate > 0.0) {
            return Err(format!("the learning rate is {}; it must be above 0", self.rate));
        }
        self.model.check()
    }

    /// Whether an epoch's batches are the same under `other`.
    pub(crate) fn has_plan_of(&self, other: &Self) -> bool {
        (self.seed, self.window, self.batch, self.positions)
            == (other.seed, other.window, other.batch, other.positions)
    }

    /// Learning rate at `step`: linear warm-up, then cosine.
    pub fn rate_at(&self, step: u64) -> f32 {
        if step < self.warm_up {
            return self.rate * (step + 1) as f32 / self.warm_up as f32;
        }
        let done =
            (step - self.warm_up) as f32 / self.steps.saturating_sub(self.warm_up).max(1) as f32;
        let cosine = 0.5 * (1.0 + (std::f32::consts::PI * done.min(1.0)).cos());
        self.rate * (self.final_rate + (1.0 - self.final_rate) * cosine)
    }
}
