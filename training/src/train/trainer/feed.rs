//! Batches encoded ahead of the workers, in threads of their own.

use std::sync::Arc;
use std::thread::{JoinHandle, spawn};

use crossbeam_channel::{Receiver, bounded};

use super::gradients::Job;
use crate::train::dataset::{Dataset, WindowRef};

/// Batches that wait encoded over all encoders, at least; a step's batches where these are more.
const AHEAD: usize = 8;

/// The rest of an epoch's batches, in the plan's order whatever the number of encoders: encoder `k`
/// of `n` makes every `n`-th batch from the `k`-th on, and they are asked in turn.
#[derive(Debug)]
pub(super) struct Feed {
    encoders: Vec<(Receiver<Job>, JoinHandle<()>)>,
    next: usize,
}

impl Feed {
    /// Begins to encode `plan`, of which `step` batches are asked for at a time; with
    /// `is_consistent` also the windows' last positions as wholes.
    pub(super) fn start(
        dataset: &Arc<Dataset>,
        plan: &[Vec<WindowRef>],
        (encoders, step): (usize, usize),
        is_consistent: bool,
    ) -> Self {
        let ahead = AHEAD.max(step).div_ceil(encoders).max(2);
        let encoder = |share: Vec<Vec<WindowRef>>| {
            let (sender, receiver) = bounded(ahead);
            let dataset = Arc::clone(dataset);
            let thread = spawn(move || {
                for windows in share {
                    let (batch, labels) = dataset.batch(&windows);
                    let whole = is_consistent.then(|| dataset.whole(&windows));
                    if sender.send(Job { batch, labels, whole }).is_err() {
                        break;
                    }
                }
            });
            (receiver, thread)
        };
        let share = |k| plan.iter().skip(k).step_by(encoders).cloned().collect();
        Self { encoders: (0..encoders).map(|k| encoder(share(k))).collect(), next: 0 }
    }

    /// The next batches, at most `count`; fewer where the epoch ends, then none.
    pub(super) fn take(&mut self, count: usize) -> Vec<Job> {
        let mut jobs = Vec::with_capacity(count);
        while jobs.len() < count {
            // One encoder's end is the plan's end: the others have nothing later.
            let Ok(job) = self.encoders[self.next].0.recv() else { break };
            jobs.push(job);
            self.next = (self.next + 1) % self.encoders.len();
        }
        jobs
    }

    /// Stops encoding; a panic of an encoder goes on in the caller.
    pub(super) fn end(self) {
        for (receiver, thread) in self.encoders {
            drop(receiver);
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
        }
    }
}
