//! The transformer behind the [`Evaluator`] trait: one thread owns the device and its tensors.
//!
//! The search thread sends batches of requests over a channel and never waits for the device
//! except in `collect`. The device thread encodes, runs the network and decodes; on a GPU it
//! queues a batch that is already waiting before it reads the last one back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::thread;

use burn::tensor::{Device, Tensor};
use crossbeam_channel::{Receiver, Sender, unbounded};
use shakmaty::Position as _;

use crate::device::{Chosen, DeviceChoice, DeviceError, choose};
use crate::encode::Window;
use crate::evaluator::{EvalError, Evaluation, Evaluator, Handle, MoveEstimate, Request};
use crate::model::{Batch, Model, ModelConfig, VALUE_BINS, padded_slots};
use crate::shared::MERGED;
use crate::weights::{self, WeightsError};

/// Positions a CPU thread evaluates at once; larger batches fall out of its cache.
const CPU_BATCH: usize = 16;
/// Default batch on a GPU.
const GPU_BATCH: usize = 256;
/// Batch sizes that a GPU is asked for; others are padded up, so that few kernels are tuned.
const GPU_SHAPES: [usize; 7] = [1, 8, 32, 64, 128, 256, 512];
/// Moves of a position that a batch of fixed shape has room for, on average.
const MOVES_PER_POSITION: usize = 64;
/// Largest difference in value or policy between a device and the CPU on the canary positions.
const CANARY_TOLERANCE: f32 = 0.01;

/// Where the weights come from.
#[derive(Clone, Copy, Debug)]
pub enum WeightsSource<'a> {
    /// The bytes of a weights file.
    Bytes(&'a [u8]),
    /// A weights file.
    File(&'a Path),
}

/// How to run the network.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Device to use.
    pub device: DeviceChoice,
    /// CPU threads of a batch; 0 = one per core.
    pub threads: usize,
    /// Positions per batch; 0 = the device's choice.
    pub batch_size: usize,
    /// Give a GPU batches of one shape only. A GPU's kernels differ from shape to shape in the last
    /// bits; with one shape a position gets the same answer in any company, at the price of padding
    /// where batches are small. The CPU's answers never depend on company.
    pub one_shape: bool,
}

/// How a batch is filled up before it goes to the device.
#[derive(Clone, Copy, Debug)]
enum Padding {
    /// Not at all: a CPU takes any shape.
    None,
    /// To one of [`GPU_SHAPES`].
    Few,
    /// To this many positions, with room for [`MOVES_PER_POSITION`] moves each.
    One(usize),
}

/// Why the network could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The weights.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// The device.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// No thread.
    #[error("the system gives no thread for the device ({0})")]
    Thread(#[from] std::io::Error),
}

type Answer = Result<Vec<Evaluation>, EvalError>;

/// The network on its device.
#[derive(Debug)]
pub struct TransformerEvaluator {
    /// `None` only while dropping.
    requests: Option<Sender<Vec<Request>>>,
    answers: Receiver<Answer>,
    in_flight: usize,
    batch_size: usize,
    description: String,
    /// Sentences for the user about how it started.
    pub notes: Vec<String>,
    thread: Option<thread::JoinHandle<()>>,
}

impl TransformerEvaluator {
    /// Loads the weights, finds the device, checks it against the CPU and starts its thread.
    ///
    /// # Errors
    /// When the weights cannot be used or a device asked for by name is not there. A GPU that is
    /// there but computes wrongly or fails is replaced by the CPU, with a note.
    pub fn start(source: WeightsSource<'_>, settings: Settings) -> Result<Self, StartError> {
        let chosen = choose(settings.device)?;
        let load = |device: &Device| match source {
            WeightsSource::Bytes(bytes) => weights::load_bytes(bytes, device),
            WeightsSource::File(path) => weights::load_file(path, device),
        };
        let on_cpu = load(&Device::flex())?;
        let mut notes: Vec<String> = chosen.note.iter().cloned().collect();
        let (chosen, model) = if chosen.is_gpu {
            match checked_gpu(&chosen, &on_cpu.model, &load) {
                Ok(model) => (chosen, model),
                Err(why) => {
                    notes.push(format!("{}: {why}; the network runs on the CPU", chosen.name));
                    (choose(DeviceChoice::Cpu)?, on_cpu.model)
                }
            }
        } else {
            (chosen, on_cpu.model)
        };
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let workers = match (chosen.is_gpu, settings.threads) {
            (true, _) => 1,
            (false, 0) => cores,
            (false, threads) => threads.min(64),
        };
        let default_batch = if chosen.is_gpu { GPU_BATCH } else { CPU_BATCH * workers };
        let batch_size = match settings.batch_size {
            0 => default_batch,
            size => size,
        };
        let description = describe(&on_cpu.config, &on_cpu.hash, &chosen, workers);
        let (requests, inbox) = unbounded();
        let (outbox, answers) = unbounded();
        let padding = match (chosen.is_gpu, settings.one_shape) {
            (false, _) => Padding::None,
            (true, false) => Padding::Few,
            (true, true) => Padding::One(MERGED * batch_size),
        };
        let server = Server { model, device: chosen.device, padding, workers };
        let thread = thread::Builder::new()
            .name("device".to_owned())
            .spawn(move || server.serve(&inbox, &outbox))?;
        Ok(Self {
            requests: Some(requests),
            answers,
            in_flight: 0,
            batch_size,
            description,
            notes,
            thread: Some(thread),
        })
    }
}

fn describe(config: &ModelConfig, hash: &str, chosen: &Chosen, workers: usize) -> String {
    let on = if chosen.is_gpu {
        chosen.name.clone()
    } else {
        format!("{} ({workers} threads)", chosen.name)
    };
    format!("network {}-{hash} on {on}", config.name)
}

/// The model on the GPU, after it has agreed with the CPU on the canary positions.
fn checked_gpu(
    chosen: &Chosen,
    reference: &Model,
    load: &dyn Fn(&Device) -> Result<weights::Loaded, WeightsError>,
) -> Result<Model, String> {
    let canaries = crate::canary::requests();
    let windows: Vec<Window> = canaries.iter().map(window).collect();
    catch_unwind(AssertUnwindSafe(|| {
        let model = load(&chosen.device).map_err(|error| error.to_string())?.model;
        let expected =
            Server::run(reference, &Device::flex(), &windows, Padding::None).decode(canaries.len());
        let actual =
            Server::run(&model, &chosen.device, &windows, Padding::Few).decode(canaries.len());
        let difference = crate::canary::difference(&expected, &actual);
        if difference < CANARY_TOLERANCE {
            Ok(model)
        } else {
            Err(format!("its answers are off by {difference}"))
        }
    }))
    .unwrap_or_else(|panic| Err(format!("it failed ({})", panic_text(&*panic))))
}

/// What a caught panic said.
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|&text| text.to_owned()))
        .unwrap_or_else(|| "no reason given".to_owned())
}

impl Evaluator for TransformerEvaluator {
    fn description(&self) -> String {
        self.description.clone()
    }

    fn batch_size(&self) -> usize {
        self.batch_size
    }

    fn submit(&mut self, batch: Vec<Request>) {
        self.in_flight += 1;
        if let Some(requests) = &self.requests {
            // A dead device thread shows when its answer is collected.
            let _ = requests.send(batch);
        }
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn collect(&mut self) -> Answer {
        if self.in_flight == 0 {
            return Err(EvalError::NothingInFlight);
        }
        self.in_flight -= 1;
        let lost = || EvalError::DeviceLost("its thread has ended".to_owned());
        self.answers.recv().map_err(|_| lost())?
    }
}

impl Drop for TransformerEvaluator {
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the device thread owns.
struct Server {
    model: Model,
    device: Device,
    padding: Padding,
    workers: usize,
}

/// A batch whose kernels are queued.
struct Launched {
    /// Value logits, error scales, policy logits and action deltas, end to end.
    flat: Tensor<1>,
    positions: usize,
    moves: usize,
    offsets: Vec<usize>,
}

fn window(request: &Request) -> Window {
    Window::new(&request.position, request.repetitions, &request.moves)
}

/// Slots that the position's pieces take.
fn padded_pieces(request: &Request) -> usize {
    padded_slots(request.position.board().occupied().count())
}

impl Server {
    fn serve(&self, inbox: &Receiver<Vec<Request>>, outbox: &Sender<Answer>) {
        if !matches!(self.padding, Padding::None) {
            self.serve_pipelined(inbox, outbox);
            return;
        }
        for batch in inbox {
            let answer = guarded(|| self.evaluate_on_cpu(&batch));
            if outbox.send(answer).is_err() {
                return;
            }
        }
    }

    /// Queues batch k + 1 before batch k is read back, where it is there in time.
    fn serve_pipelined(&self, inbox: &Receiver<Vec<Request>>, outbox: &Sender<Answer>) {
        let mut pending: Option<(Vec<Request>, Result<Launched, EvalError>)> = None;
        loop {
            let next = if pending.is_some() { inbox.try_recv().ok() } else { inbox.recv().ok() };
            let launched = next.map(|batch| {
                let launched = guarded(|| self.launch(&batch));
                (batch, launched)
            });
            let finished = pending.take();
            if finished.is_none() && launched.is_none() {
                return;
            }
            if let Some((batch, launched)) = finished {
                let answer = launched.and_then(|launched| guarded(|| launched.decode(batch.len())));
                if outbox.send(answer).is_err() {
                    return;
                }
            }
            pending = launched;
        }
    }

    fn launch(&self, batch: &[Request]) -> Launched {
        let windows: Vec<Window> = batch.iter().map(window).collect();
        Self::run(&self.model, &self.device, &windows, self.padding)
    }

    /// Shares the batch between the CPU threads.
    ///
    /// Windows of one size are run together and never padded to a neighbour's: the same position
    /// gets the same bits whatever else is in its batch, so that games which share a device are
    /// the games that each would have played alone.
    fn evaluate_on_cpu(&self, batch: &[Request]) -> Vec<Evaluation> {
        let mut order: Vec<usize> = (0..batch.len()).collect();
        order.sort_by_key(|&index| padded_pieces(&batch[index]));
        let share = order.len().div_ceil(self.workers).max(1);
        let mut shares = order.chunks(share);
        let first = shares.next().unwrap_or_default();
        let mut answers = thread::scope(|scope| {
            let others: Vec<_> = shares
                .map(|share| scope.spawn(move || self.evaluate_share(batch, share)))
                .collect();
            let mut answers = self.evaluate_share(batch, first);
            for other in others {
                match other.join() {
                    Ok(more) => answers.extend(more),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            answers
        });
        answers.sort_by_key(|&(index, _)| index);
        answers.into_iter().map(|(_, answer)| answer).collect()
    }

    /// Evaluates the requests at these places, which are ordered by size.
    fn evaluate_share(&self, batch: &[Request], share: &[usize]) -> Vec<(usize, Evaluation)> {
        let mut answers = Vec::with_capacity(share.len());
        for group in share.chunk_by(|&a, &b| padded_pieces(&batch[a]) == padded_pieces(&batch[b])) {
            let windows: Vec<Window> = group.iter().map(|&index| window(&batch[index])).collect();
            let launched = Self::run(&self.model, &self.device, &windows, Padding::None);
            answers.extend(group.iter().copied().zip(launched.decode(group.len())));
        }
        answers
    }

    fn run(model: &Model, device: &Device, windows: &[Window], padding: Padding) -> Launched {
        let positions = windows.len();
        let batch = match padding {
            Padding::None => Batch::pack(windows),
            Padding::Few => {
                let shape = GPU_SHAPES.into_iter().find(|&shape| shape >= positions);
                Batch::pack_padded(windows, shape.unwrap_or(positions), 0)
            }
            Padding::One(shape) => Batch::pack_padded(windows, shape, MOVES_PER_POSITION * shape),
        };
        if positions == 0 {
            let flat = Tensor::zeros([0], &Device::flex());
            return Launched { flat, positions, moves: 0, offsets: vec![0] };
        }
        let output = model.forward(&batch, device);
        let padded = batch.windows;
        let flat = Tensor::cat(
            vec![
                output.value_logits.reshape([padded * VALUE_BINS]),
                output.log_error,
                output.policy_logits,
                output.action_delta,
            ],
            0,
        );
        Launched { flat, positions: padded, moves: batch.moves(), offsets: batch.move_offsets }
    }
}

/// Turns a panic of the device's driver into an error.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, EvalError> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| EvalError::DeviceLost(panic_text(&*panic)))
}

impl Launched {
    /// Waits for the device and turns the logits of the first `positions` into evaluations.
    #[expect(clippy::panic, reason = "a tensor of another type is a bug; the caller catches it")]
    fn decode(self, positions: usize) -> Vec<Evaluation> {
        let flat: Vec<f32> = match self.flat.into_data().try_to_vec() {
            Ok(values) => values,
            Err(error) => panic!("unreadable answer: {error:?}"),
        };
        let (values, rest) = flat.split_at(self.positions * VALUE_BINS);
        let (errors, rest) = rest.split_at(self.positions);
        let (policies, deltas) = rest.split_at(self.moves);
        (0..positions)
            .map(|index| {
                let bins = &values[index * VALUE_BINS..(index + 1) * VALUE_BINS];
                let moves = self.offsets[index]..self.offsets[index + 1];
                decode(bins, errors[index], &policies[moves.clone()], &deltas[moves])
            })
            .collect()
    }
}

fn softmax(logits: &[f32]) -> Vec<f32> {
    let most = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let weights: Vec<f32> = logits.iter().map(|logit| (logit - most).exp()).collect();
    let total: f32 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

/// From the network's numbers for one position to an evaluation without a handle.
///
/// Win, draw and loss are the histogram's means of `x²`, `2x(1 − x)` and `(1 − x)²`: two halves of a
/// game, each won with probability x. It keeps win + draw / 2 = value and needs no draw head.
pub fn decode(bins: &[f32], log_error: f32, policy: &[f32], deltas: &[f32]) -> Evaluation {
    let mut value = 0.0;
    let mut win = 0.0;
    for (bin, mass) in softmax(bins).into_iter().enumerate() {
        let x = (bin as f32 + 0.5) / VALUE_BINS as f32;
        value += mass * x;
        win += mass * x * x;
    }
    let draw = 2.0 * (value - win);
    let odds = value.clamp(0.002, 0.998);
    let odds = (odds / (1.0 - odds)).ln();
    let moves = softmax(policy)
        .into_iter()
        .zip(deltas)
        .map(|(policy, delta)| MoveEstimate {
            policy,
            action_value: 1.0 / (1.0 + (-(odds + delta)).exp()),
        })
        .collect();
    Evaluation {
        value,
        error: log_error.clamp(-7.0, 1.0).exp(),
        wdl: [win, draw, 1.0 - win - draw],
        moves,
        handle: Handle(0),
    }
}
