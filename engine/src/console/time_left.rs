//! How long work still takes, for a line of progress.

use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

use indicatif::style::ProgressTracker;
use indicatif::{HumanDuration, ProgressState};

/// Time between two samples of what is done.
const PAUSE: Duration = Duration::from_secs(20);
/// Samples that are kept: the pace is that of the last ten minutes.
const SAMPLES: usize = 30;
/// Longest time left that is told.
const LONGEST: Duration = Duration::from_hours(24 * 60);

/// The time left at the pace of the last minutes. indicatif's own estimate forgets half of what it
/// saw in five seconds, so it is of no use where a step, such as a game, takes longer.
#[derive(Clone, Debug)]
pub(super) struct TimeLeft(VecDeque<Sample>);

/// What was done at a time.
#[derive(Clone, Copy, Debug)]
struct Sample {
    time: Duration,
    done: u64,
}

impl TimeLeft {
    /// Of work of which so much was done before.
    pub(super) fn new(done: u64) -> Self {
        Self(VecDeque::from([Sample { time: Duration::ZERO, done }]))
    }

    fn note(&mut self, now: Sample) {
        if self.0.back().is_none_or(|last| now.time.saturating_sub(last.time) >= PAUSE) {
            if self.0.len() >= SAMPLES {
                self.0.pop_front();
            }
            self.0.push_back(now);
        }
    }

    /// `None` while nothing was done that tells a pace.
    fn guess(&self, now: Sample, length: u64) -> Option<Duration> {
        let first = self.0.front()?;
        let done = now.done.saturating_sub(first.done);
        let pace = done as f64 / now.time.saturating_sub(first.time).as_secs_f64();
        let left = length.saturating_sub(now.done) as f64 / pace;
        Duration::try_from_secs_f64(left).ok().filter(|left| *left < LONGEST)
    }
}

impl ProgressTracker for TimeLeft {
    fn clone_box(&self) -> Box<dyn ProgressTracker> {
        Box::new(self.clone())
    }

    fn tick(&mut self, state: &ProgressState, _: Instant) {
        self.note(Sample { time: state.elapsed(), done: state.pos() });
    }

    fn reset(&mut self, state: &ProgressState, _: Instant) {
        *self = Self::new(state.pos());
    }

    fn write(&self, state: &ProgressState, text: &mut dyn fmt::Write) {
        let now = Sample { time: state.elapsed(), done: state.pos() };
        let left = self.guess(now, state.len().unwrap_or_default());
        // A line that is cut short is drawn anew.
        let _ = match left {
            Some(time) => write!(text, "{:#}", HumanDuration(time)),
            None => text.write_char('?'),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The guess after so many steps more, each of so many seconds.
    fn work(left: &mut TimeLeft, now: &mut Sample, steps: u64, seconds: u64) -> Option<u64> {
        for _ in 0..steps {
            *now = Sample { time: now.time + Duration::from_secs(seconds), done: now.done + 1 };
            left.note(*now);
        }
        left.guess(*now, 1000).map(|time| time.as_secs_f64().round() as u64)
    }

    #[test]
    fn what_was_done_before_tells_no_pace() {
        let mut now = Sample { time: Duration::ZERO, done: 900 };
        let mut left = TimeLeft::new(now.done);
        assert_eq!(left.guess(now, 1000), None);
        assert_eq!(left.guess(Sample { time: Duration::from_mins(3), done: 900 }, 1000), None);
        assert_eq!(work(&mut left, &mut now, 10, 30), Some(90 * 30));
    }

    #[test]
    fn a_pause_is_forgotten_after_ten_minutes() {
        let mut now = Sample { time: Duration::ZERO, done: 0 };
        let mut left = TimeLeft::new(0);
        assert_eq!(work(&mut left, &mut now, 100, 2), Some(1800));
        now.time += Duration::from_hours(5);
        assert!(work(&mut left, &mut now, 1, 2) > Some(100_000));
        assert_eq!(work(&mut left, &mut now, 400, 2), Some(499 * 2));
    }

    #[test]
    fn slow_steps_and_an_end_have_a_time() {
        let mut now = Sample { time: Duration::ZERO, done: 0 };
        let mut left = TimeLeft::new(0);
        assert_eq!(work(&mut left, &mut now, 40, 1000), Some(960 * 1000));
        assert_eq!(left.guess(Sample { done: 1000, ..now }, 1000), Some(Duration::ZERO));
        // Months are no guess.
        assert_eq!(left.guess(now, 1_000_000), None);
    }
}
