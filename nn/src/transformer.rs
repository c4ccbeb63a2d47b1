//! The transformer behind the [`Evaluator`] trait: one thread owns the device and its tensors.
//!
//! The search thread sends batches of requests over a channel and never waits for the device
//! except in `collect`. On a CPU the thread runs our own kernels ([`crate::cpu`]) and keeps
//! positions for their children. On a GPU it encodes, runs burn and decodes, and queues a batch that
//! is already waiting before it reads the last one back; there every position is encoded whole.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use burn::tensor::{Device, Tensor};
use crossbeam_channel::{Receiver, Sender, unbounded};

use crate::cpu::{Engine, Options};
use crate::decode::decode;
use crate::device::{Chosen, DeviceChoice, DeviceError, choose};
use crate::encode::Window;
use crate::evaluator::{CacheFigures, EvalError, Evaluation, Evaluator, Handle, Request};
use crate::model::{Batch, Model, VALUE_BINS};
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
    /// Memory for keys and values of evaluated positions, bytes per search; 0 = every position is
    /// encoded whole. Only a CPU keeps them so far.
    pub cache_bytes: usize,
    /// When a kept position begins a chain anew.
    pub anchors: Anchors,
}

/// When a kept position becomes an anchor: encoded whole, so that what comes below it is as fresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchors {
    /// Evaluations below it.
    pub work: u32,
    /// Plies since its own anchor.
    pub staleness: usize,
}

impl Default for Anchors {
    fn default() -> Self {
        Self { work: 32, staleness: 1 }
    }
}

/// How a batch is filled up before it goes to the device.
#[derive(Clone, Copy, Debug)]
enum Padding {
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

/// What the device thread is told.
enum Message {
    Batch(Vec<Request>),
    Protect(u32, Vec<Handle>),
    Retain(u32, Vec<Handle>),
    Forget(u32),
    ForgetAll,
}

/// The network on its device.
#[derive(Debug)]
pub struct TransformerEvaluator {
    /// `None` only while dropping.
    messages: Option<Sender<Message>>,
    answers: Receiver<Answer>,
    in_flight: usize,
    batch_size: usize,
    description: String,
    /// As of the batch answered last; nothing where every position is encoded whole.
    figures: Option<Arc<Mutex<CacheFigures>>>,
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
        let bytes = match source {
            WeightsSource::Bytes(bytes) => Cow::Borrowed(bytes),
            WeightsSource::File(path) => Cow::Owned(weights::read_file(path)?),
        };
        let threads = match settings.threads {
            0 => thread::available_parallelism().map_or(1, usize::from),
            threads => threads.min(64),
        };
        let options = Options {
            threads,
            cache_bytes: settings.cache_bytes,
            anchor_work: settings.anchors.work,
            anchor_chain: settings.anchors.staleness + 1,
        };
        let mut engine = Engine::load(&bytes, options)?;
        let mut notes: Vec<String> = chosen.note.iter().cloned().collect();
        let on_gpu = if chosen.is_gpu {
            checked_gpu(&chosen, &mut engine, &bytes).map_or_else(
                |why| {
                    notes.push(format!("{}: {why}; the network runs on the CPU", chosen.name));
                    None
                },
                Some,
            )
        } else {
            None
        };
        let default_batch = if on_gpu.is_some() { GPU_BATCH } else { CPU_BATCH * threads };
        let batch_size = match settings.batch_size {
            0 => default_batch,
            size => size,
        };
        let on = match &on_gpu {
            Some(_) => chosen.name.clone(),
            None => format!("CPU ({threads} threads)"),
        };
        let description =
            format!("network {}-{} on {on}", engine.name(), weights::short_hash(&bytes));
        let (messages, inbox) = unbounded();
        let (outbox, answers) = unbounded();
        let keeps = on_gpu.is_none() && settings.cache_bytes > 0;
        let figures = keeps.then(Arc::default);
        let shown = figures.clone();
        let padding =
            if settings.one_shape { Padding::One(MERGED * batch_size) } else { Padding::Few };
        let thread =
            thread::Builder::new().name("device".to_owned()).spawn(move || match on_gpu {
                Some(model) => Gpu { model, device: chosen.device, padding }.serve(&inbox, &outbox),
                None => serve_on_cpu(engine, &inbox, &outbox, shown.as_deref()),
            })?;
        Ok(Self {
            messages: Some(messages),
            answers,
            in_flight: 0,
            batch_size,
            description,
            figures,
            notes,
            thread: Some(thread),
        })
    }

    fn tell(&self, message: Message) {
        if let Some(messages) = &self.messages {
            // A dead device thread shows when its answer is collected.
            let _ = messages.send(message);
        }
    }
}

/// The model on the GPU, after it has agreed with the CPU on the canary positions.
fn checked_gpu(chosen: &Chosen, reference: &mut Engine, bytes: &[u8]) -> Result<Model, String> {
    let canaries = crate::canary::requests();
    let expected = reference.evaluate(&canaries);
    catch_unwind(AssertUnwindSafe(|| {
        let model =
            weights::load_bytes(bytes, &chosen.device).map_err(|error| error.to_string())?.model;
        let gpu = Gpu { model, device: chosen.device.clone(), padding: Padding::Few };
        let actual = gpu.launch(&canaries).decode(canaries.len());
        let difference = crate::canary::difference(&expected, &actual);
        if difference < CANARY_TOLERANCE {
            Ok(gpu.model)
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
        self.tell(Message::Batch(batch));
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

    fn forget_all(&mut self) {
        self.tell(Message::ForgetAll);
    }

    fn protect(&mut self, session: u32, handles: Vec<Handle>) {
        self.tell(Message::Protect(session, handles));
    }

    fn retain(&mut self, session: u32, handles: Vec<Handle>) {
        self.tell(Message::Retain(session, handles));
    }

    fn forget(&mut self, session: u32) {
        self.tell(Message::Forget(session));
    }

    fn cache_figures(&self) -> Option<CacheFigures> {
        let figures = self.figures.as_ref()?;
        Some(*figures.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for TransformerEvaluator {
    fn drop(&mut self) {
        self.messages = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The device thread where there is no GPU.
fn serve_on_cpu(
    mut engine: Engine,
    inbox: &Receiver<Message>,
    outbox: &Sender<Answer>,
    figures: Option<&Mutex<CacheFigures>>,
) {
    for message in inbox {
        match message {
            Message::Batch(batch) => {
                let answer = guarded(|| engine.evaluate(&batch));
                if let Some(figures) = figures {
                    *figures.lock().unwrap_or_else(PoisonError::into_inner) = engine.figures();
                }
                if outbox.send(answer).is_err() {
                    return;
                }
            }
            Message::Protect(session, handles) => engine.protect(session, &handles),
            Message::Retain(session, handles) => engine.retain(session, &handles),
            Message::Forget(session) => engine.forget(session),
            Message::ForgetAll => engine.forget_all(),
        }
    }
}

/// What the device thread owns where there is a GPU.
struct Gpu {
    model: Model,
    device: Device,
    padding: Padding,
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

/// The next batch; what else is said matters to a cache only. Nothing when the search has gone, or
/// when none is there and nobody `waits` for one.
fn next_batch(inbox: &Receiver<Message>, waits: bool) -> Option<Vec<Request>> {
    loop {
        let message = if waits { inbox.recv().ok() } else { inbox.try_recv().ok() };
        if let Message::Batch(batch) = message? {
            return Some(batch);
        }
    }
}

impl Gpu {
    /// Queues batch k + 1 before batch k is read back, where it is there in time.
    fn serve(&self, inbox: &Receiver<Message>, outbox: &Sender<Answer>) {
        let mut pending: Option<(Vec<Request>, Result<Launched, EvalError>)> = None;
        loop {
            let launched = next_batch(inbox, pending.is_none()).map(|batch| {
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
        let positions = windows.len();
        let batch = match self.padding {
            Padding::Few => {
                let shape = GPU_SHAPES.into_iter().find(|&shape| shape >= positions);
                Batch::pack_padded(&windows, shape.unwrap_or(positions), 0)
            }
            Padding::One(shape) => {
                let shape = shape * positions.div_ceil(shape);
                Batch::pack_padded(&windows, shape, MOVES_PER_POSITION * shape)
            }
        };
        if positions == 0 {
            let flat = Tensor::zeros([0], &Device::flex());
            return Launched { flat, positions, moves: 0, offsets: vec![0] };
        }
        let output = self.model.forward(&batch, &self.device);
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
                let estimates = policies[moves.clone()].iter().zip(&deltas[moves]);
                decode(bins, errors[index], estimates.map(|(&policy, &delta)| [policy, delta]))
            })
            .collect()
    }
}
