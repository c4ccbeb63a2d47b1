//! The search: select, evaluate, expand, back up, with one or two batches in flight.
//!
//! While the evaluator works on one batch the search applies the one before and selects the next.
//! Batches are applied in the order sent, so the tree depends on nothing but position, tunables,
//! evaluator and node limit; the clock only decides when to stop.

use std::time::Duration;

use tesla_nn::evaluator::EvalError;

use crate::best_first::device::Device;
use crate::best_first::params::Params;
use crate::best_first::report::{Counts, LastReport, View, depth};
use crate::best_first::root;
use crate::best_first::rule::{Rule, Spent};
use crate::chess::game::Game;
use crate::chess::tablebase::Tables;
use crate::search::snapshot::{Progress, Stop};
use crate::search::table::Table;
use crate::search::watch::Watched;
use crate::search::{Info, Task};
use crate::tree::arena::Tree;
use crate::tree::batch::{BatchRequest, Selected};
use crate::tree::expand::{Knowledge, Scratch};
use crate::tree::node::{EXCLUDED, ROOT};
use crate::tree::remember;
use crate::tree::sweep::Sweep;

/// Makes a rule from the tunables.
pub(super) type MakeRule = fn(&Params) -> Box<dyn Rule>;

/// Best-first search by one of two rules on the same tree:
/// [`BenefitCost`](crate::best_first::benefit::BenefitCost) or
/// [`Puct`](crate::best_first::puct::Puct).
pub struct BestFirst {
    pub(super) device: Device,
    pub(super) params: Params,
    pub(super) make_rule: MakeRule,
    pub(super) rule: Box<dyn Rule>,
    pub(super) tree: Tree,
    pub(super) table: Table,
    pub(super) hash_mb: usize,
    /// The game whose position is the root; `None` while the tree is empty.
    pub(super) game: Option<Game>,
    pub(super) sweep: Sweep,
    pub(super) scratch: Scratch,
    /// Endgame tables.
    pub(super) endings: Option<Tables>,
    pub(super) counts: Counts,
    pub(super) last_report: LastReport,
    /// When the search itself began, from `go`.
    pub(super) began: Duration,
    /// Visits of the root's moves when it began, by index.
    pub(super) taken_over: Vec<u32>,
    /// The watcher, if any.
    pub(super) watched: Watched,
    /// How the last search ended.
    pub(super) ended: Progress,
}

/// The result of filling the pipeline.
enum Filled {
    /// Batches are in flight.
    InFlight,
    /// Nothing is in flight: the last selection only settled leaves, and there are more.
    Settled,
    /// Nothing is in flight: the tree is full.
    Full,
    /// Nothing is in flight, and nothing is left to search.
    Exhausted,
}

/// The result of a batch.
#[derive(PartialEq)]
enum Collected {
    /// Its answers are in the tree.
    Applied,
    /// The evaluator failed and another one has taken over; nothing is in flight.
    Lost,
}

impl BestFirst {
    /// The loop, until a limit is reached or nothing is left to search; returns why it ended.
    pub(super) fn think(
        &mut self,
        task: &Task<'_>,
        report: &mut dyn FnMut(&Info),
    ) -> Result<Stop, EvalError> {
        loop {
            let stop = loop {
                if let Some(stop) = self.is_done(task) {
                    break stop;
                }
                self.show(task);
                match self.fill(task) {
                    Filled::InFlight => {
                        self.collect(task)?;
                        self.report(task, report);
                    }
                    Filled::Settled => {
                        self.rule.end_batch();
                        if self.is_endless(task) {
                            break Stop::Exhausted;
                        }
                    }
                    Filled::Full if self.make_room() => {}
                    Filled::Full => break Stop::Memory,
                    // No answer would come in time.
                    Filled::Exhausted if self.affordable(task) == 0 => break Stop::Time,
                    Filled::Exhausted => break Stop::Exhausted,
                }
            };
            if task.stop.is_stopped() {
                // One batch was waited for; the others must not delay the answer.
                self.abandon();
            }
            if self.collect_rest(task)? == Collected::Applied {
                return Ok(stop);
            }
            // What the lost evaluator owed is asked for again.
        }
    }

    /// Selects and submits until enough batches are in flight.
    fn fill(&mut self, task: &Task<'_>) -> Filled {
        loop {
            let visits = self.tree.node(ROOT).visits as f32;
            let batches = self.device.batches(&self.params, task.limits, visits);
            if self.device.in_flight() >= batches.in_flight {
                return Filled::InFlight;
            }
            let selected = self.select(task, batches.size.min(self.affordable(task)));
            if selected.leaves.is_empty() {
                return match selected {
                    _ if !self.device.is_idle() => Filled::InFlight,
                    Selected { is_paused: true, .. } => Filled::Settled,
                    Selected { is_full: true, .. } => Filled::Full,
                    Selected { .. } => Filled::Exhausted,
                };
            }
            self.counts.asked += selected.leaves.len() as u64;
            self.device.submit(&self.tree, selected.leaves, task.budget.elapsed());
        }
    }

    /// Selects up to `size` leaves by the rule.
    fn select(&mut self, task: &Task<'_>, size: u32) -> Selected {
        if size == 0 {
            return Selected::default();
        }
        let request = BatchRequest {
            root: task.game.position(),
            earlier: task.game.earlier_keys(),
            pending: self.device.pending(),
            size,
            remaining: self.remaining(task),
            table: Some(&self.table).filter(|_| self.rule.table_use().leaves),
            endings: self.endings.as_ref(),
        };
        self.rule.select(&mut self.tree, &request)
    }

    /// Waits for the oldest batch, expands its leaves and backs the values up.
    fn collect(&mut self, task: &Task<'_>) -> Result<Collected, EvalError> {
        let (leaves, mut answers) = match self.device.collect(task) {
            Ok(answered) => answered,
            Err(error) => {
                self.abandon();
                self.device.replace(&mut self.tree, task, error)?;
                self.counts.asked = self.counts.answered;
                return Ok(Collected::Lost);
            }
        };
        for (leaf, answer) in leaves.iter().zip(&mut answers) {
            self.rule.receive(&self.tree, leaf, answer);
            let known = Knowledge {
                spread: self.rule.model().spread(answer.error),
                table: &self.table,
                table_policy: self.rule.table_use().policy,
                earlier: task.game.earlier_keys(),
            };
            let id = known.expand(&mut self.tree, leaf, answer, &mut self.scratch);
            self.sweep.add(&mut self.tree, id);
            let length = u32::from(self.tree.expansion(id).ply) + 1;
            self.counts.selective_depth = self.counts.selective_depth.max(length);
            self.counts.answered += 1;
        }
        if leaves.first().is_some_and(|leaf| leaf.slot.is_root()) {
            self.exclude(task);
        }
        for leaf in leaves.get(answers.len()..).unwrap_or_default() {
            self.rule.give_up(&mut self.tree, leaf);
        }
        self.back_up();
        let best = self.rule.choose(&self.tree, &[]).map(|best| self.tree.node(best).played);
        if best != self.counts.best {
            (self.counts.best, self.counts.best_since) = (best, self.counts.answered);
        }
        Ok(Collected::Applied)
    }

    /// Leaves only the moves of `searchmoves` at the root.
    pub(super) fn exclude(&mut self, task: &Task<'_>) {
        let wanted = &task.limits.search_moves;
        let Some(expansion) = self.tree.expansion_of(ROOT) else { return };
        for id in expansion.children() {
            let node = self.tree.node_mut(id);
            let is_out = !wanted.is_empty() && !wanted.contains(&node.played);
            node.mark(EXCLUDED, is_out);
        }
    }

    /// Collects what is still in flight.
    fn collect_rest(&mut self, task: &Task<'_>) -> Result<Collected, EvalError> {
        while !self.device.is_idle() {
            if self.collect(task)? == Collected::Lost {
                return Ok(Collected::Lost);
            }
        }
        Ok(Collected::Applied)
    }

    /// Recomputes what a batch has changed.
    fn back_up(&mut self) {
        self.rule.end_batch();
        let table_depth = self.rule.table_use().depth;
        self.sweep.run(&mut self.tree, &*self.rule, &mut self.table, table_depth);
    }

    /// Takes back every leaf in flight: the evaluator failed, or the answers are no longer needed.
    fn abandon(&mut self) {
        for leaf in self.device.take_in_flight() {
            self.rule.give_up(&mut self.tree, &leaf);
            self.sweep.add(&mut self.tree, leaf.slot.parent);
        }
        self.back_up();
    }

    /// Evaluations that the node limit still allows.
    fn remaining(&self, task: &Task<'_>) -> u32 {
        let left = task.limits.nodes.unwrap_or(u64::MAX).saturating_sub(self.counts.asked);
        u32::try_from(left).unwrap_or(u32::MAX)
    }

    /// Leaves that may be requested at once. The root is evaluated however little time is left.
    fn affordable(&self, task: &Task<'_>) -> u32 {
        let is_begun = self.tree.node(ROOT).is_expanded();
        let in_time = if is_begun { self.device.affordable(task) } else { u32::MAX };
        in_time.min(self.remaining(task))
    }

    /// Makes room in the full tree; `false` if little can be freed.
    fn make_room(&mut self) -> bool {
        if !remember::fold(&mut self.tree, &mut self.table) {
            return false;
        }
        self.rule.clear();
        self.device.retain(&self.tree);
        true
    }

    /// The reason to stop now, if there is one. Reads the time only if there is a time limit.
    fn is_done(&self, task: &Task<'_>) -> Option<Stop> {
        let limits = task.limits;
        let root = self.tree.node(ROOT);
        // The first answer is waited for in any case: before it, one move is as good as another.
        if root.is_expanded() {
            if task.stop.is_stopped() {
                return Some(Stop::Asked);
            }
            if task.budget.hard_over() {
                return Some(Stop::Time);
            }
        }
        if root.is_proven() {
            return Some(Stop::Proof);
        }
        if limits.nodes.is_some_and(|nodes| self.counts.asked >= nodes) {
            return Some(Stop::Nodes);
        }
        if limits.depth.is_some_and(|limit| depth(&self.tree) >= limit && root.is_expanded()) {
            return Some(Stop::Depth);
        }
        if limits.clock.is_some() { self.is_enough(task) } else { None }
    }

    /// Whether the rule's stop rule applies: further search is not worth its time.
    fn is_enough(&self, task: &Task<'_>) -> Option<Stop> {
        let spent = self.spent(task).filter(|_| self.tree.node(ROOT).is_expanded())?;
        if root::searched_moves(&self.tree) <= 1 {
            return Some(Stop::OnlyMove);
        }
        let is_planned = spent.elapsed >= spent.planned;
        let stop = if is_planned { Stop::Planned } else { Stop::Satisfied };
        self.rule.is_enough(&self.tree, &spent).then_some(stop)
    }

    /// The input of the stop rule; `None` where no time is planned.
    pub(super) fn spent(&self, task: &Task<'_>) -> Option<Spent> {
        let planned = task.budget.soft()?;
        let elapsed = task.budget.elapsed();
        Some(Spent {
            elapsed,
            planned,
            pondered: task.budget.waited(),
            searched: elapsed.saturating_sub(self.began),
            evaluations: self.counts.answered,
            best: self.counts.best,
            best_for: self.counts.answered - self.counts.best_since,
            possible: self.device.evaluations_in(planned.saturating_sub(elapsed)),
        })
    }

    /// Makes a snapshot if one is due; before the first answer there is nothing to show.
    fn show(&mut self, task: &Task<'_>) {
        if self.tree.node(ROOT).is_expanded()
            && let Some(watch) = self.watched.due(|| task.budget.elapsed())
            && let Some(snapshot) = self.snapshot_now(self.progress(task, None), &watch.path())
        {
            watch.put(snapshot);
        }
    }

    /// Whether visits that cost no evaluation could go on forever.
    fn is_endless(&self, task: &Task<'_>) -> bool {
        let left = task.limits.nodes.map_or(u64::MAX, |nodes| nodes - self.counts.asked);
        self.rule.is_endless(&self.tree, left)
    }

    /// Reports when the best move or the depth changed, or when the last report was long ago.
    fn report(&mut self, task: &Task<'_>, report: &mut dyn FnMut(&Info)) {
        let is_new_best = self.counts.best_since == self.counts.answered;
        if self.last_report.is_due(depth(&self.tree), is_new_best, task.budget.elapsed())
            && let Some(best) = root::child(&self.tree, self.counts.best)
        {
            report(&self.view().info(task, best));
        }
    }

    pub(super) fn view(&self) -> View<'_> {
        View { tree: &self.tree, table: &self.table, rule: &*self.rule, counts: &self.counts }
    }
}
