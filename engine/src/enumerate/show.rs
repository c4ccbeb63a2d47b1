//! Reads the files of an enumeration back, for people and for other programs.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Chess, Move, Position as _};

use super::bucket::NO_POSITION;
use super::checkpoint::{State, Work, fen_of};
use super::edges;
use super::error::EnumerateError;
use super::expand::packed_move;
use super::log::Log;
use super::retract;
use super::space::Space;
use super::tally::{Class, Hive, Tally};
use super::{folder, hives, spaces};
use crate::chess::notation::from_fen;

/// A folder that is only read.
#[derive(Debug)]
pub struct Archive<'a> {
    folder: &'a Path,
    state: State,
    space: Space,
}

/// A move and where it comes from or leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Before the move.
    pub from: Chess,
    /// What is played.
    pub played: Move,
    /// After it.
    pub to: Chess,
}

impl<'a> Archive<'a> {
    /// Reads the state of a folder; another run may work in it.
    ///
    /// # Errors
    /// When there is no enumeration of a closure, or it is damaged.
    pub fn open(folder: &'a Path) -> Result<Self, EnumerateError> {
        let state: Option<State> = folder::load(folder)?;
        let nothing = || EnumerateError::Nothing(folder.to_owned());
        let is_closure = |state: &State| state.task.plies.is_none() && !state.task.spaces;
        let state = state.filter(is_closure).ok_or_else(nothing)?;
        let space = Space::new(&from_fen(&state.task.fen, false)?)?;
        Ok(Self { folder, state, space })
    }

    /// The first position.
    pub fn start(&self) -> &Chess {
        self.space.start()
    }

    /// Whether the enumeration found all there is.
    pub fn is_complete(&self) -> bool {
        matches!(self.state.work, Work::Closed { .. })
    }

    /// Its folder.
    pub(super) fn folder(&self) -> &Path {
        self.folder
    }

    /// What was counted, and the files of the roots, hive by hive.
    ///
    /// # Errors
    /// When there are no files of roots or the enumeration is not finished.
    pub(super) fn closed(&self) -> Result<(&Tally, &[Log]), EnumerateError> {
        if !self.state.task.roots {
            return Err(self.not_kept("--roots"));
        }
        match &self.state.work {
            Work::Closed { closure, hives, .. } => Ok((closure.tally(), hives)),
            _ => Err(EnumerateError::NotYet(self.folder.to_owned())),
        }
    }

    fn edge_logs(&self) -> Result<&[Log], EnumerateError> {
        let logs = match &self.state.work {
            Work::Closing(closure) | Work::Closed { closure, .. } => closure.edges(),
            Work::Plies(_) | Work::Spaces(_) => None,
        };
        logs.ok_or_else(|| self.not_kept("--edges"))
    }

    fn not_kept(&self, option: &'static str) -> EnumerateError {
        EnumerateError::NotKept { folder: self.folder.to_owned(), option }
    }

    /// The moves from a position, and those to it. One of them may be empty: a root has no moves
    /// here, and the first position may have none that lead to it.
    ///
    /// # Errors
    /// When there are no edges, a file is damaged, or the enumeration did not reach the position.
    pub fn edges(&self, position: &Chess) -> Result<(Vec<Edge>, Vec<Edge>), EnumerateError> {
        let logs = self.edge_logs()?;
        let here = self.space.index_of(position);
        let before = retract::candidates(&self.space, position);
        let wanted: HashSet<u128> = before.iter().copied().chain(here).collect();
        let found = edges::find(logs, self.folder, &wanted)?;
        let mut from = Vec::new();
        let mut to = Vec::new();
        for (index, moves) in found {
            let damaged = || {
                logs[super::buckets::bucket_of(index)]
                    .damaged(self.folder, "it holds moves that its positions do not have")
            };
            let p = self.space.position(index).ok_or_else(damaged)?;
            let legal = p.legal_moves();
            for packed in moves {
                let played = legal.iter().find(|&&played| packed_move(played) == packed);
                let played = *played.ok_or_else(damaged)?;
                let mut next = p.clone();
                next.play_unchecked(played);
                let edge = Edge { from: p.clone(), played, to: next };
                if edge.to == *position {
                    to.push(edge.clone());
                }
                if here == Some(index) {
                    from.push(edge);
                }
            }
        }
        if from.is_empty() && to.is_empty() && here != Some(self.space.first()) {
            return Err(EnumerateError::NotReached(self.folder.to_owned()));
        }
        Ok((from, to))
    }

    /// The same as lines: `p --> move | p'` for the moves from it, `p' --> move | p` for those to
    /// it.
    ///
    /// # Errors
    /// As [`Archive::edges`].
    pub fn edges_text(&self, position: &Chess) -> Result<String, EnumerateError> {
        let (from, to) = self.edges(position)?;
        let mode = position.castles().mode();
        let fen = fen_of(position);
        let mut text = format!("Moves from p = {fen}: {}", from.len());
        // Writing to a String cannot fail.
        for edge in &from {
            let _ = write!(text, "\np --> {} | {}", written(edge.played, mode), fen_of(&edge.to));
            if edge.played.is_zeroing() {
                let pieces = edge.to.board();
                let (white, black) = (pieces.white().count(), pieces.black().count());
                let _ =
                    write!(text, " | root, hive {}", Hive { white, black, turn: edge.to.turn() });
            }
        }
        let _ = write!(text, "\nMoves to p' = {fen}: {}", to.len());
        for edge in &to {
            let _ =
                write!(text, "\np' --> {} | {}", written(edge.played, mode), fen_of(&edge.from));
        }
        if !self.is_complete() {
            text += "\nThe enumeration has not found everything yet, so moves may be missing.";
        }
        Ok(text)
    }

    /// Writes a line for every root, hive by hive: the hive and the FEN.
    ///
    /// # Errors
    /// When there are no files of roots, one is damaged or `out` cannot be written to.
    pub fn write_roots(&self, out: &mut dyn Write) -> Result<(), EnumerateError> {
        let (_, logs) = self.closed()?;
        let pieces = self.space.counts();
        let mode = self.start().castles().mode();
        for (class, log) in Class::ALL.into_iter().zip(logs) {
            let hive = Hive::of(class, pieces);
            hives::read(log, self.folder, &mut |packed| {
                let none = || log.damaged(self.folder, NO_POSITION);
                let root = packed.position(mode).ok_or_else(none)?;
                writeln!(out, "{hive} {}", fen_of(&root)).map_err(unwritten)
            })?;
        }
        out.flush().map_err(unwritten)
    }
}

/// Writes a line for every root that a folder keeps, of one closure or of many spaces, hive by
/// hive: the hive and the FEN.
///
/// # Errors
/// When there are no files of roots, one is damaged or `out` cannot be written to.
pub fn write_roots(folder: &Path, out: &mut dyn Write) -> Result<(), EnumerateError> {
    let state: Option<State> = folder::load(folder)?;
    match state {
        Some(State { task, work: Work::Spaces(spaces), .. }) => {
            spaces::write_roots((&task, &spaces), folder, out)
        }
        _ => Archive::open(folder)?.write_roots(out),
    }
}

pub(super) fn unwritten(source: io::Error) -> EnumerateError {
    EnumerateError::Io { path: "standard output".into(), source }
}

fn written(played: Move, mode: CastlingMode) -> String {
    UciMove::from_move(played, mode).to_string()
}
