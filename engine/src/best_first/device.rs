//! The evaluator and the batches it works on.

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use tesla_nn::evaluator::{
    CacheFigures, CacheNote, EvalError, Evaluation, Evaluator, Handle, Request,
};

use crate::best_first::batch_size::{Batches, Costs, Throughput};
use crate::best_first::params::Params;
use crate::search::{Fallbacks, Limits, Task, replace};
use crate::tree::arena::Tree;
use crate::tree::leaf::{Leaf, Source};
use crate::tree::node::{ExpansionId, NONE, ROOT};

/// An answer that comes sooner was there already.
const WAITED: Duration = Duration::from_micros(5);
/// Limit on what is in flight when the answer may be wanted at any moment.
const PROMPT: Duration = Duration::from_millis(40);

/// Batches are answered in the order in which they were sent.
pub(super) struct Device {
    evaluator: Box<dyn Evaluator>,
    /// The fallbacks for when the evaluator fails.
    pub(super) fallbacks: Option<Fallbacks>,
    in_flight: VecDeque<Vec<Leaf>>,
    /// Keys of the evaluations that were asked for.
    awaited: HashSet<u64>,
    throughput: Throughput,
    /// When the last batch came back, or else the next was sent.
    since: Duration,
    /// Whether that was the evaluator's moment, not ours.
    is_seen: bool,
    /// When our own work on the next batch began: the last answer or the last batch sent.
    at_work: Duration,
    /// What the evaluator had done before this search.
    cache_before: Option<CacheFigures>,
}

impl Device {
    pub(super) fn new(evaluator: Box<dyn Evaluator>) -> Self {
        Self {
            evaluator,
            fallbacks: None,
            in_flight: VecDeque::new(),
            awaited: HashSet::new(),
            throughput: Throughput::default(),
            since: Duration::ZERO,
            is_seen: false,
            at_work: Duration::ZERO,
            cache_before: None,
        }
    }

    /// A description of the evaluator for users, one line.
    pub(super) fn description(&self) -> String {
        self.evaluator.description()
    }

    /// Waits for what an earlier search left in flight; neither answers nor errors matter.
    pub(super) fn drain(&mut self) {
        while self.evaluator.in_flight() > 0 {
            let _ = self.evaluator.collect();
        }
        self.in_flight.clear();
        self.awaited.clear();
    }

    /// A search begins.
    pub(super) fn start(&mut self, now: Duration) {
        (self.since, self.is_seen, self.at_work) = (now, false, now);
        self.cache_before = self.evaluator.cache_figures();
    }

    /// What the evaluator did since the search began, where it encodes positions from their
    /// parents.
    pub(super) fn cache_figures(&self) -> Option<CacheFigures> {
        let before = self.cache_before?;
        Some(self.evaluator.cache_figures()?.since(&before))
    }

    /// Batches in flight.
    pub(super) fn in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Whether nothing is in flight.
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight.is_empty()
    }

    /// Keys of the evaluations in flight.
    pub(super) fn awaited(&self) -> &HashSet<u64> {
        &self.awaited
    }

    /// Positions and legal moves in flight.
    pub(super) fn pending(&self) -> (usize, usize) {
        let leaves = self.in_flight.iter().flatten();
        leaves.fold((0, 0), |(positions, moves), leaf| (positions + 1, moves + leaf.moves.len()))
    }

    /// Leaves in flight below each root move, by its index.
    pub(super) fn pending_by_root_move(&self, tree: &Tree) -> Vec<u32> {
        let mut counts = Vec::new();
        for leaf in self.in_flight.iter().flatten() {
            count_root_move(&mut counts, tree.root_move(leaf.slot));
        }
        counts
    }

    /// Sends a batch; the cache keeps the principal variation.
    pub(super) fn submit(&mut self, tree: &Tree, leaves: Vec<Leaf>, now: Duration) {
        let line = tree.principal_variation();
        let line = line.into_iter().map(|id| cache_id(tree, id)).collect();
        self.evaluator.note(0, CacheNote::Protect(line));
        if self.in_flight.is_empty() {
            // What came before was not the evaluator's time.
            (self.since, self.is_seen) = (now, true);
        }
        self.throughput.note_host(leaves.len(), now.saturating_sub(self.at_work));
        self.at_work = now;
        let asked = leaves.iter().filter(|leaf| leaf.source == Source::Asked);
        self.awaited.extend(asked.clone().map(Leaf::evaluation_key));
        self.evaluator.submit(asked.map(|leaf| request(tree, leaf)).collect());
        self.in_flight.push_back(leaves);
    }

    /// Waits for the oldest batch: its leaves and, as far as they came, the answers to those that
    /// were asked for.
    ///
    /// # Errors
    /// When the evaluator has failed; the batches stay in flight.
    pub(super) fn collect(
        &mut self,
        task: &Task<'_>,
    ) -> Result<(Vec<Leaf>, Vec<Evaluation>), EvalError> {
        let asked_at = task.budget.elapsed();
        let answers = self.evaluator.collect()?;
        let Some(leaves) = self.in_flight.pop_front() else { return Ok((Vec::new(), answers)) };
        let now = task.budget.elapsed();
        let is_seen = now.saturating_sub(asked_at) >= WAITED;
        let took = now.saturating_sub(self.since);
        for leaf in leaves.iter().filter(|leaf| leaf.source == Source::Asked) {
            self.awaited.remove(&leaf.evaluation_key());
        }
        self.throughput.note(answers.len(), took, is_seen && self.is_seen);
        (self.since, self.is_seen, self.at_work) = (now, is_seen, now);
        Ok((leaves, answers))
    }

    /// The leaves in flight, which nobody waits for any more.
    pub(super) fn take_in_flight(&mut self) -> Vec<Leaf> {
        self.awaited.clear();
        self.in_flight.drain(..).flatten().collect()
    }

    /// Goes on with the next evaluator. It knows no position of the tree yet: a parent that it does
    /// not know costs a whole encode.
    ///
    /// # Errors
    /// With the same error, where there is none or no time for it. The root's first evaluation is
    /// worth any time.
    pub(super) fn replace(
        &mut self,
        tree: &mut Tree,
        task: &Task<'_>,
        error: EvalError,
    ) -> Result<(), EvalError> {
        let is_worth_it = task.has_time_for_another() || !tree.node(ROOT).is_expanded();
        if !is_worth_it || !replace(&mut self.evaluator, &mut self.fallbacks, &error) {
            return Err(error);
        }
        for id in 0..tree.expansion_count() as ExpansionId {
            tree.expansion_mut(id).cache_id = 0;
        }
        self.throughput = Throughput::default();
        self.since = task.budget.elapsed();
        self.cache_before = self.evaluator.cache_figures();
        Ok(())
    }

    /// Lets the cache drop the tokens of what is no longer in the tree. The positions stay, until
    /// the cache needs their room: the evaluations of most are still known. A position that is in
    /// the tree on another path too has its tokens rebuilt when they are needed, which costs less
    /// than going through the whole tree for such.
    pub(super) fn drop_tokens(&mut self, gone: Vec<u32>) {
        self.evaluator.note(0, CacheNote::DropTokens(gone.into_iter().map(Handle).collect()));
    }

    /// Tells the cache how positions were reached again whose evaluations were known: the leaves,
    /// which are expanded now.
    pub(super) fn reach(&mut self, tree: &Tree, leaves: &[Leaf]) {
        let reached = |leaf: &Leaf| {
            let node = tree.node(tree.at(leaf.slot));
            let is_inside = node.is_expanded() && !leaf.slot.is_root();
            is_inside.then(|| {
                let parent = cache_id(tree, leaf.slot.parent);
                (cache_id(tree, node.expansion), (parent, node.played))
            })
        };
        let reached: Vec<_> = leaves.iter().filter_map(reached).collect();
        self.evaluator.note(0, CacheNote::Reached(reached));
    }

    /// Lets the cache forget everything.
    pub(super) fn forget_all(&mut self) {
        self.evaluator.note(0, CacheNote::ForgetAll);
    }

    /// The batches to have in flight for a tree of `visits` evaluations: they grow with it.
    pub(super) fn batches(&self, params: &Params, limits: &Limits, visits: f32) -> Batches {
        // What was measured is another number each time, which would make another tree.
        let is_timed = limits.nodes.is_none() && limits.depth.is_none();
        let measured = if is_timed { self.throughput.measured() } else { None };
        let costs = match (params.fixed_cost, measured) {
            (given, _) if given > 0.0 => Costs::new(params, given),
            (_, Some(measured)) => Costs::of(params, measured),
            (_, None) => Costs::new(params, self.evaluator.fixed_cost()),
        };
        let most = self.evaluator.batch_size() as u32;
        let in_flight = params.batches_in_flight as usize;
        costs.best_batches(visits, most, in_flight)
    }

    /// Time of the batch of `size` that was just answered, in evaluations, where these are the
    /// clock: on the device of the given `fixed_cost`, or else that of its evaluations alone.
    pub(super) fn counted_time(&self, params: &Params, size: usize) -> usize {
        if params.fixed_cost <= 0.0 || size == 0 {
            return size;
        }
        let batches = Batches { in_flight: 1 + self.in_flight(), size: size as u32 };
        Costs::new(params, params.fixed_cost).time(batches).round() as usize
    }

    /// Leaves, apart from those in flight, that can still be answered before the hard limit or,
    /// where a `stop` or `ponderhit` may come at any moment, promptly.
    pub(super) fn affordable(&self, task: &Task<'_>) -> u32 {
        let pending = self.pending().0 as u32;
        let in_time = |time| self.evaluations_in(time).map(|evaluations| evaluations as u32);
        let affordable = match task.budget.hard() {
            Some(hard) => in_time(hard.saturating_sub(task.budget.elapsed()))
                .map(|leaves| leaves.saturating_sub(pending)),
            None if task.limits.infinite || task.budget.is_pondering() => in_time(PROMPT)
                .map(|leaves| leaves.saturating_sub(pending).max(u32::from(pending == 0))),
            None => None,
        };
        affordable.unwrap_or(u32::MAX)
    }

    /// Evaluations possible in this time, once the throughput is known.
    pub(super) fn evaluations_in(&self, time: Duration) -> Option<f32> {
        (!self.throughput.is_unknown()).then(|| self.throughput.evaluations_in(time))
    }
}

/// Counts one more for a root move; the root itself does not count.
pub(super) fn count_root_move(counts: &mut Vec<u32>, index: Option<usize>) {
    if let Some(index) = index {
        counts.resize(counts.len().max(index + 1), 0);
        counts[index] += 1;
    }
}

fn request(tree: &Tree, leaf: &Leaf) -> Request {
    let parent = leaf.slot.parent;
    let played = tree.node(tree.at(leaf.slot)).played;
    Request {
        position: leaf.position.clone(),
        moves: leaf.moves.clone(),
        repetitions: leaf.repetitions,
        parent: (parent != NONE).then(|| (cache_id(tree, parent), played)),
        keep: true,
        session: 0,
    }
}

/// The evaluator's cache id of an expanded position.
fn cache_id(tree: &Tree, expansion: ExpansionId) -> Handle {
    Handle(tree.expansion(expansion).cache_id)
}
