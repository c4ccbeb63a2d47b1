//! A run from its first position to its table, in one go or in many.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use shakmaty::{ByColor, Chess, Position as _};

use super::checkpoint::{CheckpointStore, Ended, Task, Work, fen_of};
use super::clock::Times;
use super::closure::{Closure, ClosureState};
use super::context::{Resources, RunContext};
use super::distinct::PARTS;
use super::error::EnumerateError;
use super::hives;
use super::log::{Kind, LogFiles};
use super::packed::Packed;
use super::progress::Status;
use super::space::Space;
use super::tally::{Class, Found, Hive};
use super::worker_pool::IndexQueue;
use crate::search::StopToken;

/// What to enumerate.
#[derive(Clone, Debug)]
pub struct Request {
    /// The first position.
    pub start: Chess,
    /// Where spilt sets, edges and checkpoints go.
    pub folder: Option<PathBuf>,
    /// Whether to write the edges.
    pub edges: bool,
    /// Whether to write the roots, hive by hive.
    pub roots: bool,
    /// How.
    pub resources: Resources,
}

/// Enumerates the closure of a position, or goes on with what the folder holds of it.
///
/// # Errors
/// When memory or disk do not suffice or the folder cannot be used.
pub fn enumerate(request: &Request, stop: &StopToken) -> Result<Ended<Found>, EnumerateError> {
    let space = Space::new(&request.start)?;
    let wanted = [(request.edges, "--edges"), (request.roots, "--roots")];
    if let Some((_, option)) = wanted.iter().find(|(wanted, _)| *wanted)
        && request.folder.is_none()
    {
        return Err(EnumerateError::NeedsFolder(option));
    }
    let task = Task {
        fen: fen_of(&request.start),
        plies: None,
        edges: request.edges,
        roots: request.roots,
        spaces: false,
    };
    let (store, state) = CheckpointStore::open(request.folder.as_deref(), task)?;
    let times = state.as_ref().map_or_else(Times::default, |state| state.times);
    let work = match state {
        Some(state) => state.work,
        None => Work::Closing(ClosureState::new(request.edges)),
    };
    let closing = match work {
        Work::Closing(closing) => closing,
        Work::Closed { closure, roots, .. } => {
            return Ok(Ended::Complete(found(&space, &closure, roots, times)));
        }
        // Impossible: the task was compared when the folder was opened.
        Work::Plies(_) | Work::Spaces(_) => ClosureState::new(request.edges),
    };
    let mut context = RunContext::new(&request.resources, times, stop)?;
    // From here on the folder is known as ours.
    store.save(times, Work::Closing(closing.clone()))?;
    let firsts = closing.is_new().then(|| space.first());
    let mut closure = Closure::new(&space, closing, request.roots, firsts.as_slice());
    close(&mut closure, &store, &mut context)?;
    if context.is_stopped() {
        return Ok(Ended::Stopped);
    }
    finish(&closure, &space, &store, &mut context, request.roots.then_some(&|_| Ok(())))
}

/// Sweeps until nothing waits or a stop is requested, with checkpoints on the way and at the end.
///
/// # Errors
/// When memory or disk do not suffice.
pub(super) fn close(
    closure: &mut Closure<'_>,
    store: &CheckpointStore,
    context: &mut RunContext<'_>,
) -> Result<(), EnumerateError> {
    let folder = store.folder.as_ref();
    loop {
        let is_over = context.is_stopped() || !closure.has_work();
        if let Some(folder) = folder
            && (is_over || context.is_due())
        {
            context.checkpoint(|context| {
                let state = closure.save(folder, &context.workers())?;
                store.save(context.times(), Work::Closing(state))
            })?;
        }
        if is_over {
            return Ok(());
        }
        if closure.bytes() > context.memory() {
            closure.make_room(folder, context)?;
        }
        closure.sweep(folder, context)?;
    }
}

/// What is done with some of the roots, sorted, none of them twice.
pub(super) type Deliver<'a> = dyn Fn(&[Packed]) -> Result<(), EnumerateError> + Sync + 'a;

/// Counts the roots, and saves the result. If the roots are wanted, they go to `deliver` and, where
/// there is a folder, to its files.
///
/// # Errors
/// When the disk refuses, or what `deliver` says.
pub(super) fn finish(
    closure: &Closure<'_>,
    space: &Space,
    store: &CheckpointStore,
    context: &mut RunContext<'_>,
    deliver: Option<&Deliver<'_>>,
) -> Result<Ended<Found>, EnumerateError> {
    let folder = store.folder.as_ref();
    let keeps_roots = deliver.is_some();
    // What an earlier run left half written is written over.
    let classes = if keeps_roots { Class::ALL.len() } else { 0 };
    let hives = LogFiles::new(LogFiles::empty(Kind::Hive, classes));
    let counts = Mutex::new([0_u64; 4]);
    let queue = IndexQueue::new(PARTS);
    let workers = context.workers();
    folder.map_or(Ok(()), |folder| closure.spill_buckets(folder, &workers))?;
    let memory = context.memory() / 2 / workers.threads() as u64;
    let status = || {
        let counted = counts.lock().unwrap_or_else(PoisonError::into_inner).iter().sum();
        Status {
            what: "roots",
            count: counted,
            waiting: 0,
            bytes: closure.bytes(),
            ..Status::default()
        }
    };
    let count = |part: usize| {
        let class =
            (0..4).find(|&class| closure.roots.parts_of(class).contains(&part)).unwrap_or(0);
        closure.roots.drain(part, folder, memory, &mut |some| {
            if let Some(folder) = folder.filter(|_| keeps_roots) {
                hives::add(&hives, class, folder.path(), some)?;
            }
            deliver.map_or(Ok(()), |deliver| deliver(some))?;
            counts.lock().unwrap_or_else(PoisonError::into_inner)[class] += some.len() as u64;
            Ok(())
        })
    };
    workers.run_on_all(&mut || context.watch_stop(&queue, &status()), &|| {
        while let Some(part) = queue.next() {
            count(part).inspect_err(|_| queue.stop())?;
        }
        Ok(())
    })?;
    if queue.taken() < PARTS {
        return Ok(Ended::Stopped);
    }
    let roots = counts.into_inner().unwrap_or_else(PoisonError::into_inner);
    let times = context.times();
    let state = match folder {
        Some(folder) => {
            let mut state = closure.save(folder, &context.workers())?;
            state.forget_roots();
            (0..classes).try_for_each(|class| hives.sync(class, folder.path()))?;
            let hives = hives.logs();
            store.save(times, Work::Closed { closure: state.clone(), roots, hives })?;
            state
        }
        None => closure.state(),
    };
    Ok(Ended::Complete(found(space, &state, roots, times)))
}

fn found(space: &Space, closure: &ClosureState, roots: [u64; 4], times: Times) -> Found {
    let tally = closure.tally();
    let colors = |counts: [u64; 2]| ByColor { white: counts[0], black: counts[1] };
    let pieces = space.counts();
    let hive = |class: Class| {
        let number = class.number();
        (Hive::of(class, pieces), tally.certain[number] + roots[number])
    };
    Found {
        fen: fen_of(space.start()),
        turn: space.start().turn(),
        most_moves: tally.most,
        fewest_moves: tally.fewest.unwrap_or(0),
        quiet: colors(tally.quiet),
        zeroing: colors(tally.zeroing),
        positions: colors(tally.positions),
        hives: Class::ALL.map(hive).into_iter().filter(|&(_, roots)| roots > 0).collect(),
        times,
    }
}
