//! Batches of requests on a device: planned and queued at once, answered later.

use std::collections::{HashSet, VecDeque};
use std::fmt;

use burn::tensor::{Device, Tensor};
use rayon::prelude::*;

use super::pack::{Pack, Shape};
use super::padding::{Padding, SHAPES, Sizes};
use super::pass;
use super::pending::{IN_FLIGHT, Pending};
use super::reading::Reading;
use super::store::{self, Layout, Store};
use crate::decode::decode;
use crate::evaluator::{CacheFigures, CacheNote, Evaluation, Handle, Request};
use crate::incremental::AnchorPolicy;
use crate::incremental::cache::Cache;
use crate::incremental::manager::CacheManager;
use crate::incremental::plan::{Job, Plan, Source};
use crate::incremental::slots::Seen;
use crate::model::{Model, ModelConfig, VALUE_BINS};
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
    /// How passes are filled up.
    pub padding: Padding,
}

impl Default for DeviceOptions {
    fn default() -> Self {
        Self {
            cache_bytes: 0,
            sessions: 1,
            anchors: AnchorPolicy::default(),
            padding: Padding::Few,
        }
    }
}

/// The network and its cache on a device.
pub struct DeviceEngine {
    model: Model,
    config: ModelConfig,
    device: Device,
    padding: Padding,
    manager: CacheManager<()>,
    /// Nothing where nothing is kept.
    store: Option<Store>,
    /// Most children in a pass.
    children: usize,
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

/// A position of a batch.
struct Item {
    /// Place in the batch; none for a node that is rebuilt.
    place: Option<usize>,
    handle: Handle,
    session: u32,
    plan: Plan,
    /// Slots of its tokens.
    own: Option<Vec<u32>>,
    /// What it sees, by place among its sources, where the attention is wanted.
    seen: Vec<(usize, Seen)>,
}

/// A pass that is queued.
struct Pass {
    items: Vec<Item>,
    pack: Pack,
    watch: bool,
}

/// A batch that is queued.
struct Queued {
    number: u64,
    positions: usize,
    passes: Vec<Pass>,
    /// Nothing of an empty batch.
    found: Option<Reading>,
}

impl DeviceEngine {
    /// Reads the bytes of a weights file; the cache begins empty, and with all its memory.
    ///
    /// # Errors
    /// When the bytes are damaged or no Tesla network of this version.
    pub fn load(
        weights: &[u8],
        device: &Device,
        options: DeviceOptions,
    ) -> Result<Self, WeightsError> {
        let weights::Loaded { model, config, .. } = weights::load_bytes(weights, device)?;
        let batches: &[usize] = match &options.padding {
            Padding::Few => &SHAPES,
            Padding::One(shape) => std::slice::from_ref(shape),
        };
        let sessions = options.sessions.max(1);
        let layout = Layout::within(options.cache_bytes, &config, batches);
        let cache = Cache::new(layout.map_or(0, |layout| layout.slots / sessions), sessions);
        Ok(Self {
            manager: CacheManager::new(cache, options.anchors, layout.is_some()),
            store: layout.map(|layout| Store::new(layout, &config, device)),
            children: layout.map_or(1, |layout| layout.children),
            model,
            config,
            device: device.clone(),
            padding: options.padding,
            pending: Pending::default(),
            queued: VecDeque::new(),
            ready: VecDeque::new(),
            batches: 0,
        })
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
        self.store = None;
    }

    /// Runs a pass of every shape that batches of up to `largest` positions are padded to, so that
    /// their kernels are compiled and tuned before a clock runs; they hold
    /// no positions and change no cache. Returns how many passes that were.
    pub fn warm(&mut self, largest: usize) -> usize {
        let shapes = self.sizes().all(largest);
        for &(shape, is_whole) in &shapes {
            let pack = Pack::new(shape, is_whole).pad();
            let watch = self.store.is_some();
            let found = pass::run(&self.model, self.store.as_mut(), &pack, watch, &self.device);
            Reading::begin(Tensor::cat(found, 0)).wait();
        }
        shapes.len()
    }

    /// What decides how large passes are.
    fn sizes(&self) -> Sizes {
        Sizes { padding: self.padding, children: self.children, keeps: self.keeps() }
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
    /// the same session, and on nobody else's, but for the last bits where passes have other
    /// shapes.
    pub fn launch(&mut self, requests: &[Request]) {
        while self.queued.len() >= IN_FLIGHT {
            self.read();
        }
        if self.store.is_none() && self.manager.keeps() {
            // It was lost when a pass failed.
            self.close_cache();
        }
        self.batches += 1;
        let items = self.plan(requests);
        let (wholes, children): (Vec<Item>, Vec<Item>) =
            items.into_iter().partition(|item| item.plan.is_whole());
        let mut store = self.store.take();
        let (mut passes, mut found) = (Vec::new(), Vec::new());
        for (items, is_whole) in [(wholes, true), (children, false)] {
            let most = self.sizes().most_positions(is_whole);
            let mut items = items.into_iter().peekable();
            while items.peek().is_some() {
                let items: Vec<Item> = items.by_ref().take(most).collect();
                let pack = self.pack(&items, is_whole, store.as_ref());
                let watch = items.iter().any(|item| !item.seen.is_empty());
                let store = store.as_mut().filter(|_| pack.is_kept());
                found.extend(pass::run(&self.model, store, &pack, watch, &self.device));
                passes.push(Pass { items, pack, watch });
            }
        }
        self.store = store;
        let found = (!found.is_empty()).then(|| Reading::begin(Tensor::cat(found, 0)));
        let (number, positions) = (self.batches, requests.len());
        self.queued.push_back(Queued { number, positions, passes, found });
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
        for rebuild in rebuilds {
            // What is made from another comes after it, in the same pass or a later one: a pass
            // writes a layer's rows before it reads any.
            let Some(plan) = self.manager.job(rebuild).map(|job| Plan::new(&job)) else { continue };
            let own = self.manager.rebuild(rebuild, &plan, vec![(); plan.rows()], &[]);
            let (handle, session) = (Handle(rebuild.id), rebuild.session);
            let seen = self.seen(&plan, own.as_deref());
            items.push(Item { place: None, handle, session, plan, own, seen });
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
            items.push(Item { place: Some(place), handle, session, plan, own, seen });
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

    fn pack(&self, items: &[Item], is_whole: bool, store: Option<&Store>) -> Pack {
        let longest = items.iter().map(|item| item.plan.sources.len()).max().unwrap_or(0);
        let mut pack = Pack::new(self.sizes().shape(is_whole, items.len(), longest), is_whole);
        for (place, Item { plan, own, .. }) in items.iter().enumerate() {
            let rows: Vec<i32> = match (own, store) {
                (Some(own), _) => own.iter().map(|&slot| store::row(slot)).collect(),
                (None, Some(store)) if !is_whole => store.layout.spare(place).collect(),
                (None, _) => Vec::new(),
            };
            pack.push(plan, &rows);
        }
        pack.pad()
    }

    /// Waits for the oldest batch, decodes it and shares out the attention.
    fn read(&mut self) {
        let Some(batch) = self.queued.pop_front() else { return };
        let found = batch.found.map(Reading::wait).unwrap_or_default();
        let mut rest = found.as_slice();
        let mut answers = vec![Evaluation::default(); batch.positions];
        for Pass { items, pack, watch } in batch.passes {
            let Shape { positions, keys, moves, .. } = pack.shape;
            let mut next = |count: usize| {
                let (found, later) = rest.split_at(count);
                rest = later;
                found
            };
            let (values, errors) = (next(positions * VALUE_BINS), next(positions));
            let (policies, deltas) = (next(moves), next(moves));
            let attention = if watch { next(positions * keys) } else { &[] };
            for (index, item) in items.into_iter().enumerate() {
                if let Some(place) = item.place {
                    let bins = &values[index * VALUE_BINS..(index + 1) * VALUE_BINS];
                    let moves = pack.offsets[index]..pack.offsets[index + 1];
                    let estimates = policies[moves.clone()].iter().zip(&deltas[moves]);
                    let estimates = estimates.map(|(&policy, &delta)| [policy, delta]);
                    let answer = decode(bins, errors[index], estimates);
                    answers[place] = Evaluation { handle: item.handle, ..answer };
                }
                let received = item.seen.iter().map(|&(source, seen)| {
                    (seen, attention[index * keys + pack.key(&item.plan, source)])
                });
                self.pending.add(item.session, batch.number, received);
            }
        }
        self.ready.push_back(answers);
    }
}
