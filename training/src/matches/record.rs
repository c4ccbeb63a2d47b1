//! What is kept of a game: enough to write its PGN and its statistics.

use serde::{Deserialize, Serialize};
use shakmaty::Color;
use shakmaty::fen::Fen;

use crate::game::ending::Ending;
use crate::game::openings::Opening;
use crate::game::score::UciScore;

/// One move that an engine played.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveRecord {
    /// The move in UCI notation, with the castling of the game's mode.
    pub uci: String,
    /// The engine's last score before the move.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<UciScore>,
    /// Its last depth.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Its last node count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u64>,
    /// Time the move took by the arbiter's clock, in microseconds. Kept apart from the record, in
    /// which nothing changes from run to run.
    #[serde(skip)]
    pub micros: u64,
}

/// Breaches of the protocol that were tolerated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breaches {
    /// How many.
    pub count: u64,
    /// The first one, in words.
    pub first: String,
}

impl Breaches {
    /// Whether there was none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn add(&mut self, remarks: &[String]) {
        if let (true, Some(first)) = (self.is_empty(), remarks.first()) {
            self.first.clone_from(first);
        }
        self.count += remarks.len() as u64;
    }
}

/// One finished game.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MatchGame {
    /// Number of the game in the match.
    pub number: u64,
    /// Round, as PGN's tag has it.
    pub round: String,
    /// Name of the engine with the white pieces.
    pub white: String,
    /// Name of the engine with the black pieces.
    pub black: String,
    /// Where the game started; its moves are no engine's.
    pub opening: Opening,
    /// The moves of the engines, after the opening's.
    pub moves: Vec<MoveRecord>,
    /// How the game ended.
    pub ending: Ending,
    /// What the engine sent, when it lost by an illegal move or bad UCI.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// Breaches of the protocol by the engine with the white pieces that were tolerated.
    #[serde(default, skip_serializing_if = "Breaches::is_empty")]
    pub white_breaches: Breaches,
    /// The same for Black.
    #[serde(default, skip_serializing_if = "Breaches::is_empty")]
    pub black_breaches: Breaches,
    /// Name of the file with what the engines said, if one was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transcript: Option<String>,
}

impl MatchGame {
    /// Who made the first of [`MatchGame::moves`]. White, where the opening cannot be read.
    pub fn begins_with(&self) -> Color {
        let turn = self.opening.fen.parse::<Fen>().map_or(Color::White, |fen| fen.as_setup().turn);
        if self.opening.moves.len().is_multiple_of(2) { turn } else { !turn }
    }
}
