//! What batches cost on a device, measured before a clock runs.
//!
//! Reads the clock: it measures. What follows from it is rounded, so that searches repeat.

use std::time::{Duration, Instant};

use crate::canary;
use crate::evaluator::{Evaluation, Handle, Request};

/// Batches of each size that are measured, at most.
const BATCHES: usize = 10;
/// When measuring ends.
const ENOUGH: Duration = Duration::from_millis(500);
/// The fixed part is between so many evaluations; powers of two.
const LEAST: f32 = 1.0;
const MOST: f32 = 4096.0;

/// Time of a batch: `fixed + each · B`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Speed {
    /// `t0`, of a batch of any size.
    pub(super) fixed: Duration,
    /// `t1`, of each position.
    pub(super) each: Duration,
}

impl Speed {
    /// Of the fastest batches of one position and of `size` ones.
    fn of(one: Duration, many: Duration, size: usize) -> Self {
        let more = u32::try_from(size).unwrap_or(u32::MAX).saturating_sub(1).max(1);
        let each = many.saturating_sub(one) / more;
        Self { fixed: one.saturating_sub(each), each }
    }

    /// Evaluations that take as long as the fixed part, as a power of two: the next measurement
    /// mostly says the same.
    pub(super) fn fixed_cost(&self) -> f32 {
        let ratio = self.fixed.as_secs_f32() / self.each.as_secs_f32().max(1e-9);
        ratio.clamp(LEAST, MOST).log2().round().exp2()
    }

    /// Positions a second in batches of this size.
    pub(super) fn rate(&self, size: usize) -> f32 {
        size as f32 / self.time(size).as_secs_f32().max(1e-9)
    }

    /// Time of a batch.
    pub(super) fn time(&self, size: usize) -> Duration {
        self.fixed + self.each * u32::try_from(size).unwrap_or(u32::MAX)
    }
}

/// Measures batches of children of one position and of `size`; what they leave in the cache is
/// nobody's.
pub(super) fn measure(
    mut evaluate: impl FnMut(&[Request]) -> Vec<Evaluation>,
    size: usize,
) -> Speed {
    let parents = evaluate(&canary::parents());
    let handles: Vec<Handle> = parents.iter().map(|parent| parent.handle).collect();
    let children: Vec<Request> = canary::children(&handles)
        .into_iter()
        .map(|child| Request { keep: true, ..child })
        .cycle()
        .take(size.max(2))
        .collect();
    let began = Instant::now();
    let mut fastest = [Duration::MAX; 2];
    for _ in 0..BATCHES {
        for (fastest, size) in fastest.iter_mut().zip([1, children.len()]) {
            let start = Instant::now();
            evaluate(&children[..size]);
            *fastest = start.elapsed().min(*fastest);
        }
        if began.elapsed() > ENOUGH {
            break;
        }
    }
    let [one, many] = fastest;
    Speed::of(one, many, children.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_rounded() {
        let micros = Duration::from_micros;
        let speed = Speed::of(micros(301), micros(300 + 256), 256);
        assert_eq!((speed.fixed, speed.each), (micros(300), micros(1)));
        assert_eq!(speed.time(100), micros(400));
        assert!((speed.rate(100) - 250_000.0).abs() < 1.0);
        for (fixed, rounded) in [(290, 256.0), (360, 256.0), (370, 512.0), (0, 1.0)] {
            let speed = Speed { fixed: micros(fixed), each: micros(1) };
            assert!((speed.fixed_cost() - rounded).abs() < 1e-3);
        }
        // A device that is no slower with more positions.
        let flat = Speed::of(micros(300), micros(290), 256);
        assert!((flat.fixed_cost() - MOST).abs() < 1e-3);
    }
}
