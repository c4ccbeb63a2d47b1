//! What is asked, and what is answered.

use std::time::Duration;

use clap::ValueEnum;
use shakmaty::{CastlingMode, Chess, Move};

use crate::game::score::UciScore;

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

/// What an engine said about a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemAnswer {
    /// The move it plays.
    pub best: Move,
    /// Its last score, if it gave one.
    pub score: Option<UciScore>,
    /// Depth reached, plies.
    pub depth: u32,
    /// Nodes searched.
    pub nodes: u64,
    /// Time used.
    pub time: Duration,
    /// The principal variation, `best` first; may be cut short or empty.
    pub pv: Vec<Move>,
}

/// Which of an EPD line's operations is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum JudgeBy {
    /// Points if there are any, else best moves, else the mate.
    #[default]
    Auto,
    /// Only points (`c7` to `c9`).
    Points,
    /// Only best moves and moves to avoid (`bm`, `am`).
    Moves,
    /// Only mates (`dm`).
    Mate,
}
