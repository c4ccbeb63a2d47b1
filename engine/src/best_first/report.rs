//! What the search reports while it runs and at its end.

use std::cmp::Reverse;
use std::time::Duration;

use shakmaty::Move;

use crate::best_first::root;
use crate::best_first::rule::Rule;
use crate::chess::score::Verdict;
use crate::search::table::Table;
use crate::search::{Info, Task, Variation};
use crate::tree::arena::Tree;
use crate::tree::node::{Goal, NodeId, ROOT, UNEVALUATED};

/// Time between reports when nothing else is new.
const REPORT_INTERVAL: Duration = Duration::from_millis(250);

/// What one search has done so far.
#[derive(Debug, Default)]
pub(super) struct Counts {
    /// Evaluations answered.
    pub(super) answered: u64,
    /// Evaluations asked for.
    pub(super) asked: u64,
    /// Leaves by root move that needed no evaluation of their own: their positions were evaluated
    /// before.
    pub(super) known: Vec<u32>,
    /// Deepest leaf.
    pub(super) selective_depth: u32,
    /// The best root move.
    pub(super) best: Option<Move>,
}

impl Counts {
    /// Leaves whose evaluation was known.
    pub(super) fn known(&self) -> u64 {
        self.known.iter().map(|&known| u64::from(known)).sum()
    }

    /// Visits that an evaluation has brought so far.
    pub(super) fn visits_each(&self) -> f32 {
        1.0 + self.known() as f32 / self.answered.max(1) as f32
    }
}

/// What the last report said.
#[derive(Debug, Default)]
pub(super) struct LastReport {
    depth: u32,
    best: Option<Move>,
    at: Duration,
}

impl LastReport {
    /// Whether there is something to report: another best move, more depth, or the last report was
    /// long ago. It counts as reported then.
    pub(super) fn is_due(&mut self, depth: u32, best: Option<Move>, now: Duration) -> bool {
        let is_due = depth > self.depth || best != self.best || now >= self.at + REPORT_INTERVAL;
        if is_due {
            *self = Self { depth, best, at: now };
        }
        is_due
    }
}

/// Depth of the root, whole plies.
pub(super) fn depth(tree: &Tree) -> u32 {
    tree.node(ROOT).depth.max(0.0).round() as u32
}

/// Everything that a report is made from.
#[derive(Debug)]
pub(super) struct View<'a> {
    pub(super) tree: &'a Tree,
    pub(super) table: &'a Table,
    pub(super) rule: &'a dyn Rule,
    pub(super) counts: &'a Counts,
    /// Root moves that win, while other lines are searched.
    pub(super) set_aside: &'a [Move],
}

impl View<'_> {
    /// The report with this root move as the best.
    pub(super) fn info(&self, task: &Task<'_>, best: NodeId) -> Info {
        let pv = root::line(self.tree, self.table, task.game, best);
        let (depth, deepest) = (self.depth(), self.deepest());
        let variations = self.variations(task, best);
        let longest = variations.iter().map(|line| line.pv.len()).max().unwrap_or(0);
        let longest = longest.max(pv.len()) as u32;
        Info {
            depth,
            // The depth is of the work, and may be more than any line of a narrow tree has.
            selective_depth: self.counts.selective_depth.max(depth).min(deepest).max(longest),
            score: self.rule.score(self.tree, best),
            nodes: self.counts.answered,
            hashfull: self.hashfull(),
            time: task.budget.elapsed(),
            pv,
            variations,
            is_bound: false,
            current: None,
        }
    }

    /// Longest line that a search for a mate looks at, plies; longer ones are cut off.
    fn deepest(&self) -> u32 {
        match self.tree.goal() {
            Goal::Mate { plies } => plies as u32,
            Goal::Result => u32::MAX,
        }
    }

    fn depth(&self) -> u32 {
        depth(self.tree).max(1).min(self.deepest())
    }

    /// Share of tree and table in use, permille.
    pub(super) fn hashfull(&self) -> u32 {
        let table = self.table.hashfull() as usize * self.table.bytes();
        let tree = self.tree.permille() as usize * self.tree.capacity_bytes();
        let bytes = (self.table.bytes() + self.tree.capacity_bytes()).max(1);
        ((table + tree) / bytes) as u32
    }

    /// The lines behind the best one, as many as are wanted. The rule says which; they come by
    /// falling scores, those that were searched first.
    fn variations(&self, task: &Task<'_>, best: NodeId) -> Vec<Variation> {
        let mut taken = vec![best];
        let won = self.set_aside.iter().filter_map(|&won| root::child(self.tree, Some(won)));
        taken.extend(won.filter(|&won| won != best));
        while taken.len() < task.limits.multipv
            && let Some(next) = self.rule.choose(self.tree, &taken)
        {
            taken.push(next);
        }
        taken[1..].sort_by_key(|&id| Reverse(self.place(id)));
        let depth = self.depth();
        let variation = |&id: &NodeId| Variation {
            depth,
            score: self.rule.score(self.tree, id),
            pv: root::line(self.tree, self.table, task.game, id),
        };
        taken[1..].iter().map(variation).collect()
    }

    /// What a root move's line is sorted by. A move that was never searched has only the network's
    /// action value, which says less than a score.
    fn place(&self, id: NodeId) -> (bool, (u8, u32)) {
        let child = self.tree.node(id);
        let is_searched = child.verdict != Verdict::Open || !child.has(UNEVALUATED);
        (is_searched, self.rule.score(self.tree, id).rank())
    }
}
