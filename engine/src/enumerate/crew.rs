//! Threads that do one thing together, and one that watches them.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, bounded};
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::error::EnumerateError;

/// How often the watching thread looks.
const TICK: Duration = Duration::from_millis(100);

/// The threads of a run, the same from its beginning to its end.
#[derive(Debug)]
pub(super) struct Crew {
    pool: ThreadPool,
}

impl Crew {
    /// So many threads.
    ///
    /// # Errors
    /// When the system refuses.
    pub(super) fn new(threads: usize) -> Result<Self, EnumerateError> {
        let pool = ThreadPoolBuilder::new().num_threads(threads.max(1)).build();
        Ok(Self { pool: pool.map_err(|error| EnumerateError::Threads(error.to_string()))? })
    }

    /// How many there are.
    pub(super) fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Runs `job` on every thread and calls `watch` now and then until all are through. Answers
    /// with what they return, or with one of their errors.
    ///
    /// # Errors
    /// An error of a job.
    pub(super) fn together<T: Send>(
        &self,
        watch: &mut dyn FnMut(),
        job: &(dyn Fn() -> Result<T, EnumerateError> + Sync),
    ) -> Result<Vec<T>, EnumerateError> {
        let (sender, receiver) = bounded(self.threads());
        self.pool.in_place_scope(|scope| {
            for _ in 0..self.threads() {
                let sender = sender.clone();
                scope.spawn(move |_| {
                    // The receiver lives until all have sent.
                    let _ = sender.send(job());
                });
            }
            drop(sender);
            let mut results = Vec::new();
            loop {
                match receiver.recv_timeout(TICK) {
                    Ok(result) => results.push(result),
                    Err(RecvTimeoutError::Timeout) => watch(),
                    Err(RecvTimeoutError::Disconnected) => return results.into_iter().collect(),
                }
            }
        })
    }

    /// Calls `job` with each number below `end`.
    ///
    /// # Errors
    /// An error of a job.
    pub(super) fn each(
        &self,
        end: usize,
        job: &(dyn Fn(usize) -> Result<(), EnumerateError> + Sync),
    ) -> Result<(), EnumerateError> {
        let turns = Turns::new(end);
        self.together(&mut || {}, &|| {
            while let Some(number) = turns.next() {
                job(number).inspect_err(|_| turns.stop())?;
            }
            Ok(())
        })?;
        Ok(())
    }
}

/// Numbers that threads take in turn, until there are no more or somebody says stop.
#[derive(Debug)]
pub(super) struct Turns {
    next: AtomicUsize,
    end: usize,
    stopped: AtomicBool,
}

impl Turns {
    /// The numbers below `end`.
    pub(super) fn new(end: usize) -> Self {
        Self { next: AtomicUsize::new(0), end, stopped: AtomicBool::new(false) }
    }

    /// The next number.
    pub(super) fn next(&self) -> Option<usize> {
        if self.is_stopped() {
            return None;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (number < self.end).then_some(number)
    }

    /// How many were taken.
    pub(super) fn taken(&self) -> usize {
        self.next.load(Ordering::Relaxed).min(self.end)
    }

    /// There are no more from now on.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether somebody said so.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::*;

    #[test]
    fn every_number_is_taken_once() {
        let sum = AtomicU64::new(0);
        let crew = Crew::new(3).unwrap();
        crew.each(1_000, &|number| {
            sum.fetch_add(number as u64, Ordering::Relaxed);
            Ok(())
        })
        .unwrap();
        assert_eq!(sum.into_inner(), 499_500);
    }

    #[test]
    fn an_error_ends_it() {
        let count = AtomicU64::new(0);
        let result = Crew::new(2).unwrap().each(1_000_000, &|_| {
            count.fetch_add(1, Ordering::Relaxed);
            Err(EnumerateError::TooWide)
        });
        assert!(matches!(result, Err(EnumerateError::TooWide)));
        assert!(count.into_inner() <= 2);
    }
}
