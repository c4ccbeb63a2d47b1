//! What can be wrong with a suite, and how to mend it.

use std::path::PathBuf;

use tesla_nn::files::FileError;

/// Why a suite could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// The file cannot be opened or read.
    #[error(transparent)]
    File(#[from] FileError),
    /// A line is wrong.
    #[error("{path}, line {line}: {fault} (or skip such lines with --lenient)")]
    Line {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: u64,
        /// What is wrong with it.
        fault: Fault,
    },
    /// The header of a CSV file lacks a column.
    #[error(
        "{path} has no column '{column}'; its first line must name the columns, as in \
         PuzzleId,FEN,Moves,Rating,... or id,fen,moves,rating,..."
    )]
    Column {
        /// The file.
        path: PathBuf,
        /// The missing column.
        column: &'static str,
    },
    /// The file has no positions.
    #[error("{0} holds no positions; a suite has one EPD line, or one puzzle, a line")]
    Empty(PathBuf),
    /// Every line was skipped as wrong.
    #[error("none of the {skipped} lines of {path} can be read; the first, line {line}: {fault}")]
    AllSkipped {
        /// The file.
        path: PathBuf,
        /// Number of lines skipped.
        skipped: usize,
        /// Number of the first of them, from 1.
        line: u64,
        /// What is wrong with it.
        fault: Fault,
    },
}

/// What is wrong with one line of a suite.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The line is no position.
    #[error(
        "{0} of the four fields of a position are there; begin the line with pieces, side to \
         move, castling rights and en passant square"
    )]
    Fields(usize),
    /// The text of the position cannot be parsed.
    #[error("'{fen}' is no FEN ({what}); mend the position")]
    Fen {
        /// The position's text.
        fen: String,
        /// What the parser said.
        what: String,
    },
    /// The position breaks the rules of chess.
    #[error("'{fen}' is no chess position ({what}); mend the position")]
    Position {
        /// The position's text.
        fen: String,
        /// Which rules it breaks.
        what: String,
    },
    /// There is no move to find.
    #[error("the side to move has no legal move; take the line out")]
    GameOver,
    /// A string is not closed.
    #[error("the string after '{opcode}' is not closed; end it with \"")]
    OpenString {
        /// The operation.
        opcode: String,
    },
    /// A number is no number.
    #[error("{name} '{value}' is no {expected}; write a number")]
    Number {
        /// Name of the operation or the column.
        name: &'static str,
        /// What stands there.
        value: String,
        /// What should stand there.
        expected: &'static str,
    },
    /// A move is not legal or no move at all.
    #[error(
        "the move '{text}' of {name} is not legal here; write a legal one as SAN (Nf3) or as \
         coordinates (g1f3)"
    )]
    Move {
        /// Name of the operation or the column.
        name: &'static str,
        /// What stands there.
        text: String,
    },
    /// A move can be read in several ways.
    #[error("the move '{text}' of {name} can be any of {candidates}; write out which")]
    AmbiguousMove {
        /// Name of the operation or the column.
        name: &'static str,
        /// What stands there.
        text: String,
        /// The moves it can be.
        candidates: String,
    },
    /// An operation for moves has none.
    #[error("{0} names no move; add one, or take the operation out")]
    NoMove(&'static str),
    /// The moves and the points of a test differ in number.
    #[error("{moves} moves in {name}, but {points} points in c8; give each move its points")]
    PointsCount {
        /// The operation with the moves.
        name: &'static str,
        /// Number of moves.
        moves: usize,
        /// Number of points.
        points: usize,
    },
    /// A puzzle's line has the wrong length.
    #[error(
        "the puzzle has {0} moves; there must be an even number, first the opponent's that leads \
         to the puzzle, last the solver's"
    )]
    PuzzleLength(usize),
    /// The line is no line of CSV.
    #[error("not CSV ({0}); check the quotes and the number of columns")]
    Csv(String),
}
