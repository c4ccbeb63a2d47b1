//! Batches on their way to the device and back: gathered, sent, waited for, backed up, given up.

use std::time::Duration;

use tesla_nn::evaluator::{CacheNote, EvalError, Handle, Request};

use super::TeslaSearch;
use super::batch_size::Pace;
use crate::best_first::rule::Order;
use crate::search::{Task, replace};
use crate::tree::batch::Gathered;
use crate::tree::expand::Knowledge;
use crate::tree::leaf::Leaf;
use crate::tree::node::{BranchId, NONE, ROOT};

/// An answer that comes sooner was there already.
const WAITED: Duration = Duration::from_micros(5);

impl TeslaSearch {
    /// Gathers and submits until enough batches are in flight.
    pub(super) fn fill(&mut self, task: &Task<'_>) {
        loop {
            let batches = self.batches(task);
            if self.in_flight.len() >= batches.in_flight {
                return;
            }
            (self.progress.is_full, self.progress.is_paused) = (false, false);
            let size = batches.size.min(self.affordable(task));
            if size == 0 {
                return;
            }
            let pending = self.in_flight.iter().flatten();
            let promised = pending
                .fold((0, 0), |(positions, moves), leaf| (positions + 1, moves + leaf.moves.len()));
            let gathered = self.gather(task, size, promised);
            self.progress.is_full = gathered.is_full;
            if gathered.leaves.is_empty() {
                self.progress.is_paused = gathered.is_paused;
                return;
            }
            self.progress.asked += gathered.leaves.len() as u64;
            let requests = gathered.leaves.iter().map(|leaf| self.request(leaf)).collect();
            let line = self.tree.principal_variation();
            let line = line.into_iter().map(|id| self.handle(id)).collect();
            self.evaluator.note(0, CacheNote::Protect(line));
            if self.in_flight.is_empty() {
                // What came before was not the device's time.
                (self.progress.collected_at, self.progress.is_seen) = (task.budget.elapsed(), true);
            }
            self.evaluator.submit(requests);
            self.in_flight.push_back(gathered.leaves);
        }
    }

    /// Picks up to `size` leaves. `promised` = positions and legal moves in flight.
    fn gather(&mut self, task: &Task<'_>, size: u32, promised: (usize, usize)) -> Gathered {
        let nodes = task.limits.nodes.unwrap_or(u64::MAX);
        let remaining = nodes.saturating_sub(self.progress.asked);
        let order = Order {
            root: task.game.position(),
            earlier: task.game.earlier_keys(),
            promised,
            size,
            remaining: u32::try_from(remaining).unwrap_or(u32::MAX),
            endings: self.endings.as_ref().filter(|_| task.limits.mate.is_none()),
        };
        self.rule.gather(&mut self.tree, &self.table, &order)
    }

    fn request(&self, leaf: &Leaf) -> Request {
        let played = self.tree.node(self.tree.at(leaf.spot)).played;
        let parent = leaf.spot.parent;
        Request {
            position: leaf.position.clone(),
            moves: leaf.moves.clone(),
            repetitions: leaf.repetitions,
            parent: (parent != NONE).then(|| (self.handle(parent), played)),
            keep: true,
            session: 0,
        }
    }

    /// The device's name of an expanded position.
    fn handle(&self, branch: BranchId) -> Handle {
        Handle(self.tree.branch(branch).handle)
    }

    /// Lets the device forget what the tree has dropped.
    pub(super) fn retain_handles(&mut self) {
        let branches = 0..self.tree.branch_count() as BranchId;
        let handles = branches.map(|id| self.handle(id)).collect();
        self.evaluator.note(0, CacheNote::Retain(handles));
    }

    /// Waits for the oldest batch, expands its leaves and backs the values up.
    pub(super) fn collect(&mut self, task: &Task<'_>) -> Result<(), EvalError> {
        let asked_at = task.budget.elapsed();
        let mut answers = match self.evaluator.collect() {
            Ok(answers) => answers,
            Err(error) => {
                self.abandon();
                return self.replace_evaluator(task, error);
            }
        };
        let Some(leaves) = self.in_flight.pop_front() else { return Ok(()) };
        let now = task.budget.elapsed();
        let is_seen = now.saturating_sub(asked_at) >= WAITED;
        let took = now.saturating_sub(self.progress.collected_at);
        self.pace.note(leaves.len(), took, is_seen && self.progress.is_seen);
        (self.progress.collected_at, self.progress.is_seen) = (now, is_seen);
        let earlier = task.game.earlier_keys();
        for (leaf, answer) in leaves.iter().zip(&mut answers) {
            self.rule.receive(&self.tree, leaf, answer);
            let spread = self.rule.model().spread(answer.error);
            let table_policy = self.rule.table_policy();
            let known = Knowledge { spread, table: &self.table, table_policy, earlier };
            let id = known.expand(&mut self.tree, leaf, answer, &mut self.scratch);
            self.progress.nodes += 1;
            let ply = u32::from(self.tree.branch(id).ply);
            self.progress.selective_depth = self.progress.selective_depth.max(ply + 1);
            self.sweep.add(&mut self.tree, id);
        }
        if leaves.first().is_some_and(|leaf| leaf.spot.is_root()) {
            self.exclude(task);
        }
        for leaf in leaves.get(answers.len()..).unwrap_or_default() {
            self.rule.give_up(&mut self.tree, leaf);
        }
        self.rule.end_batch();
        self.sweep.run(&mut self.tree, &self.rule, &mut self.table, self.rule.table_depth());
        let best = self.rule.choose(&self.tree);
        let best = best.map(|best| self.tree.node(best).played);
        if best != self.progress.best {
            self.progress.best = best;
            self.progress.best_since = self.progress.nodes;
        }
        Ok(())
    }

    /// Goes on in the same tree with the next evaluator. It has no names of positions yet: a parent that it does not know
    /// costs a whole encode.
    ///
    /// # Errors
    /// With the same error, where there is none or no time for it. The root's first evaluation is worth any time.
    fn replace_evaluator(&mut self, task: &Task<'_>, error: EvalError) -> Result<(), EvalError> {
        let is_worth_it = task.has_time_for_another() || !self.tree.node(ROOT).is_expanded();
        if !is_worth_it || !replace(&mut self.evaluator, &mut self.spares, &error) {
            return Err(error);
        }
        for id in 0..self.tree.branch_count() as BranchId {
            self.tree.branch_mut(id).handle = 0;
        }
        self.pace = Pace::default();
        self.progress.asked = self.progress.nodes;
        self.progress.collected_at = task.budget.elapsed();
        self.progress.cache_before = self.evaluator.cache_figures();
        Ok(())
    }

    /// Takes back every leaf in flight: the device failed, or nobody waits for it any more.
    pub(super) fn abandon(&mut self) {
        for leaf in std::mem::take(&mut self.in_flight).iter().flatten() {
            self.rule.give_up(&mut self.tree, leaf);
            self.sweep.add(&mut self.tree, leaf.spot.parent);
        }
        self.rule.end_batch();
        self.sweep.run(&mut self.tree, &self.rule, &mut self.table, self.rule.table_depth());
    }
}
