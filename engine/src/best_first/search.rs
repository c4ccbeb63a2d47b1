//! The search: select, evaluate, expand, back up, with one or two batches in flight.
//!
//! While the evaluator works on one batch the search applies the one before and selects the next.
//! Batches are applied in the order sent, so the tree depends on nothing but position, tunables,
//! evaluator and node limit; the clock only decides when to stop.

use std::time::Duration;

use shakmaty::Move;
use tesla_nn::evaluator::{EvalError, Evaluation};

use crate::best_first::device::{Device, count_root_move};
use crate::best_first::params::Params;
use crate::best_first::report::{Counts, LastReport, View, depth};
use crate::best_first::root;
use crate::best_first::rule::Rule;
use crate::chess::game::Game;
use crate::chess::tablebase::Tables;
use crate::search::snapshot::{Progress, Stop};
use crate::search::table::Table;
use crate::search::watch::Watched;
use crate::search::{Info, Task};
use crate::tree::arena::Tree;
use crate::tree::evaluations::Evaluations;
use crate::tree::expand::{Knowledge, Scratch};
use crate::tree::leaf::{Leaf, Source};
use crate::tree::leaf_queue::{BatchRequest, Selected};
use crate::tree::node::{EXCLUDED, Goal, ROOT};
use crate::tree::prove::{may_repeat, prove_mate, recall_mate};
use crate::tree::remember::{self, remember_growth};
use crate::tree::sweep::Sweep;

/// What a position takes at most where room is made in a full tree: .2 µs on an AMD Zen 5.
const ROOM: Duration = Duration::from_micros(1);

/// Makes a rule from the tunables.
pub(super) type MakeRule = fn(&Params) -> Box<dyn Rule>;

/// Best-first search by one of two rules on the same tree:
/// [`Tesla`](crate::best_first::tesla::Tesla) or [`Puct`](crate::best_first::puct::Puct).
pub struct BestFirst {
    pub(super) device: Device,
    pub(super) params: Params,
    pub(super) make_rule: MakeRule,
    pub(super) rule: Box<dyn Rule>,
    pub(super) tree: Tree,
    pub(super) table: Table,
    /// What was evaluated before, in this tree or in the game's earlier ones.
    pub(super) evaluations: Evaluations,
    pub(super) hash_mb: usize,
    /// The game whose position is the root; `None` while the tree is empty.
    pub(super) game: Option<Game>,
    /// The `searchmoves` that the tree was searched with; empty = all moves.
    pub(super) allowed: Vec<Move>,
    pub(super) sweep: Sweep,
    pub(super) scratch: Scratch,
    /// Endgame tables.
    pub(super) endings: Option<Tables>,
    pub(super) counts: Counts,
    pub(super) last_report: LastReport,
    /// Plies to which the rules alone look for mates in this search.
    pub(super) mate_plies: u16,
    /// When the search itself began, from `go`.
    pub(super) began: Duration,
    /// Visits of the root's moves when it began, by index.
    pub(super) taken_over: Vec<u32>,
    /// The watcher, if any.
    pub(super) watched: Watched,
    /// Root moves that win, the soonest first, while other lines are searched.
    pub(super) set_aside: Vec<Move>,
    /// How the last search ended.
    pub(super) ended: Progress,
}

/// The result of filling the pipeline.
enum Filled {
    /// Batches are in flight.
    InFlight,
    /// Nothing is in flight: the last selection only settled leaves, and there are more.
    Settled,
    /// Nothing is in flight: the evaluations of the last selection were known.
    Known,
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
                    Filled::Known => {
                        self.report(task, report);
                        if self.knows_all(task) {
                            break Stop::Exhausted;
                        }
                    }
                    Filled::Settled => {
                        self.rule.end_batch();
                        if self.is_endless(task) {
                            break Stop::Exhausted;
                        }
                    }
                    Filled::Full if !self.has_time_for_room(task) => break Stop::Time,
                    Filled::Full if self.make_room() => {}
                    Filled::Full => break Stop::Memory,
                    // The selection itself proved the root.
                    Filled::Exhausted if self.tree.node(ROOT).is_proven() => {}
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
            let mut selected = self.select(task, batches.size.min(self.affordable(task)));
            let known = std::mem::take(&mut selected.known);
            let has_known = !known.is_empty();
            if selected.leaves.is_empty() {
                self.apply_known(task, &known);
                return match selected {
                    _ if !self.device.is_idle() => Filled::InFlight,
                    _ if has_known => Filled::Known,
                    Selected { is_paused: true, .. } => Filled::Settled,
                    Selected { is_full: true, .. } => Filled::Full,
                    Selected { .. } => Filled::Exhausted,
                };
            }
            let asked = selected.leaves.iter().filter(|leaf| leaf.source == Source::Asked);
            self.counts.asked += asked.count() as u64;
            self.device.submit(&self.tree, selected.leaves, task.budget.elapsed());
            self.apply_known(task, &known);
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
            visits_each: self.counts.visits_each(),
            table: Some(&self.table).filter(|_| self.rule.table_use().leaves),
            mate_plies: self.mate_plies,
            endings: self.endings.as_ref(),
            evaluations: &self.evaluations,
            awaited: self.device.awaited(),
        };
        let selected = self.rule.select(&mut self.tree, &request);
        let table_depth = self.rule.table_use().depth;
        for &id in &selected.proven {
            remember_growth(&mut self.tree, &mut self.table, id, table_depth);
        }
        selected
    }

    /// Waits for the oldest batch, expands its leaves and backs the values up.
    fn collect(&mut self, task: &Task<'_>) -> Result<Collected, EvalError> {
        let (leaves, answers) = match self.device.collect(task) {
            Ok(answered) => answered,
            Err(error) => {
                self.abandon();
                self.device.replace(&mut self.tree, task, error)?;
                // Another evaluator says something else, and knows no names.
                self.evaluations.clear();
                self.counts.asked = self.counts.answered;
                return Ok(Collected::Lost);
            }
        };
        task.budget.count(self.device.counted_time(&self.params, answers.len()));
        let mut answers = answers.into_iter();
        for leaf in &leaves {
            let answer = match leaf.source {
                Source::Asked => answers.next().inspect(|answer| {
                    self.evaluations.store(leaf.evaluation_key(), answer);
                    self.counts.answered += 1;
                }),
                Source::Awaited | Source::Known => self.known(leaf),
            };
            self.apply(task, leaf, answer);
        }
        self.back_up();
        self.note_best();
        Ok(Collected::Applied)
    }

    /// Expands leaves whose evaluations are known, and backs the values up.
    fn apply_known(&mut self, task: &Task<'_>, leaves: &[Leaf]) {
        for leaf in leaves {
            let answer = self.known(leaf);
            self.apply(task, leaf, answer);
        }
        if !leaves.is_empty() {
            self.device.reach(&self.tree, leaves);
            self.back_up();
            self.note_best();
        }
    }

    /// The evaluation of a leaf that was not asked for.
    fn known(&mut self, leaf: &Leaf) -> Option<Evaluation> {
        let answer = self.evaluations.get(leaf.evaluation_key(), leaf.moves.len())?;
        count_root_move(&mut self.counts.known, self.tree.root_move(leaf.slot));
        Some(answer)
    }

    /// Expands a leaf; without an answer it is a leaf again.
    fn apply(&mut self, task: &Task<'_>, leaf: &Leaf, answer: Option<Evaluation>) {
        let Some(mut answer) = answer else {
            return self.rule.give_up(&mut self.tree, leaf);
        };
        self.rule.receive(&self.tree, leaf, &mut answer);
        let known = Knowledge {
            spread: self.rule.model().spread(answer.error),
            table: &self.table,
            table_policy: self.rule.table_use().policy,
            earlier: task.game.earlier_keys(),
        };
        let id = known.expand(&mut self.tree, leaf, &answer, &mut self.scratch);
        self.sweep.add(&mut self.tree, id);
        if leaf.slot.is_root() {
            self.exclude(task);
            self.prove_root(task);
        }
        let length = u32::from(self.tree.expansion(id).ply) + 1;
        self.counts.selective_depth = self.counts.selective_depth.max(length);
    }

    /// Notes the best root move.
    fn note_best(&mut self) {
        self.counts.best = self.best().map(|best| self.tree.node(best).played);
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

    /// Proves a mate in two at the root, or the mate that the table knows, where there is one.
    pub(super) fn prove_root(&mut self, task: &Task<'_>) {
        let (tree, game) = (&mut self.tree, task.game);
        let looks = self.params.mate_plies > 1.0 && tree.goal() == Goal::Result;
        if looks && tree.node(ROOT).is_expanded() {
            // Where positions of the game come back, only here.
            let is_allowed = |played| self.mate_plies > 1 || !may_repeat(game, played);
            prove_mate(tree, 0, game.position(), is_allowed);
        }
        if self.rule.table_use().leaves {
            recall_mate(tree, &self.table, game);
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
        self.recompute_changed();
    }

    /// Recomputes the root, whose moves were marked or proven, and what the sweep was told of.
    pub(super) fn recompute_root(&mut self) {
        let root = self.tree.node(ROOT).expansion;
        self.sweep.add(&mut self.tree, root);
        self.recompute_changed();
    }

    /// Recomputes what the sweep was told of, and all above it.
    pub(super) fn recompute_changed(&mut self) {
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

    /// Leaves that may be requested at once. The root is evaluated however little time is left, and
    /// in every search one leaf is tried: what the device was thought to take may be long past.
    fn affordable(&self, task: &Task<'_>) -> u32 {
        let is_begun = self.tree.node(ROOT).is_expanded();
        let is_untried = self.counts.asked == 0;
        let in_time = if is_begun {
            self.device.affordable(task).max(u32::from(is_untried))
        } else {
            u32::MAX
        };
        in_time.min(self.remaining(task))
    }

    /// Whether the clock leaves the time that making room takes; nothing ends it halfway.
    pub(super) fn has_time_for_room(&self, task: &Task<'_>) -> bool {
        let needed = ROOM.saturating_mul(self.tree.expansion_count() as u32);
        task.budget.is_counted() || task.budget.leaves(needed)
    }

    /// Makes room in the full tree; `false` if little can be freed.
    pub(super) fn make_room(&mut self) -> bool {
        let Some(gone) = remember::fold(&mut self.tree, &mut self.table) else { return false };
        self.rule.clear();
        self.device.drop_tokens(gone);
        true
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

    /// Reports when the best move or the depth changed, or when the last report was long ago.
    fn report(&mut self, task: &Task<'_>, report: &mut dyn FnMut(&Info)) {
        let best = self.counts.best;
        if self.last_report.is_due(depth(&self.tree), best, task.budget.elapsed())
            && let Some(best) = root::child(&self.tree, best)
        {
            report(&self.view().info(task, best));
        }
    }

    pub(super) fn view(&self) -> View<'_> {
        let (rule, set_aside) = (&*self.rule, &self.set_aside[..]);
        View { tree: &self.tree, table: &self.table, rule, counts: &self.counts, set_aside }
    }
}
