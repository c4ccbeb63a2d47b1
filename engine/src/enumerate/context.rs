//! A run's context: its limits, threads, clock, stop token and progress line.

use std::sync::Arc;
use std::time::Duration;

use super::clock::{Clock, Times};
use super::error::EnumerateError;
use super::progress::{Progress, Status};
use super::worker_pool::{IndexQueue, WorkerPool};
use crate::search::StopToken;

/// The resources of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Memory for the sets, bytes.
    pub memory: u64,
    /// Threads, at least 1.
    pub threads: usize,
    /// Time between checkpoints.
    pub checkpoint: Duration,
}

/// Checkpoints may take one part in this many of the time.
const CHECKPOINT_RARITY: u32 = 10;

/// A run's limits, threads, clock, stop token and progress line.
#[derive(Debug)]
pub(super) struct RunContext<'a> {
    resources: Resources,
    workers: Arc<WorkerPool>,
    clock: Clock,
    stop: &'a StopToken,
    progress: Progress,
    /// When the next checkpoint is due.
    due: Duration,
}

impl<'a> RunContext<'a> {
    /// Starts a run, or resumes one whose earlier parts took `earlier`.
    ///
    /// # Errors
    /// When the threads cannot be started.
    pub(super) fn new(
        resources: &Resources,
        earlier: Times,
        stop: &'a StopToken,
    ) -> Result<Self, EnumerateError> {
        Ok(Self {
            resources: resources.clone(),
            workers: Arc::new(WorkerPool::new(resources.threads)?),
            clock: Clock::new(earlier),
            stop,
            progress: Progress::new(),
            due: resources.checkpoint,
        })
    }

    /// Memory for the sets, bytes.
    pub(super) fn memory(&self) -> u64 {
        self.resources.memory
    }

    /// The same in MiB, for people.
    pub(super) fn megabytes(&self) -> u64 {
        self.resources.memory >> 20
    }

    /// The threads.
    pub(super) fn workers(&self) -> Arc<WorkerPool> {
        Arc::clone(&self.workers)
    }

    /// The time taken so far.
    pub(super) fn times(&self) -> Times {
        self.clock.times()
    }

    /// What requests a stop.
    pub(super) fn stop(&self) -> &'a StopToken {
        self.stop
    }

    /// Whether a stop was requested.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.is_stopped()
    }

    /// Whether a checkpoint is due.
    pub(super) fn is_due(&self) -> bool {
        self.clock.elapsed() >= self.due
    }

    /// Calls `save` and plans the next checkpoint.
    pub(super) fn checkpoint<E>(
        &mut self,
        save: impl FnOnce(&Self) -> Result<(), E>,
    ) -> Result<(), E> {
        let began = self.clock.elapsed();
        save(self)?;
        let now = self.clock.elapsed();
        self.due =
            now + self.resources.checkpoint.max(now.saturating_sub(began) * CHECKPOINT_RARITY);
        Ok(())
    }

    /// Shows the progress.
    pub(super) fn show(&mut self, status: &Status) {
        self.progress.show(status);
    }

    /// Shows the progress; stops the queue when a checkpoint is due or a stop was requested.
    pub(super) fn watch(&mut self, queue: &IndexQueue, status: &Status) {
        if self.is_due() {
            queue.stop();
        }
        self.watch_stop(queue, status);
    }

    /// Shows the progress; stops the queue when a stop was requested.
    pub(super) fn watch_stop(&mut self, queue: &IndexQueue, status: &Status) {
        self.progress.show(status);
        if self.is_stopped() {
            queue.stop();
        }
    }
}

impl Drop for RunContext<'_> {
    fn drop(&mut self) {
        self.progress.end();
    }
}
