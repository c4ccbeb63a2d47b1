//! Where an evaluator's time goes, batch by batch: work, and waiting for work.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// What a batch took of the evaluator's time.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    /// Positions in the batch.
    pub positions: usize,
    /// Time for its answer.
    pub busy: Duration,
    /// Waiting for it since the batch before; zero for the first one.
    pub idle: Duration,
}

/// What was spent on each batch so far. Its copies stay readable when a search owns the evaluator.
#[derive(Clone, Debug, Default)]
pub struct Meter(Arc<Mutex<Vec<Spent>>>);

impl Meter {
    pub(crate) fn note(&self, spent: Spent) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(spent);
    }

    /// The batches, in order.
    pub fn batches(&self) -> Vec<Spent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The batches since the last time they were taken, in order.
    pub fn take(&self) -> Vec<Spent> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Time the evaluator worked.
    pub fn busy_time(&self) -> Duration {
        self.batches().iter().map(|spent| spent.busy).sum()
    }

    /// Time it waited for work between the batches.
    pub fn idle_time(&self) -> Duration {
        self.batches().iter().map(|spent| spent.idle).sum()
    }

    /// Share of the time since the first batch that it worked, in `[0, 1]`; 1 before it.
    pub fn busy_share(&self) -> f64 {
        let (busy, idle) = (self.busy_time().as_secs_f64(), self.idle_time().as_secs_f64());
        if busy + idle > 0.0 { busy / (busy + idle) } else { 1.0 }
    }
}
