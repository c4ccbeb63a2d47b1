//! A search that is told of a ponder hit.

use std::time::Duration;

use tesla_engine::chess::game::Game;
use tesla_engine::search::clock::Budget;
use tesla_engine::search::{Clock, Limits, Search, StopToken, Task};

/// Which share of the planned time a search takes after a hit that comes after `wait`, with this
/// time on its clock.
pub(crate) fn share_after_hit(
    search: &mut dyn Search,
    game: &Game,
    remaining: Duration,
    wait: Duration,
) -> f64 {
    let clock = Clock { remaining, ..Clock::default() };
    let limits = Limits { clock: Some(clock), ..Limits::default() };
    let (budget, hit) = Budget::pondering(&limits, Duration::ZERO);
    let stop = StopToken::default();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(wait);
            hit.hit();
        });
        search.search(&Task { game, limits: &limits, budget: &budget, stop: &stop }, &mut |_| {});
    });
    let since_hit = |time: Duration| time.saturating_sub(budget.waited()).as_secs_f64();
    since_hit(budget.elapsed()) / budget.soft().map_or(f64::MAX, since_hit)
}
