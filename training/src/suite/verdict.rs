//! What an answer is worth.

use serde::{Deserialize, Serialize};

use super::item::{Item, Task};
use super::mate::MateVerdict;

/// What an answer is worth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grade {
    /// Whether the item counts as solved; for points, whether it got all of them.
    pub solved: bool,
    /// Points, `0..=max`.
    pub points: f64,
    /// Points of the best answer; 1 where the suite gives none.
    pub max: f64,
    /// What else there is to say.
    pub detail: Detail,
}

/// What there is to say about an answer beside its points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// The task is one of moves or points.
    Played,
    /// There was no answer, its move is not legal, or it came too late.
    NoMove,
    /// The task is a mate.
    Mate(MateVerdict),
    /// The task is a puzzle.
    Puzzle {
        /// Whether the first move was right.
        first_right: bool,
        /// Right moves before the first wrong one.
        right: u32,
        /// The solver's moves in the line.
        of: u32,
    },
}

impl Grade {
    /// The verdict on an engine that gave no move (or crashed, was late, or played an illegal one).
    pub fn no_move(item: &Item) -> Grade {
        Grade { solved: false, points: 0.0, max: max(item), detail: Detail::NoMove }
    }
}

pub(super) fn max(item: &Item) -> f64 {
    if let Task::Points { max, .. } = item.task { f64::from(max) } else { 1.0 }
}
