//! A search on a GPU: what a batch costs the host's processor, and how far the answers are from
//! those of the CPU's kernels, in floats.
//!
//! Waiting takes no processor, so it is not in the figures. A software rasteriser's threads bear
//! the program's name, as the search and the threads that encode do: only the other rows tell of
//! the host then.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::error::Error;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

use tesla_engine::best_first::BestFirst;
use tesla_engine::search::Search as _;
use tesla_engine::setup::settings::Settings;
use tesla_engine::setup::{factory, network};
use tesla_nn::canary::difference;
use tesla_nn::cpu::{Arithmetic, Engine, Options};
use tesla_nn::evaluator::{
    CacheFigures, CacheNote, EvalError, Evaluation, Evaluator, Handle, Request,
};

use crate::positions::searched;
use crate::processor::thread_seconds;

/// Memory of the reference's cache: nothing is evicted.
const REFERENCE_BYTES: usize = 2 << 30;
/// The thread that calculates the reference.
const REFERENCE: &str = "reference";

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The device, as the option of UCI names it
    #[arg(long, default_value = "software")]
    device: String,
    /// Largest batch, evaluations
    #[arg(long, default_value_t = 256)]
    batch: usize,
    /// Evaluations per position; all that they leave should fit into the cache
    #[arg(long, default_value_t = 5_000)]
    nodes: u64,
    /// Other options, as `--set GPUStorage=f32`
    #[arg(long, default_value = "")]
    set: String,
    #[command(flatten)]
    positions: crate::positions::Arguments,
    /// Compares every answer with the CPU's; what handing them over takes is in the figures then
    #[arg(long)]
    compare: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let mut settings = Settings::default();
    crate::assign(&mut settings, &format!("Device={}", arguments.device))?;
    crate::assign(&mut settings, &format!("BatchSize={}", arguments.batch))?;
    crate::assign(&mut settings, &arguments.set)?;
    let machine = settings.machine();
    let (evaluator, notes) = factory::evaluator(&machine)?;
    println!("{}\n{}", evaluator.description(), notes.join("\n"));
    let reference = arguments.compare.then(Reference::start).transpose()?;
    let counts = Arc::default();
    let asked = reference.as_ref().map(|reference| reference.asked.clone());
    let watched =
        Watched { evaluator, asked, queued: VecDeque::new(), counts: Arc::clone(&counts) };
    let mut search = BestFirst::new(Box::new(watched));
    search.set_hash_mb(settings.hash_mb);
    let before = thread_seconds();
    for position in arguments.positions.read()? {
        searched(&mut search, arguments.nodes, &position);
    }
    let spent = thread_seconds().into_iter().map(|(name, seconds)| {
        let earlier = before.get(&name).copied().unwrap_or_default();
        (name, seconds - earlier)
    });
    let counts = *counts.lock().unwrap_or_else(PoisonError::into_inner);
    tell(&spent.collect(), counts, arguments.batch);
    drop(search);
    if let Some(Reference { asked, thread }) = reference {
        drop(asked);
        let found = thread.join().map_err(|_| "the reference failed")?;
        println!(
            "{} answers, the largest difference from the CPU's kernels in floats {:.1e}; {} whole, \
             {} anchors, {} rebuilt",
            found.answers,
            found.most,
            found.figures.whole,
            found.figures.anchored,
            found.figures.rebuilt
        );
    }
    Ok(())
}

/// Prints what each thread has taken for a batch.
fn tell(spent: &BTreeMap<String, f64>, counts: Counts, size: usize) {
    let Counts { batches, positions } = counts;
    println!("{batches} batches, {positions} positions, {} a batch", positions / batches.max(1));
    println!("\n| threads | µs of the processor for {size} positions |\n|---|---|");
    let each = 1e6 * size as f64 / positions.max(1) as f64;
    for (name, seconds) in spent.iter().filter(|(_, seconds)| **seconds > 0.0) {
        println!("| {name} | {:.0} |", seconds * each);
    }
}

#[derive(Clone, Copy, Default)]
struct Counts {
    batches: u64,
    positions: u64,
}

/// What was asked, in order, and what came of it.
enum Asked {
    Note(u32, CacheNote),
    Batch(Vec<Request>, Vec<Evaluation>),
}

/// An evaluator whose batches are counted and, where wanted, handed to the reference.
struct Watched {
    evaluator: Box<dyn Evaluator>,
    asked: Option<Sender<Asked>>,
    /// What is not answered yet; the answers of batches are still empty.
    queued: VecDeque<Asked>,
    counts: Arc<Mutex<Counts>>,
}

impl Watched {
    fn hand_over(&mut self, answers: &[Evaluation]) {
        let Some(asked) = &self.asked else { return };
        while let Some(next) = self.queued.pop_front() {
            let (is_batch, next) = match next {
                Asked::Batch(batch, _) => (true, Asked::Batch(batch, answers.to_vec())),
                note @ Asked::Note(..) => (false, note),
            };
            // A reference that has failed is told of at the end.
            let _ = asked.send(next);
            if is_batch {
                return;
            }
        }
    }
}

impl Evaluator for Watched {
    fn description(&self) -> String {
        self.evaluator.description()
    }

    fn batch_size(&self) -> usize {
        self.evaluator.batch_size()
    }

    fn fixed_cost(&self) -> f32 {
        self.evaluator.fixed_cost()
    }

    fn submit(&mut self, batch: Vec<Request>) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.batches += 1;
        counts.positions += batch.len() as u64;
        drop(counts);
        if self.asked.is_some() {
            self.queued.push_back(Asked::Batch(batch.clone(), Vec::new()));
        }
        self.evaluator.submit(batch);
    }

    fn in_flight(&self) -> usize {
        self.evaluator.in_flight()
    }

    fn collect(&mut self) -> Result<Vec<Evaluation>, EvalError> {
        let answers = self.evaluator.collect()?;
        self.hand_over(&answers);
        Ok(answers)
    }

    fn note(&mut self, session: u32, note: CacheNote) {
        if self.asked.is_some() {
            self.queued.push_back(Asked::Note(session, note.clone()));
        }
        self.evaluator.note(session, note);
    }

    fn cache_figures(&self) -> Option<CacheFigures> {
        self.evaluator.cache_figures()
    }
}

/// The CPU's kernels, which are asked the same.
struct Reference {
    asked: Sender<Asked>,
    thread: JoinHandle<Found>,
}

#[derive(Default)]
struct Found {
    answers: u64,
    most: f32,
    figures: CacheFigures,
}

impl Reference {
    fn start() -> Result<Self, Box<dyn Error>> {
        let machine = Settings::default().machine();
        let options = Options {
            threads: 1,
            cache_bytes: REFERENCE_BYTES,
            arithmetic: Arithmetic::Floats,
            anchors: network::anchors(&machine),
        };
        let engine = Engine::load(network::bytes(), options)?;
        let (asked, todo) = channel();
        let work = move || compare(engine, &todo);
        Ok(Self { asked, thread: Builder::new().name(REFERENCE.to_owned()).spawn(work)? })
    }
}

/// Answers everything once more, and says how far apart the answers are.
fn compare(mut engine: Engine, todo: &Receiver<Asked>) -> Found {
    let mut found = Found::default();
    // What the device calls a position, and what the reference does.
    let mut names: HashMap<Handle, Handle> = HashMap::new();
    for asked in todo {
        match asked {
            Asked::Note(session, note) => engine.note(session, &translated(note, &names)),
            Asked::Batch(mut batch, answers) => {
                for request in &mut batch {
                    request.parent = request.parent.map(|(of, m)| (name(&names, of), m));
                }
                let expected = engine.evaluate(&batch);
                found.answers += answers.len() as u64;
                found.most = found.most.max(difference(&expected, &answers));
                let kept = batch.iter().zip(answers.iter().zip(&expected));
                let kept = kept.filter(|(request, _)| request.keep);
                names.extend(kept.map(|(_, (ours, theirs))| (ours.handle, theirs.handle)));
            }
        }
    }
    found.figures = engine.figures();
    found
}

fn name(names: &HashMap<Handle, Handle>, handle: Handle) -> Handle {
    names.get(&handle).copied().unwrap_or(handle)
}

fn translated(note: CacheNote, names: &HashMap<Handle, Handle>) -> CacheNote {
    let all = |handles: Vec<Handle>| handles.into_iter().map(|of| name(names, of)).collect();
    match note {
        CacheNote::Protect(handles) => CacheNote::Protect(all(handles)),
        CacheNote::Retain(handles) => CacheNote::Retain(all(handles)),
        CacheNote::DropTokens(handles) => CacheNote::DropTokens(all(handles)),
        CacheNote::Reached(reached) => {
            let one = |(of, (parent, m))| (name(names, of), (name(names, parent), m));
            CacheNote::Reached(reached.into_iter().map(one).collect())
        }
        all @ (CacheNote::Forget | CacheNote::ForgetAll) => all,
    }
}
