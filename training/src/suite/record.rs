//! What is kept of an answer, so that a run can go on and two can be compared.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::item::{Item, ItemAnswer, Task};
use super::verdict::Grade;
use crate::game::score::UciScore;

/// An item with what an engine made of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The item's id.
    pub id: String,
    /// The item's position.
    pub fen: String,
    /// What was asked.
    pub task: TaskLabel,
    /// The answers; several only to a puzzle, none if the engine gave no move.
    pub answers: Vec<AnswerRecord>,
    /// What they are worth.
    pub verdict: Grade,
    /// Why there is no answer that counts, where the engine failed: the sort of failure, then what
    /// happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// What was asked, as far as it groups the items.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskLabel {
    /// Best moves.
    BestMoves,
    /// Points.
    Points,
    /// Mate in so many moves; negative when the side to move is mated.
    Mate(i32),
    /// A puzzle.
    Puzzle {
        /// Its rating.
        rating: Option<u32>,
        /// Its themes.
        themes: Vec<String>,
    },
}

/// An answer in text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerRecord {
    /// The move played, UCI coordinates.
    pub best: String,
    /// The score for the side to move.
    pub score: Option<UciScore>,
    /// Plies.
    pub depth: u32,
    /// Positions searched.
    pub nodes: u64,
    /// Milliseconds.
    pub time_ms: u64,
    /// The principal variation, UCI coordinates with spaces.
    pub pv: String,
}

impl Record {
    /// Notes an item, the answers to it (several for a puzzle) and what they are worth.
    pub fn new(item: &Item, answers: &[ItemAnswer], verdict: Grade) -> Record {
        let uci = |m: &shakmaty::Move| m.to_uci(item.castling_mode).to_string();
        let reply = |answer: &ItemAnswer| AnswerRecord {
            best: uci(&answer.best),
            score: answer.score,
            depth: answer.depth,
            nodes: answer.nodes,
            time_ms: u64::try_from(answer.time.as_millis()).unwrap_or(u64::MAX),
            pv: answer.pv.iter().map(uci).collect::<Vec<_>>().join(" "),
        };
        let task = match &item.task {
            Task::BestMoves { .. } => TaskLabel::BestMoves,
            Task::Points { .. } => TaskLabel::Points,
            Task::Mate { moves } => TaskLabel::Mate(*moves),
            Task::Puzzle { rating, themes, .. } => {
                TaskLabel::Puzzle { rating: *rating, themes: themes.clone() }
            }
        };
        Record {
            id: item.id.clone(),
            fen: item.fen.clone(),
            task,
            answers: answers.iter().map(reply).collect(),
            verdict,
            failure: None,
        }
    }

    /// What tells items apart. Ids alone do not: suites repeat them.
    pub(super) fn key(&self) -> (&str, &str) {
        (&self.id, &self.fen)
    }
}

/// The items that have no record yet; what a suite holds twice has two.
pub fn remaining<'a>(items: &'a [Item], records: &[Record]) -> Vec<&'a Item> {
    let mut done: HashMap<_, usize> = HashMap::new();
    for record in records {
        *done.entry(record.key()).or_default() += 1;
    }
    let mut left = Vec::new();
    for item in items {
        match done.get_mut(&(item.id.as_str(), item.fen.as_str())) {
            Some(count) if *count > 0 => *count -= 1,
            _ => left.push(item),
        }
    }
    left
}
