//! A position in the search tree: value, visits, proof and flags in one small record.

use shakmaty::Move;

use crate::chess::score::{Score, Verdict};

/// Index of a node. It is valid until another child is created below its parent: the nodes of one
/// position lie side by side and move when there are more of them. A [`Slot`] stays valid.
pub type NodeId = u32;
/// Index of an expansion.
pub type ExpansionId = u32;
/// No node, no expansion.
pub const NONE: u32 = u32::MAX;
/// The root's node.
pub const ROOT: NodeId = 0;

/// Where a node is, however often it moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// The expansion it belongs to; [`NONE`] at the root.
    pub parent: ExpansionId,
    /// Its index among the expansion's nodes.
    pub index: u8,
}

impl Slot {
    /// The root's.
    pub const ROOT: Self = Self { parent: NONE, index: 0 };

    /// Whether it is the root's.
    pub fn is_root(self) -> bool {
        self.parent == NONE
    }
}

/// The goal of a tree; its verdicts hold for that goal only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Goal {
    /// The result of best play.
    #[default]
    Result,
    /// A mate by the root's side to move (`go mate`): a draw is any line without one.
    Mate {
        /// Plies to the last position in which the opponent may be mated.
        plies: usize,
    },
}

impl Goal {
    /// The goal of a search for a mate in this many moves, or of any other search.
    pub fn of(mate: Option<u32>) -> Self {
        mate.map_or(Self::Result, |moves| Self::Mate {
            plies: (moves as usize).saturating_mul(2).saturating_sub(1),
        })
    }
}

/// Set while the evaluator works on the node.
pub const PENDING: u8 = 1;
/// The value is the parent's action value: the position itself was not evaluated.
pub const UNEVALUATED: u8 = 1 << 1;
/// Value or verdict rests on the path: repetition or the fifty-move rule.
pub const PATH: u8 = 1 << 2;
/// Not to be searched: `searchmoves` leaves it out, or it wins and other lines are searched.
pub const EXCLUDED: u8 = 1 << 3;
/// Nothing below can be selected until an answer arrives.
pub const BLOCKED: u8 = 1 << 4;
/// Depth and value came from the table or a folded subtree and are deeper than the visits here
/// amount to.
pub const KNOWN: u8 = 1 << 5;

/// A position in the tree, reached by one move.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// Expected score for the side to move: backed up, or the action value while [`UNEVALUATED`].
    pub value: f32,
    /// Depth in plies that the visits amount to; -1 while [`UNEVALUATED`].
    pub depth: f32,
    /// Factor on the error scale, from the evaluator's own error (the parent's while
    /// [`UNEVALUATED`]).
    pub spread: f32,
    /// The parent's policy for this move.
    pub policy: f32,
    /// Leaves at and below this node that were evaluated or found in the cache of evaluations, and
    /// those in flight.
    pub visits: u32,
    /// Its expansion once expanded, else [`NONE`].
    pub expansion: ExpansionId,
    /// What is proven.
    pub verdict: Verdict,
    /// The move that leads here; meaningless at the root.
    pub played: Move,
    /// Index of that move among the parent's legal moves.
    pub edge: u8,
    /// [`PENDING`] and the other flags.
    pub flags: u8,
}

impl Node {
    /// An unevaluated node below the move `played`.
    pub fn unevaluated(played: Move, value: f32, policy: f32, spread: f32) -> Self {
        Self {
            value,
            depth: -1.0,
            spread,
            policy,
            visits: 0,
            expansion: NONE,
            verdict: Verdict::Open,
            played,
            edge: 0,
            flags: UNEVALUATED,
        }
    }

    /// Whether any of these flags is set.
    pub fn has(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }

    /// Sets or clears flags.
    pub fn mark(&mut self, flags: u8, on: bool) {
        if on {
            self.flags |= flags;
        } else {
            self.flags &= !flags;
        }
    }

    /// Whether the position has children.
    pub fn is_expanded(&self) -> bool {
        self.expansion != NONE
    }

    /// Whether its result is proven, so that nothing is left to search.
    pub fn is_proven(&self) -> bool {
        self.verdict != Verdict::Open
    }

    /// Value or proof for the side to move.
    pub fn score(&self) -> Score {
        match self.verdict {
            Verdict::Open => Score::Estimate(self.value),
            Verdict::Win(plies) => Score::Win(plies),
            Verdict::Loss(plies) => Score::Loss(plies),
            Verdict::Draw => Score::Draw,
        }
    }
}
