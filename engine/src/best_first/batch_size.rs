//! How many batches to have in flight, and how large: from the evaluator's throughput.

use std::time::Duration;

use crate::best_first::params::Params;

/// A batch counts as at most so many times slower than those before it.
const MOST_SLOWER: f32 = 8.0;
/// Sizes of batches are told apart by their power of two.
const CLASSES: usize = 16;
/// Weight of the CPU's work on the batches before beside that on the last one.
const HOST_MEMORY: f32 = 0.9;

/// The device's speed as measured from its answers. Only searches under a clock use it.
#[derive(Clone, Debug, Default)]
pub(super) struct Throughput {
    /// Recent seconds per evaluation; 0 = not known yet.
    lately: f32,
    /// By class, the fastest batch: evaluations and seconds.
    fastest: [Option<(f32, f32)>; CLASSES],
    /// The CPU's recent work: leaves and seconds, older ones counting less.
    host: (f32, f32),
}

impl Throughput {
    /// Records the time of a batch since the one before. `is_seen` = its beginning and its end were
    /// observed: an answer that was ready before we asked measures the CPU, not the evaluator.
    pub(super) fn note(&mut self, evaluations: usize, took: Duration, is_seen: bool) {
        // Leaves that wait for another batch's answers take no time of the device.
        if evaluations == 0 {
            return;
        }
        let (size, took) = (evaluations, took.as_secs_f32());
        let each = took / size as f32;
        // A process that was stopped for a while says nothing about the device.
        let likely = each.min(MOST_SLOWER * self.lately);
        self.lately = if self.lately > 0.0 { 0.5 * (self.lately + likely) } else { each };
        if !is_seen {
            return;
        }
        // Only the fastest: whatever else delays a batch is not the device's.
        let class = (size.ilog2() as usize).min(CLASSES - 1);
        if self.fastest[class].is_none_or(|(known, least)| each < least / known) {
            self.fastest[class] = Some((size as f32, took));
        }
    }

    /// Records the time that the CPU took for a batch of so many leaves: to expand and back up the
    /// answers before it, and to select it.
    pub(super) fn note_host(&mut self, leaves: usize, took: Duration) {
        let (known, seconds) = self.host;
        let leaves = leaves as f32;
        let likely = if known > 0.0 { MOST_SLOWER * seconds / known * leaves } else { f32::MAX };
        let took = took.as_secs_f32().min(likely);
        self.host = (HOST_MEMORY * known + leaves, HOST_MEMORY * seconds + took);
    }

    /// Whether nothing is known yet.
    pub(super) fn is_unknown(&self) -> bool {
        self.lately <= 0.0
    }

    /// Evaluations that the device answers in this time at its recent speed.
    pub(super) fn evaluations_in(&self, time: Duration) -> f32 {
        time.as_secs_f32() / self.lately.max(f32::MIN_POSITIVE)
    }

    /// What was measured, where a batch takes `t0 + t1 · B`: `t0 / t1`, and the CPU's time per leaf
    /// over `t1`. `None` before batches of two sizes were seen.
    pub(super) fn measured(&self) -> Option<Measured> {
        let (small, brief) = self.fastest.iter().flatten().next().copied()?;
        let (large, long) = self.fastest.iter().flatten().last().copied()?;
        let each = (long - brief) / (large - small);
        let (leaves, seconds) = self.host;
        (large > small && each > 0.0).then(|| Measured {
            fixed: (brief / each - small).max(0.0),
            host: seconds / leaves.max(1.0) / each,
        })
    }
}

/// A device as measured, in the time of one evaluation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    /// The fixed part of a batch.
    pub(super) fixed: f32,
    /// CPU cost per leaf.
    pub(super) host: f32,
}

/// What a device costs, in the time of one evaluation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    /// The fixed part of a batch: it takes as long as `fixed + B` evaluations.
    pub(super) fixed: f32,
    /// Idle time of the device between two batches if the second one is not queued yet.
    pub(super) handover: f32,
    /// CPU cost per leaf: select, expand, back up.
    pub(super) host: f32,
    /// Relative loss per evaluation when as many leaves are in flight as the tree has evaluations.
    pub(super) pending: f32,
}

/// How many batches to have in flight, of how many leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Batches {
    /// In flight at once: more than one hides the CPU's work behind the evaluator's.
    pub(super) in_flight: usize,
    /// Leaves of the next one.
    pub(super) size: u32,
}

impl Costs {
    /// Of a device with this fixed cost, whose time is not known: the CPU's cost per leaf is
    /// assumed.
    pub(super) fn new(params: &Params, fixed: f32) -> Self {
        Self::of(params, Measured { fixed, host: params.host_share * fixed })
    }

    /// Of a device that was measured.
    pub(super) fn of(params: &Params, measured: Measured) -> Self {
        let Measured { fixed, host } = measured;
        Self { fixed, handover: params.handover, host, pending: params.pending_cost }
    }

    /// The batches that get most out of the device, for a tree of this many visits: at most `most`
    /// leaves each, at most `in_flight` of them.
    ///
    /// One alone is best while the tree is small: leaves in flight then cost more than the
    /// evaluator's idle time.
    pub(super) fn best_batches(self, visits: f32, most: u32, in_flight: usize) -> Batches {
        let plan = |in_flight: usize| {
            let size = (self.best_size(visits, in_flight) as u32).clamp(1, most.max(1));
            Batches { in_flight, size }
        };
        let (one, several) = (plan(1), plan(in_flight.max(1)));
        if self.worth(visits, several) > self.worth(visits, one) { several } else { one }
    }

    /// Benefit per time. Leaves in flight cannot inform the next selection: with `N` evaluations in
    /// the tree and `P` in flight, an evaluation counts as `1 - pending · P/N` of one that knows
    /// all answers.
    fn worth(self, visits: f32, batches: Batches) -> f32 {
        let size = batches.size as f32;
        let under_way = batches.in_flight as f32 * size;
        size * (1.0 - self.pending * under_way / visits.max(1.0)) / self.time(batches)
    }

    /// Time of each of these batches, in evaluations; the CPU's work is hidden where another batch
    /// is in flight.
    pub(super) fn time(self, batches: Batches) -> f32 {
        let size = batches.size as f32;
        let (device, host) = (self.fixed + size, self.handover + self.host * size);
        if batches.in_flight > 1 { device.max(host) } else { device + host }
    }

    /// Where that is greatest: of `B·(1 - aB) / (f + gB)` with `a = pending · in_flight / N`, at
    /// `aB·(2f + gB) = f`.
    fn best_size(self, visits: f32, in_flight: usize) -> f32 {
        let (fixed, slope) = if in_flight > 1 {
            (self.fixed, 1.0)
        } else {
            (self.fixed + self.handover, 1.0 + self.host)
        };
        let loss = self.pending * in_flight as f32 / visits.max(1.0);
        let size = ((fixed * fixed + fixed * slope / loss).sqrt() - fixed) / slope;
        // Beyond that, several batches wait for the CPU.
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
        assert!(throughput.is_unknown() && throughput.measured().is_none());
        let time = |size: usize| Duration::from_micros(1000 + 2 * size as u64);
        throughput.note(200, time(200), true);
        assert!(throughput.measured().is_none());
        for size in [1, 9, 30, 256, 250, 64] {
            throughput.note(size, time(size), true);
            throughput.note(size, 3 * time(size), true); // something else was in the way
            throughput.note(size, time(size) / 9, false); // the host was
        }
        for leaves in [1, 9, 30, 256, 250, 64] {
            // 5 µs a leaf.
            throughput.note_host(leaves, Duration::from_micros(5 * leaves as u64));
        }
        let measured = throughput.measured().unwrap();
        assert!((measured.fixed / 500.0 - 1.0).abs() < 0.01, "{measured:?}");
        assert!((measured.host / 2.5 - 1.0).abs() < 0.01, "{measured:?}");
        assert!(
            !throughput.is_unknown() && throughput.evaluations_in(Duration::from_secs(1)) > 0.0
        );
    }

    /// A process that is stopped for seconds does not believe for long that the device is so slow;
    /// a device that has become slow is believed soon.
    #[test]
    fn one_stall_is_soon_forgotten() {
        let mut throughput = Throughput::default();
        let second = Duration::from_secs(1);
        let quick = Duration::from_micros(400);
        for _ in 0..9 {
            throughput.note(8, quick, true);
        }
        throughput.note(8, 3 * second, true);
        assert!(throughput.evaluations_in(second) > 4000.0);
        for _ in 0..12 {
            throughput.note(8, 3 * second, true);
        }
        assert!(throughput.evaluations_in(second) < 4.0);
    }

    /// A process that is stopped between two batches does not take itself for slow.
    #[test]
    fn a_stall_between_batches_counts_little() {
        let mut throughput = Throughput::default();
        for (size, each) in [(1, 1001), (100, 1100)] {
            throughput.note(size, Duration::from_micros(each), true);
        }
        for _ in 0..30 {
            throughput.note_host(100, Duration::from_micros(300));
        }
        let host = |throughput: &Throughput| throughput.measured().unwrap().host;
        let before = host(&throughput);
        throughput.note_host(100, Duration::from_secs(3));
        assert!(host(&throughput) < 2.0 * before, "{before} {}", host(&throughput));
    }

    /// The CPU's work per leaf is what overlap hides, so a quick device is given two batches
    /// sooner, not later.
    #[test]
    fn a_quick_device_overlaps_sooner_where_the_cpu_was_measured() {
        let params = Params::default();
        let measured = Costs::of(&params, Measured { fixed: 64.0, host: 3.0 });
        let assumed = Costs::new(&params, 64.0);
        assert_eq!(assumed.best_batches(1000.0, 256, 2).in_flight, 1);
        assert_eq!(measured.best_batches(1000.0, 256, 2).in_flight, 2);
    }

    const CPU: Costs = Costs { fixed: 2.0, handover: 2.5, host: 0.0, pending: 3.0 };
    const GPU: Costs = Costs { fixed: 500.0, handover: 2.5, host: 1.5, pending: 3.0 };

    #[test]
    fn the_best_batches_are_the_best() {
        for (visits, costs) in [(100.0, CPU), (5000.0, CPU), (800.0, GPU), (1e5, GPU)] {
            let best = costs.best_batches(visits, u32::MAX, 2);
            let worth = |in_flight, size| costs.worth(visits, Batches { in_flight, size });
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
    fn two_batches_hide_the_work_of_the_cpu() {
        let time = |in_flight, size| GPU.time(Batches { in_flight, size }) as u32;
        assert_eq!((time(1, 100), time(2, 100)), (752, 600));
        assert_eq!(time(2, 2000), 3002, "the CPU is the slower one");
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
