//! What the search asks of a device, and what the device answers.
//!
//! A request names its position's parent on the device: an evaluator that keeps what it computed of
//! the parent answers for the price of a few tokens instead of a whole board.

use std::fmt;
use std::ops::AddAssign;

use crossbeam_channel::Select;
use shakmaty::{Chess, Move, Position as _};

/// Names an evaluated position on the device that evaluated it.
///
/// An incremental evaluator keeps the keys and values of the position under this name. Handles
/// stay valid until [`CacheNote::ForgetAll`]; one that the device has dropped meanwhile is no
/// error, only slower.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Handle(pub u32);

/// One position to evaluate. It must have at least one legal move: the search knows mates and
/// stalemates itself.
#[derive(Clone, Debug)]
pub struct Request {
    /// The position; the answer is from its side to move.
    pub position: Chess,
    /// Its legal moves. The answer lists its move estimates in this order.
    pub moves: Box<[Move]>,
    /// How often the position has occurred before on the path that led here (0, 1 or 2).
    pub repetitions: u8,
    /// The parent's name on this device and the move that led here, where the search knows them.
    pub parent: Option<(Handle, Move)>,
    /// Whether children of the position may follow: the device keeps what they need of it.
    pub keep: bool,
    /// Whose position it is, where many searches share a device; a search alone says 0.
    pub session: u32,
}

impl Request {
    /// A position with all its legal moves, without parent and children.
    pub fn single(position: &Chess) -> Self {
        Self {
            position: position.clone(),
            moves: position.legal_moves().to_vec().into(),
            repetitions: 0,
            parent: None,
            keep: false,
            session: 0,
        }
    }
}

/// What a search says of the positions that the device keeps for it, from the next batch on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheNote {
    /// These are never evicted, and no others of the session: its principal variation.
    Protect(Vec<Handle>),
    /// All of the session but these may be forgotten: the search has dropped them.
    Retain(Vec<Handle>),
    /// Of these only the positions need be kept: the search has dropped them, but knows their
    /// evaluations and may reach them again.
    DropTokens(Vec<Handle>),
    /// These were reached again, each from this parent by this move, without an evaluation.
    Reached(Vec<(Handle, (Handle, Move))>),
    /// The session has ended.
    Forget,
    /// Everything of all sessions may be forgotten; no handle is valid any more.
    ForgetAll,
}

/// What an evaluator that keeps positions for their children has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheFigures {
    /// Positions evaluated.
    pub evaluations: u64,
    /// Those among them that were encoded whole; the others were made from their parents.
    pub whole: u64,
    /// Kept positions that were encoded whole later, to become anchors.
    pub anchored: u64,
    /// Kept positions whose tokens had been evicted and were rebuilt from their parents'.
    pub rebuilt: u64,
    /// Tokens that ran through the network for all of these.
    pub tokens: u64,
    /// Kept positions whose tokens made room for others.
    pub evicted: u64,
    /// Tokens in the cache now.
    pub used: u64,
    /// Tokens for which it has room.
    pub limit: u64,
}

impl CacheFigures {
    /// Tokens per evaluation; 0 before the first.
    pub fn tokens_each(&self) -> f64 {
        if self.evaluations == 0 { 0.0 } else { self.tokens as f64 / self.evaluations as f64 }
    }

    /// What was done since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.combine(earlier, |now, then| now - then)
    }

    /// What was done, combined with another's; what is in the cache is this one's.
    fn combine(&self, other: &Self, with: fn(u64, u64) -> u64) -> Self {
        Self {
            evaluations: with(self.evaluations, other.evaluations),
            whole: with(self.whole, other.whole),
            anchored: with(self.anchored, other.anchored),
            rebuilt: with(self.rebuilt, other.rebuilt),
            tokens: with(self.tokens, other.tokens),
            evicted: with(self.evicted, other.evicted),
            ..*self
        }
    }
}

impl AddAssign for CacheFigures {
    /// Adds what was done; what is in the cache is `later`'s.
    fn add_assign(&mut self, later: Self) {
        *self = later.combine(self, |a, b| a + b);
    }
}

impl fmt::Display for CacheFigures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let children = self.evaluations - self.whole;
        write!(
            f,
            "{:.2} tokens per evaluation: {children} from their parents, {} whole; {} anchored, {} \
             evicted, {} made again; {} tokens in the cache, {} per search at most",
            self.tokens_each(),
            self.whole,
            self.anchored,
            self.evicted,
            self.rebuilt,
            self.used,
            self.limit
        )
    }
}

/// What the evaluator thinks of one legal move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MoveEstimate {
    /// Probability that this is the best move; the moves of a position sum to 1.
    pub policy: f32,
    /// Expected score in `[0, 1]` after this move, for the side that makes it.
    pub action_value: f32,
}

/// The answer to one [`Request`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evaluation {
    /// Expected score in `[0, 1]` (win + half a draw) for the side to move.
    pub value: f32,
    /// Scale of a Student-t distribution with two degrees of freedom for the error of `value`, in
    /// score units (0.05 = 5 points), always positive: 58 % of the errors are to be smaller.
    pub error: f32,
    /// Win, draw and loss probabilities for the side to move; they sum to 1.
    pub wdl: [f32; 3],
    /// One estimate per legal move, in the order of [`Request::moves`].
    pub moves: Box<[MoveEstimate]>,
    /// The position's name on the device.
    pub handle: Handle,
}

/// Why a batch got no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvalError {
    /// The device thread ended or its driver failed; every batch in flight is lost.
    #[error("the device stopped answering ({0})")]
    DeviceLost(String),
    /// `collect` was called with nothing in flight.
    #[error("no batch is in flight")]
    NothingInFlight,
}

/// [`Evaluator::fixed_cost`] of two threads of a CPU that evaluate incrementally.
pub const CPU_FIXED_COST: f32 = 2.0;
/// [`Evaluator::fixed_cost`] of a GPU that is not measured: a millisecond to start a batch,
/// microseconds a position.
pub const GPU_FIXED_COST: f32 = 500.0;

/// What an evaluator is told of the fifty-move rule: one of eight classes of halfmoves since the
/// last capture or pawn move.
pub fn clock_class(halfmoves: u32) -> u8 {
    (halfmoves / 13).min(7) as u8
}

/// Scores positions in batches.
///
/// `submit` and `collect` are separate so that the search can choose the next batch while the
/// device works on this one. Called from the search thread only.
pub trait Evaluator: Send {
    /// One line for people: the device and the network.
    fn description(&self) -> String;

    /// Largest batch worth sending, in positions.
    fn batch_size(&self) -> usize;

    /// Evaluations that take as long as the fixed part of a batch: `t0 / t1` where a batch of `B`
    /// takes `t0 + t1 · B`. A property of the device, not of its latest answers, so that what
    /// follows from it can be repeated.
    fn fixed_cost(&self) -> f32 {
        CPU_FIXED_COST
    }

    /// Queues `batch` and returns at once. An empty batch is allowed and answered by an empty one.
    fn submit(&mut self, batch: Vec<Request>);

    /// Batches submitted and not yet collected.
    fn in_flight(&self) -> usize;

    /// Waits for the oldest queued batch. Answers come in the order the positions were sent.
    ///
    /// # Errors
    /// [`EvalError::DeviceLost`] when the device stopped answering, [`EvalError::NothingInFlight`]
    /// when nothing was submitted.
    fn collect(&mut self) -> Result<Vec<Evaluation>, EvalError>;

    /// Has `select` wait for the answer to the oldest batch, too: when it has come, `collect` does
    /// not wait. `false` = the answer comes through no channel, and nothing was added.
    fn watch<'a>(&'a self, _: &mut Select<'a>) -> bool {
        false
    }

    /// Says which of the session's positions are worth keeping; a search alone is session 0.
    fn note(&mut self, _session: u32, _: CacheNote) {}

    /// What was done so far, where positions are kept for their children.
    fn cache_figures(&self) -> Option<CacheFigures> {
        None
    }
}

/// Centipawns per unit of log-odds, inverted: `score = 1 / (1 + exp(-K * cp))`.
///
/// The constant is Lichess's win-percentage fit, also used for the training labels.
pub const LOG_ODDS_PER_CENTIPAWN: f32 = 0.003_682_08;

/// Expected score in `[0, 1]` of an advantage in centipawns.
pub fn score_from_centipawns(centipawns: f32) -> f32 {
    1.0 / (1.0 + (-LOG_ODDS_PER_CENTIPAWN * centipawns).exp())
}

/// Advantage in centipawns of an expected score; scores are clamped to ±2000 centipawns.
pub fn centipawns_from_score(score: f32) -> f32 {
    let edge = score_from_centipawns(2000.0);
    let score = score.clamp(1.0 - edge, edge);
    (score / (1.0 - score)).ln() / LOG_ODDS_PER_CENTIPAWN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn centipawns_round_trip() {
        for cp in [-1900.0, -300.0, -1.0, 0.0, 17.0, 250.0, 1500.0] {
            assert!((centipawns_from_score(score_from_centipawns(cp)) - cp).abs() < 1.0);
        }
        assert!(score_from_centipawns(100.0) > score_from_centipawns(99.0));
        assert!((score_from_centipawns(0.0) - 0.5).abs() < 1e-7);
        assert!((centipawns_from_score(1.0) - 2000.0).abs() < 1.0);
    }
}
