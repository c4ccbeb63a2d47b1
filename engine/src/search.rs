//! The interface of every search mode: what `go` asks for, what is reported while it runs, the
//! result.

pub mod clock;
pub mod handicap;
pub mod limits;
pub mod report;
pub mod snapshot;
pub mod table;
pub mod watch;
pub mod why;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use shakmaty::{Move, Position};
use tesla_nn::evaluator::{CacheFigures, EvalError};
pub use tesla_nn::fallback::{Fallbacks, discard, replace};

use self::clock::Budget;
pub use self::limits::{Clock, Limits};
pub use self::report::{Current, Info, Rating, Reporter, RootMove, Variation};
use self::snapshot::{NodeSnapshot, Snapshot};
use self::watch::Watch;
use crate::chess::game::Game;
use crate::chess::tablebase::Tables;

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

/// A token that other code sets too, such as a signal handler.
impl From<Arc<AtomicBool>> for StopToken {
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }
}

/// What a search is asked to do.
#[derive(Debug)]
pub struct Task<'a> {
    /// The game and its current position, which has at least one legal move.
    pub game: &'a Game,
    /// The limits as the user gave them.
    pub limits: &'a Limits,
    /// The time budget made from them; use it instead of reading a clock.
    pub budget: &'a Budget,
    /// Set when the user wants the answer now.
    pub stop: &'a StopToken,
}

/// With less time left than this, no other evaluator is started: weights have to be read and
/// packed.
const STARTING: Duration = Duration::from_millis(500);

/// No iteration begins when this share of the planned time is over: it would not end in time.
const LAST_START: f64 = 0.55;

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

    /// Whether it is too late for another iteration of a search that deepens ply by ply.
    pub fn is_late(&self) -> bool {
        self.limits.is_planned() && self.budget.soft_share_over(LAST_START)
    }

    /// Whether it is worth starting another evaluator in the place of one that failed.
    pub fn has_time_for_another(&self) -> bool {
        !self.stop.is_stopped() && self.budget.leaves(STARTING)
    }

    /// Whether the position comes about in the game; blocks while that is only expected.
    pub fn comes_about(&self) -> bool {
        while self.budget.is_pondering() && !self.stop.is_stopped() {
            thread::sleep(WAIT);
        }
        !self.budget.is_pondering()
    }

    /// Blocks until the answer may be sent.
    pub fn wait_for_stop(&self) {
        while self.limits.waits_for_stop() && !self.stop.is_stopped() {
            thread::sleep(WAIT);
        }
    }
}

/// What a search answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The move to play.
    pub best: Move,
    /// The move we would ponder on.
    pub ponder: Option<Move>,
    /// The final report, to be printed directly before `bestmove`.
    pub info: Info,
    /// What went wrong during the search, if anything did (the move is still legal).
    pub error: Option<EvalError>,
    /// Statistics of the cache in this search, if the evaluator has one.
    pub cache: Option<CacheFigures>,
    /// Sentences on how the move was chosen, if any.
    pub notes: Vec<String>,
}

/// One search mode.
pub trait Search: Send {
    /// Searches until a limit is reached, the budget is spent or `stop` is set. Always answers with
    /// a legal move, also when stopped before the first evaluation or when the evaluator fails.
    fn search(&mut self, task: &Task<'_>, report: &mut dyn FnMut(&Info)) -> Outcome;

    /// Forgets everything learnt from earlier searches (`Clear Hash`); the game goes on.
    fn clear(&mut self);

    /// The next search is of another game (`ucinewgame`): forgets what is of no use there.
    fn new_game(&mut self) {
        self.clear();
    }

    /// Bounds the memory for tree and table, in MiB; may forget everything.
    fn set_hash_mb(&mut self, megabytes: usize);

    /// Sets the seed of random choices. Searches without any ignore it.
    fn set_seed(&mut self, _: u64) {}

    /// What is known of each root move after a search, the best first; nothing where a search keeps
    /// no such account.
    fn root_moves(&self) -> Vec<RootMove> {
        Vec::new()
    }

    /// The last search as it ended, with the position behind these moves from its root, if the
    /// search knows it; nothing where a search keeps no account.
    fn snapshot(&self, _path: &[Move]) -> Option<Snapshot> {
        None
    }

    /// The position behind these moves, as the last search left it, if the search keeps it.
    fn node(&self, _path: &[Move]) -> Option<NodeSnapshot> {
        None
    }

    /// Sets the watch whose slot the search fills: on request while it runs, and at its end.
    /// Searches that keep no statistics ignore it.
    fn set_watch(&mut self, _: Option<Watch>) {}

    /// Sets the fallbacks to use, in mid-search, when the evaluator fails. Without one, or without
    /// time to start one, the search ends with what it knows, and [`Outcome::error`] says so.
    /// Searches without an evaluator ignore it.
    fn set_fallbacks(&mut self, _: Fallbacks) {}

    /// Sets the endgame tables that prove positions; may forget everything. Searches that probe no
    /// tables ignore it.
    fn set_tables(&mut self, _: Option<Tables>) {}
}
