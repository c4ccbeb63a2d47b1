//! A batch as words: what the kernel is told of groups, chunks, rows, positions and moves.
//!
//! | part | words |
//! |---|---|
//! | head | where the other parts begin, and the parts of the answer |
//! | group | first chunk, chunks, first move, moves |
//! | chunk | first row, rows, first position, positions |
//! | row | token, row of the cache, position |
//! | position | visible tokens, first row, rows, rules, board, rows and squares of visible tokens |
//! | move | tokens and tables |

use crate::batch::NO_PIECE;
use crate::encode::{
    self, ATTACK_STATES, MAX_PIECES, MOVE_FEATURES, MOVE_SITUATIONS, MoveToken, RULE_FEATURES,
};
use crate::incremental::plan::{MAX_SOURCES, Plan, Source};

/// Words of the head: these, and room.
pub(super) const HEAD: usize = 8;
pub(super) const CHUNKS_AT: usize = 0;
pub(super) const ROWS_AT: usize = 1;
pub(super) const POSITIONS_AT: usize = 2;
pub(super) const MOVES_AT: usize = 3;
/// In the answer: two numbers of each move.
pub(super) const ESTIMATES_AT: usize = 4;
/// In the answer: what each visible token of each position received.
pub(super) const ATTENTION_AT: usize = 5;

pub(super) const GROUP: usize = 4;
pub(super) const CHUNK: usize = 4;
pub(super) const ROW: usize = 3;
pub(super) const POSITION: usize = ENTRIES + MAX_SOURCES;
pub(super) const MOVE: usize = 2;

/// Places in a position's words; the first three are visible tokens, first row and rows.
pub(super) const RULES: usize = 3;
pub(super) const BOARD: usize = RULES + RULE_FEATURES.div_ceil(4);
pub(super) const ENTRIES: usize = BOARD + MAX_PIECES / 2;

/// A token is `square + STATES · state`, its square that of a piece of its kind; or this.
pub(super) const READOUT: usize = 1 << 16;
pub(super) const STATES: usize = 1 << 10;
/// A visible token is `PLACES_OF_ROW · row of the cache + square`.
pub(super) const PLACES_OF_ROW: usize = 1 << 7;
/// The captured piece of a move that captures none.
pub(super) const NO_CAPTURE: usize = 63;
/// A move's second word is `feature + 512 · situation + POSITION_OF · (position % POSITIONS)`.
pub(super) const POSITION_OF: usize = 512 * SITUATIONS;
/// A move's first word is `piece + 64 · captured + 4096 · target + FULL · (position / POSITIONS)`:
/// several searches that share a device send more positions at once than the second word can say.
pub(super) const POSITIONS: usize = 1 << 10;
/// Room for the tokens of a move.
pub(super) const FULL: usize = 1 << 24;
/// Room for a target.
pub(super) const TARGETS: usize = FULL / 4096;
/// Room for a situation.
pub(super) const SITUATIONS: usize = 1 << 13;
const _: () = assert!(MOVE_FEATURES <= 512 && MOVE_SITUATIONS <= SITUATIONS);
const _: () = assert!(encode::TARGETS <= TARGETS);

/// The parts, while they are written.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub(super) groups: Vec<u32>,
    pub(super) chunks: Vec<u32>,
    pub(super) rows: Vec<u32>,
    pub(super) positions: Vec<u32>,
    pub(super) moves: Vec<u32>,
}

impl Records {
    /// Rows written so far.
    pub(super) fn row_count(&self) -> usize {
        self.rows.len() / ROW
    }

    /// Positions written so far.
    pub(super) fn position_count(&self) -> usize {
        self.positions.len() / POSITION
    }

    /// Moves written so far.
    pub(super) fn move_count(&self) -> usize {
        self.moves.len() / MOVE
    }

    /// Writes a position, whose new tokens go into the rows `own` of the cache; a slot's row has
    /// its number.
    pub(super) fn push(&mut self, plan: &Plan, own: &[u32]) {
        let position = self.position_count() as u32;
        let first = self.row_count() as u32;
        for (&(square, state), &row) in plan.tokens.iter().zip(own) {
            let token = u32::from(square) + STATES as u32 * u32::from(state);
            self.rows.extend([token, row, position]);
        }
        self.rows.extend([READOUT as u32, own[plan.tokens.len()], position]);
        let (pieces, sources) = (plan.pieces as u32, plan.sources.len() as u32);
        self.positions.extend([pieces + 256 * sources, first, plan.rows() as u32]);
        let words = plan
            .rules
            .chunks(4)
            .map(|rows| rows.iter().rev().fold(0, |word, &row| word << 8 | u32::from(row)));
        self.positions.extend(words);
        let piece = |place: usize| plan.board.get(place).map_or(NO_PIECE as u32, |&r| r.into());
        let pairs = (0..MAX_PIECES / 2).map(|pair| piece(2 * pair) | piece(2 * pair + 1) << 16);
        self.positions.extend(pairs);
        let entry = |(&source, &square): (&Source, &u8)| {
            let row = match source {
                Source::Cached(slot) => slot,
                Source::New(token) => own[usize::from(token)],
                Source::Readout => own[plan.tokens.len()],
            };
            PLACES_OF_ROW as u32 * row + u32::from(square)
        };
        let entries = plan.sources.iter().zip(&plan.squares).map(entry);
        let start = self.positions.len();
        self.positions.extend(entries);
        // The readout again, so that every place is a row with numbers.
        let last = self.positions[self.positions.len() - 1];
        self.positions.resize(start + MAX_SOURCES, last);
        self.push_moves(plan, position);
    }

    fn push_moves(&mut self, plan: &Plan, position: u32) {
        self.moves.extend(plan.moves.iter().flat_map(|m| move_words(m, position)));
    }

    /// The whole, with attention in the answer after `values` of each position and two numbers of
    /// each move.
    pub(super) fn words(self, values: usize) -> Vec<u32> {
        let estimates = self.position_count() * values;
        let attention = estimates + 2 * self.move_count();
        let parts = [self.groups, self.chunks, self.rows, self.positions, self.moves];
        let mut words = Vec::with_capacity(HEAD + parts.iter().map(Vec::len).sum::<usize>());
        let mut at = HEAD;
        for part in &parts[..4] {
            at += part.len();
            words.push(at as u32);
        }
        words.extend([estimates as u32, attention as u32]);
        words.resize(HEAD, 0);
        for part in parts {
            words.extend(part);
        }
        words
    }
}

/// The words of a move of the batch's position of this number.
fn move_words(m: &MoveToken, position: u32) -> [u32; MOVE] {
    let captured = m.captured.map_or(NO_CAPTURE as u32, u32::from);
    let tokens = u32::from(m.piece) | captured << 6 | u32::from(m.target) << 12;
    let tables = u32::from(m.feature) | u32::from(m.situation) << 9;
    let (high, low) = (position / POSITIONS as u32, position % POSITIONS as u32);
    [tokens + FULL as u32 * high, tables + POSITION_OF as u32 * low]
}

const _: () = assert!(NO_PIECE as usize / ATTACK_STATES < STATES);

#[cfg(test)]
mod tests {
    use super::*;

    /// As the kernel reads them (`heads::hidden`).
    #[test]
    fn a_move_tells_its_position_in_batches_of_any_size() {
        let m = MoveToken {
            piece: 31,
            captured: Some(30),
            target: (encode::TARGETS - 1) as u16,
            feature: (MOVE_FEATURES - 1) as u16,
            situation: (MOVE_SITUATIONS - 1) as u16,
        };
        for position in [0, 1, POSITIONS - 1, POSITIONS, 8191, 100_000].map(|at| at as u32) {
            let [a, b] = move_words(&m, position).map(|word| word as usize);
            assert_eq!(b / POSITION_OF + a / FULL * POSITIONS, position as usize);
            assert_eq!([a % 64, a / 64 % 64, a / 4096 % TARGETS], [31, 30, encode::TARGETS - 1]);
            assert_eq!(b % 512, MOVE_FEATURES - 1);
            assert_eq!(b / 512 % SITUATIONS, MOVE_SITUATIONS - 1);
        }
    }
}
