//! Watching a running search without slowing it: a slot for one snapshot, which the search fills
//! between batches on request. A slow reader gets the latest snapshot and misses some.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};
use shakmaty::Move;

use crate::search::snapshot::Snapshot;

/// Least time between two snapshots of a running search: twenty a second.
pub const INTERVAL: Duration = Duration::from_millis(50);

/// Both ends of the slot; clones share it. The watcher asks and waits, the search fills.
#[derive(Clone)]
pub struct Watch {
    shared: Arc<Shared>,
    slot: Sender<(u64, Snapshot)>,
    latest: Receiver<(u64, Snapshot)>,
}

#[derive(Default)]
struct Shared {
    is_asked: AtomicBool,
    /// The moves from the root to the watched position.
    path: Mutex<Vec<Move>>,
    /// The watcher's number of what runs.
    run: AtomicU64,
}

impl Default for Watch {
    fn default() -> Self {
        let (slot, latest) = bounded(1);
        Self { shared: Arc::default(), slot, latest }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("path", &self.path()).finish_non_exhaustive()
    }
}

impl Watch {
    /// Asks for the next snapshot.
    pub fn ask(&self) {
        self.shared.is_asked.store(true, Ordering::Release);
    }

    /// Requests the next snapshot and waits for it, at most this long. One that was made before the
    /// call counts too.
    pub fn next(&self, patience: Duration) -> Option<Snapshot> {
        Some(self.next_of_run(patience)?.1)
    }

    /// The same with the number of the run that it is of.
    pub fn next_of_run(&self, patience: Duration) -> Option<(u64, Snapshot)> {
        self.ask();
        self.latest.recv_timeout(patience).ok()
    }

    /// From now on snapshots are of the run with this number.
    pub fn begin(&self, run: u64) {
        self.shared.run.store(run, Ordering::Release);
    }

    /// The snapshot that is ready, if one is.
    pub fn take(&self) -> Option<Snapshot> {
        Some(self.latest.try_recv().ok()?.1)
    }

    /// From now on snapshots describe the position after these moves too.
    pub fn look_at(&self, path: Vec<Move>) {
        *self.shared.path.lock().unwrap_or_else(PoisonError::into_inner) = path;
    }

    /// The moves to the watched position.
    pub fn path(&self) -> Vec<Move> {
        self.shared.path.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether a snapshot was requested: one load of a flag.
    pub fn is_asked(&self) -> bool {
        self.shared.is_asked.load(Ordering::Acquire)
    }

    /// Puts a snapshot into the slot, replacing one that nobody took; never waits.
    pub fn put(&self, snapshot: Snapshot) {
        self.shared.is_asked.store(false, Ordering::Release);
        let _ = self.latest.try_recv();
        // Where another search fills the same slot in this moment, its snapshot is as good.
        let _ = self.slot.try_send((self.shared.run.load(Ordering::Acquire), snapshot));
    }
}

/// The search's end of a watch.
#[derive(Debug, Default)]
pub struct Watched {
    watch: Option<Watch>,
    /// When the last snapshot was made, since `go`.
    last: Option<Duration>,
}

impl Watched {
    /// Watched from now on; `None` = by nobody.
    pub fn set(&mut self, watch: Option<Watch>) {
        (self.watch, self.last) = (watch, None);
    }

    /// A search begins: its times count from zero.
    pub fn begin(&mut self) {
        self.last = None;
    }

    /// The watch, if a snapshot is due. Reads the time only when a snapshot was requested.
    pub fn due(&mut self, now: impl FnOnce() -> Duration) -> Option<Watch> {
        let watch = self.watch.as_ref().filter(|watch| watch.is_asked())?;
        let now = now();
        if self.last.is_some_and(|last| now < last + INTERVAL) {
            return None;
        }
        self.last = Some(now);
        Some(watch.clone())
    }

    /// The watch, for the last snapshot of a search.
    pub fn watch(&self) -> Option<&Watch> {
        self.watch.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(search: &str) -> Snapshot {
        Snapshot { search: search.to_owned(), ..Snapshot::default() }
    }

    #[test]
    fn only_who_asks_gets_one_and_only_the_latest() {
        let watch = Watch::default();
        let mut watched = Watched::default();
        watched.set(Some(watch.clone()));
        assert!(watched.due(|| Duration::ZERO).is_none());
        watch.ask();
        for name in ["first", "second"] {
            watched.begin();
            watch.ask();
            watched.due(|| Duration::ZERO).unwrap().put(snapshot(name));
        }
        assert!(!watch.is_asked());
        assert_eq!(watch.next(Duration::ZERO).map(|told| told.search), Some("second".to_owned()));
        assert_eq!(watch.take(), None);
    }

    /// What an earlier run leaves in the slot is not taken for the next one's.
    #[test]
    fn a_snapshot_is_of_its_run() {
        let watch = Watch::default();
        watch.begin(7);
        watch.put(snapshot("old"));
        watch.begin(8);
        assert_eq!(watch.next_of_run(Duration::ZERO).map(|(run, _)| run), Some(7));
        watch.put(snapshot("new"));
        assert_eq!(watch.next_of_run(Duration::ZERO).map(|(run, _)| run), Some(8));
    }

    #[test]
    fn at_most_twenty_a_second() {
        let watch = Watch::default();
        let mut watched = Watched::default();
        watched.set(Some(watch.clone()));
        let mut made = 0;
        for millisecond in 0..1000 {
            watch.ask();
            if let Some(watch) = watched.due(|| Duration::from_millis(millisecond)) {
                watch.put(snapshot("one"));
                made += 1;
            }
        }
        assert_eq!(made, 20);
    }
}
