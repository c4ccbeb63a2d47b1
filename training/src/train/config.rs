//! What decides a training run.

mod file;
mod gate;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use tesla_nn::device::DeviceChoice;
use tesla_nn::model::{ModelConfig, Precision};

use crate::console::options::{Shown, options};
use crate::game::openings::BookSource;
use crate::train::loss::LossWeights;
use crate::train::optimizer::Optimizer;

pub use self::gate::GateConfig;

/// Longest window in positions: 32 pieces, 30 plies that move one or (twice) two, in 64 bits.
pub const LONGEST_WINDOW: u16 = 31;

/// Most micro-batches.
const MOST_MICRO_BATCHES: usize = 1024;
/// Most workers and most encoders: each is a thread.
const MOST_THREADS: usize = 256;

options! {
    /// Everything that decides a training run; stored beside the weights, and written down in TOML.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    config TrainConfig {
        /// Labelled positions of the data.
        positions: usize = 0;
        /// Hash of the weights that the run started from, if any.
        started_from: Option<String> = None;
        /// Learning rate at the end, as a share of the largest.
        final_rate: f32 = 0.02;
        /// Weight of the next position's score in the value label, relative to this position's own,
        /// where the teacher's best move was played; its square for the one after it, and so on.
        /// 0 = each position's own score only.
        look_ahead: f32 = 0.0;
        /// Steps of the linear decay at the end, before which the rate is constant, so that a run
        /// whose decay has not begun can be prolonged by more `steps`; none = a cosine over the
        /// whole run.
        decay_steps: Option<u64> = None;
        /// Decay a step of the average of the weights, which is what is evaluated and exported;
        /// 0 = none, the weights themselves are.
        average: f32 = 0.0;
        /// Held-out positions that are measured at most.
        valid_positions: usize = 4000;
        /// Gating matches.
        gate: GateConfig = GateConfig::default();
        /// Optimizer.
        optimizer: Optimizer = Optimizer::default();
        /// Weights of the parts of the loss.
        loss: LossWeights = LossWeights::default();
    }
    /// What the command line may say of a training run.
    options TrainOptions {
        /// Shape of the network; a file may name the sizes one by one.
        #[serde(deserialize_with = "file::shape")]
        model: ModelConfig = ModelConfig::small(), as shape: Shape;
        /// Device that trains: auto, cpu, gpu, or software for tests.
        device: DeviceChoice = DeviceChoice::Auto, as device: DeviceChoice;
        /// Precision of the matrix products, Muon's on a CPU included: f32, bf16 or f16; weights
        /// and moments are f32.
        precision: Precision = Precision::F32, as precision: Precision;
        /// Steps of the whole run.
        steps: u64 = 20_000, as steps: u64;
        /// Steps of linear warm-up.
        warm_up: u64 = 500, as warm_up: u64;
        /// Windows of a batch.
        batch: usize = 32, as batch: usize;
        /// Workers, each with batches of its own in a step; gradients are summed.
        workers: usize = 2, as workers: usize;
        /// Batches that a worker takes in a step, one after another: small ones stay in a
        /// processor's cache.
        micro_batches: usize = 1, as micro_batches: usize;
        /// Threads that encode batches ahead of the workers; the batches do not depend on it.
        encoders: usize = 1, as encoders: usize;
        /// Positions per window, the anchor included.
        window: u16 = 9, as window: u16;
        /// Largest learning rate.
        rate: f32 = 3e-3, as rate: f32;
        /// Share of the moves on a search's paths that are refuted, as `tesla-benches paths` counts
        /// them: readouts after such moves get the weight of that share in value, policy and error.
        refuted: Option<f32> = None, as refuted: f32 = "the data's share";
        /// Share to learn from of the windows in which one side is ahead by three pawns throughout;
        /// the rest is left out, a different part in each epoch.
        decided: f32 = 1.0, as decided: f32;
        /// Opening book of the gating matches: built-in, startpos, or an EPD, FEN or PGN file; each
        /// opening is played with both colours.
        gate_openings: BookSource = BookSource::BuiltIn, as gate_openings: BookSource;
        /// Steps between measurements on held-out games, for loss.csv and the progress bar.
        valid_steps: u64 = 500, as valid_steps: u64;
        /// Seed of the weights and of the order of the windows; choose a different one with
        /// --start-from, or the run sees the same windows in the same order again.
        seed: u64 = 1, as seed: u64;
        /// Seconds between checkpoints.
        checkpoint_seconds: u64 = 300, as checkpoint_seconds: u64;
        /// Steps between checkpoints, besides.
        checkpoint_steps: Option<u64> = None, as checkpoint_steps: u64 = "none";
    }
    and {
        /// Weight of the policy's part of the loss.
        loss.policy, as policy_weight: f32;
        /// Weight of the divergence between a chain's last readout and the whole encode of the same
        /// position.
        loss.consistency, as consistency: f32;
        /// Games of the gating matches that the network plays against the last one that passed,
        /// at first against --start-from or the engine's own; 0 = none. See gates.csv.
        gate.games, as gate: u64;
        /// Steps between gating matches.
        gate.steps, as gate_steps: u64;
        /// Evaluations a move in gating matches.
        gate.nodes, as gate_nodes: u64;
    }
}

/// Shapes of networks that have a name.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Shape {
    /// For tests.
    Tiny,
    /// The shipped one.
    Small,
    /// For machines with a GPU.
    Base,
}

impl From<Shape> for ModelConfig {
    fn from(shape: Shape) -> Self {
        match shape {
            Shape::Tiny => Self::tiny(),
            Shape::Small => Self::small(),
            Shape::Base => Self::base(),
        }
    }
}

impl Shown for ModelConfig {
    fn shown(&self) -> Option<String> {
        Some(self.name.clone())
    }
}

/// What decides which windows the batches of an epoch hold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) window: u16,
    pub(crate) batch: usize,
    /// Of the data.
    pub(crate) positions: usize,
    /// Share of the decided windows.
    #[serde(default = "all")]
    pub(crate) decided: f32,
    /// Of the scores that say which windows are decided.
    #[serde(default)]
    pub(crate) look_ahead: f32,
}

/// What versions that left no window out used.
fn all() -> f32 {
    1.0
}

impl TrainConfig {
    /// The defaults for a network of this shape; the data are still to be named.
    pub fn new(model: ModelConfig) -> Self {
        Self { model, ..Self::default() }
    }

    /// Batches of a step.
    pub(crate) fn batches_a_step(&self) -> usize {
        self.workers * self.micro_batches
    }

    /// Says what is wrong with the numbers, if anything.
    ///
    /// # Errors
    /// A sentence.
    pub fn check(&self) -> Result<(), String> {
        if self.batch == 0 {
            return Err("batch must be at least 1".to_owned());
        }
        if !(1..=MOST_MICRO_BATCHES).contains(&self.micro_batches) {
            let is = self.micro_batches;
            return Err(format!("micro_batches is {is}; it must be 1 to {MOST_MICRO_BATCHES}"));
        }
        for (name, threads) in [("workers", self.workers), ("encoders", self.encoders)] {
            if !(1..=MOST_THREADS).contains(&threads) {
                return Err(format!("{name} is {threads}; it must be 1 to {MOST_THREADS}"));
            }
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
        if !(0.0..1.0).contains(&self.look_ahead) {
            return Err(format!("look_ahead is {}; it must be 0 to below 1", self.look_ahead));
        }
        if !(0.0..1.0).contains(&self.average) {
            return Err(format!("average is {}; it must be 0 to below 1", self.average));
        }
        if !(0.0..=1.0).contains(&self.decided) {
            return Err(format!("decided is {}; it must be 0 to 1", self.decided));
        }
        if !(self.rate.is_finite() && self.rate > 0.0) {
            return Err(format!("the learning rate is {}; it must be above 0", self.rate));
        }
        if !(0.0..=1.0).contains(&self.final_rate) {
            return Err(format!("final_rate is {}; it must be 0 to 1", self.final_rate));
        }
        if self.checkpoint_steps == Some(0) {
            return Err("checkpoint_steps must be at least 1".to_owned());
        }
        if self.gate.games > 0 && (self.gate.steps == 0 || self.gate.nodes == 0) {
            return Err("gate.steps and gate.nodes must be at least 1".to_owned());
        }
        self.check_loss()?;
        self.check_optimizer()?;
        self.model.check()
    }

    fn check_loss(&self) -> Result<(), String> {
        let LossWeights { value, policy, action, error, consistency } = self.loss;
        for (name, weight) in [
            ("value", value),
            ("policy", policy),
            ("action", action),
            ("error", error),
            ("consistency", consistency),
        ] {
            if !(weight.is_finite() && weight >= 0.0) {
                return Err(format!("the weight of {name} is {weight}; it must be 0 or more"));
            }
        }
        Ok(())
    }

    fn check_optimizer(&self) -> Result<(), String> {
        let Optimizer { beta_1, beta_2, epsilon, weight_decay, clip_norm, muon, momentum } =
            self.optimizer;
        for (name, beta) in [("beta_1", beta_1), ("beta_2", beta_2), ("momentum", momentum)] {
            if !(0.0..1.0).contains(&beta) {
                return Err(format!("{name} is {beta}; it must be at least 0 and below 1"));
            }
        }
        for (name, number) in [("epsilon", epsilon), ("clip_norm", clip_norm)] {
            if !(number.is_finite() && number > 0.0) {
                return Err(format!("{name} is {number}; it must be above 0"));
            }
        }
        for (name, number) in [("weight_decay", weight_decay), ("muon", muon)] {
            if !(number.is_finite() && number >= 0.0) {
                return Err(format!("{name} is {number}; it must be 0 or more"));
            }
        }
        Ok(())
    }

    /// What decides the batches of an epoch.
    pub(crate) fn plan(&self) -> Plan {
        let Self { seed, window, batch, positions, decided, look_ahead, .. } = *self;
        Plan { seed, window, batch, positions, decided, look_ahead }
    }

    /// Learning rate at `step`: linear warm-up, then cosine, or constant with a linear decay.
    pub fn rate_at(&self, step: u64) -> f32 {
        if step < self.warm_up {
            return self.rate * (step + 1) as f32 / self.warm_up as f32;
        }
        let share = |steps: u64| {
            let begin = self.steps.saturating_sub(steps);
            let steps = self.steps - begin;
            (step.saturating_sub(begin) as f32 / steps.max(1) as f32).min(1.0)
        };
        let left = if let Some(steps) = self.decay_steps {
            1.0 - share(steps)
        } else {
            let done = share(self.steps.saturating_sub(self.warm_up));
            0.5 * (1.0 + (std::f32::consts::PI * done).cos())
        };
        self.rate * (self.final_rate + (1.0 - self.final_rate) * left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_warms_up_and_falls_as_the_schedule_says() {
        let config = TrainConfig {
            steps: 1000,
            warm_up: 100,
            rate: 2.0,
            final_rate: 0.1,
            ..TrainConfig::default()
        };
        let near = |a: f32, b: f32| assert!((a - b).abs() < 1e-5, "{a} is not {b}");
        near(config.rate_at(49), 1.0);
        near(config.rate_at(100), 2.0);
        near(config.rate_at(550), 0.5 * (2.0 + 0.2));
        near(config.rate_at(1000), 0.2);
        let constant = TrainConfig { decay_steps: Some(200), ..config };
        near(constant.rate_at(49), 1.0);
        near(constant.rate_at(800), 2.0);
        near(constant.rate_at(900), 0.5 * (2.0 + 0.2));
        near(constant.rate_at(1000), 0.2);
        // A decay longer than the run ends where the run does.
        let short = TrainConfig { decay_steps: Some(5000), ..constant.clone() };
        near(short.rate_at(500), 0.5 * (2.0 + 0.2));
        near(short.rate_at(1000), 0.2);
        // As long as the decay has not begun, a longer run has had the same rates.
        let longer = TrainConfig { steps: 5000, ..constant.clone() };
        assert!(
            (0..=800)
                .all(|step| longer.rate_at(step).to_bits() == constant.rate_at(step).to_bits())
        );
    }
}
