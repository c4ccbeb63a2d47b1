//! What an experience file is made of: records of what happened, and of what is known when the file
//! is written anew.

mod bytes;
#[cfg(test)]
mod tests;

pub(super) use self::bytes::{Ending, HEADER, MAGIC, read_all};

use shakmaty::Color;

use super::State;
use super::packed::{Packed, PackedMove};

/// One thing that happened, or that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// A move was made.
    Move(MoveMade),
    /// A game ended.
    Game(GameOver),
    /// What is known of a position, when a file is rewritten.
    Position(Packed, PositionRecord),
    /// A game that ended before the file was rewritten, oldest first.
    Past(PastGame),
    /// Sums, when a file is rewritten.
    Totals(Totals),
}

/// A move, and why it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MoveMade {
    /// Where.
    pub(super) position: Packed,
    /// Which.
    pub(super) best: PackedMove,
    /// Why.
    pub(super) state: State,
}

/// The end of a game, for all positions in which we moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GameOver {
    /// `None` = a draw.
    pub(super) winner: Option<Color>,
    /// Unknown, and not decided by the rules: estimated from the last value.
    pub(super) is_estimated: bool,
    /// Whether White and Black were ever confident.
    pub(super) confident: [bool; 2],
    /// Moves by state.
    pub(super) moves: [u32; 3],
    /// Where we moved, in order.
    pub(super) positions: Vec<Packed>,
}

impl GameOver {
    /// The side that moved first among ours.
    pub(super) fn our_side(&self) -> Color {
        self.positions.first().map_or(Color::White, |position| position.turn())
    }
}

/// What is known of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PositionRecord {
    /// The move last made there.
    pub(super) best: PackedMove,
    /// Why it was made.
    pub(super) state: State,
    /// How often a move was made there.
    pub(crate) seen: u32,
    /// Games won by the side to move, by their known or guessed results.
    pub(super) wins: u32,
    /// Games drawn.
    pub(super) draws: u32,
    /// Games lost.
    pub(super) losses: u32,
    /// Games that had ended when it was seen last.
    pub(super) last: u32,
}

/// The result of a game for the side that played it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum GameResult {
    /// Lost.
    Loss,
    /// Drawn.
    Draw,
    /// Won.
    Win,
}

/// A game in a few numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PastGame {
    /// For the side whose move came first among ours.
    pub(super) result: GameResult,
    /// See [`GameOver::is_estimated`].
    pub(super) is_estimated: bool,
    /// Moves by state.
    pub(super) moves: [u32; 3],
    /// The threshold it was played with, in thousandths of a pawn.
    pub(super) threshold: i32,
    /// Positions known when it ended.
    pub(super) positions: u32,
}

/// Sums over all games.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Totals {
    /// From which quick evaluation on we are confident, in thousandths of a pawn.
    pub(super) threshold: i32,
    /// Games that ended.
    pub(super) games: u32,
    /// Moves by state, those of games without an end included.
    pub(super) moves: [u64; 3],
    /// Games since the threshold was last judged in which a side was confident.
    pub(super) confident: u32,
    /// Those of them that it won.
    pub(super) confident_wins: u32,
}
