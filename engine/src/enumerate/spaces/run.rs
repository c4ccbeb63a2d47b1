//! All spaces, one after the other, in one go or in many.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};
use shakmaty::{CastlingMode, Chess, Position as _};

use super::close::{close_space, folder_in, read};
use super::entry::Entry;
use super::key::{Pile, hive};
use super::piles::Piles;
use super::store::{Arrival, BETWEEN, Place, RootStore};
use super::totals::{SpacesFound, Totals};
use crate::chess::notation::from_fen;
use crate::enumerate::bucket::NO_POSITION;
use crate::enumerate::checkpoint::{CheckpointStore, Ended, Task, Work, fen_of};
use crate::enumerate::clock::Times;
use crate::enumerate::context::{Resources, RunContext};
use crate::enumerate::error::EnumerateError;
use crate::enumerate::folder;
use crate::enumerate::log::{Kind, Log};
use crate::enumerate::packed::Packed;
use crate::enumerate::progress::Status;
use crate::enumerate::show::{Archive, unwritten};
use crate::enumerate::tally::Tally;
use crate::search::StopToken;

/// Between the first positions where they are one text.
const FEN_SEPARATOR: &str = ", ";

/// What to enumerate.
#[derive(Clone, Debug)]
pub struct SpacesRequest {
    /// The first positions.
    pub starts: Vec<Chess>,
    /// Folders of finished runs; their first positions are among `starts`.
    pub runs: Vec<PathBuf>,
    /// Where the roots and checkpoints go.
    pub folder: PathBuf,
    /// Whether to keep the roots of spaces that are closed.
    pub roots: bool,
    /// Most spaces to close in this run, besides those that earlier runs have closed.
    pub limit: Option<u64>,
    /// How.
    pub resources: Resources,
}

/// What a checkpoint keeps.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SpacesState {
    waiting: Vec<Log>,
    /// Roots of closed spaces by hive, if they are kept.
    kept: Vec<Log>,
    /// The pile whose spaces are being closed.
    place: Option<Place>,
    /// The last pile whose spaces are all closed.
    last: Option<Pile>,
    totals: Totals,
}

impl SpacesState {
    /// The files it speaks of.
    pub(crate) fn logs(&self) -> impl Iterator<Item = &Log> {
        self.waiting.iter().chain(&self.kept)
    }
}

/// A run.
struct Run<'a> {
    request: &'a SpacesRequest,
    archives: Vec<Archive<'a>>,
    store: CheckpointStore,
    roots: RootStore,
    kept: Piles,
    place: Option<Place>,
    last: Option<Pile>,
    totals: Totals,
}

/// Closes the spaces of the first positions and of all roots, or goes on with what the folder holds
/// of it.
///
/// # Errors
/// When memory or disk do not suffice or a folder cannot be used.
pub fn enumerate_spaces(
    request: &SpacesRequest,
    stop: &StopToken,
) -> Result<Ended<SpacesFound>, EnumerateError> {
    let archives: Vec<Archive<'_>> =
        request.runs.iter().map(|run| Archive::open(run)).collect::<Result<_, _>>()?;
    for archive in &archives {
        archive.closed()?;
    }
    let fens: Vec<String> = request.starts.iter().map(fen_of).collect();
    let task = Task {
        fen: fens.join(FEN_SEPARATOR),
        plies: None,
        edges: false,
        roots: request.roots,
        spaces: true,
    };
    let (store, state) = CheckpointStore::open(Some(&request.folder), task)?;
    let times = state.as_ref().map_or_else(Times::default, |state| state.times);
    let state = match state.map(|state| state.work) {
        Some(Work::Spaces(state)) => state,
        // Anything else is impossible: the task was compared when the folder was opened.
        _ => SpacesState::default(),
    };
    let mode = common_mode(&request.starts);
    let starts = request.starts.iter().map(Packed::new).collect();
    let waiting = Mutex::new(Piles::new(Kind::Pile, state.waiting));
    let mut run = Run {
        request,
        archives,
        store,
        roots: RootStore { folder: request.folder.clone(), mode, starts, waiting },
        kept: Piles::new(Kind::Hive, state.kept),
        place: state.place,
        last: state.last,
        totals: state.totals,
    };
    // Half for the roots of a pile, half for the sets of a space.
    let memory = request.resources.memory / 2;
    let resources = Resources { memory, ..request.resources.clone() };
    let mut context = RunContext::new(&resources, times, stop)?;
    // From here on the folder is known as ours.
    run.save(&mut context)?;
    match run.close_all(&mut context) {
        // Some roots of a space have gone to their piles: that is not to be saved.
        Err(EnumerateError::Stopped) => return Ok(Ended::Stopped),
        closed => closed?,
    }
    run.save(&mut context)?;
    let (all, waiting) = match run.count_waiting(&mut context) {
        Err(EnumerateError::Stopped) => return Ok(Ended::Stopped),
        counted => counted?,
    };
    Ok(Ended::Complete(SpacesFound::new(&run.totals, &all, waiting, context.times())))
}

/// The castling rules that hold for all of these positions: Chess960's are the others' as well.
fn common_mode(starts: &[Chess]) -> CastlingMode {
    CastlingMode::from_chess960(starts.iter().any(|start| start.castles().mode().is_chess960()))
}

impl Run<'_> {
    /// Closes spaces until none is left, the limit is reached or a stop is requested.
    fn close_all(&mut self, context: &mut RunContext<'_>) -> Result<(), EnumerateError> {
        let mut left = self.request.limit.unwrap_or(u64::MAX);
        while let Some(mut place) = self.place.or_else(|| self.next(context.memory())) {
            self.place = Some(place);
            while place.pass < place.passes {
                let spaces = match self.roots.spaces(&place, context.stop()) {
                    Err(EnumerateError::Stopped) => return Ok(()),
                    spaces => spaces?,
                };
                let spaces: Vec<&[Arrival]> = spaces.chunk_by(|a, b| a.key == b.key).collect();
                while let Some(space) = spaces.get(place.done) {
                    let is_known = self.archive_of(space).is_some();
                    if left == 0 && !is_known {
                        return Ok(());
                    }
                    if context.is_stopped() || !self.close(space, context)? {
                        return Ok(());
                    }
                    left -= u64::from(!is_known);
                    place.done += 1;
                    self.place = Some(place);
                    let own = folder_in(&self.request.folder);
                    let had_folder = folder::is_begun(&own);
                    if had_folder || context.is_due() {
                        self.save(context)?;
                    }
                    if had_folder {
                        folder::remove(&own)?;
                    }
                }
                place = Place { pass: place.pass + 1, done: 0, ..place };
            }
            self.roots.lock().remove(place.pile.0);
            (self.place, self.last) = (None, Some(place.pile));
        }
        Ok(())
    }

    /// The highest pile that waits.
    fn next(&self, memory: u64) -> Option<Place> {
        let pile = self.piles().into_iter().max_by_key(|pile| pile.rank())?;
        Some(self.begin(pile, memory))
    }

    /// The beginning of a pile.
    fn begin(&self, pile: Pile, memory: u64) -> Place {
        let bytes = self.roots.lock().len(pile.0) * size_of::<Arrival>() as u64;
        Place { pile, passes: bytes / memory.max(1) + 1, pass: 0, done: 0 }
    }

    /// All piles that wait.
    fn piles(&self) -> Vec<Pile> {
        let is_left = |pile: &Pile| self.last.is_none_or(|last| pile.rank() < last.rank());
        let starts = self.request.starts.iter().map(|start| Pile::of(start.board()));
        let starts = starts.filter(is_left);
        let mut piles: Vec<Pile> = self.roots.lock().numbers().map(Pile).chain(starts).collect();
        piles.sort_unstable();
        piles.dedup();
        piles
    }

    /// Closes a space; `false` when a stop was requested.
    fn close(
        &mut self,
        space: &[Arrival],
        context: &mut RunContext<'_>,
    ) -> Result<bool, EnumerateError> {
        let [white, black] = self.totals.tally.positions;
        context.show(&Status {
            what: "positions",
            count: white + black,
            spaces: self.totals.spaces,
            ..Status::default()
        });
        if self.archive_of(space).is_some() {
            // Its roots may be very many, and a stop among them goes back to here.
            self.save(context)?;
        }
        let (delivered, stop) = (AtomicUsize::new(0), context.stop());
        let deliver = |roots: &[Packed]| {
            for some in roots.chunks(BETWEEN) {
                // A small space is finished before a stop, so that nothing of it is lost.
                if delivered.load(Ordering::Relaxed) > BETWEEN && stop.is_stopped() {
                    return Err(EnumerateError::Stopped);
                }
                self.roots.add(some)?;
                delivered.fetch_add(some.len(), Ordering::Relaxed);
            }
            Ok(())
        };
        let (tally, reused) = if let Some(archive) = self.archive_of(space) {
            let (tally, hives) = archive.closed()?;
            read(hives, archive.folder(), &deliver)?;
            (Some(tally.clone()), 1)
        } else {
            let roots: Vec<Packed> = space.iter().map(|arrival| arrival.root).collect();
            let entry = Entry::new(&roots, self.roots.mode, &self.roots.folder)?;
            (close_space(&entry, &self.roots.folder, white + black, context, &deliver)?, 0)
        };
        self.totals.reused += reused;
        let Some(tally) = tally else { return Ok(false) };
        self.count(space, &tally)?;
        Ok(true)
    }

    /// The finished run that has closed the space of these roots, if one has.
    fn archive_of(&self, space: &[Arrival]) -> Option<&Archive<'_>> {
        let [arrival] = space else { return None };
        self.archives.iter().find(|archive| arrival.root == Packed::new(archive.start()))
    }

    fn count(&mut self, space: &[Arrival], tally: &Tally) -> Result<(), EnumerateError> {
        self.totals.spaces += 1;
        self.totals.tally.add(tally);
        let hives = RootStore::count(space, &mut self.totals);
        if self.request.roots {
            self.kept.add(hives, &self.request.folder)?;
        }
        Ok(())
    }

    /// Counts the roots of the spaces that wait as well. Returns the sums, and how many wait.
    fn count_waiting(&self, context: &mut RunContext<'_>) -> Result<(Totals, u64), EnumerateError> {
        let mut all = self.totals.clone();
        let mut waiting = 0;
        for pile in self.piles() {
            let begun = self.place.filter(|place| place.pile == pile);
            let mut place = begun.unwrap_or_else(|| self.begin(pile, context.memory()));
            while place.pass < place.passes {
                context.show(&Status { what: "roots", count: waiting, ..Status::default() });
                let spaces = self.roots.spaces(&place, context.stop())?;
                for space in spaces.chunk_by(|a, b| a.key == b.key).skip(place.done) {
                    if context.is_stopped() {
                        return Err(EnumerateError::Stopped);
                    }
                    waiting += RootStore::count(space, &mut all).len() as u64;
                }
                place = Place { pass: place.pass + 1, done: 0, ..place };
            }
        }
        Ok((all, waiting))
    }

    fn save(&mut self, context: &mut RunContext<'_>) -> Result<(), EnumerateError> {
        let folder = self.request.folder.clone();
        context.checkpoint(|context| {
            let state = SpacesState {
                waiting: self.roots.lock().save(&folder)?,
                kept: self.kept.save(&folder)?,
                place: self.place,
                last: self.last,
                totals: self.totals.clone(),
            };
            self.store.save(context.times(), Work::Spaces(state))
        })
    }
}

/// Writes a line for every root of a folder's closed spaces, hive by hive: the hive and the FEN.
///
/// # Errors
/// When the roots were not kept, a file is damaged or `out` cannot be written to.
pub(crate) fn write_roots(
    (task, state): (&Task, &SpacesState),
    folder: &Path,
    out: &mut dyn Write,
) -> Result<(), EnumerateError> {
    if !task.roots {
        return Err(EnumerateError::NotKept { folder: folder.to_owned(), option: "--roots" });
    }
    let starts = task.fen.split(FEN_SEPARATOR).map(|fen| from_fen(fen, false));
    let mode = common_mode(&starts.collect::<Result<Vec<_>, _>>()?);
    let kept = Piles::new(Kind::Hive, state.kept.clone());
    for number in kept.numbers() {
        kept.read(number, folder, &mut |root| {
            let none = || kept.damaged(number, folder, NO_POSITION);
            let root = root.position(mode).ok_or_else(none)?;
            writeln!(out, "{} {}", hive(number), fen_of(&root)).map_err(unwritten)
        })?;
    }
    out.flush().map_err(unwritten)
}
