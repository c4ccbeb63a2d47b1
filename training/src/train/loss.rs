//! What the network is punished for.

use burn::tensor::activation::{log_softmax, softplus};
use burn::tensor::{Device, Int, Tensor, TensorData};
use serde::{Deserialize, Serialize};
use tesla_nn::model::{Output, VALUE_BINS};

use crate::train::labels::Labels;

/// Weights of the parts in the sum.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LossWeights {
    /// Cross-entropy of the value histogram.
    pub value: f32,
    /// Cross-entropy of the teacher's best move.
    pub policy: f32,
    /// Binary cross-entropy of the action values.
    pub action: f32,
    /// Negative log-likelihood of the error scale (Student's t, two degrees of freedom).
    pub error: f32,
    /// Divergence of the last readout's value histogram from that of a whole encode; 0 = not
    /// computed, which saves a third of the time.
    pub consistency: f32,
}

impl Default for LossWeights {
    fn default() -> Self {
        Self { value: 1.0, policy: 2.0, action: 0.5, error: 0.1, consistency: 0.0 }
    }
}

/// The parts, each a weighted mean over labelled readouts (action: a mean over labelled moves), as
/// `[1]` tensors.
#[derive(Clone, Debug)]
pub struct Loss {
    /// Weighted sum.
    pub total: Tensor<1>,
    /// Value, policy, action, error and the squared error of the mean value, detached.
    pub parts: Tensor<1>,
}

/// Centres of the value bins.
pub fn bin_centres(device: &Device) -> Tensor<2> {
    let centres: Vec<f32> =
        (0..VALUE_BINS).map(|bin| (bin as f32 + 0.5) / VALUE_BINS as f32).collect();
    Tensor::from_data(TensorData::new(centres, [1, VALUE_BINS]), device)
}

/// Mean Kullback-Leibler divergence of the value histograms at `readouts` from those of whole
/// encodes of the same positions, which are not taught by it: `[1]`.
pub fn consistency(output: &Output, whole: Output, readouts: &[i32], device: &Device) -> Tensor<1> {
    let rows = TensorData::new(readouts.to_vec(), [readouts.len()]);
    let rows: Tensor<1, Int> = Tensor::from_data(rows, device);
    let target = log_softmax(whole.value_logits.detach(), 1);
    let stale = log_softmax(output.value_logits.clone().select(0, rows), 1);
    let divergence = target.clone().exp() * (target - stale);
    divergence.sum() / readouts.len().max(1) as f32
}

/// The loss of a batch.
pub fn loss(output: Output, labels: &Labels, weights: &LossWeights, device: &Device) -> Loss {
    let n = labels.score.len();
    let floats = |values: Vec<f32>| -> Tensor<1> {
        let length = values.len();
        Tensor::from_data(TensorData::new(values, [length]), device)
    };
    let ints = |values: &[i32]| -> Tensor<1, Int> {
        Tensor::from_data(TensorData::new(values.to_vec(), [values.len()]), device)
    };
    let counted: f32 = labels.weight.iter().sum::<f32>().max(1.0);
    let share = floats(labels.weight.iter().map(|weight| weight / counted).collect()); // [n]
    let score = floats(labels.score.clone());

    let histograms = floats(labels.histograms()).reshape([n, VALUE_BINS]);
    let log_bins = log_softmax(output.value_logits, 1); // [n, 64]
    let value = (histograms * log_bins.clone()).sum_dim(1).reshape([n]).neg() * share.clone();
    let mean = (log_bins.detach().exp() * bin_centres(device)).sum_dim(1).reshape([n]); // [n]
    let residual = score - mean.clone();
    let squared = (residual.clone().powi_scalar(2) * share.clone()).sum();

    let log_error = output.log_error.clamp(-7.0, 1.0);
    let z = residual / log_error.clone().exp();
    let error = (log_error + (z.powi_scalar(2) * 0.5 + 1.0).log() * 1.5) * share.clone();

    let hidden = Tensor::full([1], -1e4, device);
    let moves = Tensor::cat(vec![output.policy_logits, hidden], 0)
        .select(0, ints(&labels.slots))
        .reshape([n, labels.longest]);
    let best = ints(&labels.best).reshape([n, 1]);
    let policy = log_softmax(moves, 1).gather(1, best).reshape([n]).neg() * share;

    let mean = mean.clamp(0.002, 0.998);
    let log_odds = (mean.clone() / (mean.neg() + 1.0)).log();
    let actions = labels.action_move.len().max(1) as f32;
    let action = log_odds.select(0, ints(&labels.action_readout))
        + output.action_delta.select(0, ints(&labels.action_move));
    let action_score = floats(labels.action_score.clone());
    let action = (softplus(action.clone(), 1.0) - action_score * action).sum() / actions;

    let (value, policy, error) = (value.sum(), policy.sum(), error.sum());
    let parts = Tensor::cat(
        vec![
            value.clone().detach(),
            policy.clone().detach(),
            action.clone().detach(),
            error.clone().detach(),
            squared.detach(),
        ],
        0,
    );
    let total = value * weights.value
        + policy * weights.policy
        + action * weights.action
        + error * weights.error;
    Loss { total, parts }
}
