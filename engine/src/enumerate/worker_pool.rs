//! A thread pool that runs one job on all its threads, watched by the caller.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use crossbeam_channel::{RecvTimeoutError, bounded};
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::error::EnumerateError;

/// How often the caller watches.
const TICK: Duration = Duration::from_millis(100);

/// The threads of a run, the same from its beginning to its end.
#[derive(Debug)]
pub(super) struct WorkerPool {
    pool: ThreadPool,
}

impl WorkerPool {
    /// Starts `threads` threads, at least one.
    ///
    /// # Errors
    /// When the system refuses.
    pub(super) fn new(threads: usize) -> Result<Self, EnumerateError> {
        let pool = ThreadPoolBuilder::new().num_threads(threads.max(1)).build();
        Ok(Self { pool: pool.map_err(|error| EnumerateError::Threads(error.to_string()))? })
    }

    /// The number of threads.
    pub(super) fn threads(&self) -> usize {
        self.pool.current_num_threads()
    }

    /// Runs `job` on every thread and calls `watch` now and then until all are done. Returns
    /// their results, or one of their errors.
    ///
    /// # Errors
    /// An error of a job.
    pub(super) fn run_on_all<T: Send>(
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
    pub(super) fn for_each(
        &self,
        end: usize,
        job: &(dyn Fn(usize) -> Result<(), EnumerateError> + Sync),
    ) -> Result<(), EnumerateError> {
        let queue = IndexQueue::new(end);
        self.run_on_all(&mut || {}, &|| {
            while let Some(number) = queue.next() {
                job(number).inspect_err(|_| queue.stop())?;
            }
            Ok(())
        })?;
        Ok(())
    }
}

/// Indices that threads take one by one until none are left or the queue is stopped.
#[derive(Debug)]
pub(super) struct IndexQueue {
    next: AtomicUsize,
    end: usize,
    stopped: AtomicBool,
}

impl IndexQueue {
    /// The indices below `end`.
    pub(super) fn new(end: usize) -> Self {
        Self { next: AtomicUsize::new(0), end, stopped: AtomicBool::new(false) }
    }

    /// The next index.
    pub(super) fn next(&self) -> Option<usize> {
        if self.is_stopped() {
            return None;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (number < self.end).then_some(number)
    }

    /// The number of indices taken.
    pub(super) fn taken(&self) -> usize {
        self.next.load(Ordering::Relaxed).min(self.end)
    }

    /// Hands out no more indices.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Whether [`IndexQueue::stop`] was called.
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
        let workers = WorkerPool::new(3).unwrap();
        workers
            .for_each(1_000, &|number| {
                sum.fetch_add(number as u64, Ordering::Relaxed);
                Ok(())
            })
            .unwrap();
        assert_eq!(sum.into_inner(), 499_500);
    }

    #[test]
    fn an_error_ends_it() {
        let count = AtomicU64::new(0);
        let result = WorkerPool::new(2).unwrap().for_each(1_000_000, &|_| {
            count.fetch_add(1, Ordering::Relaxed);
            Err(EnumerateError::TooWide)
        });
        assert!(matches!(result, Err(EnumerateError::TooWide)));
        assert!(count.into_inner() <= 2);
    }
}
