//! One step's gradients: forward and backward over each worker's batch.

use burn::module::Module;
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::Device;
use tesla_nn::batch::Batch;
use tesla_nn::model::{Model, Precision};

use crate::train::dataset::Whole;
use crate::train::labels::Labels;
use crate::train::loss::{LossWeights, consistency, loss};

/// Parts of the loss that are logged: value, policy, action, error, the squared error of the mean
/// value, and the divergence from whole encodes (0 where it is not taught).
pub(super) const PARTS: usize = 6;

/// One worker's part of a step.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) batch: Batch,
    pub(super) labels: Labels,
    /// Where consistency is part of the loss.
    pub(super) whole: Option<Whole>,
}

/// How gradients are made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass<'a> {
    pub(super) weights: &'a LossWeights,
    pub(super) precision: Precision,
    /// What the loss is multiplied by before it is differentiated.
    pub(super) scale: f32,
    pub(super) device: &'a Device,
}

/// What one worker found.
struct Found {
    grads: GradientsParams,
    parts: [f32; PARTS],
    positions: u64,
}

/// What all workers found.
pub(super) struct Sum {
    /// Of the mean loss over the workers, times the pass's scale.
    pub(super) grads: GradientsParams,
    /// Each worker's parts of the loss, before their weights, and how many positions they are
    /// means of.
    pub(super) parts: Vec<([f32; PARTS], u64)>,
}

impl Sum {
    /// Whether all parts of the loss are numbers.
    pub(super) fn is_number(&self) -> bool {
        self.parts.iter().all(|(parts, _)| parts.iter().all(|part| part.is_finite()))
    }

    /// Labelled positions.
    pub(super) fn positions(&self) -> u64 {
        self.parts.iter().map(|(_, positions)| positions).sum()
    }
}

/// The gradients over all jobs, each in a thread of its own.
pub(super) fn gradients(model: &Model, jobs: &[Job], pass: Pass<'_>) -> Sum {
    let share = 1.0 / jobs.len().max(1) as f32;
    let found: Vec<Found> = std::thread::scope(|scope| {
        let threads: Vec<_> = jobs
            .iter()
            .map(|job| {
                // Leaves of its own: workers that share parameters share burn's graph, and one
                // worker's backward pass now and then consumes another's.
                let model = model.clone().fork(pass.device);
                scope.spawn(move || backward(&model, job, share, pass))
            })
            .collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    });
    let mut sum = GradientsAccumulator::new();
    let mut parts = Vec::with_capacity(found.len());
    for Found { grads, parts: own, positions } in found {
        sum.accumulate(model, grads);
        parts.push((own, positions));
    }
    Sum { grads: sum.grads(), parts }
}

fn backward(model: &Model, job: &Job, share: f32, pass: Pass<'_>) -> Found {
    let Pass { weights, precision, scale, device } = pass;
    let network = model.in_precision(precision);
    let output = network.forward(&job.batch, device);
    let divergence = job.whole.as_ref().map(|whole| {
        let fresh = network.forward(&whole.batch, device);
        consistency(&output, fresh, &whole.readouts, device)
    });
    let loss = loss(output, &job.labels, weights, device);
    let mut parts = [0.0; PARTS];
    let total = match divergence {
        Some(divergence) => {
            parts[PARTS - 1] = divergence.clone().into_scalar::<f32>();
            loss.total + divergence * weights.consistency
        }
        None => loss.total,
    };
    let grads = (total * (share * scale)).backward();
    let read = loss.parts.into_data().try_to_vec::<f32>().unwrap_or_default();
    for (part, value) in parts.iter_mut().zip(read) {
        *part = value;
    }
    let positions = job.labels.weight.iter().filter(|&&weight| weight > 0.0).count() as u64;
    Found { grads: GradientsParams::from_grads(grads, model), parts, positions }
}
