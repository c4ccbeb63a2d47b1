//! Batches of requests on a device: planned and queued at once, answered later.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;
use std::task::Waker;

use burn::tensor::Device;
use rayon::prelude::*;

use super::passes::{Flight, Item, Passes, Traffic};
use super::pending::{IN_FLIGHT, Pending};
use super::tensors::Tensors;
use super::{Adapter, Storage};
use crate::decode::decode;
use crate::evaluator::{CacheFigures, CacheNote, Evaluation, Handle, Request};
use crate::incremental::AnchorPolicy;
use crate::incremental::cache::Cache;
use crate::incremental::manager::CacheManager;
use crate::incremental::plan::{Job, Plan, Source};
use crate::incremental::slots::Seen;
use crate::model::{ModelConfig, VALUE_BINS};
use crate::weights::{self, WeightsError};

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct DeviceOptions {
    /// Bound of the cache, bytes; 0 = every position is encoded whole.
    pub cache_bytes: usize,
    /// Searches that share it in equal parts.
    pub sessions: usize,
    /// When a kept position becomes an anchor.
    pub anchors: AnchorPolicy,
    /// How numbers are stored.
    pub storage: Storage,
}

impl Default for DeviceOptions {
    fn default() -> Self {
        let (anchors, storage) = (AnchorPolicy::default(), Storage::default());
        Self { cache_bytes: 0, sessions: 1, anchors, storage }
    }
}

/// Why a network does not run on a device.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The weights.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// The device.
    #[error("{0}")]
    Device(String),
}

/// The network and its cache on a device.
pub struct DeviceEngine {
    passes: Box<dyn Passes>,
    config: ModelConfig,
    manager: CacheManager<()>,
    /// Attention that is not counted yet.
    pending: Pending,
    /// Queued, oldest first.
    queued: VecDeque<Queued>,
    /// Read back and not asked for yet, oldest first.
    ready: VecDeque<Vec<Evaluation>>,
    batches: u64,
}

impl fmt::Debug for DeviceEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceEngine").field("config", &self.config).finish_non_exhaustive()
    }
}

/// A batch that is queued.
struct Queued {
    number: u64,
    positions: usize,
    items: Vec<Item>,
    flight: Flight,
}

impl DeviceEngine {
    /// Reads the bytes of a weights file, to run on a GPU; the cache begins empty, and with all its
    /// memory.
    ///
    /// # Errors
    /// When the bytes are damaged or no Tesla network of this version, or when the GPU cannot run
    /// it.
    pub fn on_gpu(
        weights: &[u8],
        adapter: &Adapter,
        options: DeviceOptions,
    ) -> Result<Self, LoadError> {
        let (tensors, config) = weights::open(weights)?;
        let source = weights::Source(tensors);
        let passes = super::kernels(&source, &config, adapter, options)?;
        Ok(Self::new(passes, config, options))
    }

    /// The same by burn's tensors, the reference.
    ///
    /// # Errors
    /// When the bytes are damaged or no Tesla network of this version.
    pub fn on_tensors(
        weights: &[u8],
        device: &Device,
        options: DeviceOptions,
    ) -> Result<Self, WeightsError> {
        let weights::Loaded { model, config, .. } = weights::load_bytes(weights, device)?;
        let passes = Box::new(Tensors::new(model, &config, device, options.cache_bytes));
        Ok(Self::new(passes, config, options))
    }

    fn new(passes: Box<dyn Passes>, config: ModelConfig, options: DeviceOptions) -> Self {
        let (slots, sessions) = (passes.slots(), options.sessions.max(1));
        let cache = Cache::new(slots / sessions, sessions);
        Self {
            manager: CacheManager::new(cache, options.anchors, slots > 0),
            passes,
            config,
            pending: Pending::default(),
            queued: VecDeque::new(),
            ready: VecDeque::new(),
            batches: 0,
        }
    }

    /// The network's name, for people.
    pub fn name(&self) -> &str {
        &self.config.name
    }

    /// Whether positions are kept for their children.
    pub fn keeps(&self) -> bool {
        self.manager.keeps()
    }

    /// What was done so far, and how full the cache is, queued batches included.
    pub fn figures(&self) -> CacheFigures {
        self.manager.figures()
    }

    #[cfg(test)]
    pub(super) fn attention(&self, session: u32, handle: Handle) -> Vec<f64> {
        self.manager.attention(session, handle)
    }

    /// This engine, wrong wherever it reads its cache: a drill.
    #[cfg(test)]
    pub(crate) fn with_faulty_cache(self) -> Self {
        Self { passes: Box::new(super::tests::FaultyCache(self.passes)), ..self }
    }

    /// This engine, on a device that takes so long for a batch; `launched` counts them.
    #[cfg(test)]
    pub(crate) fn taking(
        self,
        time: std::time::Duration,
        launched: std::sync::Arc<std::sync::atomic::AtomicUsize>,
    ) -> Self {
        let slow = super::tests::Slow::new(self.passes, time, launched);
        Self { passes: Box::new(slow), ..self }
    }

    /// Does what the search says of its positions. The device's memory stays taken.
    pub fn note(&mut self, session: u32, note: &CacheNote) {
        match note {
            CacheNote::Forget => self.pending.forget(session),
            CacheNote::ForgetAll => self.pending.clear(),
            // What has no more tokens keeps its place in batches that are queued.
            _ => {}
        }
        self.manager.note(session, note);
    }

    /// Gives the cache's memory back; from now on every position is encoded whole.
    pub fn close_cache(&mut self) {
        self.pending.clear();
        self.manager.close();
        self.passes.close_cache();
    }

    /// What the device was asked for so far.
    pub fn traffic(&self) -> Traffic {
        self.passes.traffic()
    }

    /// Evaluates a batch while nothing is queued. Parents are of earlier batches.
    pub fn evaluate(&mut self, requests: &[Request]) -> Vec<Evaluation> {
        self.launch(requests);
        self.answer()
    }

    /// Queues a batch; its parents are of batches that were answered. Where two are queued already,
    /// waits for the first.
    ///
    /// A request's answer depends on its session's earlier batches and its own batch's requests of
    /// the same session, and on nobody else's.
    pub fn launch(&mut self, requests: &[Request]) {
        while self.queued.len() >= IN_FLIGHT {
            self.read();
        }
        self.batches += 1;
        let items = self.plan(requests);
        let flight = self.passes.begin(&items);
        let (number, positions) = (self.batches, requests.len());
        self.queued.push_back(Queued { number, positions, items, flight });
    }

    /// Whether [`Self::answer`] would answer at once; if not, `waker` is woken when it may.
    pub(crate) fn has_answer(&mut self, waker: &Waker) -> bool {
        !self.ready.is_empty()
            || self.queued.front_mut().is_none_or(|batch| batch.flight.reading.is_ready(waker))
    }

    /// Waits for the oldest batch that was queued; nothing if there is none.
    pub fn answer(&mut self) -> Vec<Evaluation> {
        if self.ready.is_empty() {
            self.read();
        }
        self.ready.pop_front().unwrap_or_default()
    }

    /// Decides what is kept, rebuilt and evicted: all of a batch that its answers do not decide.
    fn plan(&mut self, requests: &[Request]) -> Vec<Item> {
        let sessions: HashSet<u32> = requests.iter().map(|request| request.session).collect();
        if self.manager.keeps() {
            for &session in &sessions {
                for (seen, attention) in self.pending.due(session) {
                    self.manager.cache_mut().attend_late(session, seen, attention);
                }
            }
        }
        let rebuilds = self.manager.prepare(requests, |session| self.pending.nodes(session));
        let mut items = Vec::with_capacity(requests.len() + rebuilds.len());
        // Of each node that is made again, its item.
        let mut made: HashMap<(u32, u32), usize> = HashMap::new();
        for rebuild in rebuilds {
            let Some(plan) = self.manager.job(rebuild).map(|job| Plan::new(&job)) else { continue };
            let own = self.manager.rebuild(rebuild, &plan, vec![(); plan.rows()], &[]);
            // Without room for it, nobody would see it.
            if own.is_none() {
                continue;
            }
            let (handle, session) = (Handle(rebuild.id), rebuild.session);
            let seen = self.seen(&plan, own.as_deref());
            let after = rebuild.base().and_then(|base| made.get(&(session, base)).copied());
            made.insert((session, rebuild.id), items.len());
            items.push(Item { place: None, handle, session, plan, own, seen, after });
        }
        let jobs: Vec<Job<'_>> = self.manager.jobs(requests);
        let plans: Vec<Plan> = jobs.par_iter().map(Plan::new).collect();
        for (place, (request, plan)) in requests.iter().zip(plans).enumerate() {
            self.manager.count(&plan);
            let (mut handle, mut own, mut seen) = (Handle::default(), None, Vec::new());
            if request.keep && self.manager.keeps() {
                (handle, own) = self.manager.admit(request, &plan, vec![(); plan.rows()], &[]);
                seen = self.seen(&plan, own.as_deref());
            }
            let session = request.session;
            let parent = request.parent.map(|(parent, _)| (session, parent.0));
            let after = parent.and_then(|parent| made.get(&parent).copied());
            items.push(Item { place: Some(place), handle, session, plan, own, seen, after });
        }
        if self.manager.keeps() {
            for session in sessions {
                let own = items.iter().filter(|item| item.session == session && item.own.is_some());
                let nodes = own.map(|item| item.handle.0).collect();
                self.pending.push(session, self.batches, nodes);
            }
        }
        items
    }

    /// Slots whose attention is to be noted, by place among the sources.
    fn seen(&self, plan: &Plan, own: Option<&[u32]>) -> Vec<(usize, Seen)> {
        let slot = |source| match (source, own) {
            (Source::Cached(slot), _) => Some(slot),
            (_, own) => own.map(|own| plan.slot(source, own)),
        };
        let sources = plan.sources.iter().enumerate();
        let slots = sources.filter_map(|(place, &source)| Some((place, slot(source)?)));
        slots.map(|(place, slot)| (place, self.manager.cache().seen(slot))).collect()
    }

    /// Waits for the oldest batch, decodes it and shares out the attention.
    fn read(&mut self) {
        let Some(batch) = self.queued.pop_front() else { return };
        let Flight { places, reading } = batch.flight;
        let found = reading.wait();
        let mut answers = vec![Evaluation::default(); batch.positions];
        for (item, at) in batch.items.into_iter().zip(places) {
            if let Some(place) = item.place {
                let bins = &found[at.bins..at.bins + VALUE_BINS];
                let estimates = &found[at.estimates..at.estimates + 2 * item.plan.moves.len()];
                let estimates = estimates.as_chunks::<2>().0.iter().copied();
                let answer = decode(bins, found[at.error], estimates);
                answers[place] = Evaluation { handle: item.handle, ..answer };
            }
            let last = item.plan.sources.len() - 1;
            let received = item.seen.iter().map(|&(source, seen)| {
                let key = if source == last { at.readout } else { source };
                (seen, found[at.attention + key])
            });
            self.pending.add(item.session, batch.number, received);
        }
        self.ready.push_back(answers);
    }
}
