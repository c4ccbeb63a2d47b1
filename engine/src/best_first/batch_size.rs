//! What the device's time goes on: so much a batch, so much an evaluation.

use std::time::Duration;

/// Sizes of batches are told apart by their power of two.
const CLASSES: usize = 16;

/// The device as its answers show it. Only the clock's rules read it.
#[derive(Clone, Debug, Default)]
pub(super) struct Throughput {
    /// Seconds an evaluation, of late; 0 = not known yet.
    lately: f32,
    /// By class, the fastest batch: evaluations and seconds.
    fastest: [Option<(f32, f32)>; CLASSES],
}

impl Throughput {
    /// Notes how long a batch took since the one before. `is_seen` = its beginning and its end were: an answer that
    /// was there before anyone asked says how long the host took.
    pub(super) fn note(&mut self, evaluations: usize, took: Duration, is_seen: bool) {
        let (size, took) = (evaluations.max(1), took.as_secs_f32());
        let each = took / size as f32;
        self.lately = if self.lately > 0.0 { 0.5 * (self.lately + each) } else { each };
        if !is_seen {
            return;
        }
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

    /// Evaluations that the device answers in this time, as fast as of late.
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

/// What a device costs, in the time of one evaluation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    /// The fixed part of a batch: it takes as long as `fixed + B` evaluations.
    pub(super) fixed: f32,
    /// What the device waits between two batches where the second one is not there yet.
    pub(super) handover: f32,
    /// What the host does for each leaf: pick, expand, back up.
    pub(super) host: f32,
    /// Worth lost, as a share, when as many leaves are under way as the tree has evaluations.
    pub(super) pending: f32,
}

/// How many batches to have in flight, of how many leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Batches {
    /// In flight at once: more than one hides the host's work behind the device's.
    pub(super) in_flight: usize,
    /// Leaves of the next one.
    pub(super) size: u32,
}

impl Costs {
    /// The batches that get most out of the device, for a tree of `work` evaluations: at most `most`
    /// leaves each, at most `in_flight` of them.
    ///
    /// One alone is best while the tree is small: what is under way costs more than what the device
    /// waits for.
    pub(super) fn best_batches(self, work: f32, most: u32, in_flight: usize) -> Batches {
        let plan = |in_flight: usize| {
            let size = (self.best_size(work, in_flight) as u32).clamp(1, most.max(1));
            Batches { in_flight, size }
        };
        let (one, several) = (plan(1), plan(in_flight.max(1)));
        if self.worth(work, several) > self.worth(work, one) { several } else { one }
    }

    /// Worth by time. What is under way is not known to what is picked next: with `W` evaluations in
    /// the tree and `P` under way, an evaluation is worth `1 - pending · P/W` of one that knows
    /// everything.
    fn worth(self, work: f32, batches: Batches) -> f32 {
        let size = batches.size as f32;
        let under_way = batches.in_flight as f32 * size;
        let (device, host) = (self.fixed + size, self.handover + self.host * size);
        let time = if batches.in_flight > 1 { device.max(host) } else { device + host };
        size * (1.0 - self.pending * under_way / work.max(1.0)) / time
    }

    /// Where that is greatest: of `B·(1 - aB) / (f + gB)` with `a = pending · in_flight / W`, at
    /// `aB·(2f + gB) = f`.
    fn best_size(self, work: f32, in_flight: usize) -> f32 {
        let (fixed, slope) = if in_flight > 1 {
            (self.fixed, 1.0)
        } else {
            (self.fixed + self.handover, 1.0 + self.host)
        };
        let loss = self.pending * in_flight as f32 / work.max(1.0);
        let size = ((fixed * fixed + fixed * slope / loss).sqrt() - fixed) / slope;
        // Beyond that the host is what several wait for.
        let is_bound = in_flight > 1 && self.host > 1.0;
        if is_bound { size.min(fixed / (self.host - 1.0)) } else { size }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_fixed_cost_of_a_device() {
        let mut throughput = Throughput::default();
        assert!(throughput.is_unknown() && throughput.fixed_cost().is_none());
        let time = |size: usize| Duration::from_micros(1000 + 2 * size as u64);
        throughput.note(200, time(200), true);
        assert!(throughput.fixed_cost().is_none());
        for size in [1, 9, 30, 256, 250, 64] {
            throughput.note(size, time(size), true);
            throughput.note(size, 3 * time(size), true); // something else was in the way
            throughput.note(size, time(size) / 9, false); // the host was
        }
        let fixed = throughput.fixed_cost().unwrap();
        assert!((fixed / 500.0 - 1.0).abs() < 0.01, "{fixed}");
        assert!(
            !throughput.is_unknown() && throughput.evaluations_in(Duration::from_secs(1)) > 0.0
        );
    }

    const CPU: Costs = Costs { fixed: 2.0, handover: 2.5, host: 0.0, pending: 3.0 };
    const GPU: Costs = Costs { fixed: 500.0, handover: 2.5, host: 1.5, pending: 3.0 };

    #[test]
    fn the_best_batches_are_the_best() {
        for (work, costs) in [(100.0, CPU), (5000.0, CPU), (800.0, GPU), (1e5, GPU)] {
            let best = costs.best_batches(work, u32::MAX, 2);
            let worth = |in_flight, size| costs.worth(work, Batches { in_flight, size });
            for in_flight in 1..=2 {
                for size in
                    (1..3000).filter(|&size| (in_flight, size) != (best.in_flight, best.size))
                {
                    // The size is rounded down.
                    let least = 0.98 * worth(in_flight, size);
                    assert!(
                        worth(best.in_flight, best.size) > least,
                        "{best:?} {in_flight} {size}"
                    );
                }
            }
        }
    }

    #[test]
    fn one_batch_waits_for_a_small_tree_and_two_for_a_quick_device() {
        let batches = |in_flight, size| Batches { in_flight, size };
        assert_eq!(GPU.best_batches(800.0, 256, 2), batches(1, 105));
        assert_eq!(GPU.best_batches(800.0, 64, 2), batches(1, 64));
        assert_eq!(GPU.best_batches(20_000.0, 256, 2), batches(2, 256));
        assert_eq!(GPU.best_batches(20_000.0, 256, 1), batches(1, 256));
        assert_eq!(GPU.best_batches(0.0, 256, 2), batches(1, 1));
        assert_eq!(CPU.best_batches(800.0, 64, 2), batches(2, 14));
        let free = Costs { fixed: 0.0, handover: 0.0, host: 0.0, pending: 3.0 };
        assert_eq!(free.best_batches(1e6, 256, 2), batches(1, 1));
    }
}
