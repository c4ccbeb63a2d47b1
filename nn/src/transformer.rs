//! The transformer behind the [`Evaluator`] trait: one thread owns the device and its tensors.
//!
//! The search thread sends batches of requests over a channel and never waits for the device
//! except in `collect`. On a CPU the thread runs the kernels of [`crate::cpu`], on a GPU that of
//! [`crate::gpu`], where it queues a batch that is already waiting before it reads the last one
//! back. On both it keeps positions for their children. From the lowest:
//!
//! * `settings` — what may be chosen, and what the machine has memory for;
//! * `panics` — a driver's panic as an error;
//! * `serve` — the thread;
//! * `speed` — what batches cost on a GPU;
//! * `gpu_check` — a GPU before it is used.

mod gpu_check;
mod panics;
mod serve;
mod settings;
mod speed;

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Select, Sender, unbounded};

use self::gpu_check::Candidate;
pub use self::panics::panic_text;
use self::serve::{Answer, Message, Network};
pub use self::settings::TransformerSettings;
use self::speed::Speed;
use crate::canary;
use crate::cpu::{Engine, Options};
use crate::device::{self, Chosen, DeviceChoice, DeviceError, choose};
use crate::evaluator::{CPU_FIXED_COST, CacheFigures, CacheNote, EvalError, Evaluator, Request};
use crate::gpu::{Adapter, DeviceEngine};
pub use crate::incremental::AnchorPolicy;
use crate::weights::{self, WeightsError};

/// Largest batch on a CPU, for each thread. The search asks for less while its tree is small. In
/// larger batches the threads wait less for the last one: two cores evaluate 17 % more a second
/// with 32 a thread than with 16.
const CPU_BATCH: usize = 32;
/// Default batch on a GPU.
const GPU_BATCH: usize = 256;
/// How long a GPU may take for a batch: this, and so many times what it usually takes. One that
/// hangs costs the game so much time, not all.
const PATIENCE: Duration = Duration::from_secs(2);
const PATIENCE_BATCHES: u32 = 20;
/// Where the weights come from.
#[derive(Clone, Copy, Debug)]
pub enum WeightsSource<'a> {
    /// The bytes of a weights file.
    Bytes(&'a [u8]),
    /// A weights file.
    File(&'a Path),
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
    gpu: Option<Gpu>,
}

/// A GPU in use.
#[derive(Debug)]
struct Gpu {
    adapter: Adapter,
    /// How long a batch may take.
    patience: Duration,
    is_lost: bool,
}

impl TransformerEvaluator {
    /// Loads the weights, finds the device, checks it against the CPU and starts its thread.
    ///
    /// # Errors
    /// When the weights cannot be used or a device asked for by name is not there. A GPU that is
    /// there but computes wrongly or fails is replaced by the CPU, with a note.
    pub fn start(
        source: WeightsSource<'_>,
        settings: TransformerSettings,
    ) -> Result<Self, StartError> {
        let chosen = choose(settings.device)?;
        let bytes = match source {
            WeightsSource::Bytes(bytes) => Cow::Borrowed(bytes),
            WeightsSource::File(path) => Cow::Owned(weights::read_file(path)?),
        };
        let threads = settings.cpu_threads();
        let (cache_bytes, less) = settings.cpu_cache();
        let anchors = settings.anchors;
        let cpu =
            Engine::load(&bytes, Options { threads, cache_bytes, anchors, ..Options::default() })?;
        let mut notes: Vec<String> = chosen.note.iter().cloned().collect();
        let name = format!("network {}-{}", cpu.name(), cpu.short_hash());
        let arithmetic = cpu.arithmetic();
        let (network, speed) = load(&chosen, &bytes, cpu, settings, &mut notes)?;
        let (on, default_batch) = match &network {
            Network::Gpu(_) => (chosen.name, GPU_BATCH),
            Network::Cpu(_) => {
                notes.extend(less);
                let plural = if threads == 1 { "" } else { "s" };
                (format!("CPU ({threads} thread{plural}, {arithmetic})"), CPU_BATCH * threads)
            }
        };
        let batch_size = settings.batch_size_or(default_batch);
        let on_gpu = |(adapter, speed): (Adapter, Speed)| Gpu {
            adapter,
            patience: PATIENCE + PATIENCE_BATCHES * speed.time(batch_size),
            is_lost: false,
        };
        let (messages, inbox) = unbounded();
        let (outbox, answers) = unbounded();
        // What the canaries took is nobody's.
        let figures = network.keeps().then(|| Arc::new(Mutex::new(network.figures())));
        let shown = figures.clone();
        let serve = move || network.serve(&inbox, &outbox, shown.as_deref());
        let thread = thread::Builder::new().name("device".to_owned()).spawn(serve)?;
        Ok(Self {
            messages: Some(messages),
            answers,
            in_flight: 0,
            batch_size,
            fixed_cost: speed.map_or(CPU_FIXED_COST, |speed| speed.fixed_cost()),
            description: format!("{name} on {on}"),
            figures,
            notes,
            thread: Some(thread),
            gpu: chosen.adapter.zip(speed).map(on_gpu),
        })
    }

    fn send(&self, message: Message) {
        if let Some(messages) = &self.messages {
            // A dead device thread shows when its answer is collected.
            let _ = messages.send(message);
        }
    }
}

/// The network on the chosen GPU where that works, else on the CPU; sentences for the user go to
/// `notes`.
///
/// # Errors
/// When the network's answers are not numbers.
fn load(
    chosen: &Chosen,
    weights: &[u8],
    mut cpu: Engine,
    settings: TransformerSettings,
    notes: &mut Vec<String>,
) -> Result<(Network, Option<Speed>), WeightsError> {
    if let Some(adapter) = &chosen.adapter {
        let name = &chosen.name;
        let (options, remarks) = settings.on_gpu(chosen, adapter);
        notes.extend(remarks);
        let size = settings.batch_size_or(GPU_BATCH);
        let may_be_cpu = settings.device == DeviceChoice::Auto;
        let cpu_size =
            may_be_cpu.then(|| settings.batch_size_or(CPU_BATCH * settings.cpu_threads()));
        let open = |options| {
            DeviceEngine::on_gpu(weights, adapter, options).map_err(|error| error.to_string())
        };
        let candidate = Candidate { name, open: &open, options, size, cpu_size };
        if let Some((gpu, speed)) = gpu_check::start(candidate, &mut cpu, notes) {
            return Ok((Network::Gpu(Box::new(gpu)), Some(speed)));
        }
    }
    // The first evaluation takes many times as long as the next: not on a clock, then.
    let answers = cpu.evaluate(&canary::requests());
    if canary::difference(&answers, &answers).is_infinite() {
        return Err(WeightsError::Overflow);
    }
    cpu.note(0, &CacheNote::ForgetAll);
    Ok((Network::Cpu(Box::new(cpu)), None))
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
        self.send(Message::Batch(batch));
    }

    fn in_flight(&self) -> usize {
        self.in_flight
    }

    fn collect(&mut self) -> Answer {
        if self.in_flight == 0 {
            return Err(EvalError::NothingInFlight);
        }
        self.in_flight -= 1;
        let ended = || EvalError::DeviceLost("its thread has ended".to_owned());
        let Some(gpu) = &mut self.gpu else { return self.answers.recv().map_err(|_| ended())? };
        if gpu.is_lost {
            // What it may still say belongs to a batch that nobody waits for.
            return Err(EvalError::DeviceLost("it was lost before".to_owned()));
        }
        let answer = self.answers.recv_timeout(gpu.patience).unwrap_or_else(|error| {
            Err(match error {
                RecvTimeoutError::Disconnected => ended(),
                RecvTimeoutError::Timeout => {
                    let seconds = gpu.patience.as_secs_f32();
                    EvalError::DeviceLost(format!("no answer within {seconds:.1} s"))
                }
            })
        });
        if answer.is_err() {
            gpu.is_lost = true;
            // Whoever waited for it now would wait as long as its driver does.
            self.thread = None;
            device::lose(&gpu.adapter);
        }
        answer
    }

    fn watch<'a>(&'a self, select: &mut Select<'a>) -> bool {
        // A CPU does nothing for a batch that waits, and gains by a larger one.
        let is_watched = self.gpu.as_ref().is_some_and(|gpu| !gpu.is_lost);
        if is_watched {
            select.recv(&self.answers);
        }
        is_watched
    }

    fn note(&mut self, session: u32, note: CacheNote) {
        self.send(Message::Note(session, note));
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

#[cfg(all(test, feature = "wgpu"))]
mod tests {
    use cubecl::device::{WgpuBackend, WgpuDeviceKind};

    use super::*;

    /// A drill: a device that never answers costs as long as is set, not the game.
    #[test]
    fn a_device_that_hangs_is_lost() {
        let adapter = Adapter::open_again(&WgpuDeviceKind::DefaultDevice, WgpuBackend::Vulkan);
        let adapter = match adapter {
            Ok(adapter) => adapter,
            Err(why) => return println!("skipped: {why}"),
        };
        let (messages, inbox) = unbounded::<Message>();
        let (outbox, answers) = unbounded();
        let hangs = move || {
            for _message in inbox {
                thread::park();
            }
            drop(outbox);
        };
        let patience = Duration::from_millis(50);
        let mut device = TransformerEvaluator {
            messages: Some(messages),
            answers,
            in_flight: 0,
            batch_size: 1,
            fixed_cost: 1.0,
            description: String::new(),
            figures: None,
            notes: Vec::new(),
            thread: Some(thread::spawn(hangs)),
            gpu: Some(Gpu { adapter, patience, is_lost: false }),
        };
        for why in ["no answer within 0.1 s", "it was lost before"] {
            device.submit(Vec::new());
            assert_eq!(device.collect(), Err(EvalError::DeviceLost(why.to_owned())));
        }
        drop(device); // and does not wait
    }
}
