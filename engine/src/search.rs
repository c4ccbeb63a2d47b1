//! What `go` asks of a search and what a search tells while it runs. Every search mode speaks this.

pub mod clock;
pub mod handicap;
pub mod table;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use shakmaty::{Move, Position};
use tesla_nn::evaluator::{CacheFigures, EvalError, Evaluator};

use crate::best_first::root::RootMove;
use crate::chess::game::Game;
use crate::chess::score::Score;
use crate::chess::tablebase::Tables;
use crate::search::clock::Budget;

/// The clock of the side to move, from `go wtime … btime …`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Time left on our clock.
    pub remaining: Duration,
    /// Added after each of our moves.
    pub increment: Duration,
    /// Moves to the next time control; `None` = the rest of the game.
    pub moves_to_go: Option<u32>,
}

/// When a search must end. All limits hold at once; none set means `infinite`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Our clock.
    pub clock: Option<Clock>,
    /// Exactly this long; with a clock beside it, at most.
    pub move_time: Option<Duration>,
    /// Evaluations for network searches, nodes for alpha-beta.
    pub nodes: Option<u64>,
    /// Depth in plies as the search reports it.
    pub depth: Option<u32>,
    /// Search for a mate in this many moves.
    pub mate: Option<u32>,
    /// Search until `stop`; no move before it.
    pub infinite: bool,
    /// Only these moves at the root; empty = all.
    pub search_moves: Vec<Move>,
    /// How many best moves are told of; 0 counts as 1.
    pub lines: usize,
}

impl Limits {
    /// Whether no move may be sent before `stop`: a search without an end of its own.
    pub fn waits_for_stop(&self) -> bool {
        let bounded = self.clock.is_some()
            || self.move_time.is_some()
            || self.nodes.is_some()
            || self.depth.is_some()
            || self.mate.is_some();
        self.infinite || !bounded
    }
}

/// Tells a running search to end. Clones share one flag; the UCI thread sets, the search reads.
#[derive(Clone, Debug, Default)]
pub struct StopToken(Arc<AtomicBool>);

impl StopToken {
    /// Asks the search to answer now.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether somebody asked.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// A token that others set too, such as a handler of signals.
impl From<Arc<AtomicBool>> for StopToken {
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }
}

/// One `info` line's worth of news.
#[derive(Clone, Debug, PartialEq)]
pub struct Info {
    /// Depth in plies (for best-first searches: what the root's work is worth in whole plies).
    pub depth: u32,
    /// Length of the longest line looked at.
    pub selective_depth: u32,
    /// From the root's side to move.
    pub score: Score,
    /// Evaluations for network searches, nodes for alpha-beta.
    pub nodes: u64,
    /// Share of `Hash` in use, permille.
    pub hashfull: u32,
    /// Since `go`.
    pub time: Duration,
    /// The principal variation from the root, legal moves all.
    pub pv: Vec<Move>,
    /// What the next best moves promise, the best first, where more than one line is wanted.
    pub variations: Vec<Variation>,
    /// The root move that is looked at now, where that is the news; all else was told before.
    pub current: Option<Current>,
}

/// A root move that a search by depth looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Current {
    /// The move.
    pub played: Move,
    /// Its number in the order of this depth, from 1.
    pub number: usize,
    /// The depth that is being searched, plies.
    pub depth: u32,
}

/// Passes a search's news on; which root move is looked at only once the search is long.
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

    /// Passes on what a depth has found.
    pub fn news(&mut self, info: Info) {
        (self.report)(&info);
        self.last = Some(info);
    }

    /// Passes on which root move is looked at, so long after `go`.
    pub fn looks_at(&mut self, current: Current, time: Duration) {
        if time >= LONG
            && let Some(last) = &self.last
        {
            (self.report)(&Info { current: Some(current), time, ..last.clone() });
        }
    }
}

/// A line behind the best one.
#[derive(Clone, Debug, PartialEq)]
pub struct Variation {
    /// How deep it was looked at; where a search was stopped, other than the best line's.
    pub depth: u32,
    /// From the root's side to move.
    pub score: Score,
    /// From the root, at least one move, legal moves all.
    pub pv: Vec<Move>,
}

/// What a search is told.
#[derive(Debug)]
pub struct Task<'a> {
    /// The game and its current position, which has at least one legal move.
    pub game: &'a Game,
    /// The limits as the user gave them.
    pub limits: &'a Limits,
    /// The clock made of them; ask it rather than the time.
    pub budget: &'a Budget,
    /// Set when the user wants the answer now.
    pub stop: &'a StopToken,
}

/// Gives the evaluator to go on with where one has failed, which it is told, and tells people of it; nothing where none
/// is left.
pub type Spares = Box<dyn FnMut(&EvalError) -> Option<Box<dyn Evaluator>> + Send>;

/// With less time than this another evaluator is not started: weights have to be read and packed.
const STARTING: Duration = Duration::from_millis(500);

/// When a search is so long that its root moves are told of, as Stockfish has it; UCI allows it after one second.
const LONG: Duration = Duration::from_secs(3);

/// How often a finished search that must not answer yet looks for `stop`.
const WAIT: Duration = Duration::from_millis(2);

impl Task<'_> {
    /// The legal moves that the user allows; all of them where none of those is legal.
    pub fn root_moves(&self) -> Vec<Move> {
        let legal = self.game.position().legal_moves();
        let wanted = &self.limits.search_moves;
        let allowed: Vec<Move> = legal.iter().copied().filter(|m| wanted.contains(m)).collect();
        if allowed.is_empty() { legal.to_vec() } else { allowed }
    }

    /// Whether it is worth starting another evaluator in the place of one that failed.
    pub fn has_time_for_another(&self) -> bool {
        let left = |hard: Duration| hard.saturating_sub(self.budget.elapsed());
        !self.stop.is_stopped() && self.budget.hard().is_none_or(|hard| left(hard) >= STARTING)
    }

    /// Returns when an answer is welcome.
    pub fn wait_for_stop(&self) {
        while self.limits.waits_for_stop() && !self.stop.is_stopped() {
            thread::sleep(WAIT);
        }
    }
}

/// Lets go of an evaluator that failed, or of what holds it, without waiting: its driver may take its time.
pub fn discard(failed: impl Send + 'static) {
    // Without a thread it is dropped here.
    let _ = thread::Builder::new().name("discard".to_owned()).spawn(|| drop(failed));
}

/// Puts the next of the spares in the place of an evaluator that failed; `false` where none is left.
pub fn replace(
    evaluator: &mut Box<dyn Evaluator>,
    spares: &mut Option<Spares>,
    error: &EvalError,
) -> bool {
    let Some(spare) = spares.as_mut().and_then(|spares| spares(error)) else { return false };
    discard(std::mem::replace(evaluator, spare));
    true
}

/// What a search answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The move to play.
    pub best: Move,
    /// The move we would ponder on.
    pub ponder: Option<Move>,
    /// The final news, to be printed directly before `bestmove`.
    pub info: Info,
    /// What went wrong on the way, in one sentence, where something did (the move is still good).
    pub trouble: Option<EvalError>,
    /// What the evaluator did in this search, where it makes positions from their parents.
    pub cache: Option<CacheFigures>,
    /// Sentences on how the move was chosen, where a search has any.
    pub notes: Vec<String>,
}

/// One search mode.
pub trait Search: Send {
    /// Searches until a limit is reached, the budget is spent or `stop` is set. Always answers with
    /// a legal move, also when stopped before the first evaluation or when the evaluator fails.
    fn search(&mut self, task: &Task<'_>, report: &mut dyn FnMut(&Info)) -> Outcome;

    /// Forgets everything learnt from earlier searches (`ucinewgame`).
    fn clear(&mut self);

    /// Bounds the memory for tree and table, in MiB; may forget everything.
    fn set_hash_mb(&mut self, megabytes: usize);

    /// What is known of each root move after a search, the best first; nothing where a search keeps no such account.
    fn root_moves(&self) -> Vec<RootMove> {
        Vec::new()
    }

    /// Goes on with these, in mid-search, when the evaluator fails. Without any, and where there is no time to start one,
    /// the search ends with what it knows, and [`Outcome::trouble`] says so. Searches that ask no evaluator leave it.
    fn set_spares(&mut self, _: Spares) {}

    /// Proves positions by these tables from now on; may forget everything. Searches that look at no tables leave it.
    fn set_tables(&mut self, _: Option<Tables>) {}
}

#[cfg(test)]
mod tests {
    use shakmaty::Chess;

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
            current: None,
        };
        let current = Current { played, number: 1, depth: 8 };
        let mut told: Vec<Info> = Vec::new();
        let mut report = |info: &Info| told.push(info.clone());
        let mut reporter = Reporter::new(&mut report);
        reporter.looks_at(current, LONG);
        reporter.news(info.clone());
        reporter.looks_at(current, LONG.saturating_sub(Duration::from_millis(1)));
        reporter.looks_at(current, LONG);
        let last = Info { current: Some(current), time: LONG, ..info.clone() };
        assert_eq!(told, [info, last]);
    }
}
