//! What the device's time goes on: so much a batch, so much an evaluation.

use std::time::Duration;

/// Sizes of batches are told apart by their power of two.
const CLASSES: usize = 16;

/// The device as its answers show it. Only the clock's rules read it.
#[derive(Clone, Debug, Default)]
pub(super) struct Pace {
    /// Seconds an evaluation, of late; 0 = not known yet.
    lately: f32,
    /// By class, the fastest batch: evaluations and seconds.
    fastest: [Option<(f32, f32)>; CLASSES],
}

impl Pace {
    /// Notes how long a batch took.
    pub(super) fn note(&mut self, evaluations: usize, took: Duration) {
        let (size, took) = (evaluations.max(1), took.as_secs_f32());
        let each = took / size as f32;
        self.lately = if self.lately > 0.0 { 0.5 * (self.lately + each) } else { each };
        // Only the fastest: whatever else delays a batch is not the device's.
        let class = (size.ilog2() as usize).min(CLASSES - 1);
        if self.fastest[class].is_none_or(|(known, least)| each < least / known) {
            self.fastest[class] = Some((size as f32, took));
        }
    }

    /// Whether nothing is known yet.
    pub(super) fn is_unknown(&self) -> bool {
        self.lately <= 0.0
    }

    /// Evaluations that the device answers in this time, at its pace of late.
    pub(super) fn evaluations_in(&self, time: Duration) -> f32 {
        time.as_secs_f32() / self.lately.max(f32::MIN_POSITIVE)
    }

    /// Evaluations that take as long as the fixed part of a batch: `t0 / t1`, where a batch takes
    /// `t0 + t1 · B`. `None` before batches of two sizes were seen.
    pub(super) fn fixed_cost(&self) -> Option<f32> {
        let (small, brief) = self.fastest.iter().flatten().next().copied()?;
        let (large, long) = self.fastest.iter().flatten().last().copied()?;
        let each = (long - brief) / (large - small);
        (large > small && each > 0.0).then(|| (brief / each - small).max(0.0))
    }
}

/// Size of the next batch that gets most out of the device.
///
/// What is under way is not known to what is picked next, which costs quality: with `W` evaluations
/// in the tree and two batches of `B` in flight, an evaluation is worth `1 - cost · 2B/W` of one that
/// knows everything. A batch takes as long as `fixed + B` evaluations. Worth by time is greatest where
/// `B² + 2·fixed·B = fixed·W / (2·cost)`.
pub(super) fn best_batch(work: f32, fixed: f32, cost: f32) -> f32 {
    (fixed * fixed + fixed * work / (2.0 * cost)).sqrt() - fixed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_fixed_cost_of_a_device() {
        let mut pace = Pace::default();
        assert!(pace.is_unknown() && pace.fixed_cost().is_none());
        let time = |size: usize| Duration::from_micros(1000 + 2 * size as u64);
        pace.note(200, time(200));
        assert!(pace.fixed_cost().is_none());
        for size in [1, 9, 30, 256, 250, 64] {
            pace.note(size, time(size));
            pace.note(size, 3 * time(size)); // something else was in the way
        }
        let fixed = pace.fixed_cost().unwrap();
        assert!((fixed / 500.0 - 1.0).abs() < 0.01, "{fixed}");
        assert!(!pace.is_unknown() && pace.evaluations_in(Duration::from_secs(1)) > 0.0);
    }

    #[test]
    fn the_best_batch_is_the_best() {
        for (work, fixed) in [(100.0, 2.0), (800.0, 2.0), (800.0, 500.0), (1e5, 500.0)] {
            let worth = |size: f32| size * (1.0 - 3.0 * 2.0 * size / work) / (fixed + size);
            let best = best_batch(work, fixed, 3.0);
            assert!(worth(best) > worth(best * 1.1) && worth(best) > worth(best / 1.1), "{best}");
        }
        assert!(best_batch(1.0, 0.0, 3.0).abs() < 1e-6);
    }
}
