//! When to stop, and how much may be asked of the device before that.

use std::time::Duration;

use super::TeslaSearch;
use super::batch_size::{Batches, Costs};
use crate::best_first::puct;
use crate::best_first::root;
use crate::search::Task;
use crate::tree::node::ROOT;

/// What may be in flight when nobody knows how soon the answer is wanted.
const PROMPT: Duration = Duration::from_millis(40);
/// PUCT reckons with so many times fewer evaluations than there is time for, when it decides whether
/// another move can still become the most visited (lc0's `SmartPruningFactor`).
const SMART_PRUNING: f32 = 1.33;
/// Visits by which a move may lead while none of them asks the device anything.
const MOST_LEAD: u64 = 10_000_000;

impl TeslaSearch {
    /// The batches to have in flight: they grow with the tree, never beyond the limits.
    pub(super) fn batches(&self, task: &Task<'_>) -> Batches {
        let limits = task.limits;
        let params = self.rule.params();
        // What was measured is another number each time, which would make another tree.
        let measured = if limits.nodes.is_none() && limits.depth.is_none() {
            self.pace.fixed_cost()
        } else {
            None
        };
        let fixed = match params.fixed_cost {
            given if given > 0.0 => given,
            _ => measured.unwrap_or_else(|| self.evaluator.fixed_cost()),
        };
        let costs = Costs {
            fixed,
            handover: params.handover,
            host: params.host_share * fixed,
            pending: params.pending_cost,
        };
        let work = self.tree.node(ROOT).work as f32;
        let most = self.evaluator.batch_size() as u32;
        let mut batches = costs.best_batches(work, most, params.batches_in_flight as usize);
        if let Some(nodes) = limits.nodes {
            let left = u32::try_from(nodes - self.progress.asked).unwrap_or(u32::MAX);
            batches.size = batches.size.min(left);
        }
        batches
    }

    /// Leaves that the device can still answer before the hard limit or, where a `stop` or
    /// `ponderhit` may come at any moment, promptly; those in flight apart.
    pub(super) fn affordable(&self, task: &Task<'_>) -> u32 {
        if self.pace.is_unknown() || !self.tree.node(ROOT).is_expanded() {
            return u32::MAX;
        }
        let pending = self.in_flight.iter().map(Vec::len).sum::<usize>() as u32;
        let leaves_in = |time: Duration| self.pace.evaluations_in(time) as u32;
        match task.budget.hard() {
            Some(hard) => {
                leaves_in(hard.saturating_sub(task.budget.elapsed())).saturating_sub(pending)
            }
            None if task.limits.infinite || task.budget.is_pondering() => {
                leaves_in(PROMPT).saturating_sub(pending).max(u32::from(pending == 0))
            }
            None => u32::MAX,
        }
    }

    /// Whether the search must answer now. Reads the clock only where there is one.
    pub(super) fn is_done(&self, task: &Task<'_>) -> bool {
        let limits = task.limits;
        let root = self.tree.node(ROOT);
        // The first answer is waited for in any case: before it, one move is as good as another.
        (task.stop.is_stopped() || task.budget.hard_over()) && root.is_expanded()
            || root.is_proven() // no work is left; of `go mate`: a mate in time, or there is none
            || limits.nodes.is_some_and(|nodes| self.progress.asked >= nodes)
            || limits.depth.is_some_and(|depth| self.depth() >= depth && root.is_expanded())
            || limits.clock.is_some() && self.is_satisfied(task)
    }

    /// Whether visits that ask the device nothing could go on without end: PUCT's go to a drawn move
    /// for as long as it is the best, and no other can become the most visited any more.
    pub(super) fn is_settled(&self, task: &Task<'_>) -> bool {
        let left = task.limits.nodes.map_or(u64::MAX, |nodes| nodes - self.progress.asked);
        let goes_on = self.rule.is_puct() && !self.rule.seeks_mate();
        goes_on && u64::from(puct::lead(&self.tree)) > left.min(MOST_LEAD)
    }

    /// The stop rule under a clock: more thought is not worth its time.
    pub(super) fn is_satisfied(&self, task: &Task<'_>) -> bool {
        let Some(soft) = task.budget.soft() else { return false };
        if !self.tree.node(ROOT).is_expanded() {
            return false;
        }
        let allowed = root::searched_root_moves(&self.tree);
        if allowed <= 1 {
            return true;
        }
        let elapsed = task.budget.elapsed();
        if self.rule.seeks_mate() {
            // Which of the other moves is best is not asked.
            return elapsed >= soft;
        }
        if self.rule.is_puct() {
            // lc0's smart pruning: no other move can become the most visited one.
            let left = soft.saturating_sub(elapsed);
            let possible = self.pace.evaluations_in(left) / SMART_PRUNING;
            let is_known = !self.pace.is_unknown();
            let is_decided = is_known && puct::lead(&self.tree) as f32 > possible;
            return elapsed >= soft || is_decided;
        }
        // Both count from `go`; the time of a ponder is not ours.
        let ours = soft.saturating_sub(task.budget.waited());
        if elapsed >= soft {
            let extension = (self.rule.params().doubt_extension - 1.0).max(0.0);
            let settled_for = self.progress.nodes - self.progress.best_since;
            let is_settled = settled_for as f32
                >= self.rule.params().settled_share * self.progress.nodes as f32
                && root::is_most_worked(&self.tree, self.best_child());
            return is_settled || elapsed >= soft + ours.mul_f32(extension);
        }
        let searched = elapsed.saturating_sub(self.progress.entered_at);
        if self.progress.nodes == 0 || searched < ours.div_f32(20.0) {
            return false;
        }
        let planned = self.progress.nodes as f32 * ours.as_secs_f32() / searched.as_secs_f32();
        let gain = root::root_gain(&self.tree, self.rule.model(), self.rule.params(), planned);
        gain < self.rule.params().stop_gain
    }
}
