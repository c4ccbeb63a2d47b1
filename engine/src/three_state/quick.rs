//! The quick evaluation: material, 0.3 × control of the centre, 0.2 × safety of the king, in
//! thousandths of a pawn.
//!
//! Seed 000 names the three parts and their weights, and defines none of them. Its examples (two
//! pawns up are +2.0, a rook +5.0, a pawn +1.2) settle the pawn and the rook, and that the other
//! two parts weigh little; knights and bishops count 3 and the queen 9, as seed 002 has them. Here
//! control and safety go from −1 to 1:
//!
//! * control: of the four squares in the middle, how many more one side attacks than the other,
//!   over four;
//! * safety: the share of the squares around a king that the other side does not attack, less the
//!   same for the other king.

use shakmaty::attacks::king_attacks;
use shakmaty::{Bitboard, Board, Chess, Color, Position, Role, Square};

use crate::minimax::StaticValue;

/// Thousandths of a pawn, pawn to queen.
const VALUES: [(Role, i32); 5] = [
    (Role::Pawn, 1_000),
    (Role::Knight, 3_000),
    (Role::Bishop, 3_000),
    (Role::Rook, 5_000),
    (Role::Queen, 9_000),
];
/// Weights of the other two parts, thousandths of a pawn.
const CENTRE: i32 = 300;
const KING: i32 = 200;

/// The squares in the middle.
const MIDDLE: [Square; 4] = [Square::D4, Square::E4, Square::D5, Square::E5];

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct Quick;

impl StaticValue for Quick {
    fn of(&self, position: &Chess) -> i32 {
        let (board, us) = (position.board(), position.turn());
        let (ours, theirs) = (attacked(board, us), attacked(board, !us));
        let middle = Bitboard::from_iter(MIDDLE);
        let control = (ours & middle).count() as i32 - (theirs & middle).count() as i32;
        material(board, us) - material(board, !us)
            + CENTRE * control / MIDDLE.len() as i32
            + safety(board, us, theirs)
            - safety(board, !us, ours)
    }
}

fn material(board: &Board, side: Color) -> i32 {
    let count = |role| (board.by_color(side) & board.by_role(role)).count() as i32;
    VALUES.iter().map(|&(role, value)| count(role) * value).sum()
}

/// The squares that a side attacks, its own men among them.
fn attacked(board: &Board, side: Color) -> Bitboard {
    let attacks = board.by_color(side).into_iter().map(|square| board.attacks_from(square));
    attacks.fold(Bitboard::EMPTY, |all, attacks| all | attacks)
}

/// Weighted share of the squares around a side's king that are not among the attacked ones.
fn safety(board: &Board, side: Color, attacked: Bitboard) -> i32 {
    let Some(king) = board.king_of(side) else { return 0 };
    let around = king_attacks(king);
    KING * (around & !attacked).count() as i32 / around.count() as i32
}

#[cfg(test)]
mod tests {
    use shakmaty::CastlingMode;
    use shakmaty::fen::Fen;

    use super::*;

    fn value(fen: &str) -> i32 {
        let fen: Fen = fen.parse().unwrap();
        Quick.of(&fen.into_position(CastlingMode::Standard).unwrap())
    }

    #[test]
    fn parts_add_up() {
        assert_eq!(Quick.of(&Chess::new()), 0);
        // Two pawns up; neither king is near anything, nobody attacks the centre.
        assert_eq!(value("7k/8/8/8/8/8/PP6/K7 w - - 0 1"), 2_000);
        assert_eq!(value("7k/8/8/8/8/8/PP6/K7 b - - 0 1"), -2_000);
        // The pawn attacks d5.
        assert_eq!(value("7k/8/8/8/4P3/8/8/K7 w - - 0 1"), 1_000 + 300 / 4);
        // The rook takes b7 and b8 from a king with three squares around it.
        assert_eq!(value("k7/8/8/8/8/8/8/1R5K w - - 0 1"), 5_000 + 200 - 200 / 3);
        let start = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1";
        assert_eq!(value(start), -300 / 4, "after 1.e4");
    }

    #[test]
    fn both_sides_are_judged_alike() {
        let mut position = Chess::new();
        for step in 0..80_usize {
            let mut setup = position.to_setup(shakmaty::EnPassantMode::Legal);
            setup.mirror();
            let mirrored = setup.position::<Chess>(CastlingMode::Standard).unwrap();
            assert_eq!(Quick.of(&position), Quick.of(&mirrored));
            let moves = position.legal_moves();
            let Some(&played) = moves.get(step * 7 % moves.len().max(1)) else { break };
            position.play_unchecked(played);
        }
    }
}
