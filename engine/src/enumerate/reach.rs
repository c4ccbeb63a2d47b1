//! Where the pieces of a closure can get at all: bounds that make its positions short numbers.
//!
//! Within a closure no pawn moves and nothing is captured, so a piece goes to empty squares only.
//!
//! * *Locked* pieces never move: the largest set of pieces of which none has a square to go to
//!   while all of the set and all pawns stand. By induction over the moves they all stay: a piece's
//!   squares among other blockers are fewer still.
//! * What another piece can *reach* is what it could if only pawns and locked pieces stood in its
//!   way.
//! * Like pieces whose reaches meet form a *group*: which is which cannot be told, so that a
//!   position says where the group stands.
//!
//! Both are bounds: squares that a piece cannot really get to cost a little space and nothing else.

use shakmaty::{Bitboard, Board, CastlingSide, Chess, Piece, Position as _, Role, Square, attacks};

use super::combination::Combination;

/// Like pieces that share their squares.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// Their colour and kind.
    pub(super) piece: Piece,
    /// All ways they can stand.
    pub(super) places: Combination,
}

/// A position divided into what stays and what moves.
#[derive(Clone, Debug)]
pub(super) struct Division {
    /// Pawns and locked pieces.
    pub(super) fixed: Board,
    /// The rest, the group with the most ways to stand first.
    pub(super) groups: Vec<Group>,
}

/// Divides the pieces of the positions that closures start from. All have the same pawns and as
/// many pieces of each kind; there is at least one.
pub(super) fn divide(starts: &[Chess]) -> Division {
    let fixed = fixed(starts);
    let squares = fixed.occupied();
    let mut parts: Vec<(Piece, Bitboard)> = Vec::new();
    for start in starts {
        for (square, piece) in start.board().iter().filter(|&(square, _)| !squares.contains(square))
        {
            join(&mut parts, (piece, reach(starts, squares, square, piece)));
        }
    }
    unite_uneven(&mut parts, starts, squares);
    let group = |(piece, squares)| {
        let pieces = count(&starts[0], (piece, squares), fixed.occupied());
        Group { piece, places: Combination::new(squares, pieces) }
    };
    let mut groups: Vec<Group> = parts.into_iter().map(group).collect();
    groups.sort_by_key(|group| {
        let name = (group.piece.color.is_black(), u32::from(group.piece.role));
        (std::cmp::Reverse(group.places.size()), name, group.places.squares())
    });
    Division { fixed, groups }
}

/// Adds a part to those that it does not meet, as one with those that it meets.
fn join(parts: &mut Vec<(Piece, Bitboard)>, mut part: (Piece, Bitboard)) {
    // What is joined may meet what it did not meet before.
    while let Some(met) = parts.iter().position(|other| meets(&part, other)) {
        part.1 |= parts.swap_remove(met).1;
    }
    parts.push(part);
}

/// Makes one of all parts of a piece where they hold more of them in one start than in another: a
/// number of the group stands for a number of pieces.
fn unite_uneven(parts: &mut Vec<(Piece, Bitboard)>, starts: &[Chess], fixed: Bitboard) {
    let is_uneven = |&part: &(Piece, Bitboard)| {
        let first = starts.first().map(|start| count(start, part, fixed));
        starts.iter().any(|start| Some(count(start, part, fixed)) != first)
    };
    while let Some(&(piece, _)) = parts.iter().find(|part| is_uneven(part)) {
        let of_piece = parts.iter().filter(|part| part.0 == piece);
        let all = of_piece.fold(Bitboard::EMPTY, |all, part| all | part.1);
        parts.retain(|part| part.0 != piece);
        parts.push((piece, all));
    }
}

/// How many pieces of a part a position has.
fn count(position: &Chess, (piece, squares): (Piece, Bitboard), fixed: Bitboard) -> usize {
    (position.board().by_piece(piece) & squares & !fixed).count()
}

fn meets(one: &(Piece, Bitboard), other: &(Piece, Bitboard)) -> bool {
    one.0 == other.0 && one.1.intersects(other.1)
}

/// The pawns and the locked pieces, which stand alike in all starts. What is locked in each of them
/// by different pieces is not locked by what they share, so the sharing comes first.
fn fixed(starts: &[Chess]) -> Board {
    let mut fixed = starts[0].board().clone();
    for start in starts {
        for (square, piece) in fixed.clone() {
            if start.board().piece_at(square) != Some(piece) {
                fixed.discard_piece_at(square);
            }
        }
    }
    loop {
        let squares = fixed.occupied();
        let moves = |&(square, piece): &(Square, Piece)| {
            piece.role != Role::Pawn
                && (targets(square, piece, squares).any()
                    || castles(starts, squares, square, piece).any())
        };
        let Some((square, _)) = fixed.iter().find(moves) else { return fixed };
        fixed.discard_piece_at(square);
    }
}

fn targets(square: Square, piece: Piece, fixed: Bitboard) -> Bitboard {
    attacks::attacks(square, piece, fixed) & !fixed
}

/// Where castling could take the piece that starts on this square in any of the positions. In
/// Fischer random chess that may be where it stands.
fn castles(starts: &[Chess], fixed: Bitboard, square: Square, piece: Piece) -> Bitboard {
    let mut squares = Bitboard::EMPTY;
    let color = piece.color;
    for start in starts {
        let castles = start.castles();
        for side in [CastlingSide::KingSide, CastlingSide::QueenSide] {
            let rook = castles.rook(color, side);
            if rook.is_none() || castles.path(color, side).intersects(fixed) {
                continue;
            }
            if rook == Some(square) && piece.role == Role::Rook {
                squares.add(side.rook_to(color));
            } else if start.board().king_of(color) == Some(square) && piece.role == Role::King {
                squares.add(side.king_to(color));
            }
        }
    }
    squares
}

/// All squares the piece could get to from here if only what is `fixed` stood in its way.
fn reach(starts: &[Chess], fixed: Bitboard, square: Square, piece: Piece) -> Bitboard {
    let mut reach = Bitboard::from_square(square);
    let mut new = reach | castles(starts, fixed, square, piece);
    reach |= new;
    while let Some(next) = new.pop_front() {
        new |= targets(next, piece, fixed) & !reach;
        reach |= new;
    }
    reach
}

#[cfg(test)]
mod tests {
    use shakmaty::Color;

    use super::*;

    fn division(fen: &str) -> Division {
        divide(&[crate::chess::notation::from_fen(fen, false).unwrap()])
    }

    #[test]
    fn at_the_start_only_knights_and_rooks_can_move() {
        let division = divide(&[Chess::default()]);
        // Knights go everywhere but to where pawns and locked pieces stand; a rook has two squares.
        let sizes: Vec<u64> = division.groups.iter().map(|group| group.places.size()).collect();
        assert_eq!(sizes, [780, 780, 2, 2, 2, 2]);
        assert_eq!(division.fixed.occupied().count(), 16 + 8);
    }

    #[test]
    fn a_piece_is_locked_by_others_that_are() {
        // A bishop in the corner behind its own pawn, which is blocked.
        let locked = division("4k3/8/8/8/8/1p6/1P1p4/B5K1 w - - 0 1");
        assert!(locked.groups.iter().all(|group| group.piece.role == Role::King));
        assert!(locked.fixed.bishops().any());
        // The same corner without that pawn.
        let free = division("4k3/8/8/8/8/8/3p4/B5K1 w - - 0 1");
        assert!(free.groups.iter().any(|group| group.piece.role == Role::Bishop));
        // Pawns lock the bishop, and the bishop the queen.
        let chain = division("6k1/8/8/8/8/pp6/PPp5/QBK5 w - - 0 1");
        assert!(chain.fixed.bishops().any() && chain.fixed.queens().any());
    }

    #[test]
    fn castling_unlocks() {
        // The king of e1 has no square of its own, but g1.
        let fen = "4k3/8/8/8/8/3p4/3PpP2/3BK2R w K - 0 1";
        let division = division(fen);
        let king = division.groups.iter().find(|group| group.piece == Color::White.king());
        assert!(king.unwrap().places.squares().contains(Square::G1));
    }

    #[test]
    fn bishops_of_two_colours_are_two_groups() {
        let division = division("4k3/8/8/8/8/8/8/2B1KB2 w - - 0 1");
        let bishops = division.groups.iter().filter(|group| group.piece.role == Role::Bishop);
        assert_eq!(bishops.map(|group| group.places.size()).collect::<Vec<_>>(), [32, 32]);
    }

    #[test]
    fn several_starts_share_what_is_locked_in_all() {
        let position = |fen: &str| crate::chess::notation::from_fen(fen, false).unwrap();
        // The corner's bishop is locked in one of them; in the other it stands outside.
        let locked = position("4k3/8/8/8/8/1p6/1P1p4/B5K1 w - - 0 1");
        let outside = position("4k3/8/8/8/8/1p6/1P1p4/2B3K1 w - - 0 1");
        let both = divide(&[locked, outside]);
        assert!(both.fixed.bishops().is_empty());
        let bishops: Vec<_> =
            both.groups.iter().filter(|group| group.piece.role == Role::Bishop).collect();
        assert_eq!((bishops.len(), bishops[0].places.pieces()), (1, 1));
        assert!(bishops[0].places.squares().contains(Square::A1));
        assert!(bishops[0].places.squares().contains(Square::C1));
    }
}
