//! Test suites: positions with known answers, the judging of an engine's answers, and the tables.
//!
//! Nothing here knows engines. A runner reads a [`Suite`], asks an engine about each [`Item`], has
//! the answer judged by [`judge`] (a puzzle move by move in a [`PuzzleRun`]), writes a [`Record`]
//! per item into a [`Journal`](super::journal::Journal), and shows the records by [`summarize`] and
//! [`Table`](super::table::Table).
//!
//! Suites are EPD files (operations `bm`, `am`, `dm` and the points of the Strategic Test Suite in
//! `c7` to `c9`; the format is in section 16.2 of the PGN standard of 1994), or CSV files of
//! puzzles in the form of the [Lichess database](https://database.lichess.org/#puzzles).

mod compare;
mod epd;
mod fault;
mod judge;
mod mate;
mod notation;
mod puzzle;
mod rating;
mod read;
mod record;
mod solver;
mod summary;
mod tables;
#[cfg(test)]
mod tests;

use shakmaty::{CastlingMode, Chess, Move};

pub use compare::{Comparison, compare};
pub use fault::{Fault, SuiteError};
pub use judge::{Answer, Detail, Verdict, judge};
pub use mate::{Claim, MateLimits, MateVerdict, MoveCheck, PvCheck};
pub use puzzle::{PuzzleRun, PuzzleState};
pub use rating::{RatingEstimate, estimate_rating, puzzle_results};
pub use read::{JudgeBy, Options, Selection, SkippedLine, Suite, read};
pub use record::{Record, Reply, TaskLabel, remaining};
pub use summary::{Grouping, Interval, Mates, Points, Summary, summarize, wilson};

/// A position with something to find out about an engine.
#[derive(Clone, Debug)]
pub struct Item {
    /// The suite's name for it, or the file's name and the line where it has none.
    pub id: String,
    /// The position to think about. A puzzle's is the one after the opponent's first move.
    pub position: Chess,
    /// Whether the position is one of Chess960, by its castling rights.
    pub castling_mode: CastlingMode,
    /// FEN of `position`, as an engine is to be given it.
    pub fen: String,
    /// What is asked.
    pub task: Task,
}

/// What an item asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// Play one of the best moves (any, if none is named) and none of those to avoid.
    BestMoves {
        /// EPD `bm`.
        best: Vec<Move>,
        /// EPD `am`.
        avoid: Vec<Move>,
    },
    /// Every listed move earns its points, any other none.
    Points {
        /// Moves and their points.
        moves: Vec<(Move, u32)>,
        /// Points of the best move.
        max: u32,
    },
    /// Find the mate.
    Mate {
        /// Moves to mate, EPD `dm`: positive when the side to move mates, negative when it is
        /// mated. Never 0.
        moves: i32,
    },
    /// Play the solver's moves of a line.
    Puzzle {
        /// The line, solver's moves and replies in turn; the solver's first and last.
        line: Vec<Move>,
        /// The puzzle's rating, on the scale of the site it is from.
        rating: Option<u32>,
        /// Themes, as the file names them.
        themes: Vec<String>,
    },
}
