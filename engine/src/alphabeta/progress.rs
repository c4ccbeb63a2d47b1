//! How far a search is, and why it ended.

use super::worker::Worker;
use crate::search::snapshot::{Progress, Stop};

impl Worker<'_> {
    /// Makes a snapshot if one is due.
    pub(super) fn show(&mut self) {
        let Some(watched) = &mut self.watched else { return };
        if let Some(watch) = watched.due(|| self.task.budget.elapsed()) {
            let progress = self.progress(None);
            self.account.set_progress(progress);
            if let Some(snapshot) = self.account.snapshot(self.root_first) {
                watch.put(snapshot);
            }
        }
    }

    /// How far the search is.
    pub(super) fn progress(&self, stopped: Option<Stop>) -> Progress {
        let time = self.task.budget.elapsed();
        Progress {
            time: time.as_millis() as u64,
            evaluations: self.nodes,
            per_second: (self.nodes as f64 / time.as_secs_f64().max(0.001)) as u64,
            depth: self.iteration,
            selective_depth: self.selective_depth as u32,
            hashfull: self.table.hashfull(),
            worth: None,
            stopped,
        }
    }

    /// Why the search ended that did not reach its last depth.
    pub(super) fn reason(&self, is_proven: bool) -> Stop {
        let task = self.task;
        if self.error.is_some() {
            Stop::Failed
        } else if task.stop.is_stopped() {
            Stop::Asked
        } else if task.budget.hard_over() {
            Stop::Time
        } else if self.stopped {
            Stop::Nodes
        } else if is_proven {
            Stop::Proof
        } else if self.root_moves.len() == 1 && task.limits.clock.is_some() {
            Stop::OnlyMove
        } else if task.budget.soft().is_some() {
            Stop::Planned
        } else {
            Stop::Depth
        }
    }
}
