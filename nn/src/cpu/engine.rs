//! Batches of requests on all cores.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::attention::MAX_KEYS;
use super::chunk::Scratch;
use super::forward;
use super::integers::Unit;
use super::loaded;
use super::packed::Network;
use super::vectors::Aligned;
use crate::evaluator::{CacheFigures, CacheNote, Evaluation, Request};
use crate::incremental::AnchorPolicy;
use crate::incremental::cache::{self, Cache};
use crate::incremental::manager::CacheManager;
use crate::incremental::plan::{CHILD_ROWS, Job, Plan};
use crate::incremental::rebuild::Rebuild;
use crate::weights::WeightsError;

/// Rows that run through the layers together: more fall out of a core's second-level cache.
const CHUNK_ROWS: usize = 192;

/// Part of a batch that goes to the threads that are done first.
const SPARE: f32 = 0.3;

/// What the network calculates in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arithmetic {
    /// 16-bit integers where the processor multiplies them in pairs and the network's shape
    /// allows, else floats.
    #[default]
    Fastest,
    /// Floats of 32 bits.
    Floats,
}

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Threads that share a batch.
    pub threads: usize,
    /// Bound of each session's cache, bytes; 0 = every position is encoded whole.
    pub cache_bytes: usize,
    /// When a kept position becomes an anchor.
    pub anchors: AnchorPolicy,
    /// What to calculate in.
    pub arithmetic: Arithmetic,
}

impl Default for Options {
    fn default() -> Self {
        let (anchors, arithmetic) = (AnchorPolicy::default(), Arithmetic::default());
        Self { threads: 1, cache_bytes: 0, anchors, arithmetic }
    }
}

/// The network, its cache and its threads.
#[derive(Debug)]
pub struct Engine {
    /// Shared by all engines that run it.
    network: Arc<Network>,
    manager: CacheManager<Aligned>,
    options: Options,
    scratch: Vec<Scratch>,
}

/// The answer to one job before it is kept.
struct Answer {
    evaluation: Evaluation,
    plan: Plan,
    blocks: Vec<Aligned>,
    attention: Vec<f32>,
}

impl Engine {
    /// Reads the bytes of a weights file; the cache begins empty.
    ///
    /// # Errors
    /// When the bytes are damaged or no Tesla network of this version.
    pub fn load(weights: &[u8], options: Options) -> Result<Self, WeightsError> {
        let unit = match options.arithmetic {
            Arithmetic::Fastest => Unit::find(),
            Arithmetic::Floats => None,
        };
        Self::on(unit, weights, options)
    }

    fn on(unit: Option<Unit>, weights: &[u8], options: Options) -> Result<Self, WeightsError> {
        let network = loaded::network(weights, unit)?;
        let options = Options { threads: options.threads.max(1), ..options };
        let slot = network.entry_floats() * size_of::<f32>();
        let cache = Cache::new(cache::slots_within(options.cache_bytes, slot), usize::MAX);
        let manager = CacheManager::new(cache, options.anchors, options.cache_bytes > 0);
        let scratch = (0..options.threads).map(|_| Scratch::default()).collect();
        Ok(Self { network, manager, options, scratch })
    }

    /// The network's name, for people.
    pub fn name(&self) -> &str {
        &self.network.config.name
    }

    /// The first eight digits of the weights file's SHA-256.
    pub fn short_hash(&self) -> &str {
        &self.network.hash[..8]
    }

    /// What it calculates in, for people.
    pub fn arithmetic(&self) -> &'static str {
        if self.network.short.is_some() { "16-bit integers" } else { "32-bit floats" }
    }

    #[cfg(test)]
    pub(crate) fn attention(&self, session: u32, handle: crate::evaluator::Handle) -> Vec<f64> {
        self.manager.attention(session, handle)
    }

    /// Whether positions are kept for their children.
    pub fn keeps(&self) -> bool {
        self.manager.keeps()
    }

    /// What was done so far, and how full the cache is.
    pub fn figures(&self) -> CacheFigures {
        self.manager.figures()
    }

    /// Does what the search says of its positions.
    pub fn note(&mut self, session: u32, note: &CacheNote) {
        self.manager.note(session, note);
    }

    /// Evaluates a batch. Parents are of earlier batches.
    ///
    /// A request's answer depends on its session's earlier batches and its own batch's requests of
    /// the same session, bit by bit, and on nobody else's.
    pub fn evaluate(&mut self, requests: &[Request]) -> Vec<Evaluation> {
        if self.options.threads > 1 && requests.len() > 1 {
            // A thread that sleeps takes as long to wake as a child takes to run: it wakes while
            // this one prepares.
            rayon::spawn(|| ());
        }
        let rebuilds = self.manager.prepare(requests, |_| []);
        for level in rebuilds.chunk_by(|a, b| a.level == b.level) {
            let jobs = level.iter().filter_map(|&node| Some((node, self.manager.job(node)?)));
            let (level, jobs): (Vec<Rebuild>, Vec<Job<'_>>) = jobs.unzip();
            let cache = self.manager.cache();
            let answers = run(&self.network, cache, self.options, &jobs, &mut self.scratch);
            for (rebuild, Answer { plan, blocks, attention, .. }) in level.into_iter().zip(answers)
            {
                self.manager.rebuild(rebuild, &plan, blocks, &attention);
            }
        }
        let jobs = self.manager.jobs(requests);
        let cache = self.manager.cache();
        let answers = run(&self.network, cache, self.options, &jobs, &mut self.scratch);
        requests.iter().zip(answers).map(|(request, answer)| self.finish(request, answer)).collect()
    }

    fn finish(&mut self, request: &Request, answer: Answer) -> Evaluation {
        let Answer { mut evaluation, plan, blocks, attention } = answer;
        self.manager.count(&plan);
        if request.keep && self.manager.keeps() {
            evaluation.handle = self.manager.admit(request, &plan, blocks, &attention).0;
        }
        evaluation
    }
}

/// Runs `jobs` on all threads.
fn run(
    network: &Network,
    cache: &Cache<Aligned>,
    options: Options,
    jobs: &[Job<'_>],
    scratch: &mut [Scratch],
) -> Vec<Answer> {
    // What shares keys and values comes together: they are in the core's cache then.
    let kin = |job: &Job<'_>| {
        let tokens = job.parent?.0.tokens.as_ref()?;
        Some((*tokens.readouts.first()?, *tokens.own.first()?))
    };
    let mut order: Vec<usize> = (0..jobs.len()).collect();
    order.sort_by_cached_key(|&index| kin(&jobs[index]));
    let sorted: Vec<Job<'_>> = order.iter().map(|&index| jobs[index]).collect();
    let rows: Vec<usize> = sorted.iter().map(Job::most_rows).collect();
    // Less than a child for each costs more than it brings.
    let threads = options.threads.min(rows.iter().sum::<usize>() / CHILD_ROWS).max(1);
    let shares = split(&sorted, &rows, &portions(threads));
    let taken = AtomicUsize::new(0);
    let work = |scratch: &mut Scratch, done: &mut Vec<(usize, Vec<Answer>)>| {
        loop {
            let place = taken.fetch_add(1, Ordering::Relaxed);
            let Some(&jobs) = shares.get(place) else { return };
            done.push((place, share(network, cache, jobs, scratch)));
        }
    };
    let mut answers: Vec<Vec<(usize, Vec<Answer>)>> = Vec::new();
    answers.resize_with(threads, Vec::new);
    let mut workers = scratch.iter_mut().zip(&mut answers);
    let own = workers.next();
    // This thread works too: none has to be woken before the work begins.
    rayon::in_place_scope(|scope| {
        for (scratch, done) in workers {
            scope.spawn(|_| work(scratch, done));
        }
        if let Some((scratch, done)) = own {
            work(scratch, done);
        }
    });
    let mut answers: Vec<(usize, Vec<Answer>)> = answers.into_iter().flatten().collect();
    answers.sort_unstable_by_key(|&(place, _)| place);
    let answers = answers.into_iter().map(|(_, answers)| answers);
    let mut answers: Vec<(usize, Answer)> = order.into_iter().zip(answers.flatten()).collect();
    answers.sort_unstable_by_key(|&(index, _)| index);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// How much of a batch each share has: a large one for every thread, and small ones for whoever is
/// done first, because other work (the search's) keeps a core from time to time.
fn portions(threads: usize) -> Vec<f32> {
    if threads == 1 {
        return vec![1.0];
    }
    let count = threads as f32;
    let large = std::iter::repeat_n((1.0 - SPARE) / count, threads);
    large.chain(std::iter::repeat_n(SPARE / count, threads)).collect()
}

/// Cuts the jobs into runs of about these portions of the weight; they sum to 1.
fn split<'a, T>(jobs: &'a [T], weights: &[usize], portions: &[f32]) -> Vec<&'a [T]> {
    let total = weights.iter().sum::<usize>() as f32;
    let (mut start, mut sum, mut due) = (0, 0, 0.0);
    let mut cuts = Vec::with_capacity(portions.len());
    let mut portions = portions.iter();
    due += portions.next().map_or(1.0, |portion| portion * total);
    for (index, weight) in weights.iter().enumerate() {
        sum += weight;
        if sum as f32 >= due
            && let Some(portion) = portions.next()
        {
            cuts.push(&jobs[start..=index]);
            start = index + 1;
            due += portion * total;
        }
    }
    cuts.push(&jobs[start..]);
    cuts
}

/// One thread's share, in chunks.
fn share(
    network: &Network,
    cache: &Cache<Aligned>,
    jobs: &[Job<'_>],
    scratch: &mut Scratch,
) -> Vec<Answer> {
    let watch = jobs.iter().any(|job| job.keep);
    let mut plans: Vec<Plan> = jobs.iter().map(Plan::new).collect();
    let mut answers = Vec::with_capacity(jobs.len());
    let mut jobs = jobs.iter();
    while !plans.is_empty() {
        let mut rows = 0;
        let fits = plans.iter().take_while(|plan| {
            rows += plan.rows();
            rows <= CHUNK_ROWS
        });
        let count = fits.count().max(1);
        let rest = plans.split_off(count);
        let chunk = std::mem::replace(&mut plans, rest);
        let evaluations = forward::run(network, cache, &chunk, watch, scratch);
        let blocks: Vec<Vec<Aligned>> = jobs
            .by_ref()
            .take(count)
            .enumerate()
            .map(|(index, job)| {
                let blocks = || forward::blocks(network, cache, &chunk, index, scratch);
                if job.keep { blocks() } else { Vec::new() }
            })
            .collect();
        let parts = chunk.into_iter().zip(evaluations).zip(blocks).enumerate();
        answers.extend(parts.map(|(index, ((plan, evaluation), blocks))| {
            let attention = scratch.attention.get(index * MAX_KEYS..(index + 1) * MAX_KEYS);
            let attention = attention.unwrap_or_default().to_vec();
            Answer { evaluation, plan, blocks, attention }
        }));
    }
    answers
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::canary;
    use crate::model::ModelConfig;

    /// The canary positions and a child of each.
    fn answers(unit: Option<Unit>, weights: &[u8]) -> Vec<Evaluation> {
        let options = Options { threads: 2, cache_bytes: 1 << 24, ..Options::default() };
        let mut engine = Engine::on(unit, weights, options).unwrap();
        assert_eq!(engine.network.short.is_some(), unit.is_some());
        let mut answers = engine.evaluate(&canary::parents());
        let handles: Vec<_> = answers.iter().map(|answer| answer.handle).collect();
        answers.extend(engine.evaluate(&canary::children(&handles)));
        answers
    }

    #[test]
    fn a_network_that_was_loaded_last_is_not_loaded_again() {
        let device = Device::flex();
        let config = ModelConfig::small();
        let weights = crate::weights::to_bytes(&config.init(&device), &config).unwrap();
        let other = crate::weights::to_bytes(&config.init(&device), &config).unwrap();
        // Other tests load networks meanwhile: one of many tries sees none of theirs.
        let load = |bytes| Engine::load(bytes, Options::default()).unwrap().network;
        let is_shared = |one, two| Arc::ptr_eq(&load(one), &load(two));
        assert!((0..50).any(|_| is_shared(&weights, &weights)));
        assert!(!is_shared(&weights, &other));
    }

    #[test]
    fn every_kind_of_vector_says_what_floats_say() {
        let device = Device::flex();
        device.seed(11);
        let config = ModelConfig::small();
        let weights = crate::weights::to_bytes(&config.init(&device), &config).unwrap();
        let expected = answers(None, &weights);
        for unit in Unit::all() {
            let difference = canary::difference(&expected, &answers(Some(unit), &weights));
            assert!(difference < 1e-3, "{unit:?}: {difference}");
        }
    }
}
