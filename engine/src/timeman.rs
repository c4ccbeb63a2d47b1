//! Clock to budget; the only file that reads the time.

use std::time::{Duration, Instant};

use crate::search_api::Limits;

/// How long this move may take. Made when `go` arrives.
#[derive(Clone, Debug)]
pub struct Budget {
    started: Instant,
    /// When to stop unless there is reason to think longer.
    soft: Option<Duration>,
    /// When to stop in any case.
    hard: Option<Duration>,
}

impl Budget {
    /// A budget from the limits; the clock starts now. `overhead` is kept back for the GUI.
    pub fn new(limits: &Limits, overhead: Duration) -> Self {
        let started = Instant::now();
        if let Some(move_time) = limits.move_time {
            let time = move_time.saturating_sub(overhead).max(Duration::from_millis(1));
            return Self { started, soft: Some(time), hard: Some(time) };
        }
        let Some(clock) = limits.clock else { return Self { started, soft: None, hard: None } };
        let usable = clock.remaining.saturating_sub(overhead);
        let moves = f64::from(clock.moves_to_go.unwrap_or(30).clamp(1, 30));
        let soft = usable.div_f64(moves) + clock.increment.mul_f64(0.75);
        let hard = (soft * 3).min(usable.mul_f64(0.5)).max(Duration::from_millis(1));
        Self { started, soft: Some(soft.min(hard)), hard: Some(hard) }
    }

    /// Since `go`.
    pub fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// The planned thinking time; `None` = unlimited.
    pub fn soft(&self) -> Option<Duration> {
        self.soft
    }

    /// The longest allowed thinking time; `None` = unlimited.
    pub fn hard(&self) -> Option<Duration> {
        self.hard
    }

    /// Whether the planned time is over.
    pub fn soft_over(&self) -> bool {
        self.soft.is_some_and(|soft| self.elapsed() >= soft)
    }

    /// Whether the search must answer now.
    pub fn hard_over(&self) -> bool {
        self.hard.is_some_and(|hard| self.elapsed() >= hard)
    }
}
