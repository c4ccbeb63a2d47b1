//! Which positions can share a space, and in which order spaces are closed.

use serde::{Deserialize, Serialize};
use shakmaty::{Bitboard, Board, Color, Role};

use crate::enumerate::tally::Hive;

/// More pieces of a side than a packed position holds.
const COUNTS: u32 = 33;

/// More steps than 32 pawns can have left.
const STEPS: u32 = 256;

/// What all positions of a space have in common: pawns and material. Roots of different spaces are
/// different, and no quiet move leads from one space to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SpaceKey {
    pawns: [u64; 2],
    /// Half a byte for each kind of piece and side would hold 15; a byte holds all.
    pieces: [u64; 2],
}

impl SpaceKey {
    /// Of a position's pieces.
    pub(super) fn of(board: &Board) -> Self {
        let pawns = |color: Color| u64::from(board.by_piece(color.pawn()));
        let pieces = |color: Color| {
            let counted = [Role::Knight, Role::Bishop, Role::Rook, Role::Queen, Role::King];
            counted.into_iter().fold(0, |sum, role| {
                sum << 8 | board.by_piece(shakmaty::Piece { color, role }).count() as u64
            })
        };
        Self { pawns: Color::ALL.map(pawns), pieces: Color::ALL.map(pieces) }
    }

    /// Spreads spaces over so many passes.
    pub(super) fn pass(&self, passes: u64) -> u64 {
        let words = self.pawns.iter().chain(&self.pieces);
        let hash = words.fold(0_u64, |hash, word| {
            (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
        });
        (hash >> 32) % passes.max(1)
    }
}

/// A pile of roots: those with as many pieces of each side and as many steps of pawns left.
///
/// A zeroing move leaves fewer pieces, or as many and fewer steps. So when the highest pile is
/// taken, all its roots are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(super) struct Pile(pub(super) u32);

impl Pile {
    /// The pile of a position's pieces.
    pub(super) fn of(board: &Board) -> Self {
        let (white, black) = counts(board);
        Self((white * COUNTS + black) * STEPS + steps_left(board))
    }

    /// Piles with a higher rank come first.
    pub(super) fn rank(self) -> (u32, u32, u32) {
        let sides = self.0 / STEPS;
        (sides / COUNTS + sides % COUNTS, self.0 % STEPS, self.0)
    }
}

/// The number of a hive, for its file.
pub(super) fn hive_number(board: &Board, turn: Color) -> u32 {
    let (white, black) = counts(board);
    (white * COUNTS + black) * 2 + u32::from(turn.is_black())
}

/// The hive of this number.
pub(super) fn hive(number: u32) -> Hive {
    let sides = number / 2;
    Hive {
        white: (sides / COUNTS) as usize,
        black: (sides % COUNTS) as usize,
        turn: Color::from_white(number.is_multiple_of(2)),
    }
}

fn counts(board: &Board) -> (u32, u32) {
    (board.white().count() as u32, board.black().count() as u32)
}

/// Squares that pawns are away from their last ranks, together.
fn steps_left(board: &Board) -> u32 {
    let left = |pawns: Bitboard, color: Color| -> u32 {
        let steps = |square: shakmaty::Square| {
            let rank = u32::from(square.rank());
            color.fold_wb(7 - rank, rank)
        };
        pawns.into_iter().map(steps).sum()
    };
    Color::ALL.into_iter().map(|color| left(board.by_piece(color.pawn()), color)).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shakmaty::{Chess, Position as _};

    use super::*;

    proptest! {
        /// What the order of the piles rests on.
        #[test]
        fn a_zeroing_move_leads_down(choices in prop::collection::vec(any::<u16>(), 200)) {
            let mut position = Chess::default();
            for choice in choices {
                let moves = position.legal_moves();
                if moves.is_empty() {
                    break;
                }
                let played = moves[usize::from(choice) % moves.len()];
                let mut next = position.clone();
                next.play_unchecked(played);
                let rank = |position: &Chess| Pile::of(position.board()).rank();
                let (before, after) = (rank(&position), rank(&next));
                if played.is_zeroing() {
                    prop_assert!((after.0, after.1) < (before.0, before.1));
                    prop_assert_ne!(SpaceKey::of(next.board()), SpaceKey::of(position.board()));
                } else {
                    prop_assert_eq!(after, before);
                    prop_assert_eq!(SpaceKey::of(next.board()), SpaceKey::of(position.board()));
                }
                position = next;
            }
        }
    }

    #[test]
    fn hives_have_numbers() {
        let start = Chess::default();
        assert_eq!(hive(hive_number(start.board(), start.turn())).to_string(), "16-16-w");
    }
}
