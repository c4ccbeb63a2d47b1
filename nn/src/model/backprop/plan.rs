//! A batch without its padding: rows of pieces first, then rows of readouts.

use std::ops::Range;

use crate::batch::{Batch, HIDDEN, Inputs, NO_PIECE};
use crate::encode::RULE_FEATURES;

/// No captured piece.
pub(super) const NOTHING: u32 = u32::MAX;

/// A window among the rows.
#[derive(Clone, Debug)]
pub(super) struct WindowRows {
    /// Rows of its tokens: the anchor's pieces, moved pieces, readouts.
    pub(super) rows: Vec<u32>,
    /// How many of them are the anchor's, which see each other and nothing else.
    pub(super) anchors: usize,
    /// Row of the bias table for each query and key; [`HIDDEN`] where it does not see.
    pub(super) pairs: Vec<i32>,
}

/// A legal move: rows of the tables that it is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct MoveRows {
    pub(super) piece: u32,
    /// Or [`NOTHING`].
    pub(super) captured: u32,
    /// Among the readouts.
    pub(super) readout: u32,
    pub(super) target: u32,
    pub(super) feature: u32,
    pub(super) situation: u32,
}

/// What the tokens and moves of a batch are made of; what only pads is left out.
#[derive(Clone, Debug, Default)]
pub(super) struct TokenPlan {
    /// Rows of the piece tables, per piece.
    pub(super) pieces: Vec<[u32; 2]>,
    /// Per readout: its pieces in `boards`.
    pub(super) boards_of: Vec<Range<usize>>,
    /// Rows of the board table.
    pub(super) boards: Vec<u32>,
    /// Rows of the rule table, per readout.
    pub(super) rules: Vec<[u32; RULE_FEATURES]>,
    /// Place of each readout among the batch's, padding included.
    pub(super) slots: Vec<usize>,
    pub(super) windows: Vec<WindowRows>,
    pub(super) moves: Vec<MoveRows>,
}

impl TokenPlan {
    /// Leaves out what pads `batch`.
    pub(super) fn new(batch: &Batch) -> Self {
        let (t, r) = (batch.tokens(), batch.readouts);
        let slots = t - r;
        let mut plan = Self::default();
        // Padding sees nothing, not even itself.
        let is_real =
            |window: usize, slot: usize| batch.pairs[window * t * t + slot * t + slot] != HIDDEN;
        let mut row_of = vec![NOTHING; batch.windows * t];
        for window in 0..batch.windows {
            for slot in (0..slots).filter(|&slot| is_real(window, slot)) {
                row_of[window * t + slot] = plan.pieces.len() as u32;
                let at = window * slots + slot;
                let Inputs { piece_square, piece_state, .. } = &batch.inputs;
                plan.pieces.push([piece_square[at] as u32, piece_state[at] as u32]);
            }
        }
        for window in 0..batch.windows {
            for ply in (0..r).filter(|&ply| is_real(window, slots + ply)) {
                row_of[window * t + slots + ply] = (plan.pieces.len() + plan.slots.len()) as u32;
                plan.push_readout(batch, window * r + ply);
            }
        }
        for window in 0..batch.windows {
            plan.push_window(batch, window, &row_of[window * t..][..t]);
        }
        plan.push_moves(batch, &row_of);
        plan
    }

    /// All rows.
    pub(super) fn tokens(&self) -> usize {
        self.pieces.len() + self.slots.len()
    }

    fn push_readout(&mut self, batch: &Batch, slot: usize) {
        let start = self.boards.len();
        let board = &batch.inputs.board[slot * batch.board_slots..][..batch.board_slots];
        self.boards.extend(board.iter().filter(|&&row| row != NO_PIECE).map(|&row| row as u32));
        self.boards_of.push(start..self.boards.len());
        let rules = &batch.inputs.rules[slot * RULE_FEATURES..][..RULE_FEATURES];
        self.rules.push(std::array::from_fn(|i| rules[i] as u32));
        self.slots.push(slot);
    }

    fn push_window(&mut self, batch: &Batch, window: usize, row_of: &[u32]) {
        let t = batch.tokens();
        let there: Vec<usize> = (0..t).filter(|&slot| row_of[slot] != NOTHING).collect();
        let pairs = &batch.pairs[window * t * t..][..t * t];
        let mut seen = Vec::with_capacity(there.len() * there.len());
        for &query in &there {
            seen.extend(there.iter().map(|&key| pairs[query * t + key]));
        }
        self.windows.push(WindowRows {
            rows: there.iter().map(|&slot| row_of[slot]).collect(),
            anchors: there.iter().take_while(|&&slot| slot < batch.anchor_slots).count(),
            pairs: seen,
        });
    }

    fn push_moves(&mut self, batch: &Batch, row_of: &[u32]) {
        let mut readout_of = vec![0; batch.windows * batch.readouts];
        for (readout, &slot) in self.slots.iter().enumerate() {
            readout_of[slot] = readout as u32;
        }
        let moves = &batch.moves;
        self.moves = (0..moves.piece.len())
            .map(|i| MoveRows {
                piece: row_of[moves.piece[i] as usize],
                captured: row_of.get(moves.captured[i] as usize).copied().unwrap_or(NOTHING),
                readout: readout_of[moves.readout[i] as usize],
                target: moves.target[i] as u32,
                feature: moves.feature[i] as u32,
                situation: moves.situation[i] as u32,
            })
            .collect();
    }
}
