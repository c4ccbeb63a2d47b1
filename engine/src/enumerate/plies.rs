//! Distinct positions after each number of plies: OEIS A083276 from the start position.
//!
//! Unlike a closure this follows every move. The positions of a ply are those of the ply before,
//! deduplicated, and one move on; a position that can be reached after different numbers of plies
//! counts at each.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use shakmaty::{CastlingMode, Chess, Position as _};

use super::bucket::NO_POSITION;
use super::checkpoint::{CheckpointStore, Ended, PliesState, Task, Work, fen_of};
use super::clock::Times;
use super::context::{Resources, RunContext};
use super::distinct::{Distinct, PARTS};
use super::error::EnumerateError;
use super::folder::Folder;
use super::packed::Packed;
use super::progress::Status;
use super::worker_pool::{IndexQueue, WorkerPool};
use crate::search::StopToken;

/// Positions that a thread buffers for one part.
const BUFFERED: usize = 64;

/// Positions that a thread expands before it checks the memory.
const CHUNK: usize = 1024;

/// What to count.
#[derive(Clone, Debug)]
pub struct PliesRequest {
    /// The first position.
    pub start: Chess,
    /// The last ply.
    pub plies: u32,
    /// Where spilt sets and checkpoints go.
    pub folder: Option<PathBuf>,
    /// How.
    pub resources: Resources,
}

/// One ply while it is counted.
#[derive(Debug)]
struct Level {
    source: Distinct,
    target: Distinct,
    done: Vec<Option<u64>>,
    mode: CastlingMode,
    /// Whether there is a ply after it.
    expands: bool,
}

/// Counts the distinct positions of the plies from 0 on, or goes on with what the folder holds of
/// it.
///
/// # Errors
/// When memory or disk do not suffice or the folder cannot be used.
pub fn count_plies(
    request: &PliesRequest,
    stop: &StopToken,
) -> Result<Ended<Vec<u64>>, EnumerateError> {
    let fen = fen_of(&request.start);
    let task = Task { fen, plies: Some(request.plies), edges: false, roots: false, spaces: false };
    let (store, state) = CheckpointStore::open(request.folder.as_deref(), task)?;
    let times = state.as_ref().map_or_else(Times::default, |state| state.times);
    let mode = request.start.castles().mode();
    let (mut counts, mut level) = match state.map(|state| state.work) {
        Some(Work::Plies(state)) => Level::resume(state, mode),
        _ => (Vec::new(), Level::first(&request.start)),
    };
    let mut context = RunContext::new(&request.resources, times, stop)?;
    // From here on the folder is known as ours.
    level.checkpoint(&counts, &store, &mut context)?;
    while counts.len() <= request.plies as usize {
        level.expands = counts.len() < request.plies as usize;
        level.count(store.folder.as_ref(), &mut context)?;
        if let Some(count) = level.done.iter().copied().sum::<Option<u64>>() {
            counts.push(count);
            let target = Distinct::new(1, counts.len() as u32 + 1);
            level.source = std::mem::replace(&mut level.target, target);
            level.done = vec![None; PARTS];
        }
        let is_over = context.is_stopped() || counts.len() > request.plies as usize;
        if is_over || context.is_due() {
            level.checkpoint(&counts, &store, &mut context)?;
        }
        if context.is_stopped() && counts.len() <= request.plies as usize {
            return Ok(Ended::Stopped);
        }
    }
    Ok(Ended::Complete(counts))
}

impl Level {
    /// Ply 0.
    fn first(start: &Chess) -> Self {
        let (source, target) = (Distinct::new(1, 0), Distinct::new(1, 1));
        let first = Packed::new(start);
        source.add(source.part_of(0, first), &[first]);
        let mode = start.castles().mode();
        Self { source, target, done: vec![None; PARTS], mode, expands: false }
    }

    /// The ply that a checkpoint was in, and the counts of those before it.
    fn resume(state: PliesState, mode: CastlingMode) -> (Vec<u64>, Self) {
        let PliesState { counts, source, target, done } = state;
        let (source, target) = (Distinct::with_logs(source, 1), Distinct::with_logs(target, 1));
        (counts, Self { source, target, done, mode, expands: false })
    }

    /// Counts parts, and expands them if a ply comes after this one, until all are done or there is
    /// a reason to stop.
    fn count(
        &mut self,
        folder: Option<&Folder>,
        context: &mut RunContext<'_>,
    ) -> Result<(), EnumerateError> {
        let parts: Vec<usize> = (0..PARTS).filter(|&part| self.done[part].is_none()).collect();
        let queue = IndexQueue::new(parts.len());
        let workers = context.workers();
        let before: u64 = self.done.iter().flatten().sum();
        let counted = AtomicU64::new(before);
        let work = PlyWork {
            level: self,
            folder,
            counted: &counted,
            memory: context.memory(),
            megabytes: context.megabytes(),
            share: context.memory() / 4 / workers.threads() as u64,
            relief: Mutex::new(()),
        };
        let status = || Status {
            what: "positions",
            count: counted.load(Ordering::Relaxed),
            waiting: 0,
            bytes: work.bytes(),
            ..Status::default()
        };
        let done = workers.run_on_all(&mut || context.watch(&queue, &status()), &|| {
            let mut buffers = vec![Vec::new(); PARTS];
            let mut done = Vec::new();
            while let Some(index) = queue.next() {
                let part = parts[index];
                let count = work.count(part, &mut buffers).inspect_err(|_| queue.stop())?;
                done.push((part, count));
            }
            for (part, packed) in buffers.iter().enumerate() {
                work.level.target.add(part, packed);
            }
            Ok(done)
        })?;
        for (part, count) in done.into_iter().flatten() {
            self.done[part] = Some(count);
        }
        Ok(())
    }

    /// Makes this ply, and the counts of those before it, the state of the folder, if there is one.
    fn checkpoint(
        &self,
        counts: &[u64],
        store: &CheckpointStore,
        context: &mut RunContext<'_>,
    ) -> Result<(), EnumerateError> {
        let Some(folder) = &store.folder else { return Ok(()) };
        context.checkpoint(|context| {
            let state = self.save(folder, &context.workers(), counts.to_owned())?;
            store.save(context.times(), Work::Plies(state))
        })
    }

    /// Puts all that is in memory on the disk; what a checkpoint then keeps.
    fn save(
        &self,
        folder: &Folder,
        workers: &WorkerPool,
        counts: Vec<u64>,
    ) -> Result<PliesState, EnumerateError> {
        workers.for_each(PARTS, &|part| {
            for positions in [&self.source, &self.target] {
                positions.spill(part, folder)?;
                positions.sync(part, folder)?;
            }
            Ok(())
        })?;
        let (source, target) = (self.source.logs(), self.target.logs());
        Ok(PliesState { counts, source, target, done: self.done.clone() })
    }
}

/// What the threads of a ply share.
struct PlyWork<'a> {
    level: &'a Level,
    folder: Option<&'a Folder>,
    counted: &'a AtomicU64,
    memory: u64,
    megabytes: u64,
    /// Memory for a thread's part.
    share: u64,
    /// Held by the thread that makes room; the others wait for it.
    relief: Mutex<()>,
}

impl PlyWork<'_> {
    fn bytes(&self) -> u64 {
        self.level.source.bytes() + self.level.target.bytes()
    }

    /// Counts a part, and expands it if that is wanted.
    fn count(&self, part: usize, buffers: &mut [Vec<Packed>]) -> Result<u64, EnumerateError> {
        let mut count = 0;
        self.level.source.drain(part, self.folder, self.share, &mut |some| {
            for some in some.chunks(CHUNK) {
                if self.level.expands {
                    some.iter().try_for_each(|&packed| self.expand(part, packed, buffers))?;
                }
                self.counted.fetch_add(some.len() as u64, Ordering::Relaxed);
                self.make_room()?;
            }
            count += some.len() as u64;
            Ok(())
        })?;
        Ok(count)
    }

    /// Adds what is one move on.
    fn expand(
        &self,
        part: usize,
        packed: Packed,
        buffers: &mut [Vec<Packed>],
    ) -> Result<(), EnumerateError> {
        let Level { target, mode, .. } = self.level;
        let position = packed.position(*mode).ok_or_else(|| self.damaged(part))?;
        for played in position.legal_moves() {
            let mut next = position.clone();
            next.play_unchecked(played);
            let packed = Packed::new(&next);
            let part = target.part_of(0, packed);
            buffers[part].push(packed);
            if buffers[part].len() == BUFFERED {
                target.add(part, &buffers[part]);
                buffers[part].clear();
            }
        }
        Ok(())
    }

    fn damaged(&self, part: usize) -> EnumerateError {
        let path = self.folder.map_or(Path::new(""), Folder::path);
        self.level.source.logs()[part].damaged(path, NO_POSITION)
    }

    /// Makes room where there is none, by deduplicating the next ply's positions early, then by
    /// moving them, then this ply's, to files.
    fn make_room(&self) -> Result<(), EnumerateError> {
        if self.bytes() <= self.memory {
            return Ok(());
        }
        let _alone = self.relief.lock().unwrap_or_else(PoisonError::into_inner);
        let is_tight = || self.bytes() > self.memory / 4 * 3;
        let Level { source, target, .. } = self.level;
        (0..PARTS).filter(|_| is_tight()).for_each(|part| target.compact(part));
        for positions in [target, source] {
            for part in (0..PARTS).filter(|_| is_tight()) {
                let folder = self.folder.ok_or(EnumerateError::Full(self.megabytes))?;
                positions.spill(part, folder)?;
            }
        }
        Ok(())
    }
}
