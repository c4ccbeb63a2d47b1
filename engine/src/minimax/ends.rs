//! How a game ends, for a search that visits millions of positions a second.

use shakmaty::attacks::{bishop_attacks, knight_attacks, rook_attacks};
use shakmaty::{Bitboard, Chess, Position};

use crate::chess::game::position_key;
use crate::chess::verdicts::repetitions;

/// Mate now; a mate in `n` plies is worth `MATE - n`, so that a shorter one is better. Seed 002
/// says 10,000, which twelve queens outweigh.
pub const MATE: i32 = 1_000_000;

/// Values from here on are mates; static values stay below.
pub const MATE_BOUND: i32 = MATE - 1_000;

/// What a draw is worth.
pub const DRAW: i32 = 0;

/// Reversible plies before which no position can stand for the third time.
const THIRD_TIME: u32 = 8;

/// Whether the side to move has a legal move. Nearly always told by a pawn or knight that cannot be
/// pinned.
pub(super) fn has_move(position: &Chess) -> bool {
    if position.is_check() {
        return !position.legal_moves().is_empty();
    }
    let (board, us) = (position.board(), position.us());
    let Some(king) = board.king_of(position.turn()) else { return false };
    let lines = rook_attacks(king, Bitboard::EMPTY) | bishop_attacks(king, Bitboard::EMPTY);
    let free = us & !lines;
    let pawns = board.pawns() & free;
    let ahead = if position.turn().is_white() { pawns.shift(8) } else { pawns.shift(-8) };
    if (ahead & !board.occupied()).any() {
        return true;
    }
    (board.knights() & free).into_iter().any(|from| (knight_attacks(from) & !us).any())
        || !position.legal_moves().is_empty()
}

/// A draw by the rules although there is a legal move: too little material, fifty moves, or the
/// third time that the position stands on the board; `keys` are those of the positions before it,
/// in the game and on the path.
pub(super) fn is_draw(position: &Chess, keys: &[u64]) -> bool {
    let board = position.board();
    if (board.pawns() | board.rooks_and_queens()).is_empty() && position.is_insufficient_material()
    {
        return true;
    }
    let reversible = position.halfmoves();
    if reversible < THIRD_TIME {
        return false;
    }
    reversible >= 100 || repetitions(keys, 0, position_key(position), reversible).in_all >= 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::verdicts::Visits;

    /// The quick look says what the list of legal moves says, on random games to their ends.
    #[test]
    fn a_move_is_seen_where_there_is_one() {
        let mut ends = 0;
        for seed in 0..300_usize {
            let mut position = Chess::new();
            for ply in 0..400_usize {
                let moves = position.legal_moves();
                assert_eq!(has_move(&position), !moves.is_empty(), "{:?}", position.board());
                let Some(&played) = moves.get((seed * 31 + ply * ply * 7) % moves.len().max(1))
                else {
                    ends += 1;
                    break;
                };
                position.play_unchecked(played);
            }
        }
        assert!(ends > 5, "{ends}");
    }

    #[test]
    fn stalemates_are_seen() {
        for fen in ["7k/5K2/6Q1/8/8/8/8/8 b - - 0 1", "5k2/5P2/5K2/8/8/8/8/8 b - - 0 1"] {
            let fen: shakmaty::fen::Fen = fen.parse().unwrap();
            let position: Chess = fen.into_position(shakmaty::CastlingMode::Standard).unwrap();
            assert!(!has_move(&position));
        }
    }

    #[test]
    fn the_third_time_is_a_draw_and_the_second_is_none() {
        let fen: shakmaty::fen::Fen = "7k/8/8/8/8/8/R7/K7 w - - 8 20".parse().unwrap();
        let position: Chess = fen.into_position(shakmaty::CastlingMode::Standard).unwrap();
        let key = position_key(&position);
        let twice = [key, 1, 2, 3, 4, 5, 6, 7];
        assert!(!is_draw(&position, &twice));
        let thrice = [key, 1, 2, 3, key, 5, 6, 7];
        assert_eq!(repetitions(&thrice, 0, key, 8), Visits { on_path: 2, in_all: 2 });
        assert!(is_draw(&position, &thrice));
    }
}
