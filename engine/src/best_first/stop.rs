//! When a search stops: at its limits, at a proof, when its time is over, or because further search
//! is not worth its time, which the [`Rule`](crate::best_first::rule::Rule) decides: Tesla's in
//! [`super::satisfaction`].

use std::time::Duration;

use crate::best_first::params::Params;
use crate::best_first::report::depth;
use crate::best_first::root;
use crate::best_first::search::BestFirst;
use crate::search::Task;
use crate::search::snapshot::Stop;
use crate::tree::node::ROOT;

/// Most leaves whose evaluations were known, where evaluations are limited: for each of the limit,
/// and besides. In a fortress nearly all are known, and the limit is never reached.
const MOST_KNOWN: u64 = 16;
const MOST_KNOWN_BESIDES: u64 = 1024;

/// Visits of a planned time whose price is `stop_gain`.
const PRICED: f32 = 4000.0;

/// The input of a stop rule besides the tree. Times count from `go`.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    /// Until now.
    pub elapsed: Duration,
    /// The planned thinking time.
    pub planned: Duration,
    /// The part of it that was the opponent's (`go ponder`).
    pub pondered: Duration,
    /// Since the search itself began.
    pub searched: Duration,
    /// Visits made: evaluations answered, and leaves whose evaluation was known.
    pub visits: u64,
    /// Visits possible in the planned time that is left, once the throughput is known.
    pub possible: Option<f32>,
}

impl Spent {
    /// The price of the time that so many visits take at the present rate, score units.
    ///
    /// What time is worth in the game's other moves falls with the visits that it brings, as the
    /// gain of further search does here. So on any machine and with any clock a position takes the
    /// same share of its planned time.
    pub fn price(&self, params: &Params, visits: f32) -> f32 {
        let own = self.planned.saturating_sub(self.pondered).as_secs_f32();
        let each = self.searched.as_secs_f32() / self.visits.max(1) as f32;
        let planned = own.max(f32::MIN_POSITIVE) / each;
        let all = params.stop_gain * (planned / PRICED).powf(-params.stop_decay);
        all * visits / planned
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    /// One second of our own is planned, half a second was searched.
    fn spent(visits: u64) -> Spent {
        Spent {
            elapsed: Duration::from_millis(500),
            planned: Duration::from_millis(1400),
            pondered: Duration::from_millis(400),
            searched: Duration::from_millis(500),
            visits,
            possible: None,
        }
    }

    fn assert_near(one: f32, other: f32) {
        assert!((one / other - 1.0).abs() < 1e-4, "{one} {other}");
    }

    #[test]
    fn the_planned_time_has_its_price_and_parts_of_it_a_part() {
        let params = Params { stop_gain: 0.005, ..Params::default() };
        for (visits, price) in [(4000.0, 0.005), (1000.0, 0.00125), (16_000.0, 0.02)] {
            assert_near(spent(2000).price(&params, visits), price);
        }
    }

    #[test]
    fn more_visits_make_time_cheaper() {
        let plain = Params { stop_decay: 0.0, ..Params::default() };
        let params = Params { stop_decay: 0.5, ..Params::default() };
        for (visits, cheaper) in [(2000, 1.0), (8000, 2.0), (500, 0.5), (200_000, 10.0)] {
            let spent = spent(visits);
            assert_near(spent.price(&plain, 100.0), cheaper * spent.price(&params, 100.0));
        }
    }

    #[test]
    fn no_time_has_no_end_of_a_price() {
        let none = Spent { planned: Duration::ZERO, ..spent(1) };
        assert!(none.price(&Params::default(), 1.0) > 1.0);
        let at_once = Spent { searched: Duration::ZERO, ..spent(1) };
        assert_eq!(at_once.price(&Params::default(), 1.0).to_bits(), 0);
    }
}
