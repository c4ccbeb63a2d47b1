//! Judging an engine's answer.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use shakmaty::{Move, Position};

use super::mate::{self, MateLimits, MateVerdict};
use super::puzzle::PuzzleRun;
use super::{Item, Task};
use crate::matches::record::Score;

/// What an engine said about a position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The move it plays.
    pub best: Move,
    /// Its last score, if it gave one.
    pub score: Option<Score>,
    /// Depth reached, plies.
    pub depth: u32,
    /// Nodes searched.
    pub nodes: u64,
    /// Time used.
    pub time: Duration,
    /// The principal variation, `best` first; may be cut short or empty.
    pub pv: Vec<Move>,
}

/// What an answer is worth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
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
    /// There was no answer, or its move is not legal.
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

impl Verdict {
    /// The verdict on an engine that gave no move (or crashed, or played an illegal one).
    pub fn no_move(item: &Item) -> Verdict {
        Verdict { solved: false, points: 0.0, max: max(item), detail: Detail::NoMove }
    }
}

fn max(item: &Item) -> f64 {
    if let Task::Points { max, .. } = item.task { f64::from(max) } else { 1.0 }
}

/// Judges an answer.
///
/// A mate counts as solved if its first move is shown to be right, or could not be checked within
/// `limits` but was announced, with nothing that speaks against it. Of a puzzle only the first
/// move is judged here; [`PuzzleRun`] plays it through.
pub fn judge(item: &Item, answer: &Answer, limits: &MateLimits) -> Verdict {
    if !item.position.is_legal(answer.best) {
        return Verdict::no_move(item);
    }
    let max = max(item);
    let simple = |points: f64, detail| Verdict { solved: points >= max, points, max, detail };
    let one = |solved: bool, detail| simple(f64::from(u8::from(solved)), detail);
    match &item.task {
        Task::BestMoves { best, avoid } => {
            let good = best.is_empty() || best.contains(&answer.best);
            one(good && !avoid.contains(&answer.best), Detail::Played)
        }
        Task::Points { moves, .. } => {
            let points = moves.iter().filter(|(m, _)| *m == answer.best).map(|(_, p)| *p).max();
            simple(f64::from(points.unwrap_or(0)), Detail::Played)
        }
        Task::Mate { moves } => {
            let verdict = mate::judge(&item.position, *moves, answer, limits);
            one(verdict.solved(), Detail::Mate(verdict))
        }
        Task::Puzzle { .. } => match PuzzleRun::new(item) {
            Some(mut run) => {
                run.answer(answer.best);
                run.verdict()
            }
            None => Verdict::no_move(item),
        },
    }
}
