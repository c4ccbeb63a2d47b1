//! Syzygy endgame tables: what is proven in positions with few pieces.
//!
//! * [`Tables::verdict`] — inside a search: win, draw or loss of a position that a capture or pawn
//!   move has just led to. Only there do the tables know how the fifty-move rule bears on it;
//! * [`Tables::advise`] — at the root: the moves that keep the result, by the distance to the next
//!   capture or pawn move (DTZ), with the game's clock and repetitions; every search mode is then
//!   held to these moves;
//! * [`Prober`] — whatever answers, files or a test.
//!
//! Source: Ronald de Man's tables, read by the crate `shakmaty-syzygy`.

mod files;
mod root;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use shakmaty::{Chess, Position};
pub use shakmaty_syzygy::{Dtz, MaybeRounded, Wdl};

pub use self::files::open;
pub use self::root::Advice;
use crate::chess::score::{TABLE_PLIES, Verdict};

/// Most pieces that Syzygy tables are made for.
pub const MOST_PIECES: usize = 7;

/// What the user chose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TablebaseSettings {
    /// Folders, separated as the system separates them; `None` = no tables.
    pub path: Option<String>,
    /// Positions with more pieces are not looked up; 0 = none are.
    pub most_pieces: usize,
    /// Whether wins that the fifty-move rule spoils count as draws.
    pub fifty_moves: bool,
}

impl Default for TablebaseSettings {
    fn default() -> Self {
        Self { path: None, most_pieces: MOST_PIECES, fifty_moves: true }
    }
}

/// Something that knows endings. `None` = it does not know this one; an error is a sentence on a
/// file that cannot be read.
pub trait Prober: Send + Sync {
    /// Most pieces of a position that it may know.
    fn max_pieces(&self) -> usize;

    /// Result for the side to move, right after a capture or pawn move.
    ///
    /// # Errors
    /// When a table is there but cannot be read.
    fn wdl(&self, position: &Chess) -> Result<Option<Wdl>, String>;

    /// Plies to the next capture or pawn move, signed by the result for the side to move.
    ///
    /// # Errors
    /// When a table is there but cannot be read.
    fn dtz(&self, position: &Chess) -> Result<Option<MaybeRounded<Dtz>>, String>;
}

/// Tables in use; clones share counts.
#[derive(Clone)]
pub struct Tables(Arc<Shared>);

struct Shared {
    prober: Box<dyn Prober>,
    most_pieces: usize,
    fifty_moves: bool,
    hits: AtomicU64,
    error: Mutex<Option<String>>,
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tables").field("most_pieces", &self.0.most_pieces).finish_non_exhaustive()
    }
}

impl Tables {
    /// Uses `prober` as the settings say.
    pub fn new(prober: Box<dyn Prober>, settings: &TablebaseSettings) -> Self {
        let most_pieces = settings.most_pieces.min(prober.max_pieces());
        Self(Arc::new(Shared {
            prober,
            most_pieces,
            fifty_moves: settings.fifty_moves,
            hits: AtomicU64::new(0),
            error: Mutex::new(None),
        }))
    }

    /// What is proven of a position right after a capture or pawn move; a win without a known mate
    /// counts [`TABLE_PLIES`] plies.
    pub fn verdict(&self, position: &Chess) -> Option<Verdict> {
        if position.halfmoves() != 0 || !self.covers(position) {
            return None;
        }
        let wdl = self.wdl(position)?;
        Some(match self.counted(wdl) {
            Wdl::Win => Verdict::Win(TABLE_PLIES),
            Wdl::Loss => Verdict::Loss(TABLE_PLIES),
            _ => Verdict::Draw,
        })
    }

    /// Positions found since the last [`Tables::forget_hits`].
    pub fn hits(&self) -> u64 {
        self.0.hits.load(Ordering::Relaxed)
    }

    /// Counts from nothing again.
    pub fn forget_hits(&self) {
        self.0.hits.store(0, Ordering::Relaxed);
    }

    /// The first file that could not be read since the last call, in a sentence.
    pub fn take_error(&self) -> Option<String> {
        self.0.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether a table has the position.
    pub fn know(&self, position: &Chess) -> bool {
        self.covers(position) && self.wdl(position).is_some()
    }

    /// Whether a table may know the position.
    fn covers(&self, position: &Chess) -> bool {
        position.board().occupied().count() <= self.0.most_pieces && !position.castles().any()
    }

    /// The result as the user has the fifty-move rule count.
    fn counted(&self, wdl: Wdl) -> Wdl {
        match wdl {
            Wdl::CursedWin if !self.0.fifty_moves => Wdl::Win,
            Wdl::BlessedLoss if !self.0.fifty_moves => Wdl::Loss,
            wdl => wdl,
        }
    }

    fn wdl(&self, position: &Chess) -> Option<Wdl> {
        self.note(self.0.prober.wdl(position))
    }

    fn dtz(&self, position: &Chess) -> Option<MaybeRounded<Dtz>> {
        self.note(self.0.prober.dtz(position))
    }

    fn note<T>(&self, answer: Result<Option<T>, String>) -> Option<T> {
        match answer {
            Ok(found) => {
                self.0.hits.fetch_add(u64::from(found.is_some()), Ordering::Relaxed);
                found
            }
            Err(sentence) => {
                let mut error = self.0.error.lock().unwrap_or_else(PoisonError::into_inner);
                error.get_or_insert(sentence);
                None
            }
        }
    }
}

#[cfg(test)]
mod tests;
