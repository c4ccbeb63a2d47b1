//! Searches side by side on one device: no one gets ahead of the others in evaluations, and all
//! of them go slowly where somebody wants to follow.
//!
//! Reads the clock: for slow motion only, on which no decision of a search depends.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tesla_nn::evaluator::{CacheFigures, CacheNote, EvalError, Evaluation, Evaluator, Request};

use crate::search::StopToken;

/// How often a search that waits looks whether it is told to stop.
const LOOK: Duration = Duration::from_millis(20);
/// In slow motion so many batches go to the device in a second.
const BATCHES: f64 = 20.0;
/// An easy start: evaluations a second at first …
const FIRST: f64 = 20.0;
/// … and of each that was made, so many a second later: the same time for each factor of work.
const GROWTH: f64 = 0.4;
/// A search may be so many evaluations ahead of the slowest, and this part of what that has done.
const AHEAD: (u64, u64) = (8, 50);

/// How fast the searches go.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Pace {
    /// As fast as they can.
    #[default]
    Full,
    /// So many evaluations a second.
    Even(f64),
    /// Slowly at first and then ever faster, so that every stage can be seen.
    Easy,
}

impl Pace {
    /// Evaluations a second after so many.
    fn at(self, used: u64) -> Option<f64> {
        match self {
            Self::Full => None,
            Self::Even(pace) => Some(pace),
            Self::Easy => Some(FIRST.max(GROWTH * used as f64)),
        }
    }
}

/// What the searches share.
#[derive(Clone, Debug, Default)]
pub struct Lockstep(Arc<(Mutex<Inside>, Condvar)>);

#[derive(Debug, Default)]
struct Inside {
    /// Those that run, by their numbers.
    runners: BTreeMap<u64, Progress>,
    /// Of each search.
    pace: Pace,
    /// Evaluations that each search may ask for.
    limit: Option<u64>,
}

#[derive(Debug)]
struct Progress {
    /// Evaluations asked for.
    used: u64,
    stop: StopToken,
    /// When the next evaluation may go, in slow motion.
    next: Option<Instant>,
}

impl Lockstep {
    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The searches of a new run: each one's number, never used before, and how it is stopped.
    pub fn open(&self, runners: impl IntoIterator<Item = (u64, StopToken)>, limit: Option<u64>) {
        let runner = |(number, stop)| (number, Progress { used: 0, stop, next: None });
        let mut inside = self.lock();
        inside.runners = runners.into_iter().map(runner).collect();
        inside.limit = limit;
        self.0.1.notify_all();
    }

    /// Goes at this pace from now on.
    pub fn set_pace(&self, pace: Pace) {
        let mut inside = self.lock();
        inside.pace = pace;
        for runner in inside.runners.values_mut() {
            runner.next = None;
        }
        self.0.1.notify_all();
    }

    /// A search has ended: the others do not wait for it.
    pub fn leave(&self, number: u64) {
        self.lock().runners.remove(&number);
        self.0.1.notify_all();
    }

    /// Waits until this search may ask for so many evaluations, or is told to stop.
    fn pass(&self, number: u64, count: u64) {
        let mut inside = self.lock();
        loop {
            let wait = inside.wait_of(number);
            let Some(wait) = wait.filter(|_| count > 0) else { break };
            let waited = self.0.1.wait_timeout(inside, wait.min(LOOK));
            inside = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        inside.count(number, count);
        self.0.1.notify_all();
    }

    /// Largest batch, in slow motion.
    fn largest(&self, number: u64) -> Option<usize> {
        let inside = self.lock();
        let used = inside.runners.get(&number)?.used;
        inside.pace.at(used).map(|pace| (pace / BATCHES).max(1.0) as usize)
    }
}

impl Inside {
    /// How long this search has to wait at least; nothing where it may go.
    fn wait_of(&self, number: u64) -> Option<Duration> {
        let runner = self.runners.get(&number).filter(|runner| !runner.stop.is_stopped())?;
        let (least, part) = AHEAD;
        let others = self.runners.iter().filter(|(other, _)| **other != number);
        let slowest = others.map(|(_, runner)| runner.used).min();
        if slowest.is_some_and(|slowest| runner.used > slowest + least.max(slowest / part)) {
            return Some(LOOK);
        }
        let wait = runner.next?.saturating_duration_since(Instant::now());
        (!wait.is_zero()).then_some(wait)
    }

    fn count(&mut self, number: u64, count: u64) {
        let (pace, limit) = (self.pace, self.limit);
        let Some(runner) = self.runners.get_mut(&number) else { return };
        runner.used += count;
        if let Some(pace) = pace.at(runner.used) {
            let now = Instant::now();
            let from = runner.next.map_or(now, |next| next.max(now));
            runner.next = Some(from + Duration::from_secs_f64(count as f64 / pace));
        }
        // A search that counts something else than evaluations ends with the others all the same.
        if limit.is_some_and(|limit| runner.used > limit) {
            runner.stop.stop();
        }
    }
}

/// A search's evaluator, which waits for those of the others.
pub struct InStep {
    inner: Box<dyn Evaluator>,
    lockstep: Lockstep,
    runner: Arc<AtomicU64>,
}

impl std::fmt::Debug for InStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InStep").field("runner", &self.runner).finish_non_exhaustive()
    }
}

impl InStep {
    /// Of the runner whose number stands in this cell while it runs.
    pub fn new(inner: Box<dyn Evaluator>, lockstep: Lockstep, runner: Arc<AtomicU64>) -> Self {
        Self { inner, lockstep, runner }
    }
}

impl Evaluator for InStep {
    fn description(&self) -> String {
        self.inner.description()
    }

    fn batch_size(&self) -> usize {
        let (most, number) = (self.inner.batch_size(), self.runner.load(Ordering::Acquire));
        self.lockstep.largest(number).map_or(most, |size| size.min(most))
    }

    fn fixed_cost(&self) -> f32 {
        self.inner.fixed_cost()
    }

    fn submit(&mut self, batch: Vec<Request>) {
        self.lockstep.pass(self.runner.load(Ordering::Acquire), batch.len() as u64);
        self.inner.submit(batch);
    }

    fn in_flight(&self) -> usize {
        self.inner.in_flight()
    }

    fn collect(&mut self) -> Result<Vec<Evaluation>, EvalError> {
        self.inner.collect()
    }

    fn note(&mut self, session: u32, note: CacheNote) {
        self.inner.note(session, note);
    }

    fn cache_figures(&self) -> Option<CacheFigures> {
        self.inner.cache_figures()
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    fn lockstep(numbers: &[u64], limit: Option<u64>) -> (Lockstep, StopToken) {
        let (lockstep, stop) = (Lockstep::default(), StopToken::default());
        lockstep.open(numbers.iter().map(|&number| (number, stop.clone())), limit);
        (lockstep, stop)
    }

    #[test]
    fn nobody_gets_ahead() {
        let (lockstep, stop) = lockstep(&[0, 1], None);
        let runner = |number: u64, count: u64| {
            let (lockstep, stop) = (lockstep.clone(), stop.clone());
            thread::spawn(move || {
                let mut most = 0;
                while !stop.is_stopped() {
                    lockstep.pass(number, count);
                    let inside = lockstep.lock();
                    let used = |number: &u64| inside.runners.get(number).map_or(0, |r| r.used);
                    most = most.max(used(&number).saturating_sub(used(&(1 - number))));
                    if used(&number) >= 300 {
                        stop.stop();
                    }
                }
                most
            })
        };
        let (slow, fast) = (runner(0, 1), runner(1, 3));
        assert!(slow.join().unwrap() <= AHEAD.0 + 4 && fast.join().unwrap() <= AHEAD.0 + 8);
    }

    #[test]
    fn who_has_left_or_is_stopped_holds_nobody_up() {
        let (lockstep, stop) = lockstep(&[0, 1], None);
        lockstep.pass(0, 100);
        lockstep.leave(1);
        lockstep.pass(0, 100);
        lockstep.open([(0, stop.clone()), (1, stop.clone())], None);
        lockstep.pass(0, 100);
        stop.stop();
        lockstep.pass(0, 100);
    }

    #[test]
    fn slow_motion_takes_its_time() {
        let (lockstep, _) = lockstep(&[0], None);
        assert_eq!(lockstep.largest(0), None);
        lockstep.set_pace(Pace::Even(40.0));
        assert_eq!(lockstep.largest(0), Some(2));
        let start = Instant::now();
        for _ in 0..5 {
            lockstep.pass(0, 1);
        }
        assert!(start.elapsed() >= Duration::from_millis(95));
        lockstep.set_pace(Pace::Easy);
        assert_eq!(lockstep.largest(0), Some(1));
        assert!(Pace::Easy.at(0) < Pace::Easy.at(1000));
    }

    #[test]
    fn the_limit_stops() {
        let (lockstep, stop) = lockstep(&[0], Some(10));
        lockstep.pass(0, 10);
        assert!(!stop.is_stopped());
        lockstep.pass(0, 1);
        assert!(stop.is_stopped());
    }
}
