//! Where the numbers of the seed come from, which are not those of legal moves.
//!
//! Its table for the start position has 5,656,865 new positions, 145,937,007 moves, at most 34 and at
//! least 16 in a position. A position with legal moves can have as few as 2, where a king is in check. A
//! closure of moves that pay no regard to checks, and without castling, has nearly the seed's numbers.

use std::collections::HashSet;

use shakmaty::{Bitboard, Board, Color, Role, Square, attacks};

/// Moves of one side that neither capture nor are a pawn's, and the number of its others.
fn pseudo_legal(board: &Board, turn: Color) -> (Vec<(Square, Square)>, usize) {
    let (us, them, occupied) = (board.by_color(turn), board.by_color(!turn), board.occupied());
    let mut quiet = Vec::new();
    let mut zeroing = 0;
    for from in us & !board.pawns() {
        let targets = board.attacks_from(from) & !us;
        zeroing += (targets & them).count();
        quiet.extend((targets & !them).into_iter().map(|to| (from, to)));
    }
    let pawns = us & board.pawns();
    zeroing += pawns
        .into_iter()
        .map(|pawn| (attacks::pawn_attacks(turn, pawn) & them).count())
        .sum::<usize>();
    // All pawns stand where they began.
    let forward = turn.fold_wb(8, -8);
    let once = pawns.shift(forward) & !occupied;
    zeroing += once.count() + (once.shift(forward) & !occupied).count();
    (quiet, zeroing)
}

/// What differs between the positions: all else stays in its place.
fn key(board: &Board, turn: Color) -> ([Bitboard; 4], Color) {
    let pieces = [Role::Knight, Role::Rook].map(|role| Color::ALL.map(|color| role.of(color)));
    (std::array::from_fn(|i| board.by_piece(pieces[i / 2][i % 2])), turn)
}

#[test]
#[ignore = "half a minute of a core and 1 GB"]
fn the_seed_pays_no_regard_to_check() {
    let start = (Board::new(), Color::White);
    let mut seen = HashSet::from([key(&start.0, start.1)]);
    let mut work = vec![start];
    let (mut moves, mut most, mut fewest) = (0, 0, usize::MAX);
    while let Some((board, turn)) = work.pop() {
        let (quiet, zeroing) = pseudo_legal(&board, turn);
        let count = quiet.len() + zeroing;
        (moves, most, fewest) = (moves + count, most.max(count), fewest.min(count));
        for (from, to) in quiet {
            let mut next = board.clone();
            let piece = next.remove_piece_at(from).unwrap();
            next.set_piece_at(to, piece);
            if seen.insert(key(&next, !turn)) {
                work.push((next, !turn));
            }
        }
    }
    assert_eq!((seen.len(), moves, most, fewest), (5_654_876, 145_886_808, 34, 16));
}
