//! Move ordering: the better the first moves, the more of the others are pruned.
//!
//! Seed 002's order: captures, then threats, then positionally strong moves.

use std::cmp::Reverse;

use shakmaty::attacks::attacks;
use shakmaty::{Board, Chess, Color, Move, Piece, Position, Role, Square};

/// Captures and promotions stand before all else.
const CAPTURE: i32 = 10_000;
/// Threats stand before quiet moves.
const THREAT: i32 = 1_000;

/// Sorts a position's moves, the most promising first; equals stay in their order.
pub(super) fn sort(position: &Chess, moves: &mut [Move]) {
    if moves.len() > 1 {
        moves.sort_by_cached_key(|&played| Reverse(promise(position, played)));
    }
}

fn promise(position: &Chess, played: Move) -> i32 {
    let won = played.capture().map_or(0, worth) + played.promotion().map_or(0, worth);
    let mover = played.role();
    if won > 0 {
        return CAPTURE + 10 * won - worth(mover);
    }
    let Move::Normal { from, to, .. } = played else { return 0 };
    match threatened(position.board(), !position.turn(), mover, from, to) {
        Some(target) => THREAT + target,
        None => centrality(to) - centrality(from),
    }
}

/// The dearest piece of `them` that a piece gone to `to` attacks, where it is dearer than the
/// attacker.
fn threatened(board: &Board, them: Color, mover: Role, from: Square, to: Square) -> Option<i32> {
    let piece = Piece { color: !them, role: mover };
    let attacked = attacks(to, piece, board.occupied().without(from)) & board.by_color(them);
    let dearest = attacked.into_iter().filter_map(|square| board.role_at(square)).map(worth).max();
    dearest.filter(|&target| target > worth(mover))
}

/// Pawns; a king under attack has to move.
fn worth(role: Role) -> i32 {
    match role {
        Role::Pawn => 1,
        Role::Knight | Role::Bishop => 3,
        Role::Rook => 5,
        Role::Queen => 9,
        Role::King => 20,
    }
}

/// Steps from the edge, both ways together: 0 in a corner, 6 in the middle.
fn centrality(square: Square) -> i32 {
    let steps = |line: u32| line.min(7 - line) as i32;
    steps(u32::from(square.file())) + steps(u32::from(square.rank()))
}

#[cfg(test)]
mod tests {
    use shakmaty::CastlingMode;

    use super::*;

    /// The moves of a position, sorted, as they are written.
    fn sorted(fen: &str) -> Vec<String> {
        let fen: shakmaty::fen::Fen = fen.parse().unwrap();
        let position: Chess = fen.into_position(CastlingMode::Standard).unwrap();
        let mut moves = position.legal_moves();
        sort(&position, &mut moves);
        moves.iter().map(|&played| played.to_uci(CastlingMode::Standard).to_string()).collect()
    }

    #[test]
    fn captures_then_threats_then_the_middle() {
        let moves = sorted("4k3/8/8/1r1p4/8/2N5/6P1/4K3 w - - 0 1");
        assert_eq!(moves[..2], ["c3b5", "c3d5"], "the rook before the pawn");
        let moves = sorted("8/2k5/8/8/8/2N5/8/6K1 w - - 0 1");
        let mut threats = moves[..2].to_vec();
        threats.sort();
        assert_eq!(threats, ["c3b5", "c3d5"], "checks before quiet moves");
        assert_eq!(moves[2..4], ["c3e4", "g1f2"], "to the middle before back");
        assert_eq!(moves.last().unwrap(), "c3a2");
    }
}
