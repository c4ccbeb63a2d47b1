//! Windows as the network takes them: rows of its tables, in flat lists on the host.
//!
//! The shapes are those of [`crate::model`].

use crate::encode::{
    ATTACK_STATES, BOARD_FEATURES, MAX_PIECES, PLACES, PLAIN_RULES, READOUT_SQUARE, Window,
};

/// Row of the bias table that hides a token: added to the table at run time, never learnt.
pub(crate) const HIDDEN: i32 = (PLACES * PLACES) as i32;
/// Row of the board table for a piece that is not there: added likewise, zeros.
pub(crate) const NO_PIECE: i32 = BOARD_FEATURES as i32;

/// Row of the bias table for a query at one place and a key at another: squares seen from the
/// anchor's side to move, or [`READOUT_SQUARE`].
pub(crate) fn pair(query: u8, key: u8) -> i32 {
    i32::from(query) * PLACES as i32 + i32::from(key)
}

/// Rows of the tables for the tokens of a batch, window by window.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Inputs {
    /// Per piece.
    pub(crate) piece_square: Vec<i32>,
    /// Per piece: kind and attack state.
    pub(crate) piece_state: Vec<i32>,
    /// [`RULE_FEATURES`](crate::encode::RULE_FEATURES) per readout.
    pub(crate) rules: Vec<i32>,
    /// As many per readout as a board has pieces, [`NO_PIECE`] where there are fewer.
    pub(crate) board: Vec<i32>,
}

/// The legal moves of a batch: rows of the move heads' tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moves {
    /// The moving piece among the tokens.
    pub(crate) piece: Vec<i32>,
    /// The captured piece likewise, or a row of zeros.
    pub(crate) captured: Vec<i32>,
    /// The position's readout among the readouts.
    pub(crate) readout: Vec<i32>,
    /// As in [`crate::encode::MoveToken`].
    pub(crate) target: Vec<i32>,
    /// Likewise.
    pub(crate) feature: Vec<i32>,
    /// Likewise.
    pub(crate) situation: Vec<i32>,
}

/// Slots that a window with this many pieces takes.
fn padded_slots(pieces: usize) -> usize {
    pieces.next_multiple_of(4).min(MAX_PIECES)
}

/// Windows packed into flat index lists; everything the device needs, on the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// `b`.
    pub windows: usize,
    /// Slots for the anchor's pieces.
    pub anchor_slots: usize,
    /// Slots for moved pieces.
    pub moved_slots: usize,
    /// `r`.
    pub readouts: usize,
    /// Slots of the readout's board summary.
    pub board_slots: usize,
    /// What the tokens are made of.
    pub(crate) inputs: Inputs,
    /// `[b * t * t]`: row of the bias table for each query and each key.
    pub(crate) pairs: Vec<i32>,
    /// The readouts' legal moves.
    pub(crate) moves: Moves,
    /// First move of each readout in the flat move list, and one past the last of all: `b * r + 1`.
    pub move_offsets: Vec<usize>,
}

impl Batch {
    /// Token slots per window, `t`.
    pub fn tokens(&self) -> usize {
        self.anchor_slots + self.moved_slots + self.readouts
    }

    /// Packs windows; all are padded to the longest.
    pub fn pack(windows: &[Window]) -> Self {
        let longest = |f: fn(&Window) -> usize| windows.iter().map(f).max().unwrap_or(0);
        let mut batch = Self {
            windows: windows.len(),
            anchor_slots: padded_slots(longest(|w| w.anchor_pieces)),
            moved_slots: longest(|w| w.tokens.len() - w.anchor_pieces),
            readouts: longest(|w| w.readouts.len()),
            move_offsets: vec![0],
            ..Self::default()
        };
        batch.board_slots = batch.anchor_slots;
        for (index, window) in windows.iter().enumerate() {
            batch.push_tokens(window);
            batch.push_pairs(window);
            batch.push_readouts(index, window, windows.len());
        }
        batch
    }

    /// Legal moves in the batch, `m`.
    pub fn moves(&self) -> usize {
        self.moves.piece.len()
    }

    fn slot(&self, window: &Window, token: usize) -> usize {
        if token < window.anchor_pieces {
            token
        } else {
            self.anchor_slots + token - window.anchor_pieces
        }
    }

    fn push_tokens(&mut self, window: &Window) {
        let start = self.inputs.piece_square.len();
        let slots = self.anchor_slots + self.moved_slots;
        self.inputs.piece_square.resize(start + slots, 0);
        self.inputs.piece_state.resize(start + slots, 0);
        for (token, piece) in window.tokens.iter().enumerate() {
            let row = start + self.slot(window, token);
            self.inputs.piece_square[row] = i32::from(piece.piece_square);
            self.inputs.piece_state[row] =
                i32::from(piece.kind()) * ATTACK_STATES as i32 + i32::from(piece.state);
        }
    }

    /// Bias rows of all pairs of tokens; `HIDDEN` where the query does not see the key.
    fn push_pairs(&mut self, window: &Window) {
        let t = self.tokens();
        let pieces = self.anchor_slots + self.moved_slots;
        let start = self.pairs.len();
        self.pairs.resize(start + t * t, HIDDEN);
        let places: Vec<(usize, u8)> = window
            .tokens
            .iter()
            .enumerate()
            .map(|(token, piece)| (self.slot(window, token), piece.square()))
            .collect();
        let see = |pairs: &mut [i32], slot: usize, place: u8, mask: u64| {
            let mut rest = mask;
            while rest != 0 {
                let (key_slot, key_place) = places[rest.trailing_zeros() as usize];
                pairs[slot * t + key_slot] = pair(place, key_place);
                rest &= rest - 1;
            }
        };
        let pairs = &mut self.pairs[start..];
        for (token, &(slot, place)) in places.iter().enumerate() {
            see(pairs, slot, place, window.seen_by(token));
        }
        for (index, position) in window.readouts.iter().enumerate() {
            see(pairs, pieces + index, READOUT_SQUARE, position.visible);
            for earlier in 0..=index {
                pairs[(pieces + index) * t + pieces + earlier] =
                    pair(READOUT_SQUARE, READOUT_SQUARE);
            }
        }
    }

    fn push_readouts(&mut self, index: usize, window: &Window, windows: usize) {
        let t = self.tokens();
        let nothing = (windows * t) as i32;
        for ply in 0..self.readouts {
            let start = self.inputs.board.len();
            self.inputs.board.resize(start + self.board_slots, NO_PIECE);
            let Some(readout) = window.readouts.get(ply) else {
                self.inputs.rules.extend(PLAIN_RULES.map(i32::from));
                self.move_offsets.push(self.moves());
                continue;
            };
            for (slot, &row) in self.inputs.board[start..].iter_mut().zip(&readout.board) {
                *slot = i32::from(row);
            }
            self.inputs.rules.extend(readout.rules.iter().map(|&row| i32::from(row)));
            for m in &readout.moves {
                let row = |token: u8| (index * t + self.slot(window, usize::from(token))) as i32;
                let (piece, captured) = (row(m.piece), m.captured.map_or(nothing, row));
                self.moves.piece.push(piece);
                self.moves.captured.push(captured);
                self.moves.readout.push((index * self.readouts + ply) as i32);
                self.moves.target.push(i32::from(m.target));
                self.moves.feature.push(i32::from(m.feature));
                self.moves.situation.push(i32::from(m.situation));
            }
            self.move_offsets.push(self.moves());
        }
    }
}
