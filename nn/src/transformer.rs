//! The transformer behind the [`Evaluator`] trait: one thread owns the device and its tensors.
//!
//! The search thread sends batches of requests over a channel and never waits for the device
//! except in `collect`. On a CPU the thread runs our own kernels ([`crate::cpu`]), on a GPU burn's
//! ([`crate::gpu`]), where it queues a batch that is already waiting before it reads the last one
//! back. On both it keeps positions for their children.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use crossbeam_channel::{Receiver, Sender, unbounded};

use crate::cpu::{Engine, Options};
use crate::device::{Chosen, DeviceChoice, DeviceError, choose};
use crate::evaluator::{
    CPU_FIXED_COST, CacheFigures, CacheNote, EvalError, Evaluation, Evaluator, GPU_FIXED_COST,
    Handle, Request,
};
use crate::gpu::{DeviceEngine, DeviceOptions, Padding};
pub use crate::incremental::AnchorPolicy;
use crate::shared::MERGED;
use crate::weights::{self, WeightsError};

/// Positions a CPU thread evaluates at once; larger batches fall out of its cache.
const CPU_BATCH: usize = 16;
/// Default batch on a GPU.
const GPU_BATCH: usize = 256;
/// A GPU's cache of fewer slots for each search is not worth its passes.
const LEAST_SLOTS: u64 = 256;
/// Searches for which a shared GPU has room in its cache, in equal parts.
const SHARES: usize = 32;
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
    /// Many searches share the device. A GPU then gets batches of one shape only: its kernels differ
    /// from shape to shape in the last bits, and with one shape a position gets the same answer in
    /// any company, at the price of padding where batches are small. The CPU's answers never depend
    /// on company.
    pub one_shape: bool,
    /// Memory for keys and values of evaluated positions, bytes; 0 = every position is encoded
    /// whole. On a CPU for each search, taken as needed; on a GPU for all, taken at the start, of
    /// which each of up to 32 searches that share it has its part.
    pub cache_bytes: usize,
    /// When a kept position begins a chain anew.
    pub anchors: AnchorPolicy,
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
    Note(u32, CacheNote),
}

/// The network on its device.
#[derive(Debug)]
pub struct TransformerEvaluator {
    /// `None` only while dropping.
    messages: Option<Sender<Message>>,
    answers: Receiver<Answer>,
    in_flight: usize,
    batch_size: usize,
    fixed_cost: f32,
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
        let options =
            Options { threads, cache_bytes: settings.cache_bytes, anchors: settings.anchors };
        let mut engine = Engine::load(&bytes, options)?;
        let mut notes: Vec<String> = chosen.note.iter().cloned().collect();
        let on_gpu = if chosen.is_gpu {
            let options = on_device(settings);
            let largest = gpu_batch(settings);
            let mut ready = ready_gpu(&chosen, &mut engine, &bytes, options, largest);
            if let Err(why) = &ready
                && options.cache_bytes > 0
            {
                // Its memory may be too small for the cache.
                notes.push(format!("{}: {why}; tried again without KVCache", chosen.name));
                let options = DeviceOptions { cache_bytes: 0, ..options };
                ready = ready_gpu(&chosen, &mut engine, &bytes, options, largest);
            }
            match ready {
                Ok((gpu, found)) => {
                    notes.extend(found);
                    Some(gpu)
                }
                Err(why) => {
                    notes.push(format!("{}: {why}; the network runs on the CPU", chosen.name));
                    None
                }
            }
        } else {
            None
        };
        if on_gpu.is_none() {
            // The first evaluation takes many times as long as the next; it is better lost here than on a clock.
            engine.evaluate(&[Request::single(&shakmaty::Chess::default())]);
            engine.note(0, &CacheNote::ForgetAll);
        }
        let default_batch = if on_gpu.is_some() { GPU_BATCH } else { CPU_BATCH * threads };
        let fixed_cost = if on_gpu.is_some() { GPU_FIXED_COST } else { CPU_FIXED_COST };
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
        let keeps = on_gpu.as_ref().map_or(settings.cache_bytes > 0, DeviceEngine::keeps);
        // What the canaries took is nobody's.
        let done = on_gpu.as_ref().map_or_else(|| engine.figures(), DeviceEngine::figures);
        let figures = keeps.then(|| Arc::new(Mutex::new(done)));
        let shown = figures.clone();
        let thread =
            thread::Builder::new().name("device".to_owned()).spawn(move || match on_gpu {
                Some(gpu) => serve_on_gpu(gpu, &inbox, &outbox, shown.as_deref()),
                None => serve_on_cpu(engine, &inbox, &outbox, shown.as_deref()),
            })?;
        Ok(Self {
            messages: Some(messages),
            answers,
            in_flight: 0,
            batch_size,
            fixed_cost,
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

/// Positions per batch on a GPU.
fn gpu_batch(settings: Settings) -> usize {
    if settings.batch_size == 0 { GPU_BATCH } else { settings.batch_size }
}

/// How a GPU is to run.
fn on_device(settings: Settings) -> DeviceOptions {
    DeviceOptions {
        cache_bytes: settings.cache_bytes,
        sessions: if settings.one_shape { SHARES } else { 1 },
        anchors: settings.anchors,
        padding: if settings.one_shape {
            Padding::One(MERGED * gpu_batch(settings))
        } else {
            Padding::Few
        },
    }
}

/// The network on the GPU, checked, its kernels compiled and tuned for every size of a pass, and
/// sentences for the user.
fn ready_gpu(
    chosen: &Chosen,
    reference: &mut Engine,
    bytes: &[u8],
    options: DeviceOptions,
    largest: usize,
) -> Result<(DeviceEngine, Vec<String>), String> {
    let (mut gpu, note) = checked_gpu(chosen, reference, bytes, options)?;
    let mut notes: Vec<String> = note.into_iter().collect();
    // A software rasteriser would take minutes, and nobody plays on one.
    if !chosen.is_software {
        let began = Instant::now();
        let passes = attempt(|| Ok(gpu.warm(largest)))?;
        let took = began.elapsed().as_secs_f64();
        notes.push(format!("{}: {passes} sizes of batches readied in {took:.1} s", chosen.name));
    }
    Ok((gpu, notes))
}

/// The network on the GPU, after it has agreed with the CPU on the canary positions, and perhaps a
/// sentence about why it keeps nothing.
fn checked_gpu(
    chosen: &Chosen,
    reference: &mut Engine,
    bytes: &[u8],
    options: DeviceOptions,
) -> Result<(DeviceEngine, Option<String>), String> {
    let expected = attempt(|| Ok(reference.evaluate(&crate::canary::requests())))?;
    let mut gpu = attempt(|| {
        let mut gpu = DeviceEngine::load(bytes, &chosen.device, options)
            .map_err(|error| error.to_string())?;
        let actual = gpu.evaluate(&crate::canary::requests());
        close_enough(&expected, &actual)?;
        Ok(gpu)
    })?;
    if !gpu.keeps() || gpu.figures().limit < LEAST_SLOTS {
        gpu.close_cache();
        let note = (options.cache_bytes > 0).then(|| {
            format!("{}: KVCache is too small for it, every position is encoded whole", chosen.name)
        });
        return Ok((gpu, note));
    }
    let expected = children_by(|requests| reference.evaluate(requests));
    let checked = attempt(|| {
        let actual = children_by(|requests| gpu.evaluate(requests));
        close_enough(&expected, &actual)
    });
    reference.note(0, &CacheNote::ForgetAll);
    gpu.note(0, &CacheNote::ForgetAll);
    let note = checked.err().map(|why| {
        gpu.close_cache();
        format!("{}: its cache: {why}; every position is encoded whole", chosen.name)
    });
    Ok((gpu, note))
}

/// The answers to the canary positions' children, made from their parents.
fn children_by(mut evaluate: impl FnMut(&[Request]) -> Vec<Evaluation>) -> Vec<Evaluation> {
    let parents = evaluate(&crate::canary::parents());
    let handles: Vec<Handle> = parents.iter().map(|parent| parent.handle).collect();
    evaluate(&crate::canary::children(&handles))
}

fn close_enough(expected: &[Evaluation], actual: &[Evaluation]) -> Result<(), String> {
    let difference = crate::canary::difference(expected, actual);
    if difference < CANARY_TOLERANCE {
        Ok(())
    } else {
        Err(format!("its answers are off by {difference}"))
    }
}

/// Tries something with a driver that may panic.
fn attempt<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(work))
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

    fn fixed_cost(&self) -> f32 {
        self.fixed_cost
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

    fn note(&mut self, session: u32, note: CacheNote) {
        self.tell(Message::Note(session, note));
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
                show(figures, engine.figures());
                if outbox.send(answer).is_err() {
                    return;
                }
            }
            Message::Note(session, note) => engine.note(session, &note),
        }
    }
}

/// The device thread where there is a GPU. Queues batch k + 1 before batch k is read back, where it
/// is there in time.
fn serve_on_gpu(
    mut engine: DeviceEngine,
    inbox: &Receiver<Message>,
    outbox: &Sender<Answer>,
    figures: Option<&Mutex<CacheFigures>>,
) {
    let mut pending: Option<Result<(), EvalError>> = None;
    loop {
        let waits = pending.is_none();
        let launched =
            next_batch(&mut engine, inbox, waits).map(|batch| guarded(|| engine.launch(&batch)));
        let finished = pending.take();
        if finished.is_none() && launched.is_none() {
            return;
        }
        if let Some(finished) = finished {
            let answer = finished.and_then(|()| guarded(|| engine.answer()));
            show(figures, engine.figures());
            if outbox.send(answer).is_err() {
                return;
            }
        }
        pending = launched;
    }
}

/// The next batch, after what was said before it. Nothing when the search has gone, or when none is
/// there and nobody `waits` for one.
fn next_batch(
    engine: &mut DeviceEngine,
    inbox: &Receiver<Message>,
    waits: bool,
) -> Option<Vec<Request>> {
    loop {
        let message = if waits { inbox.recv().ok() } else { inbox.try_recv().ok() };
        match message? {
            Message::Batch(batch) => return Some(batch),
            Message::Note(session, note) => engine.note(session, &note),
        }
    }
}

fn show(figures: Option<&Mutex<CacheFigures>>, now: CacheFigures) {
    if let Some(figures) = figures {
        *figures.lock().unwrap_or_else(PoisonError::into_inner) = now;
    }
}

/// Turns a panic of the device's driver into an error.
fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, EvalError> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| EvalError::DeviceLost(panic_text(&*panic)))
}
