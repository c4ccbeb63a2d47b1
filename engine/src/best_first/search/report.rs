//! What the search tells while it runs and at its end.

use std::time::Duration;

use super::TeslaSearch;
use crate::best_first::root;
use crate::search::{Info, Task, Variation};
use crate::tree::node::{NodeId, ROOT};

/// Time between reports when nothing else is new.
const REPORT_INTERVAL: Duration = Duration::from_millis(250);

impl TeslaSearch {
    /// The best root move's node, as of the last batch.
    pub(super) fn best_child(&self) -> Option<NodeId> {
        let mut children = self.tree.branch_of(ROOT)?.children();
        children.find(|&child| Some(self.tree.node(child).played) == self.progress.best)
    }

    /// Depth of the root, whole plies.
    pub(super) fn depth(&self) -> u32 {
        self.tree.node(ROOT).depth.max(0.0).round() as u32
    }

    /// Reports when the best move or the depth changed, or when it has been quiet for long.
    pub(super) fn news(&mut self, task: &Task<'_>, report: &mut dyn FnMut(&Info)) {
        let depth = self.depth();
        let is_new_best = self.progress.best_since == self.progress.nodes;
        let time = task.budget.elapsed();
        let is_quiet = time < self.progress.reported_at + REPORT_INTERVAL;
        if depth <= self.progress.reported_depth && !is_new_best && is_quiet {
            return;
        }
        self.progress.reported_depth = depth;
        self.progress.reported_at = time;
        if let Some(best) = self.best_child() {
            report(&self.info(task, best));
        }
    }

    /// The lines behind the best one, as many as are wanted.
    fn variations(&self, task: &Task<'_>, best: NodeId) -> Vec<Variation> {
        let others = self.rule.others(&self.tree, best, task.limits.lines.saturating_sub(1));
        let depth = self.depth().max(1);
        let told = |&id: &NodeId| Variation {
            depth,
            score: self.rule.score(&self.tree, id),
            pv: root::line(&self.tree, &self.table, task.game, id),
        };
        others.iter().map(told).collect()
    }

    pub(super) fn info(&self, task: &Task<'_>, best: NodeId) -> Info {
        let table = self.table.hashfull() as usize * self.table.bytes();
        let tree = self.tree.permille() as usize * self.tree.capacity_bytes();
        let bytes = (self.table.bytes() + self.tree.capacity_bytes()).max(1);
        let line = root::line(&self.tree, &self.table, task.game, best);
        Info {
            depth: self.depth().max(1),
            selective_depth: self.progress.selective_depth.max(line.len() as u32),
            score: self.rule.score(&self.tree, best),
            nodes: self.progress.nodes,
            hashfull: ((table + tree) / bytes) as u32,
            time: task.budget.elapsed(),
            pv: line,
            variations: self.variations(task, best),
            current: None,
        }
    }
}
