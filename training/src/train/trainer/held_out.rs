//! How good the network is on positions that it does not learn from, while it learns.

use burn::tensor::Device;
use serde::{Deserialize, Serialize};
use tesla_nn::model::backprop::{Backprop, Workspace};
use tesla_nn::model::{Model, Output, Precision};

use super::gradients::{Job, PARTS};
use crate::train::dataset::Dataset;
use crate::train::loss::{LossWeights, loss};

/// Windows of a batch.
const BATCH: usize = 32;

/// Means over the held-out positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct HeldOut {
    /// Cross-entropies, nats.
    pub(super) value: f64,
    pub(super) policy: f64,
    /// Root mean square, points.
    pub(super) rmse_points: f64,
    /// Share of the positions whose best move has the highest prior.
    pub(super) top_1: f64,
}

/// Held-out positions, encoded once.
#[derive(Debug)]
pub(super) struct Sample(Vec<Job>);

impl Sample {
    /// About `positions` of the data set, the same ones every time.
    pub(super) fn draw(dataset: &Dataset, window: u16, positions: usize) -> Self {
        let mut left = positions;
        let mut jobs = Vec::new();
        for windows in dataset.plan(window, BATCH, 0, 0) {
            if left == 0 {
                break;
            }
            let (batch, labels) = dataset.batch(&windows);
            let job = Job { batch, labels, whole: None };
            left = left.saturating_sub(job.positions() as usize);
            jobs.push(job);
        }
        Self(jobs)
    }

    /// What `model` says of them.
    pub(super) fn measure(&self, model: &Model, precision: Precision, device: &Device) -> HeldOut {
        let plain = (*device == Device::flex()).then(|| Backprop::new(model, Precision::F32));
        let network = model.in_precision(precision);
        let mut work = Workspace::default();
        let (mut sums, mut hits, mut count) = ([0.0; PARTS], 0, 0.0);
        for job in &self.0 {
            let output = match &plain {
                Some(plain) => plain.forward(&job.batch, &mut work).into_output(device),
                None => network.forward(&job.batch, device),
            };
            hits += best_moves(&output, job);
            let parts = loss(output, &job.labels, &LossWeights::default(), device).parts;
            let positions = job.positions() as f64;
            let parts: Vec<f32> = parts.into_data().try_to_vec().unwrap_or_default();
            for (sum, part) in sums.iter_mut().zip(parts) {
                *sum += f64::from(part) * positions;
            }
            count += positions;
        }
        let [value, policy, _, _, squared, _] = sums.map(|sum| sum / count.max(1.0));
        let (rmse_points, top_1) = (squared.sqrt() * 100.0, hits as f64 / count.max(1.0));
        HeldOut { value, policy, rmse_points, top_1 }
    }
}

/// In how many of the job's positions the best move has the highest prior.
fn best_moves(output: &Output, job: &Job) -> usize {
    let logits: Vec<f32> =
        output.policy_logits.clone().into_data().try_to_vec().unwrap_or_default();
    let labels = &job.labels;
    let ends = job.batch.move_offsets.windows(2);
    let readouts = ends.zip(labels.weight.iter().zip(&labels.best));
    let is_hit = |(ends, (&weight, &best)): (&[usize], (&f32, &i32))| {
        let moves = logits.get(ends[0]..ends[1]).unwrap_or_default();
        let highest = moves.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        weight > 0.0 && highest.is_some_and(|(index, _)| index == best as usize)
    };
    readouts.filter(|&readout| is_hit(readout)).count()
}
