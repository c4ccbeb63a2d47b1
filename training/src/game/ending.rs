//! How a game ends: the result, and the rule or mishap that brought it.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use shakmaty::Color;

/// Result of a finished game, written as in PGN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GameResult {
    /// White won.
    #[serde(rename = "1-0")]
    WhiteWins,
    /// Black won.
    #[serde(rename = "0-1")]
    BlackWins,
    /// Nobody won.
    #[serde(rename = "1/2-1/2")]
    Draw,
}

impl GameResult {
    /// The result as PGN writes it.
    pub fn pgn(self) -> &'static str {
        match self {
            Self::WhiteWins => "1-0",
            Self::BlackWins => "0-1",
            Self::Draw => "1/2-1/2",
        }
    }

    /// White's points, doubled.
    pub fn white_half_points(self) -> u8 {
        match self {
            Self::WhiteWins => 2,
            Self::Draw => 1,
            Self::BlackWins => 0,
        }
    }

    /// The side that won, if one did.
    pub fn winner(self) -> Option<Color> {
        match self {
            Self::WhiteWins => Some(Color::White),
            Self::BlackWins => Some(Color::Black),
            Self::Draw => None,
        }
    }
}

/// Why a game ended.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Termination {
    /// The side to move is mated.
    Checkmate,
    /// The side to move has no legal move and is not in check.
    Stalemate,
    /// A hundred plies without capture or pawn move.
    FiftyMoves,
    /// The same position for the third time.
    Repetition,
    /// Neither side has the material to mate.
    InsufficientMaterial,
    /// The game reached the longest length allowed.
    MaxPlies,
    /// Both engines see an even game for long enough.
    DrawAdjudication,
    /// An engine sees its game lost for long enough.
    ResignAdjudication,
    /// The endgame tables know how the game ends.
    TableAdjudication,
    /// A clock ran out.
    TimeForfeit,
    /// An engine sent a move that is not legal.
    IllegalMove,
    /// An engine's process ended.
    Crash,
    /// An engine lives but does not answer.
    Hang,
    /// An engine sent a line that UCI does not know in its place.
    BadUci,
}

impl Termination {
    /// One word for statistics; the same as in a record.
    pub fn word(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Whether it is no matter of chess but of an engine that failed.
    pub fn is_failure(self) -> bool {
        matches!(
            self,
            Self::TimeForfeit | Self::IllegalMove | Self::Crash | Self::Hang | Self::BadUci
        )
    }

    /// The value of PGN's `Termination` tag (PGN standard, section 9.8.1).
    pub fn pgn(self) -> &'static str {
        match self {
            Self::Checkmate
            | Self::Stalemate
            | Self::FiftyMoves
            | Self::Repetition
            | Self::InsufficientMaterial => "normal",
            Self::MaxPlies
            | Self::DrawAdjudication
            | Self::ResignAdjudication
            | Self::TableAdjudication => "adjudication",
            Self::TimeForfeit => "time forfeit",
            Self::IllegalMove | Self::BadUci => "rules infraction",
            Self::Crash | Self::Hang => "abandoned",
        }
    }
}

/// How a game ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Ending {
    /// Who won.
    pub result: GameResult,
    /// By what.
    pub termination: Termination,
}

impl Ending {
    /// A draw by `termination`.
    pub fn draw(termination: Termination) -> Self {
        Self { result: GameResult::Draw, termination }
    }

    /// A loss for `loser` by `termination`.
    pub fn loss(loser: Color, termination: Termination) -> Self {
        let result = loser.fold_wb(GameResult::BlackWins, GameResult::WhiteWins);
        Self { result, termination }
    }

    /// The ending in words, as fastchess says it: `White mates`. `detail` is what the engine
    /// sent, for an illegal move and for bad UCI.
    pub fn describe(self, detail: Option<&str>) -> String {
        let (winner, loser) = match self.result {
            GameResult::WhiteWins => ("White", "Black"),
            GameResult::BlackWins => ("Black", "White"),
            GameResult::Draw => ("No side", "A side"),
        };
        let detail = detail.map(|text| format!(": {text}")).unwrap_or_default();
        match self.termination {
            Termination::Checkmate => format!("{winner} mates"),
            Termination::Stalemate => "Draw by stalemate".to_owned(),
            Termination::FiftyMoves => "Draw by fifty moves rule".to_owned(),
            Termination::Repetition => "Draw by 3-fold repetition".to_owned(),
            Termination::InsufficientMaterial => "Draw by insufficient mating material".to_owned(),
            Termination::MaxPlies => "Draw by adjudication: maximum length".to_owned(),
            Termination::DrawAdjudication => "Draw by adjudication".to_owned(),
            Termination::ResignAdjudication => format!("{winner} wins by adjudication"),
            Termination::TableAdjudication if self.result == GameResult::Draw => {
                "Draw by adjudication: Syzygy tables".to_owned()
            }
            Termination::TableAdjudication => {
                format!("{winner} wins by adjudication: Syzygy tables")
            }
            Termination::TimeForfeit => format!("{loser} loses on time"),
            Termination::IllegalMove => format!("{loser} makes an illegal move{detail}"),
            Termination::Crash => format!("{loser} disconnects"),
            Termination::Hang => format!("{loser}'s connection stalls"),
            Termination::BadUci => format!("{loser} breaks the UCI protocol{detail}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_records() {
        for &termination in Termination::value_variants() {
            let json = serde_json::to_string(&termination).unwrap();
            assert_eq!(json, format!("\"{}\"", termination.word()));
        }
        for result in [GameResult::WhiteWins, GameResult::BlackWins, GameResult::Draw] {
            assert_eq!(serde_json::to_string(&result).unwrap(), format!("\"{}\"", result.pgn()));
        }
    }

    #[test]
    fn the_loser_loses() {
        let ending = Ending::loss(Color::White, Termination::IllegalMove);
        assert_eq!(ending.result, GameResult::BlackWins);
        assert_eq!(ending.describe(Some("e2e5")), "White makes an illegal move: e2e5");
        let ending = Ending::loss(Color::Black, Termination::Checkmate);
        assert_eq!(ending.describe(None), "White mates");
    }
}
