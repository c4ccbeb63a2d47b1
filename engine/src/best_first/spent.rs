//! What a stop rule is told besides the tree: the time spent, and the price of more.

use std::time::Duration;

use crate::best_first::params::Params;

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
