//! What is kept of a position: enough to encode it anew, and small, for most positions that a
//! search may come back to have no tokens.

use shakmaty::{Bitboard, Board, ByColor, ByRole, Chess, Color, Move, Piece, Position, Role};

use crate::encode::{RULE_FEATURES, arrivals, departures};

/// The pieces of a position, its side to move and its rows of the rule table. The other rows of an
/// encode follow from the board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standing {
    /// The roles' numbers, bit by bit, and the white pieces.
    planes: [Bitboard; 4],
    /// Side to move.
    pub(crate) turn: Color,
    /// Rows of the rule table, seen from the side to move.
    pub(crate) rules: [u8; RULE_FEATURES],
}

impl Standing {
    /// Of a position with these rows of the rule table.
    pub(crate) fn new(position: &Chess, rules: [u8; RULE_FEATURES]) -> Self {
        let (role, color) = position.board().clone().into_bitboards();
        // As shakmaty numbers the roles, from 1.
        let planes = [
            role.pawn | role.bishop | role.queen,
            role.knight | role.bishop | role.king,
            role.rook | role.queen | role.king,
            color.white,
        ];
        Self { planes, turn: position.turn(), rules }
    }

    /// Its pieces.
    pub(crate) fn board(&self) -> Board {
        let [one, two, four, white] = self.planes;
        let by_role = ByRole {
            pawn: one & !two & !four,
            knight: two & !one & !four,
            bishop: one & two,
            rook: four & !one & !two,
            queen: four & one,
            king: four & two,
        };
        let by_color = ByColor { black: (one | two | four) & !white, white };
        // Each square has one number, so the bitboards cannot contradict each other.
        Board::try_from_bitboards(by_role, by_color).unwrap_or_else(|_| Board::empty())
    }

    /// Number of pieces.
    pub(crate) fn pieces(&self) -> usize {
        let [one, two, four, _] = self.planes;
        (one | two | four).count()
    }

    /// The pieces after one of its moves.
    pub(crate) fn after(&self, played: Move) -> Board {
        let (mut board, color) = (self.board(), self.turn);
        for square in departures(played, color).into_iter().flatten() {
            board.discard_piece_at(square);
        }
        let (to, rook_to) = arrivals(played, color);
        let role = played.promotion().unwrap_or(played.role());
        board.set_piece_at(to, Piece { color, role });
        if let Some(rook_to) = rook_to {
            board.set_piece_at(rook_to, Piece { color, role: Role::Rook });
        }
        board
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::canary;
    use crate::incremental::node::Node;

    proptest! {
        /// Along any line: the board comes back, and every move makes the board that it makes.
        #[test]
        fn boards_come_back(
            start in 0..6_usize,
            choices in proptest::collection::vec(any::<u8>(), 0..80),
        ) {
            let starts = canary::requests();
            let mut position = starts[start % starts.len()].position.clone();
            for choice in choices {
                let standing = Standing::new(&position, [0; RULE_FEATURES]);
                prop_assert_eq!(&standing.board(), position.board());
                prop_assert_eq!(standing.pieces(), position.board().occupied().count());
                let moves = position.legal_moves();
                for &played in &moves {
                    let after = position.clone().play(played).unwrap();
                    prop_assert_eq!(&standing.after(played), after.board());
                }
                let index = usize::from(choice) % moves.len().max(1);
                let Some(&played) = moves.get(index) else { break };
                position.play_unchecked(played);
            }
        }
    }

    /// It decides how many positions fit into a bound.
    #[test]
    fn is_small() {
        assert!(size_of::<Standing>() <= 48 && size_of::<Node>() <= 72);
    }
}
