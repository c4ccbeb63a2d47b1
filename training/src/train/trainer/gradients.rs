//! The gradients of one training step (`Trainer::train_step` applies them): forward and backward
//! over each worker's batches, on the CPU by [`Backprop`], elsewhere by burn's graph.

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

/// A batch of a step.
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
    /// Threads among which the batches are divided; each takes its own one after another.
    pub(super) workers: usize,
    pub(super) device: &'a Device,
}

impl Pass<'_> {
    /// Batches of a worker.
    fn share(self, jobs: &[Job]) -> usize {
        jobs.len().div_ceil(self.workers.max(1)).max(1)
    }

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

/// A batch's parts of the loss, and how many positions they are means of.
type Parts = ([f32; PARTS], u64);

/// What one worker found.
struct Found<G> {
    grads: G,
    parts: Vec<Parts>,
}

/// What all workers found.
pub(super) struct Sum {
    /// Of the mean loss over the batches, times the pass's scale.
    pub(super) grads: Grads,
    /// Each batch's parts of the loss, before their weights.
    pub(super) parts: Vec<Parts>,
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

/// The gradients over all jobs, each worker's in a thread of its own.
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
    let scale = pass.scale / jobs.len().max(1) as f32;
    let shares = jobs.chunks(pass.share(jobs));
    if memory.workers.len() < shares.len() {
        memory.workers.resize_with(shares.len(), Workspace::default);
    }
    let work = |(jobs, work)| move || plain_worker(network, jobs, scale, (pass, work));
    let found = joined(shares.zip(&mut memory.workers).map(work).collect());
    let mut found = found.into_iter();
    let Some(Found { grads: mut sum, mut parts }) = found.next() else {
        return Sum { grads: Grads::List(Vec::new()), parts: Vec::new() };
    };
    for Found { grads, parts: own } in found {
        for (sum, grad) in sum.iter_mut().zip(grads) {
            *sum += grad;
        }
        parts.extend(own);
    }
    Sum { grads: Grads::List(sum), parts }
}

/// Takes batches one after another.
fn plain_worker(
    network: &Backprop,
    jobs: &[Job],
    scale: f32,
    (pass, work): (Pass<'_>, &mut Workspace),
) -> Found<Vec<f32>> {
    let mut grads = vec![0.0; network.parameters()];
    let one = |job| plain_backward(network, job, scale, (pass, &mut *work), &mut grads);
    Found { parts: jobs.iter().map(one).collect(), grads }
}

/// Adds a batch's gradients to `grads`.
fn plain_backward(
    network: &Backprop,
    job: &Job,
    scale: f32,
    (pass, work): (Pass<'_>, &mut Workspace),
    grads: &mut [f32],
) -> Parts {
    let answer = network.forward(&job.batch, work).into_output(pass.device);
    let output = Output {
        value_logits: answer.value_logits.require_grad(),
        log_error: answer.log_error.require_grad(),
        policy_logits: answer.policy_logits.require_grad(),
        action_delta: answer.action_delta.require_grad(),
    };
    let loss = loss(output.clone(), &job.labels, pass.weights, pass.device);
    let mut graph = (loss.total * scale).backward();
    let gradient = Answer {
        value_logits: numbers(output.value_logits.grad_remove(&mut graph)),
        log_error: numbers(output.log_error.grad_remove(&mut graph)),
        policy_logits: numbers(output.policy_logits.grad_remove(&mut graph)),
        action_delta: numbers(output.action_delta.grad_remove(&mut graph)),
    };
    let mut parts = [0.0; PARTS];
    for (part, value) in parts.iter_mut().zip(numbers(Some(loss.parts))) {
        *part = value;
    }
    network.add_backward(&gradient, work, grads);
    (parts, job.positions())
}

fn numbers<const D: usize>(tensor: Option<Tensor<D>>) -> Vec<f32> {
    tensor.and_then(|tensor| tensor.into_data().try_to_vec().ok()).unwrap_or_default()
}

pub(super) fn graph_gradients(model: &Model, jobs: &[Job], pass: Pass<'_>) -> Sum {
    let share = 1.0 / jobs.len().max(1) as f32;
    let work = |jobs| {
        // Leaves of its own: workers that share parameters share burn's graph, and one worker's
        // backward pass now and then consumes another's.
        let model = model.clone().fork(pass.device);
        move || {
            let mut sum = GradientsAccumulator::new();
            let mut parts = Vec::new();
            for job in jobs {
                let (grads, own) = backward(&model, job, share, pass);
                sum.accumulate(&model, grads);
                parts.push(own);
            }
            Found { grads: sum.grads(), parts }
        }
    };
    let found = joined(jobs.chunks(pass.share(jobs)).map(work).collect());
    let mut sum = GradientsAccumulator::new();
    let mut parts = Vec::with_capacity(jobs.len());
    for Found { grads, parts: own } in found {
        sum.accumulate(model, grads);
        parts.extend(own);
    }
    Sum { grads: Grads::Tensors(sum.grads()), parts }
}

fn backward(model: &Model, job: &Job, share: f32, pass: Pass<'_>) -> (GradientsParams, Parts) {
    let Pass { weights, precision, scale, device, .. } = pass;
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
    (GradientsParams::from_grads(grads, model), (parts, job.positions()))
}
