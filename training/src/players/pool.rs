//! Long jobs, several at once; the calling thread receives their results.

use std::path::Path;
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded, unbounded};
use tesla_engine::search::StopToken;

use super::side::Side;

/// How often the calling thread checks whether it should stop.
const LOOK: Duration = Duration::from_millis(100);

/// Most jobs at once that a command takes: `--concurrency`.
pub const MOST_AT_ONCE: i64 = 1024;

/// How many work, and until when.
#[derive(Clone, Copy, Debug)]
pub struct Pool<'a> {
    /// Jobs at once.
    pub concurrency: usize,
    /// Set when the run should stop.
    pub interrupted: &'a StopToken,
}

/// Where a run works, and who hears of it.
#[derive(Clone, Copy)]
pub struct RunContext<'a> {
    /// The run's folder.
    pub folder: &'a Path,
    /// Who works.
    pub pool: Pool<'a>,
    /// Gets sentences for people.
    pub say: &'a dyn Fn(&str),
}

impl std::fmt::Debug for RunContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunContext").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Pool<'_> {
    /// Says so where more games are played by time than there are cores.
    pub fn warn_of_time(self, sides: &[Side], say: &dyn Fn(&str)) {
        let is_timed = sides.iter().any(|side| side.limit.is_timed());
        let cores = thread::available_parallelism().map_or(1, usize::from);
        if is_timed && self.concurrency > cores {
            say(&format!(
                "{} games at once by time on {cores} cores: the sides will be short of time",
                self.concurrency
            ));
        }
    }

    /// Does `jobs` in their order, up to `concurrency` at once, until all are done or somebody
    /// wants to stop. `worker` makes each worker in its own thread, with the token that ends its
    /// waits. `hear` gets each result as it comes, or `None` where none has come for a moment; when
    /// it says `false` or fails, nobody works on.
    ///
    /// # Errors
    /// What `hear` failed with.
    pub fn run<J: Send, R: Send, E, W: FnMut(J) -> R>(
        self,
        jobs: Vec<J>,
        worker: impl Fn(StopToken) -> W + Sync,
        hear: impl FnMut(Option<R>) -> Result<bool, E>,
    ) -> Result<(), E> {
        let workers = self.concurrency.clamp(1, jobs.len().max(1));
        let (todo, queue) = unbounded();
        for job in jobs {
            let _ = todo.send(job);
        }
        drop(todo);
        // Bounded: a result is soon received, and on disk.
        let (results, inbox) = bounded(workers);
        let stop = StopToken::default();
        thread::scope(|scope| {
            for _ in 0..workers {
                let (queue, results, stop, worker) =
                    (queue.clone(), results.clone(), stop.clone(), &worker);
                scope.spawn(move || {
                    let mut work = worker(stop.clone());
                    for job in queue {
                        if stop.is_stopped() || results.send(work(job)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(results);
            let outcome = listen(&inbox, self.interrupted, &stop, hear);
            // A worker that finishes later finds the channel closed.
            drop(inbox);
            // Whatever the reason to end: no worker may wait for its job to end by itself.
            stop.stop();
            outcome
        })
    }
}

fn listen<R, E>(
    inbox: &Receiver<R>,
    interrupted: &StopToken,
    stop: &StopToken,
    mut hear: impl FnMut(Option<R>) -> Result<bool, E>,
) -> Result<(), E> {
    loop {
        let result = match inbox.recv_timeout(LOOK) {
            Ok(result) => Some(result),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        };
        if !hear(result)? {
            return Ok(());
        }
        if interrupted.is_stopped() {
            stop.stop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Job 0 is done at once, all others wait until they are told to stop.
    fn worker(stop: StopToken) -> impl FnMut(usize) -> usize {
        move |job| {
            while job > 0 && !stop.is_stopped() {
                thread::sleep(Duration::from_millis(1));
            }
            job
        }
    }

    #[test]
    fn every_job_is_done_once() {
        for concurrency in [0, 1, 3, 100] {
            let mut done = Vec::new();
            let hear = |job: Option<usize>| {
                done.extend(job);
                Ok::<_, ()>(true)
            };
            let jobs = (0..10).collect();
            let never = StopToken::default();
            let pool = Pool { concurrency, interrupted: &never };
            pool.run(jobs, |_| |job| job, hear).unwrap();
            done.sort_unstable();
            assert!(done.into_iter().eq(0..10));
        }
    }

    #[test]
    fn nobody_works_on_after_a_failure_or_an_interrupt() {
        let interrupted = StopToken::default();
        let four = Pool { concurrency: 4, interrupted: &interrupted };
        let failed = four.run((0..9).collect(), worker, |job| job.map_or(Ok(true), Err));
        assert_eq!(failed, Err(0));
        let hear = |_| {
            interrupted.stop();
            Ok::<_, ()>(true)
        };
        four.run((0..9).collect(), worker, hear).unwrap();
    }
}
