//! A run from its first position to its table, in one go or in many.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use shakmaty::{ByColor, Chess, Position as _};

use super::checkpoint::{Desk, Ended, Task, Work, fen_of};
use super::clock::Times;
use super::closure::{Closure, ClosureState};
use super::course::{Course, Resources};
use super::crew::Turns;
use super::distinct::PARTS;
use super::error::EnumerateError;
use super::hives::HiveFiles;
use super::progress::Status;
use super::space::Space;
use super::tally::{Class, Found, Hive};
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
    };
    let (desk, state) = Desk::open(request.folder.as_deref(), task)?;
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
        // Not to be had: the task says how far it goes.
        Work::Plies(_) => ClosureState::new(request.edges),
    };
    let mut course = Course::new(&request.resources, times, stop)?;
    // From here on the folder is known as ours.
    desk.save(times, Work::Closing(closing.clone()))?;
    let mut closure = Closure::new(&space, closing, request.roots);
    close(&mut closure, &desk, &mut course)?;
    if course.is_stopped() {
        return Ok(Ended::Stopped);
    }
    finish(&closure, &space, &desk, &mut course, request.roots)
}

/// Sweeps until nothing waits or somebody wants it to stop, with checkpoints on the way and at the
/// end.
fn close(
    closure: &mut Closure<'_>,
    desk: &Desk,
    course: &mut Course<'_>,
) -> Result<(), EnumerateError> {
    let folder = desk.folder.as_ref();
    loop {
        let is_over = course.is_stopped() || !closure.has_work();
        if let Some(folder) = folder
            && (is_over || course.is_due())
        {
            course.checkpoint(|course| {
                let state = closure.save(folder, &course.crew())?;
                desk.save(course.times(), Work::Closing(state))
            })?;
        }
        if is_over {
            return Ok(());
        }
        if closure.bytes() > course.memory() {
            closure.make_room(folder, course)?;
        }
        closure.sweep(folder, course)?;
    }
}

/// Counts the roots, writes them if they are wanted, and closes the books.
fn finish(
    closure: &Closure<'_>,
    space: &Space,
    desk: &Desk,
    course: &mut Course<'_>,
    keeps_roots: bool,
) -> Result<Ended<Found>, EnumerateError> {
    let hives = desk.folder.as_ref().filter(|_| keeps_roots).map(HiveFiles::new);
    let folder = desk.folder.as_ref();
    let counts = Mutex::new([0_u64; 4]);
    let turns = Turns::new(PARTS);
    let crew = course.crew();
    folder.map_or(Ok(()), |folder| closure.leave(folder, &crew))?;
    let memory = course.memory() / 2 / crew.threads() as u64;
    let status = || {
        let counted = counts.lock().unwrap_or_else(PoisonError::into_inner).iter().sum();
        Status { what: "roots", count: counted, waiting: 0, bytes: closure.bytes() }
    };
    let count = |part: usize| {
        let class =
            (0..4).find(|&class| closure.roots.parts_of(class).contains(&part)).unwrap_or(0);
        closure.roots.drain(part, folder, memory, &mut |some| {
            if let Some(hives) = &hives {
                hives.add(class, some)?;
            }
            counts.lock().unwrap_or_else(PoisonError::into_inner)[class] += some.len() as u64;
            Ok(())
        })
    };
    crew.together(&mut || course.watch_stop(&turns, &status()), &|| {
        while let Some(part) = turns.next() {
            count(part).inspect_err(|_| turns.stop())?;
        }
        Ok(())
    })?;
    if turns.taken() < PARTS {
        return Ok(Ended::Stopped);
    }
    let roots = counts.into_inner().unwrap_or_else(PoisonError::into_inner);
    let times = course.times();
    let state = match folder {
        Some(folder) => {
            let mut state = closure.save(folder, &course.crew())?;
            state.forget_roots();
            let hives = hives.map_or(Ok(Vec::new()), HiveFiles::finish)?;
            desk.save(times, Work::Closed { closure: state.clone(), roots, hives })?;
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
