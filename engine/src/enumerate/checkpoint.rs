//! Checkpoints: what a folder keeps of a run, so that the same command resumes it.

use std::path::Path;

use serde::{Deserialize, Serialize};
use shakmaty::fen::{Epd, Fen};
use shakmaty::{Chess, EnPassantMode};

use super::clock::Times;
use super::closure::ClosureState;
use super::error::EnumerateError;
use super::folder::{self, Folder};
use super::log::Log;
use super::spaces::SpacesState;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended<T> {
    /// It found all there is.
    Complete(T),
    /// It was stopped; what it found is in its folder, if it had one.
    Stopped,
}

/// What a folder is for; another command must not go on in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Task {
    pub(super) fen: String,
    /// `None` = the closure.
    pub(super) plies: Option<u32>,
    pub(super) edges: bool,
    pub(super) roots: bool,
    /// Space after space.
    #[serde(default)]
    pub(super) spaces: bool,
}

/// What a checkpoint says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) task: Task,
    pub(super) times: Times,
    pub(super) work: Work,
}

/// How far it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Work {
    /// Positions wait, or roots are to be counted.
    Closing(ClosureState),
    /// All is counted: roots that could be met twice, by class.
    Closed { closure: ClosureState, roots: [u64; 4], hives: Vec<Log> },
    /// Positions ply by ply.
    Plies(PliesState),
    /// Space after space.
    Spaces(SpacesState),
}

impl Work {
    fn logs(&self) -> Vec<&Log> {
        match self {
            Self::Closing(closure) => closure.logs().collect(),
            Self::Closed { closure, hives, .. } => closure.logs().chain(hives).collect(),
            Self::Plies(plies) => plies.logs().collect(),
            Self::Spaces(spaces) => spaces.logs().collect(),
        }
    }
}

/// What a checkpoint keeps.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct PliesState {
    /// Distinct positions of the plies that are counted, from ply 0.
    pub(super) counts: Vec<u64>,
    /// Positions of the next ply, as often as they were found.
    pub(super) source: Vec<Log>,
    /// Positions of the ply after it, of those parts of the source that are done.
    pub(super) target: Vec<Log>,
    /// Distinct positions of each part that is done.
    pub(super) done: Vec<Option<u64>>,
}

impl PliesState {
    /// The files it speaks of.
    pub(super) fn logs(&self) -> impl Iterator<Item = &Log> {
        self.source.iter().chain(&self.target)
    }
}

/// A folder of checkpoints and the task they belong to; without a folder nothing is kept.
#[derive(Debug)]
pub(super) struct CheckpointStore {
    pub(super) folder: Option<Folder>,
    task: Task,
}

impl CheckpointStore {
    /// Keeps nothing.
    pub(super) fn none(task: Task) -> Self {
        Self { folder: None, task }
    }

    /// Opens the folder, if there is one to be, with the state in it, if it has any.
    ///
    /// # Errors
    /// When the folder cannot be used or is of another task.
    pub(super) fn open(
        path: Option<&Path>,
        task: Task,
    ) -> Result<(Self, Option<State>), EnumerateError> {
        let Some(path) = path else { return Ok((Self { folder: None, task }, None)) };
        let folder = Folder::open(path)?;
        let state: Option<State> = folder::load(path)?;
        if let Some(state) = &state {
            same(path, &state.task, &task)?;
            folder.clean(state.work.logs().into_iter())?;
        }
        Ok((Self { folder: Some(folder), task }, state))
    }

    /// Makes `work` the state of the folder; its files must be on the disk. Deletes what it
    /// replaces.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn save(&self, times: Times, work: Work) -> Result<(), EnumerateError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let state = State { task: self.task.clone(), times, work };
        folder.save(&state)?;
        folder.clean(state.work.logs().into_iter())
    }
}

fn same(folder: &Path, there: &Task, here: &Task) -> Result<(), EnumerateError> {
    let plies = |task: &Task| task.plies.map_or("not given".to_owned(), |plies| plies.to_string());
    let command = |task: &Task| if task.spaces { "enumerate spaces" } else { "enumerate" };
    let fields = [
        ("the command", command(there).to_owned(), command(here).to_owned()),
        ("--plies", plies(there), plies(here)),
        (POSITION, there.fen.clone(), here.fen.clone()),
        ("--edges", there.edges.to_string(), here.edges.to_string()),
        ("--roots", there.roots.to_string(), here.roots.to_string()),
    ];
    match fields.into_iter().find(|(_, there, here)| there != here) {
        None => Ok(()),
        Some((what, there, here)) => {
            Err(EnumerateError::OtherRun { folder: folder.to_owned(), what, there, here })
        }
    }
}

/// What two runs are called different by.
pub(super) const POSITION: &str = "the position";

/// A position's FEN; its move counters, which do not count here, are 0 and 1.
pub(super) fn fen_of(position: &Chess) -> String {
    Fen::from(Epd::from_position(position, EnPassantMode::Legal)).to_string()
}
