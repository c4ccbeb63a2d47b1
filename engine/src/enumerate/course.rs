//! What a run goes by: its bounds, the clock, who wants it to stop and who watches.

use std::sync::Arc;
use std::time::Duration;

use super::clock::{Clock, Times};
use super::crew::{Crew, Turns};
use super::error::EnumerateError;
use super::progress::{Progress, Status};
use crate::search::StopToken;

/// How a run is done, whatever it enumerates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resources {
    /// Memory for the sets, bytes.
    pub memory: u64,
    /// Threads, at least 1.
    pub threads: usize,
    /// Time between checkpoints.
    pub checkpoint: Duration,
}

/// A checkpoint may take this share of the time, one part in so many.
const RARELY: u32 = 10;

/// The course of a run.
#[derive(Debug)]
pub(super) struct Course<'a> {
    resources: Resources,
    crew: Arc<Crew>,
    clock: Clock,
    stop: &'a StopToken,
    progress: Progress,
    /// When the next checkpoint is due.
    due: Duration,
}

impl<'a> Course<'a> {
    /// Starts, or goes on after runs that took so long.
    ///
    /// # Errors
    /// When there are no threads to be had.
    pub(super) fn new(
        resources: &Resources,
        earlier: Times,
        stop: &'a StopToken,
    ) -> Result<Self, EnumerateError> {
        Ok(Self {
            resources: resources.clone(),
            crew: Arc::new(Crew::new(resources.threads)?),
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
    pub(super) fn crew(&self) -> Arc<Crew> {
        Arc::clone(&self.crew)
    }

    /// What it took until now.
    pub(super) fn times(&self) -> Times {
        self.clock.times()
    }

    /// Whether somebody wants it to stop.
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
        self.due = now + self.resources.checkpoint.max(now.saturating_sub(began) * RARELY);
        Ok(())
    }

    /// Tells how it stands, and ends the turns when a checkpoint is due or somebody wants to stop.
    pub(super) fn watch(&mut self, turns: &Turns, status: &Status) {
        if self.is_due() {
            turns.stop();
        }
        self.watch_stop(turns, status);
    }

    /// Tells how it stands, and ends the turns when somebody wants to stop.
    pub(super) fn watch_stop(&mut self, turns: &Turns, status: &Status) {
        self.progress.show(status);
        if self.is_stopped() {
            turns.stop();
        }
    }
}

impl Drop for Course<'_> {
    fn drop(&mut self) {
        self.progress.end();
    }
}
