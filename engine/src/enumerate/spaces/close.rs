//! Closes one space, in memory where it is small, otherwise in a folder of its own.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use shakmaty::Color;

use super::entry::Entry;
use crate::enumerate::checkpoint::{CheckpointStore, Ended, State, Task, Work};
use crate::enumerate::closure::{Closure, ClosureState};
use crate::enumerate::context::RunContext;
use crate::enumerate::error::EnumerateError;
use crate::enumerate::log::Log;
use crate::enumerate::packed::{PACKED_BYTES, Packed};
use crate::enumerate::run::{Deliver, close, finish};
use crate::enumerate::tally::Tally;
use crate::enumerate::{checkpoint, folder, hives};

/// Where a space that does not fit memory is closed, within the run's folder.
pub(super) fn folder_in(run: &Path) -> PathBuf {
    run.join("space")
}

/// Closes a space and delivers its roots, each once. `before` positions were counted in other
/// spaces. `None` when a stop was requested.
///
/// # Errors
/// When the disk does not suffice, or what `deliver` says.
pub(super) fn close_space(
    entry: &Entry,
    run: &Path,
    before: u64,
    context: &mut RunContext<'_>,
    deliver: &Deliver<'_>,
) -> Result<Option<Tally>, EnumerateError> {
    let task =
        Task { fen: entry.name.clone(), plies: None, edges: false, roots: true, spaces: false };
    if likely_bytes(entry) <= u128::from(context.memory()) {
        let store = CheckpointStore::none(task.clone());
        let state = ClosureState::new(false);
        // Those of a space that is stopped half way are not to be delivered.
        let roots = Mutex::new(Vec::new());
        let collect = |some: &[Packed]| {
            roots.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(some);
            Ok(())
        };
        match close_in(entry, (&store, state), before, context, &collect) {
            // The folder has room.
            Err(EnumerateError::Full(_)) => {}
            Ok(Some(tally)) => {
                deliver(&roots.into_inner().unwrap_or_else(PoisonError::into_inner))?;
                return Ok(Some(tally));
            }
            other => return other,
        }
    }
    let path = folder_in(run);
    let (store, state) = match CheckpointStore::open(Some(&path), task.clone()) {
        // What is there is of a space that the last checkpoint has closed, or has not begun.
        Err(EnumerateError::OtherRun { what: checkpoint::POSITION, .. }) => {
            folder::remove(&path)?;
            CheckpointStore::open(Some(&path), task)?
        }
        other => other?,
    };
    let state = match state.map(|state| state.work) {
        Some(Work::Closing(state)) => state,
        Some(Work::Closed { closure, hives, .. }) => {
            read(&hives, &path, deliver)?;
            return Ok(Some(sum(entry, closure.tally())));
        }
        _ => ClosureState::new(false),
    };
    store.save(context.times(), Work::Closing(state.clone()))?;
    let ended = close_in(entry, (&store, state), before, context, &|_| Ok(()))?;
    if ended.is_some()
        && let Some(State { work: Work::Closed { hives, .. }, .. }) = folder::load(&path)?
    {
        read(&hives, &path, deliver)?;
    }
    Ok(ended)
}

/// Memory that a space will need, more or less: one index in four is a position, and each pawn has
/// a move in most of them, to a root. Where that is too little the folder takes over.
fn likely_bytes(entry: &Entry) -> u128 {
    let pawns: usize = Color::ALL.into_iter().map(|color| entry.space.pawns(color).count()).sum();
    entry.space.size() / 4 * (1 + pawns * PACKED_BYTES) as u128
}

/// The same, kept in this store.
fn close_in(
    entry: &Entry,
    (store, state): (&CheckpointStore, ClosureState),
    before: u64,
    context: &mut RunContext<'_>,
    deliver: &Deliver<'_>,
) -> Result<Option<Tally>, EnumerateError> {
    let mut closure = Closure::new(&entry.space, state, true, &entry.firsts);
    entry.roots.iter().for_each(|&(class, root)| closure.add_root(class, root));
    closure.count_on_from(before);
    close(&mut closure, store, context)?;
    if context.is_stopped() {
        return Ok(None);
    }
    match finish(&closure, &entry.space, store, context, Some(deliver))? {
        Ended::Complete(_) => Ok(Some(sum(entry, &closure.tally))),
        Ended::Stopped => Ok(None),
    }
}

/// What was counted in a space, in its roots with en passant as well.
fn sum(entry: &Entry, closure: &Tally) -> Tally {
    let mut sum = closure.clone();
    sum.add(&entry.tally);
    sum
}

/// Delivers the roots in a closure's files.
pub(super) fn read(
    hives: &[Log],
    folder: &Path,
    deliver: &Deliver<'_>,
) -> Result<(), EnumerateError> {
    let mut some = Vec::new();
    for log in hives {
        hives::read(log, folder, &mut |root| {
            some.push(root);
            if some.len() < 1 << 14 {
                return Ok(());
            }
            deliver(&some)?;
            some.clear();
            Ok(())
        })?;
    }
    deliver(&some)
}
