//! One search on a thread of its own, and another thread that passes on what is seen of it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};
use shakmaty::Move;

use super::hub::Hub;
use super::lockstep::Lockstep;
use crate::chess::game::Game;
use crate::search::clock::Budget;
use crate::search::watch::Watch;
use crate::search::{Limits, Search, StopToken, Task};

/// How long the watcher waits for a snapshot before it looks around.
const PATIENCE: Duration = Duration::from_millis(200);

/// One run of a search.
#[derive(Debug)]
pub struct Run {
    /// Of the controller's.
    pub number: u64,
    /// In lockstep.
    pub runner: u64,
    /// What to search.
    pub game: Game,
    /// Until when.
    pub limits: Limits,
    /// Or earlier.
    pub stop: StopToken,
}

/// What a runner is told; done one after another.
enum Order {
    Run(Box<Run>),
    /// Tell of the position behind these moves of the last run.
    Look(u64, Vec<Move>),
}

/// A search that waits for what to do. Its threads end when it is dropped.
pub struct Runner {
    orders: Sender<Order>,
    watch: Watch,
    /// Held for the watcher, which ends without it.
    _life: Arc<()>,
}

impl std::fmt::Debug for Runner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runner").field("watch", &self.watch).finish_non_exhaustive()
    }
}

impl Runner {
    /// A runner of this search, whose evaluator goes in `lockstep` under the number in `number`.
    pub fn new(
        search: Box<dyn Search>,
        lockstep: Lockstep,
        runner: Arc<AtomicU64>,
        hub: &Arc<Hub>,
    ) -> Self {
        let (orders, inbox) = unbounded();
        let watch = Watch::default();
        let life = Arc::new(());
        let worker = Worker {
            search,
            watch: watch.clone(),
            lockstep,
            runner,
            last: Arc::default(),
            hub: Arc::downgrade(hub),
        };
        let (hub, alive, watched) = (Arc::downgrade(hub), Arc::downgrade(&life), watch.clone());
        let last = Arc::clone(&worker.last);
        thread::spawn(move || worker.work(&inbox));
        thread::spawn(move || pass_on(&watched, &last, &hub, &alive));
        Self { orders, watch, _life: life }
    }

    /// Searches, when the runs before it have ended.
    pub fn run(&self, run: Run) {
        self.watch.look_at(Vec::new());
        let _ = self.orders.send(Order::Run(Box::new(run)));
    }

    /// Snapshots tell of this place too, also when the run has ended.
    pub fn look_at(&self, run: u64, path: Vec<Move>) {
        self.watch.look_at(path.clone());
        self.watch.ask();
        let _ = self.orders.send(Order::Look(run, path));
    }
}

/// Passes snapshots on while somebody wants them.
fn pass_on(watch: &Watch, last: &Mutex<(u64, u64)>, hub: &Weak<Hub>, alive: &Weak<()>) {
    while alive.strong_count() > 0 {
        let Some(hub) = hub.upgrade() else { return };
        if !hub.is_heard() {
            drop(hub);
            thread::sleep(PATIENCE);
        } else if let Some((run, snapshot)) = watch.next_of_run(PATIENCE) {
            let (number, runner) = *last.lock().unwrap_or_else(PoisonError::into_inner);
            // Without a limit it waits to be stopped, and the others need not wait with it.
            if snapshot.progress.stopped.is_some() && run == number {
                hub.lockstep().leave(runner);
            }
            hub.tell(run, snapshot);
        }
    }
}

struct Worker {
    search: Box<dyn Search>,
    watch: Watch,
    lockstep: Lockstep,
    runner: Arc<AtomicU64>,
    /// Number and runner of the last run.
    last: Arc<Mutex<(u64, u64)>>,
    hub: Weak<Hub>,
}

impl Worker {
    fn work(mut self, orders: &Receiver<Order>) {
        self.search.set_watch(Some(self.watch.clone()));
        for order in orders {
            match order {
                Order::Run(run) => self.run(&run),
                Order::Look(run, path) => {
                    // A search that did not take part in that run knows nothing of it.
                    let last = self.last.lock().unwrap_or_else(PoisonError::into_inner).0;
                    if run == last
                        && let (Some(hub), Some(seen)) =
                            (self.hub.upgrade(), self.search.snapshot(&path))
                    {
                        hub.tell(run, seen);
                    }
                }
            }
        }
    }

    fn run(&mut self, run: &Run) {
        let _ = self.watch.take();
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = (run.number, run.runner);
        self.watch.begin(run.number);
        self.runner.store(run.runner, Ordering::Release);
        let Run { game, limits, stop, .. } = run;
        let budget = Budget::new(limits, Duration::ZERO);
        // A bug in one search must not take the page with it.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            self.search.new_game();
            self.search.search(&Task { game, limits, budget: &budget, stop }, &mut |_| {})
        }));
        self.lockstep.leave(run.runner);
        let Some(hub) = self.hub.upgrade() else { return };
        match outcome {
            Ok(outcome) => {
                if let Some(error) = outcome.error {
                    hub.note(&error.to_string());
                }
            }
            Err(_) => hub.note("internal error in the search; please report it"),
        }
        if let Some(snapshot) = self.watch.take() {
            hub.tell(run.number, snapshot);
        }
        hub.ended(run.number);
    }
}
