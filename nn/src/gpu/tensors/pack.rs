//! Plans as index lists: everything the device needs of a pass, on the host.

use super::store::{self, NOTHING, TRASH};
use crate::batch::{HIDDEN, Inputs, Moves, NO_PIECE, pair};
use crate::encode::{MAX_PIECES, PLAIN_RULES, READOUT_SQUARE};
use crate::incremental::plan::{Plan, Source};

/// Tokens of a whole encode: room for all pieces, and the readout.
pub(super) const WHOLE_TOKENS: usize = MAX_PIECES + 1;

/// How large a pass is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Positions, `n`.
    pub(super) positions: usize,
    /// New tokens of each, `q`: pieces, then the readout.
    pub(super) queries: usize,
    /// Tokens that each sees at most, `t`. A whole encode sees its own tokens.
    pub(super) keys: usize,
}

/// Positions packed for one pass. What is not there points to rows that say nothing.
#[derive(Clone, Debug)]
pub(super) struct Pack {
    pub(super) shape: Shape,
    /// Whether they are whole encodes; the others see rows of the cache.
    pub(super) is_whole: bool,
    pub(super) inputs: Inputs,
    /// `[n * q * t]`: rows of the bias table.
    pub(super) pairs: Vec<i32>,
    /// `[n * q]`: rows of the cache into which the new tokens go.
    pub(super) rows: Vec<i32>,
    /// `[n * t]`: rows of the cache that are seen. Empty for whole encodes.
    pub(super) entries: Vec<i32>,
    /// `[n * q]`: 1 for tokens, 0 for padding.
    pub(super) active: Vec<f32>,
    pub(super) moves: Moves,
    /// First move of each position, and one past the last of all.
    pub(super) offsets: Vec<usize>,
    count: usize,
}

impl Pack {
    pub(super) fn new(shape: Shape, is_whole: bool) -> Self {
        let Shape { positions, queries, keys } = shape;
        let pieces = positions * (queries - 1);
        let inputs = Inputs {
            piece_square: vec![0; pieces],
            piece_state: vec![0; pieces],
            rules: PLAIN_RULES.map(i32::from).repeat(positions),
            board: vec![NO_PIECE; positions * MAX_PIECES],
        };
        Self {
            shape,
            is_whole,
            inputs,
            pairs: vec![HIDDEN; positions * queries * keys],
            rows: vec![TRASH; positions * queries],
            entries: if is_whole { Vec::new() } else { vec![TRASH; positions * keys] },
            active: vec![0.0; positions * queries],
            moves: Moves::default(),
            offsets: vec![0],
            count: 0,
        }
    }

    /// Whether any token goes into the cache.
    pub(super) fn is_kept(&self) -> bool {
        self.rows.iter().any(|&row| row != TRASH)
    }

    /// Adds a position. `own` are the rows of the cache for its new tokens, none if only itself
    /// sees them.
    pub(super) fn push(&mut self, plan: &Plan, own: &[i32]) {
        let index = self.count;
        self.count += 1;
        self.push_tokens(index, plan, own);
        if !self.is_whole {
            let entries = &mut self.entries[index * self.shape.keys..];
            for (entry, &source) in entries.iter_mut().zip(&plan.sources) {
                *entry = match source {
                    Source::Cached(slot) => store::row(slot),
                    Source::New(token) => own[usize::from(token)],
                    Source::Readout => own[plan.tokens.len()],
                };
            }
        }
        self.push_pairs(index, plan);
        self.push_moves(index, plan);
    }

    fn push_tokens(&mut self, index: usize, plan: &Plan, own: &[i32]) {
        let q = self.shape.queries;
        let first = index * (q - 1);
        for (token, &(square, state)) in plan.tokens.iter().enumerate() {
            self.inputs.piece_square[first + token] = i32::from(square);
            self.inputs.piece_state[first + token] = i32::from(state);
        }
        let board = &mut self.inputs.board[index * MAX_PIECES..][..MAX_PIECES];
        for (to, &row) in board.iter_mut().zip(&plan.board) {
            *to = i32::from(row);
        }
        let rules = &mut self.inputs.rules[index * plan.rules.len()..];
        for (to, &row) in rules.iter_mut().zip(&plan.rules) {
            *to = i32::from(row);
        }
        let queries = (0..plan.tokens.len()).chain([q - 1]);
        for (place, query) in queries.enumerate() {
            self.active[index * q + query] = 1.0;
            if let Some(&row) = own.get(place) {
                self.rows[index * q + query] = row;
            }
        }
    }

    /// Place of a source among the keys of its position.
    pub(super) fn key(&self, plan: &Plan, source: usize) -> usize {
        match plan.sources[source] {
            Source::Readout if self.is_whole => self.shape.queries - 1,
            _ => source,
        }
    }

    fn push_pairs(&mut self, index: usize, plan: &Plan) {
        let (q, t) = (self.shape.queries, self.shape.keys);
        let mut see = |query: usize, place: u8, sees: usize| {
            for source in 0..sees {
                let key = self.key(plan, source);
                self.pairs[(index * q + query) * t + key] = pair(place, plan.squares[source]);
            }
        };
        for (&source, &square) in plan.sources[..plan.pieces].iter().zip(&plan.squares) {
            if let Source::New(token) = source {
                see(usize::from(token), square, plan.pieces);
            }
        }
        see(q - 1, READOUT_SQUARE, plan.sources.len());
    }

    fn push_moves(&mut self, index: usize, plan: &Plan) {
        let Shape { positions, queries, keys } = self.shape;
        let zeros = if self.is_whole { (positions * queries) as i32 } else { NOTHING };
        for m in &plan.moves {
            let row = |source: u8| {
                if self.is_whole {
                    return (index * queries) as i32 + i32::from(source);
                }
                self.entries[index * keys + usize::from(source)]
            };
            self.moves.piece.push(row(m.piece));
            self.moves.captured.push(m.captured.map_or(zeros, row));
            self.moves.readout.push(index as i32);
            self.moves.target.push(i32::from(m.target));
            self.moves.feature.push(i32::from(m.feature));
            self.moves.situation.push(i32::from(m.situation));
        }
        self.offsets.push(self.moves.piece.len());
    }

    /// Adds a move that nobody reads, for a pass without any.
    pub(super) fn pad(mut self) -> Self {
        let lists = [
            &mut self.moves.piece,
            &mut self.moves.captured,
            &mut self.moves.readout,
            &mut self.moves.target,
            &mut self.moves.feature,
            &mut self.moves.situation,
        ];
        for list in lists {
            let least = list.len().max(1);
            list.resize(least, 0);
        }
        self
    }
}
