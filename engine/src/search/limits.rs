//! When a search must end.

use std::time::Duration;

use shakmaty::Move;

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

impl Clock {
    /// Whether no time is left and none comes in.
    pub fn is_empty(&self) -> bool {
        self.remaining.is_zero() && self.increment.is_zero()
    }
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
    /// Whether these are what the endgame tables leave of all moves, not the user's choice.
    pub by_tables: bool,
    /// Number of lines to report; 0 counts as 1.
    pub multipv: usize,
    /// Whether the move may be any of the lines (`UCI_LimitStrength`).
    pub is_weakened: bool,
}

impl Limits {
    /// Whether the time of the move is planned from a clock, and the search may end before it.
    pub fn is_planned(&self) -> bool {
        self.clock.is_some() && self.move_time.is_none()
    }

    /// Whether no move may be sent before `stop`.
    pub fn waits_for_stop(&self) -> bool {
        let bounded = self.clock.is_some()
            || self.move_time.is_some()
            || self.nodes.is_some()
            || self.depth.is_some()
            || self.mate.is_some();
        self.infinite || !bounded
    }
}
