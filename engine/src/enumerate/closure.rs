//! Closes the set of positions, sweep by sweep over its buckets.
//!
//! A sweep lets the threads take bucket after bucket and expand what waits there; what they find
//! goes to its bucket, and waits. When a sweep leaves nothing waiting the set is closed. A sweep
//! ends early when memory is full, a checkpoint is due or a stop is requested; then all write
//! buffers are empty, and memory and files together are the whole state.

use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::bucket::Files;
use super::buckets::{BUCKETS, Buckets, bucket_of};
use super::context::RunContext;
use super::distinct::{Distinct, PARTS};
use super::error::EnumerateError;
use super::expand::Expander;
use super::folder::Folder;
use super::log::{Kind, Log, LogFiles};
use super::packed::Packed;
use super::progress::Status;
use super::space::Space;
use super::tally::{Class, Tally};
use super::worker_pool::{IndexQueue, WorkerPool};
use super::write_buffer::WriteBuffer;

/// Positions that a thread expands before it checks memory and the queue.
const CHUNK: usize = 512;

/// The closure as far as it is known.
#[derive(Debug)]
pub(super) struct Closure<'a> {
    space: &'a Space,
    buckets: Buckets,
    /// Roots that may be met twice, by class.
    pub(super) roots: Distinct,
    keeps_roots: bool,
    pub(super) edges: Option<LogFiles>,
    pub(super) tally: Tally,
    /// The bucket where the next sweep begins.
    cursor: usize,
    /// Positions expanded, for people to see.
    expanded: AtomicU64,
}

/// What a checkpoint keeps of a closure.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct ClosureState {
    buckets: Vec<Files>,
    roots: Vec<Log>,
    edges: Option<Vec<Log>>,
    tally: Tally,
    cursor: usize,
}

impl ClosureState {
    /// Nothing found yet.
    pub(super) fn new(keeps_edges: bool) -> Self {
        Self {
            buckets: (0..BUCKETS).map(Files::new).collect(),
            roots: Distinct::new(Class::ALL.len(), 0).logs(),
            edges: keeps_edges.then(|| LogFiles::empty(Kind::Edges, BUCKETS)),
            tally: Tally::default(),
            cursor: 0,
        }
    }

    /// Whether no position was expanded yet.
    pub(super) fn is_new(&self) -> bool {
        self.tally.fewest.is_none()
    }

    /// The files it speaks of.
    pub(super) fn logs(&self) -> impl Iterator<Item = &Log> {
        let edges = self.edges.iter().flatten();
        self.buckets.iter().flat_map(Files::logs).chain(&self.roots).chain(edges)
    }

    /// The files of edges, if there are any.
    pub(super) fn edges(&self) -> Option<&[Log]> {
        self.edges.as_deref()
    }

    /// What was counted.
    pub(super) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Lets go of the roots' files.
    pub(super) fn forget_roots(&mut self) {
        self.roots = Distinct::new(Class::ALL.len(), 0).logs();
    }
}

/// What the threads of a sweep share.
struct Sweep<'a> {
    closure: &'a Closure<'a>,
    folder: Option<&'a Folder>,
    queue: &'a IndexQueue,
    memory: u64,
}

impl<'a> Closure<'a> {
    /// Goes on from a state. `firsts` are where it begins; to begin there again changes nothing.
    pub(super) fn new(
        space: &'a Space,
        state: ClosureState,
        keeps_roots: bool,
        firsts: &[u128],
    ) -> Self {
        let ClosureState { buckets, roots, edges, tally, cursor } = state;
        let closure = Self {
            space,
            buckets: Buckets::new(buckets, space.size()),
            roots: Distinct::with_logs(roots, Class::ALL.len()),
            keeps_roots,
            edges: edges.map(LogFiles::new),
            expanded: AtomicU64::new(tally.positions.iter().sum()),
            tally,
            cursor: cursor % BUCKETS,
        };
        for &first in firsts {
            closure.buckets.add(bucket_of(first), &[first]);
        }
        closure
    }

    /// Adds a root that leads here from outside the space's indices.
    pub(super) fn add_root(&self, class: Class, root: Packed) {
        let part = self.roots.part_of(class.number(), root);
        self.roots.add(part, &[root]);
    }

    /// Shows the progress as of a run that has expanded so many before.
    pub(super) fn count_on_from(&self, before: u64) {
        self.expanded.fetch_add(before, Ordering::Relaxed);
    }

    /// Whether positions wait.
    pub(super) fn has_work(&self) -> bool {
        self.buckets.has_work()
    }

    /// Memory of the sets, bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.buckets.bytes() + self.roots.bytes()
    }

    /// Expands what waits, bucket by bucket, until all are done or there is a reason to stop.
    ///
    /// # Errors
    /// When a file cannot be used or is damaged. What is in memory is no state then.
    pub(super) fn sweep(
        &mut self,
        folder: Option<&Folder>,
        context: &mut RunContext<'_>,
    ) -> Result<(), EnumerateError> {
        let queue = IndexQueue::new(BUCKETS);
        let sweep = Sweep { closure: self, folder, queue: &queue, memory: context.memory() };
        let workers = context.workers();
        let tallies = workers.run_on_all(&mut || context.watch(&queue, &self.status()), &|| {
            sweep.work().inspect_err(|_| queue.stop())
        })?;
        self.cursor = (self.cursor + queue.taken()) % BUCKETS;
        for tally in tallies {
            self.tally.add(&tally);
        }
        Ok(())
    }

    fn status(&self) -> Status {
        Status {
            what: "positions",
            count: self.expanded.load(Ordering::Relaxed),
            waiting: self.buckets.waiting(),
            bytes: self.bytes(),
            ..Status::default()
        }
    }

    /// Makes room: compares roots early, then moves them to files, then buckets, those
    /// that are expanded last first.
    ///
    /// # Errors
    /// When there is no folder and comparing was not enough, or the disk refuses.
    pub(super) fn make_room(
        &self,
        folder: Option<&Folder>,
        context: &RunContext<'_>,
    ) -> Result<(), EnumerateError> {
        let (workers, memory) = (context.workers(), context.memory());
        // Where there are no files, deduplicating roots again, for little, is all there is.
        let enough = if folder.is_some() { memory / 4 * 3 } else { memory / 16 * 15 };
        let is_tight = || self.bytes() > enough;
        workers.for_each(PARTS, &|part| {
            self.roots.compact(part);
            Ok(())
        })?;
        if !is_tight() {
            return Ok(());
        }
        let folder = folder.ok_or(EnumerateError::Full(context.megabytes()))?;
        workers.for_each(PARTS, &|part| self.roots.spill(part, folder))?;
        if is_tight() {
            workers.for_each(BUCKETS, &|step| {
                if self.bytes() <= memory / 2 {
                    return Ok(());
                }
                let bucket = (self.cursor + BUCKETS - 1 - step) % BUCKETS;
                self.buckets.spill(bucket, folder)
            })?;
        }
        Ok(())
    }

    /// Moves all positions to their files: none waits any more, and the roots need the memory.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn spill_buckets(
        &self,
        folder: &Folder,
        workers: &WorkerPool,
    ) -> Result<(), EnumerateError> {
        workers.for_each(BUCKETS, &|bucket| self.buckets.spill(bucket, folder))
    }

    /// Puts all that is in memory on the disk, as well; what a checkpoint then keeps.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn save(
        &self,
        folder: &Folder,
        workers: &WorkerPool,
    ) -> Result<ClosureState, EnumerateError> {
        workers.for_each(BUCKETS.max(PARTS), &|number| {
            if number < BUCKETS {
                self.buckets.save(number, folder)?;
                self.edges.iter().try_for_each(|edges| edges.sync(number, folder.path()))?;
            }
            if number < PARTS {
                self.roots.spill(number, folder)?;
                self.roots.sync(number, folder)?;
            }
            Ok(())
        })?;
        Ok(self.state())
    }

    /// What the files have, and the counts.
    pub(super) fn state(&self) -> ClosureState {
        ClosureState {
            buckets: self.buckets.files(),
            roots: self.roots.logs(),
            edges: self.edges.as_ref().map(LogFiles::logs),
            tally: self.tally.clone(),
            cursor: self.cursor,
        }
    }
}

impl Sweep<'_> {
    /// What each thread does.
    fn work(&self) -> Result<Tally, EnumerateError> {
        let Closure { space, buckets, roots, edges, keeps_roots, expanded, .. } = self.closure;
        let mut expander = Expander::new(space, *keeps_roots, edges.is_some());
        let mut buffer = WriteBuffer::new(buckets, roots);
        let mut chunk = Vec::with_capacity(CHUNK + 64);
        'work: while let Some(step) = self.queue.next() {
            let bucket = (self.closure.cursor + step) % BUCKETS;
            loop {
                buckets.take(bucket, self.folder, CHUNK, &mut chunk)?;
                if chunk.is_empty() {
                    break;
                }
                for &index in &chunk {
                    let done = expander.expand(index, &mut buffer);
                    done.ok_or_else(|| buckets.damaged(bucket, self.folder))?;
                }
                expanded.fetch_add(chunk.len() as u64, Ordering::Relaxed);
                chunk.clear();
                if let (Some(files), Some(folder), Some(records)) =
                    (edges, self.folder, &mut expander.edges)
                {
                    files.append(bucket, folder.path(), records)?;
                    records.clear();
                }
                if self.closure.bytes() > self.memory {
                    self.queue.stop();
                }
                if self.queue.is_stopped() {
                    break 'work;
                }
            }
        }
        buffer.flush();
        Ok(expander.tally)
    }
}
