//! What a search reports while it runs and at its end.

use std::fmt;
use std::time::Duration;

use shakmaty::Move;

use crate::chess::score::Score;

/// Time from which the current root move is reported, as in Stockfish; UCI allows it after one
/// second.
const LONG: Duration = Duration::from_secs(3);

/// The content of one `info` line.
#[derive(Clone, Debug, PartialEq)]
pub struct Info {
    /// Depth in plies (for best-first searches: that of the root's visits, in whole plies).
    pub depth: u32,
    /// Length of the longest line searched.
    pub selective_depth: u32,
    /// From the root's side to move.
    pub score: Score,
    /// Whether the score is a lower bound: the search ended before it was known how much more.
    pub is_bound: bool,
    /// Evaluations for network searches, nodes for alpha-beta.
    pub nodes: u64,
    /// Share of `Hash` in use, permille.
    pub hashfull: u32,
    /// Since `go`.
    pub time: Duration,
    /// The principal variation from the root; all moves are legal.
    pub pv: Vec<Move>,
    /// The lines after the best one, best first, when more than one is wanted.
    pub variations: Vec<Variation>,
    /// The root move being searched, if this report is about it; all else repeats the last report.
    pub current: Option<Current>,
}

/// A root move that an iterative-deepening search is working on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Current {
    /// The move.
    pub played: Move,
    /// Its number in the order of this depth, from 1.
    pub number: usize,
    /// The depth that is being searched, plies.
    pub depth: u32,
}

/// A line behind the best one.
#[derive(Clone, Debug, PartialEq)]
pub struct Variation {
    /// The depth that it was searched to; after a stop it may differ from the best line's.
    pub depth: u32,
    /// From the root's side to move.
    pub score: Score,
    /// From the root; at least one move, all of them legal.
    pub pv: Vec<Move>,
}

/// How a selection rule rates a move; `None` is what the rule does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rating {
    /// Error scale of the value, score units; 0 where proven.
    pub error: Option<f32>,
    /// Probability that it is better than the move with the highest value, from values, errors and
    /// policy; for that move itself, the highest of the others'.
    pub overtake: Option<f32>,
    /// Probability that one more ply of it changes the decision, as the rule weighs it.
    pub benefit: Option<f32>,
    /// Evaluations that one more ply of it costs.
    pub cost: Option<f32>,
    /// Benefit per cost.
    pub rate: Option<f32>,
    /// Its share of the next evaluations.
    pub next: Option<f32>,
    /// lc0's U, score units. PUCT only.
    pub exploration: Option<f32>,
}

/// What is known of one root move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RootMove {
    /// The move.
    pub mv: Move,
    /// Its score for the side that makes it.
    pub score: Score,
    /// Its expected score for the side that makes it.
    pub value: f32,
    /// The rule's count N at and below it: evaluations, with those kept from earlier searches and
    /// those awaited; under PUCT visits to proven positions too.
    pub visits: u32,
    /// Evaluations answered below it in this search.
    pub evaluations: u32,
    /// Whether the position after it was evaluated; before that, the value is a guess.
    pub is_evaluated: bool,
    /// The evaluator's policy.
    pub policy: f32,
    /// How the rule rates it.
    pub rating: Rating,
}

/// Passes a search's reports on; those of the current root move only once the search is long.
pub struct Reporter<'a> {
    report: &'a mut (dyn FnMut(&Info) + 'a),
    last: Option<Info>,
}

impl fmt::Debug for Reporter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reporter").field("last", &self.last).finish_non_exhaustive()
    }
}

impl<'a> Reporter<'a> {
    /// To this listener.
    pub fn new(report: &'a mut (dyn FnMut(&Info) + 'a)) -> Self {
        Self { report, last: None }
    }

    /// Passes on the result of an iteration.
    pub fn report(&mut self, info: Info) {
        (self.report)(&info);
        self.last = Some(info);
    }

    /// Passes on the current root move, at this time since `go`.
    pub fn looks_at(&mut self, current: Current, time: Duration) {
        if time >= LONG
            && let Some(last) = &self.last
        {
            (self.report)(&Info { current: Some(current), time, ..last.clone() });
        }
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::{Chess, Position as _};

    use super::*;

    #[test]
    fn root_moves_are_news_only_in_a_long_search() {
        let played = Chess::default().legal_moves()[0];
        let info = Info {
            depth: 7,
            selective_depth: 9,
            score: Score::Draw,
            nodes: 5,
            hashfull: 0,
            time: Duration::ZERO,
            pv: vec![played],
            variations: Vec::new(),
            is_bound: false,
            current: None,
        };
        let current = Current { played, number: 1, depth: 8 };
        let mut told: Vec<Info> = Vec::new();
        let mut report = |info: &Info| told.push(info.clone());
        let mut reporter = Reporter::new(&mut report);
        reporter.looks_at(current, LONG);
        reporter.report(info.clone());
        reporter.looks_at(current, LONG.saturating_sub(Duration::from_millis(1)));
        reporter.looks_at(current, LONG);
        let last = Info { current: Some(current), time: LONG, ..info.clone() };
        assert_eq!(told, [info, last]);
    }
}
