//! An engine's score of a position.

use serde::{Deserialize, Serialize};

/// An engine's score, from the mover's view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UciScore {
    /// Centipawns.
    Cp(i32),
    /// Mate in so many moves; negative when the mover is mated, 0 when it is mated now.
    Mate(i32),
}
