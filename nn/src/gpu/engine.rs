//! Batches of requests on a device: planned and queued at once, answered later.

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt;

use burn::tensor::{Device, Tensor};
use rayon::prelude::*;

use super::pack::{Pack, Shape, WHOLE_TOKENS};
use super::pass;
use super::reading::Reading;
use super::store::{self, Layout, Store};
use crate::decode::decode;
use crate::evaluator::{CacheFigures, CacheNote, Evaluation, Handle, Request};
use crate::incremental::books::{AnchorPolicy, Books, CHILD_ROWS};
use crate::incremental::cache::Cache;
use crate::incremental::plan::{Job, MAX_SOURCES, Plan, Source};
use crate::incremental::slots::Seen;
use crate::model::{Model, ModelConfig, VALUE_BINS};
use crate::weights::{self, WeightsError};

/// Sizes of a pass that a GPU is asked for; others are padded up, so that few kernels are tuned.
const SHAPES: [usize; 7] = [1, 8, 32, 64, 128, 256, 512];
/// Tokens that a child sees, padded likewise.
const KEYS: [usize; 2] = [40, MAX_SOURCES];
/// Moves of a position on average, from bare endgames to full boards, that kernels are readied for.
const USUAL_MOVES: [usize; 3] = [16, 32, 64];
/// Moves of a position that a pass of fixed shape has room for, on average.
const MOVES_PER_POSITION: usize = 64;
/// Of so many positions in a pass of fixed shape, one may be encoded whole.
const WHOLE_SHARE: usize = 8;
/// Batches that are queued at once.
const IN_FLIGHT: usize = 2;

/// How a pass is filled up before it goes to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Padding {
    /// To one of few sizes.
    Few,
    /// To this many positions always, with room for 64 moves each: an answer is then bit by bit the
    /// same in any company, for a GPU's kernels differ from shape to shape.
    One(usize),
}

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
    books: Books<()>,
    /// Nothing where nothing is kept.
    store: Option<Store>,
    /// Most children in a pass.
    children: usize,
    /// Each session's latest batches, of which it has not heard yet, oldest first.
    unheard: HashMap<u32, VecDeque<Unheard>>,
    /// Queued, oldest first.
    flying: VecDeque<Launched>,
    /// Read back and not asked for yet, oldest first.
    ready: VecDeque<Vec<Evaluation>>,
    batches: u64,
}

impl fmt::Debug for DeviceEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceEngine").field("config", &self.config).finish_non_exhaustive()
    }
}

/// What a session does not know yet of one of its batches.
#[derive(Debug)]
struct Unheard {
    batch: u64,
    /// Nodes that were made.
    nodes: Vec<u32>,
    /// Attention that slots received; filled when the batch is read back.
    attention: Vec<(Seen, f32)>,
}

/// A position of a batch.
struct Item {
    /// Place in the batch; none for a node that is anchored anew.
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
struct Queued {
    items: Vec<Item>,
    pack: Pack,
    watch: bool,
}

/// A batch that is queued.
struct Launched {
    batch: u64,
    positions: usize,
    passes: Vec<Queued>,
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
            books: Books::new(cache, options.anchors, layout.is_some()),
            store: layout.map(|layout| Store::new(layout, &config, device)),
            children: layout.map_or(1, |layout| layout.children),
            model,
            config,
            device: device.clone(),
            padding: options.padding,
            unheard: HashMap::new(),
            flying: VecDeque::new(),
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
        self.books.keeps()
    }

    /// What was done so far, and how full the cache is, queued batches included.
    pub fn figures(&self) -> CacheFigures {
        self.books.figures()
    }

    #[cfg(test)]
    pub(super) fn attention(&self, session: u32, handle: Handle) -> Vec<f64> {
        self.books.attention(session, handle)
    }

    /// Does what the search says of its positions. The device's memory stays taken.
    pub fn note(&mut self, session: u32, note: &CacheNote) {
        match note {
            CacheNote::Forget => drop(self.unheard.remove(&session)),
            CacheNote::ForgetAll => self.unheard.clear(),
            CacheNote::Protect(_) | CacheNote::Retain(_) => {}
        }
        self.books.note(session, note);
    }

    /// Gives the cache's memory back; from now on every position is encoded whole.
    pub fn close_cache(&mut self) {
        self.unheard.clear();
        self.books.close();
        self.store = None;
    }

    /// Runs a pass of every shape that batches of up to `largest` positions are padded to, so that
    /// their kernels are compiled and tuned before a clock runs; positions that are packed for
    /// nobody change no books. Returns how many passes that were.
    pub fn warm(&mut self, largest: usize) -> usize {
        let shapes = self.shapes(largest);
        for &(shape, is_whole) in &shapes {
            let pack = Pack::new(shape, is_whole).pad();
            let watch = self.store.is_some();
            let found = pass::run(&self.model, self.store.as_mut(), &pack, watch, &self.device);
            Reading::begin(Tensor::cat(found, 0)).wait();
        }
        shapes.len()
    }

    /// Shapes of passes for batches of up to `largest` positions, and whether they are whole encodes.
    fn shapes(&self, largest: usize) -> Vec<(Shape, bool)> {
        let kinds = if self.keeps() { &[true, false][..] } else { &[true] };
        let mut shapes = Vec::new();
        for &is_whole in kinds {
            let most = self.most_positions(is_whole);
            let (sizes, moves, keys) = match &self.padding {
                Padding::Few => {
                    let last = padded(&SHAPES, largest.min(most));
                    let sizes = SHAPES.into_iter().filter(|&size| size <= last).collect();
                    (sizes, &USUAL_MOVES[..], &KEYS[..])
                }
                Padding::One(_) => (vec![most], &[MOVES_PER_POSITION][..], &KEYS[KEYS.len() - 1..]),
            };
            let keys = if is_whole { &[WHOLE_TOKENS] } else { keys };
            let queries = if is_whole { WHOLE_TOKENS } else { CHILD_ROWS };
            for positions in sizes {
                for (&keys, &moves) in keys.iter().flat_map(|k| moves.iter().map(move |m| (k, m))) {
                    let shape = Shape { positions, queries, keys, moves: positions * moves };
                    shapes.push((shape, is_whole));
                }
            }
        }
        shapes
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
    /// the same session, and on nobody else's, but for the last bits where passes have other shapes.
    pub fn launch(&mut self, requests: &[Request]) {
        while self.flying.len() >= IN_FLIGHT {
            self.read();
        }
        if self.store.is_none() && self.books.keeps() {
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
            let most = self.most_positions(is_whole);
            let mut items = items.into_iter().peekable();
            while items.peek().is_some() {
                let items: Vec<Item> = items.by_ref().take(most).collect();
                let pack = self.pack(&items, is_whole, store.as_ref());
                let watch = items.iter().any(|item| !item.seen.is_empty());
                let store = store.as_mut().filter(|_| pack.is_kept());
                found.extend(pass::run(&self.model, store, &pack, watch, &self.device));
                passes.push(Queued { items, pack, watch });
            }
        }
        self.store = store;
        let found = (!found.is_empty()).then(|| Reading::begin(Tensor::cat(found, 0)));
        let (batch, positions) = (self.batches, requests.len());
        self.flying.push_back(Launched { batch, positions, passes, found });
    }

    /// Waits for the oldest batch that was queued; nothing if there is none.
    pub fn answer(&mut self) -> Vec<Evaluation> {
        if self.ready.is_empty() {
            self.read();
        }
        self.ready.pop_front().unwrap_or_default()
    }

    /// Keeps the books of a batch: all that its answers do not decide.
    fn plan(&mut self, requests: &[Request]) -> Vec<Item> {
        let sessions: HashSet<u32> = requests.iter().map(|request| request.session).collect();
        if self.books.keeps() {
            for &session in &sessions {
                self.hear(session);
            }
        }
        let unheard = &self.unheard;
        let fresh = |session: u32| {
            let batches = unheard.get(&session).into_iter().flatten();
            batches.flat_map(|unheard| unheard.nodes.iter().copied())
        };
        let stale = self.books.prepare(requests, fresh);
        let mut items = Vec::with_capacity(requests.len() + stale.len());
        for stale in stale {
            // What is made from another comes after it, in the same pass or a later one: a pass
            // writes a layer's rows before it reads any.
            let Some(plan) = self.books.job(stale).map(|job| Plan::new(&job)) else { continue };
            let own = self.books.renew(stale, &plan, vec![(); plan.rows()], &[]);
            let (handle, session) = (Handle(stale.id), stale.session);
            let seen = self.seen(&plan, own.as_deref());
            items.push(Item { place: None, handle, session, plan, own, seen });
        }
        let jobs: Vec<Job<'_>> = self.books.jobs(requests);
        let plans: Vec<Plan> = jobs.par_iter().map(Plan::new).collect();
        for (place, (request, plan)) in requests.iter().zip(plans).enumerate() {
            self.books.count(&plan);
            let (mut handle, mut own, mut seen) = (Handle::default(), None, Vec::new());
            if request.keep && self.books.keeps() {
                (handle, own) = self.books.admit(request, &plan, vec![(); plan.rows()], &[]);
                seen = self.seen(&plan, own.as_deref());
            }
            let session = request.session;
            items.push(Item { place: Some(place), handle, session, plan, own, seen });
        }
        if self.books.keeps() {
            for session in sessions {
                let own = items.iter().filter(|item| item.session == session && item.own.is_some());
                let nodes = own.map(|item| item.handle.0).collect();
                let unheard = Unheard { batch: self.batches, nodes, attention: Vec::new() };
                self.unheard.entry(session).or_default().push_back(unheard);
            }
        }
        items
    }

    /// Notes the attention of the session's batch before its last.
    fn hear(&mut self, session: u32) {
        let Some(batches) = self.unheard.get_mut(&session) else { return };
        while batches.len() >= IN_FLIGHT {
            for (seen, attention) in batches.pop_front().into_iter().flat_map(|b| b.attention) {
                self.books.cache_mut().attend_late(session, seen, attention);
            }
        }
    }

    /// Slots whose attention is to be noted, by place among the sources.
    fn seen(&self, plan: &Plan, own: Option<&[u32]>) -> Vec<(usize, Seen)> {
        let slot = |source| match (source, own) {
            (Source::Cached(slot), _) => Some(slot),
            (_, own) => own.map(|own| plan.slot(source, own)),
        };
        let sources = plan.sources.iter().enumerate();
        let slots = sources.filter_map(|(place, &source)| Some((place, slot(source)?)));
        slots.map(|(place, slot)| (place, self.books.cache().seen(slot))).collect()
    }

    /// Positions that may be in one pass.
    fn most_positions(&self, is_whole: bool) -> usize {
        match self.padding {
            _ if !is_whole => self.children,
            Padding::Few => SHAPES[SHAPES.len() - 1],
            Padding::One(shape) if self.books.keeps() => (shape / WHOLE_SHARE).max(1),
            Padding::One(shape) => shape.max(1),
        }
    }

    fn pack(&self, items: &[Item], is_whole: bool, store: Option<&Store>) -> Pack {
        let longest = items.iter().map(|item| item.plan.sources.len()).max().unwrap_or(0);
        let (positions, moves, keys) = match self.padding {
            Padding::Few => (padded(&SHAPES, items.len()), 0, padded(&KEYS, longest)),
            Padding::One(_) => {
                let positions = self.most_positions(is_whole);
                (positions, positions * MOVES_PER_POSITION, MAX_SOURCES)
            }
        };
        let (queries, keys) =
            if is_whole { (WHOLE_TOKENS, WHOLE_TOKENS) } else { (CHILD_ROWS, keys) };
        let mut pack = Pack::new(Shape { positions, queries, keys, moves }, is_whole);
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
        let Some(launched) = self.flying.pop_front() else { return };
        let found = launched.found.map(Reading::wait).unwrap_or_default();
        let mut rest = found.as_slice();
        let mut answers = vec![Evaluation::default(); launched.positions];
        for Queued { items, pack, watch } in launched.passes {
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
                let batches = self.unheard.get_mut(&item.session).into_iter().flatten();
                let Some(unheard) = { batches }.find(|unheard| unheard.batch == launched.batch)
                else {
                    continue;
                };
                let received = item.seen.iter().map(|&(source, seen)| {
                    (seen, attention[index * keys + pack.key(&item.plan, source)])
                });
                unheard.attention.extend(received);
            }
        }
        self.ready.push_back(answers);
    }
}

/// The smallest of `sizes` that has room for this.
fn padded(sizes: &[usize], size: usize) -> usize {
    sizes.iter().copied().find(|&shape| shape >= size).unwrap_or(size)
}
