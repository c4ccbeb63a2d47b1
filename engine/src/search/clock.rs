//! Reads the clock: the budget of a search, and stopwatches. Besides it only the slow motion of
//! `tesla view` does. A budget may also count evaluations as time: then what depends on the clock
//! repeats, and can be measured on a busy machine.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::search::limits::{Clock, Limits};

/// How many more moves we provide for when the clock does not say. More would waste the middle
/// game's time on endings that are never reached; fewer leaves too little for long ones.
const MOVES_AHEAD: u32 = 25;

/// The hard limit is at most this many planned times.
const PATIENCE: f64 = 4.0;

/// The largest share of the usable clock that one move may take while others must follow.
const LARGEST_SHARE: f64 = 0.4;

/// How long this move may take. Made when `go` arrives.
#[derive(Clone, Debug)]
pub struct Budget {
    started: Instant,
    /// Time by evaluations instead of the clock.
    counted: Option<Counted>,
    /// When to stop unless there is reason to think longer.
    soft: Option<Duration>,
    /// When to stop in any case.
    hard: Option<Duration>,
    /// While we ponder there is no limit; both limits count from the hit.
    ponder: Option<PonderHit>,
}

/// Time that passes by evaluations.
#[derive(Clone, Debug)]
struct Counted {
    evaluations: Arc<AtomicU64>,
    per_ms: NonZeroU32,
}

/// Tells a pondering search that its clock is running. Clones share one flag.
#[derive(Clone, Debug, Default)]
pub struct PonderHit(Arc<OnceLock<Instant>>);

impl PonderHit {
    /// The opponent played the expected move; only the first call counts.
    pub fn hit(&self) {
        let _ = self.0.set(Instant::now());
    }
}

/// Time since it was started, for what has no budget.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// From now on.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Since the start.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}

impl Budget {
    /// A budget from the limits; the clock starts now. `overhead` is kept back for the GUI.
    pub fn new(limits: &Limits, overhead: Duration) -> Self {
        let started = Instant::now();
        // Half of a very short time is still ours: the answer must be worth something.
        let fixed = limits.move_time.map(|time| time.saturating_sub(overhead).max(time / 2));
        let planned = limits.clock.map(|clock| plan(&clock, overhead));
        let (soft, hard) = planned.unzip();
        let both = |planned: Option<Duration>| [planned, fixed].into_iter().flatten().min();
        Self { started, counted: None, soft: both(soft), hard: both(hard), ponder: None }
    }

    /// A budget whose time passes by evaluations alone, so many to a millisecond (what Stockfish
    /// calls `nodestime`). Only a search that calls [`Self::count`] ends.
    pub fn by_evaluations(limits: &Limits, per_ms: NonZeroU32) -> Self {
        let counted = Some(Counted { evaluations: Arc::default(), per_ms });
        Self { counted, ..Self::new(limits, Duration::ZERO) }
    }

    /// Counts evaluations that were answered, or what a batch takes in their time.
    pub fn count(&self, evaluations: usize) {
        if let Some(counted) = &self.counted {
            counted.evaluations.fetch_add(evaluations as u64, Ordering::Relaxed);
        }
    }

    /// Whether the budget repeats itself: it knows nothing of the machine's speed.
    pub fn is_counted(&self) -> bool {
        self.counted.is_some()
    }

    /// The same, but unlimited until the answer's [`PonderHit::hit`]; the limits count from there.
    pub fn pondering(limits: &Limits, overhead: Duration) -> (Self, PonderHit) {
        let hit = PonderHit::default();
        (Self { ponder: Some(hit.clone()), ..Self::new(limits, overhead) }, hit)
    }

    /// Since `go`.
    pub fn elapsed(&self) -> Duration {
        match &self.counted {
            Some(Counted { evaluations, per_ms }) => {
                let micros = evaluations.load(Ordering::Relaxed).saturating_mul(1000);
                Duration::from_micros(micros / u64::from(per_ms.get()))
            }
            None => self.started.elapsed(),
        }
    }

    /// Time from `go` to the hit of a ponder; zero without one. No limit counts before it.
    pub fn waited(&self) -> Duration {
        let hit = self.ponder.as_ref().and_then(|PonderHit(mark)| mark.get());
        hit.map_or(Duration::ZERO, |hit| hit.saturating_duration_since(self.started))
    }

    /// Whether the opponent is to move: a `ponderhit` may come at any moment.
    pub fn is_pondering(&self) -> bool {
        self.ponder.as_ref().is_some_and(|PonderHit(mark)| mark.get().is_none())
    }

    /// The planned thinking time, counted from `go`; `None` = unlimited.
    pub fn soft(&self) -> Option<Duration> {
        self.since_go(self.soft)
    }

    /// The longest allowed thinking time, counted from `go`; `None` = unlimited.
    pub fn hard(&self) -> Option<Duration> {
        self.since_go(self.hard)
    }

    /// Evaluations that the longest allowed time comes to, where time is counted in them.
    pub fn evaluations(&self) -> Option<u64> {
        let per_ms = self.counted.as_ref()?.per_ms.get();
        let milliseconds = self.hard?.as_secs_f64() * 1e3;
        Some((milliseconds * f64::from(per_ms)).ceil() as u64)
    }

    /// Whether the planned time is over.
    pub fn soft_over(&self) -> bool {
        self.soft().is_some_and(|soft| self.elapsed() >= soft)
    }

    /// Whether this share of the planned time is over; time spent pondering does not count.
    pub fn soft_share_over(&self, share: f64) -> bool {
        let used = self.elapsed().saturating_sub(self.waited());
        !self.is_pondering() && self.soft.is_some_and(|soft| used >= soft.mul_f64(share))
    }

    /// Whether the search must answer now.
    pub fn hard_over(&self) -> bool {
        self.hard().is_some_and(|hard| self.elapsed() >= hard)
    }

    /// Whether so much time is left before the search must answer.
    pub fn leaves(&self, time: Duration) -> bool {
        self.hard().is_none_or(|hard| hard.saturating_sub(self.elapsed()) >= time)
    }

    fn since_go(&self, limit: Option<Duration>) -> Option<Duration> {
        if self.is_pondering() {
            return None;
        }
        limit.map(|limit| self.waited().saturating_add(limit))
    }
}

/// Planned and longest time for one move. Neither exceeds what is left after the overhead, so that
/// no plan loses on time; with nothing left both are zero and the search answers with what it has.
fn plan(clock: &Clock, overhead: Duration) -> (Duration, Duration) {
    let usable = clock.remaining.saturating_sub(overhead);
    let moves = clock.moves_to_go.unwrap_or(MOVES_AHEAD).clamp(1, MOVES_AHEAD);
    let ours = usable.as_secs_f64();
    if moves == 1 {
        // The time control gives new time after this move; keep a little against jitter.
        let all = usable.mul_f64(0.9);
        return (all.mul_f64(0.8), all);
    }
    // What this and the coming moves can spend: increments come in, overheads go out.
    let later = f64::from(moves - 1);
    let income = later * (clock.increment.as_secs_f64() - overhead.as_secs_f64());
    let soft = (ours + income) / f64::from(moves);
    // With a large overhead the sum can turn negative long before the clock is empty.
    let soft = soft.max(ours / (4.0 * f64::from(moves)));
    let hard = (soft * PATIENCE).min(ours * LARGEST_SHARE);
    // At most `ours`, which came from a Duration, so both can be one.
    (Duration::from_secs_f64(soft.min(hard)), Duration::from_secs_f64(hard))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OVERHEAD: Duration = Duration::from_millis(20);

    fn limits(remaining_ms: u64, increment_ms: u64, moves_to_go: Option<u32>) -> Limits {
        let remaining = Duration::from_millis(remaining_ms);
        let increment = Duration::from_millis(increment_ms);
        let clock = Some(Clock { remaining, increment, moves_to_go });
        Limits { clock, ..Limits::default() }
    }

    fn planned(remaining_ms: u64, increment_ms: u64, moves_to_go: Option<u32>) -> (u128, u128) {
        let budget = Budget::new(&limits(remaining_ms, increment_ms, moves_to_go), OVERHEAD);
        (budget.soft().unwrap().as_millis(), budget.hard().unwrap().as_millis())
    }

    #[test]
    fn never_plans_beyond_the_clock() {
        let forever = u64::MAX / 1_000_000;
        for remaining in [0, 1, 19, 20, 21, 50, 100, 1_000, 60_000, 7_200_000, forever] {
            for increment in [0, 1, 20, 1_000, 60_000, forever] {
                for moves in [None, Some(0), Some(1), Some(2), Some(40), Some(u32::MAX)] {
                    let (soft, hard) = planned(remaining, increment, moves);
                    let usable = u128::from(remaining.saturating_sub(20));
                    assert!(soft <= hard && hard <= usable, "{remaining} {increment} {moves:?}");
                    assert!(usable < 1_000 || soft > 0, "{remaining} {increment} {moves:?}");
                }
            }
        }
    }

    /// Plays whole games on paper: every move takes its longest time and the overhead.
    #[test]
    fn long_games_keep_their_clock() {
        for (start, increment) in
            [(1_000, 20), (1_000, 50), (10_000, 100), (60_000, 0), (100, 1_000)]
        {
            let mut clock = start;
            for ply in 0..300 {
                let (_, hard) = planned(clock, increment, None);
                let used = hard as u64 + u64::from(clock > 20) * 20;
                assert!(used <= clock, "{start}+{increment} lost at move {ply}");
                clock = clock - used + increment;
            }
        }
    }

    #[test]
    fn spends_sensibly() {
        let (soft, hard) = planned(1_000, 20, None);
        assert!((25..=60).contains(&soft), "{soft}");
        assert!((100..=250).contains(&hard), "{hard}");
        let (soft, _) = planned(60_000, 0, None);
        assert!((1_500..=3_500).contains(&soft), "{soft}");
        let (soft, hard) = planned(10_000, 0, Some(1));
        assert!(soft > 6_000 && hard > 8_000, "{soft} {hard}");
        // An increment alone is spent, but not what has not come in yet.
        let (soft, hard) = planned(500, 5_000, None);
        assert!(soft >= 150 && hard <= 200, "{soft} {hard}");
    }

    #[test]
    fn a_fixed_time_is_kept() {
        let fixed = |ms| Limits { move_time: Some(Duration::from_millis(ms)), ..Limits::default() };
        assert_eq!(Budget::new(&fixed(100), OVERHEAD).hard(), Some(Duration::from_millis(80)));
        assert_eq!(Budget::new(&fixed(10), OVERHEAD).hard(), Some(Duration::from_millis(5)));
        assert!(Budget::new(&fixed(0), OVERHEAD).hard_over());
        // Beside a clock both hold.
        let both = |ms| Limits { clock: limits(300, 0, None).clock, ..fixed(ms) };
        let (soft, hard) = planned(300, 0, None);
        for (ms, expected) in [(3_000, (soft, hard)), (22, (soft.min(11), 11))] {
            let budget = Budget::new(&both(ms), OVERHEAD);
            let told = (budget.soft().unwrap().as_millis(), budget.hard().unwrap().as_millis());
            assert_eq!(told, expected, "{ms}");
        }
        assert_eq!(Budget::new(&Limits::default(), OVERHEAD).hard(), None);
    }

    #[test]
    fn evaluations_are_time() {
        let per_ms = NonZeroU32::new(20).unwrap();
        let budget = Budget::by_evaluations(&limits(1_000, 0, None), per_ms);
        assert_eq!(budget.elapsed(), Duration::ZERO);
        budget.count(30);
        assert_eq!(budget.elapsed(), Duration::from_micros(1_500));
        assert_eq!(budget.soft(), Some(Duration::from_millis(40)));
        budget.count(5_000);
        assert!(budget.hard_over() && budget.is_counted());
        let hard = budget.hard().unwrap().as_millis() as u64;
        assert_eq!(budget.evaluations(), Some(hard * u64::from(per_ms.get())));
    }

    #[test]
    fn pondering_is_unlimited_until_the_hit() {
        let (budget, hit) = Budget::pondering(&limits(0, 0, None), OVERHEAD);
        assert!(!budget.hard_over() && budget.soft().is_none() && budget.is_pondering());
        std::thread::sleep(Duration::from_millis(2));
        hit.hit();
        assert!(budget.hard_over() && budget.soft_over() && !budget.is_pondering());
        assert!(budget.soft_share_over(0.5));
        assert!(budget.waited() >= Duration::from_millis(2));
        let (budget, hit) = Budget::pondering(&limits(60_000, 0, None), OVERHEAD);
        hit.hit();
        assert!(!budget.soft_over() && budget.soft().is_some());
        // Longer was waited than is planned, and more than half of the plan is still to come.
        let (budget, hit) = Budget::pondering(&limits(10_000, 0, None), OVERHEAD);
        std::thread::sleep(Duration::from_millis(300));
        assert!(!budget.soft_share_over(0.0), "nothing is planned yet");
        hit.hit();
        assert!(!budget.soft_share_over(0.55) && budget.soft_share_over(0.0));
    }
}
