//! When a search stops: at its limits, at a proof, when its time is over, or because further search
//! is not worth its time, which the [`Rule`](crate::best_first::rule::Rule) decides: Tesla's in
//! [`super::satisfaction`].

use crate::best_first::report::depth;
use crate::best_first::root;
use crate::best_first::search::BestFirst;
use crate::best_first::spent::Spent;
use crate::search::Task;
use crate::search::snapshot::Stop;
use crate::tree::node::ROOT;

/// Most leaves whose evaluations were known, where evaluations are limited: for each of the limit,
/// and besides. In a fortress nearly all are known, and the limit is never reached.
const MOST_KNOWN: u64 = 16;
const MOST_KNOWN_BESIDES: u64 = 1024;

impl BestFirst {
    /// The reason to stop now, if there is one. Reads the time only if there is a time limit.
    pub(super) fn is_done(&self, task: &Task<'_>) -> Option<Stop> {
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
        let possible = self.device.evaluations_in(planned.saturating_sub(elapsed));
        Some(Spent {
            elapsed,
            planned,
            pondered: task.budget.waited(),
            searched: elapsed.saturating_sub(self.began),
            visits: self.counts.answered + self.counts.known(),
            possible: possible.map(|evaluations| evaluations * self.counts.visits_each()),
        })
    }

    /// Whether settled leaves could go on forever.
    pub(super) fn is_endless(&self, task: &Task<'_>) -> bool {
        let left = task.limits.nodes.map_or(u64::MAX, |nodes| nodes - self.counts.asked);
        let visits = left as f64 * f64::from(self.counts.visits_each());
        self.rule.is_endless(&self.tree, visits as u64)
    }

    /// Whether so many evaluations were known that the limit on them may never be reached.
    pub(super) fn knows_all(&self, task: &Task<'_>) -> bool {
        let most = |nodes: u64| nodes.saturating_mul(MOST_KNOWN).saturating_add(MOST_KNOWN_BESIDES);
        let limit = task.limits.nodes.or_else(|| task.budget.evaluations());
        limit.is_some_and(|nodes| self.counts.known() > most(nodes))
    }
}
