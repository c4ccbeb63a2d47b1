//! The gradients of one training step (`Trainer::train_step` applies them): forward and backward
//! over each worker's batch, on the CPU by [`Backprop`], elsewhere by burn's graph.

use burn::module::Module;
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::{Device, Tensor};
use tesla_nn::batch::Batch;
use tesla_nn::model::backprop::{Answer, Backprop, Workspace};
use tesla_nn::model::{Model, Output, Precision};

use crate::train::adamw::Grads;
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

impl Job {
    /// Labelled positions.
    pub(super) fn positions(&self) -> u64 {
        self.labels.weight.iter().filter(|&&weight| weight > 0.0).count() as u64
    }
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

impl Pass<'_> {
    /// Whether [`Backprop`] can do it. The network and its gradients are the same either way, but
    /// for rounding.
    fn is_plain(self) -> bool {
        let is_cpu = self.device.clone().without_autodiff() == Device::flex();
        let does_it = match self.precision {
            Precision::F32 => true,
            Precision::Bf16 => Backprop::has_tiles(),
            Precision::F16 => false,
        };
        is_cpu && does_it && self.weights.consistency <= 0.0
    }
}

/// Memory that one step leaves to the next one.
#[derive(Debug, Default)]
pub(super) struct Memory {
    workers: Vec<Workspace>,
}

/// What one worker found.
struct Found<G> {
    grads: G,
    parts: [f32; PARTS],
    positions: u64,
}

/// What all workers found.
pub(super) struct Sum {
    /// Of the mean loss over the workers, times the pass's scale.
    pub(super) grads: Grads,
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
pub(super) fn gradients(model: &Model, jobs: &[Job], pass: Pass<'_>, memory: &mut Memory) -> Sum {
    if pass.is_plain() {
        plain_gradients(&Backprop::new(model, pass.precision), jobs, pass, memory)
    } else {
        graph_gradients(model, jobs, pass)
    }
}

/// Runs the workers and waits for them.
fn joined<G: Send>(works: Vec<impl FnOnce() -> Found<G> + Send>) -> Vec<Found<G>> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = works.into_iter().map(|work| scope.spawn(work)).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    })
}

fn plain_gradients(network: &Backprop, jobs: &[Job], pass: Pass<'_>, memory: &mut Memory) -> Sum {
    let share = 1.0 / jobs.len().max(1) as f32;
    if memory.workers.len() < jobs.len() {
        memory.workers.resize_with(jobs.len(), Workspace::default);
    }
    let work = |(job, work)| move || plain_backward(network, job, share * pass.scale, (pass, work));
    let found = joined(jobs.iter().zip(&mut memory.workers).map(work).collect());
    let mut found = found.into_iter();
    let mut parts = Vec::with_capacity(jobs.len());
    let mut sum = Vec::new();
    if let Some(Found { grads, parts: own, positions }) = found.next() {
        sum = grads;
        parts.push((own, positions));
    }
    for Found { grads, parts: own, positions } in found {
        for (sum, grad) in sum.iter_mut().zip(grads) {
            *sum += grad;
        }
        parts.push((own, positions));
    }
    Sum { grads: Grads::List(sum), parts }
}

fn plain_backward(
    network: &Backprop,
    job: &Job,
    scale: f32,
    (pass, work): (Pass<'_>, &mut Workspace),
) -> Found<Vec<f32>> {
    let answer = network.forward(&job.batch, work).into_output(pass.device);
    let output = Output {
        value_logits: answer.value_logits.require_grad(),
        log_error: answer.log_error.require_grad(),
        policy_logits: answer.policy_logits.require_grad(),
        action_delta: answer.action_delta.require_grad(),
    };
    let loss = loss(output.clone(), &job.labels, pass.weights, pass.device);
    let mut grads = (loss.total * scale).backward();
    let gradient = Answer {
        value_logits: numbers(output.value_logits.grad_remove(&mut grads)),
        log_error: numbers(output.log_error.grad_remove(&mut grads)),
        policy_logits: numbers(output.policy_logits.grad_remove(&mut grads)),
        action_delta: numbers(output.action_delta.grad_remove(&mut grads)),
    };
    let mut parts = [0.0; PARTS];
    for (part, value) in parts.iter_mut().zip(numbers(Some(loss.parts))) {
        *part = value;
    }
    Found { grads: network.backward(&gradient, work), parts, positions: job.positions() }
}

fn numbers<const D: usize>(tensor: Option<Tensor<D>>) -> Vec<f32> {
    tensor.and_then(|tensor| tensor.into_data().try_to_vec().ok()).unwrap_or_default()
}

pub(super) fn graph_gradients(model: &Model, jobs: &[Job], pass: Pass<'_>) -> Sum {
    let share = 1.0 / jobs.len().max(1) as f32;
    let work = |job| {
        // Leaves of its own: workers that share parameters share burn's graph, and one worker's
        // backward pass now and then consumes another's.
        let model = model.clone().fork(pass.device);
        move || backward(&model, job, share, pass)
    };
    let found = joined(jobs.iter().map(work).collect());
    let mut sum = GradientsAccumulator::new();
    let mut parts = Vec::with_capacity(found.len());
    for Found { grads, parts: own, positions } in found {
        sum.accumulate(model, grads);
        parts.push((own, positions));
    }
    Sum { grads: Grads::Tensors(sum.grads()), parts }
}

fn backward(model: &Model, job: &Job, share: f32, pass: Pass<'_>) -> Found<GradientsParams> {
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
    let grads = GradientsParams::from_grads(grads, model);
    Found { grads, parts, positions: job.positions() }
}
