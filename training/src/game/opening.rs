//! Where a game starts.

use serde::{Deserialize, Serialize};
use shakmaty::uci::UciMove;

/// Where one game starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// FEN of the start position, all six fields.
    pub fen: String,
    /// Moves played from there before the engines think.
    #[serde(with = "uci_moves", default, skip_serializing_if = "Vec::is_empty")]
    pub moves: Vec<UciMove>,
    /// Whether castling is read and written as in Chess960.
    pub chess960: bool,
    /// What the book calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// Moves as a list of texts, for serde.
mod uci_moves {
    use super::UciMove;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(moves: &[UciMove], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(moves.iter().map(ToString::to_string))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<UciMove>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        let parse = |text: &String| {
            text.parse().map_err(|_| D::Error::custom(format!("\"{text}\" is not a UCI move")))
        };
        texts.iter().map(parse).collect()
    }
}
