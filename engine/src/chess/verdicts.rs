//! What the rules of chess decide without an evaluator: mate, stalemate, bare kings, repetition,
//! the fifty-move rule (US Chess rules 13A, 14A, 14D, 14C, 14F; FIDE articles 5 and 9); and a mate
//! in one, which is seen as quickly. Who generates no list of moves
//! applies the same rules piece by piece: `settle` in `tree/expand.rs`, and `is_draw` of the
//! alpha-beta and minimax searches.

use shakmaty::attacks::{between, bishop_attacks, knight_attacks, pawn_attacks, rook_attacks};
use shakmaty::{Bitboard, Chess, Move, Position, Role};

use crate::chess::score::Verdict;

/// How often a position occurred before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Visits {
    /// On the search path, the root included.
    pub on_path: usize,
    /// On the path and in the game.
    pub in_all: usize,
}

impl Visits {
    /// Once inside the tree or twice in all is a draw.
    pub fn is_draw(self) -> bool {
        self.on_path >= 1 || self.in_all >= 2
    }

    /// Whether the position was never there before: only then is its value what it was elsewhere.
    pub fn is_new(self) -> bool {
        self.in_all == 0
    }
}

/// Looks for `key` among its ancestors' keys, which end with its parent's; only every second one
/// since the last irreversible move can be the same position.
pub fn repetitions(keys: &[u64], path_start: usize, key: u64, halfmoves: u32) -> Visits {
    let mut visits = Visits::default();
    let mut back = 4;
    while back <= keys.len().min(halfmoves as usize) {
        let place = keys.len() - back;
        if keys[place] == key {
            visits.in_all += 1;
            visits.on_path += usize::from(place >= path_start);
        }
        back += 2;
    }
    visits
}

/// The verdict of the rules, or of a mate in one, and whether it rests on the path.
pub fn decide(position: &Chess, moves: &[Move], visits: Visits) -> Option<(Verdict, bool)> {
    if moves.is_empty() {
        return Some((if position.is_check() { Verdict::Loss(0) } else { Verdict::Draw }, false));
    }
    if position.is_insufficient_material() {
        return Some((Verdict::Draw, false));
    }
    if position.halfmoves() >= 100 || visits.is_draw() {
        return Some((Verdict::Draw, true));
    }
    mating_move(position, moves).map(|_| (Verdict::Win(1), false))
}

/// A move that mates at once.
pub fn mating_move(position: &Chess, moves: &[Move]) -> Option<Move> {
    let checks = Checks::of(position);
    moves.iter().copied().find(|&played| {
        if !checks.may_check(played) {
            return false;
        }
        let mut after = position.clone();
        after.play_unchecked(played);
        after.is_checkmate()
    })
}

/// From where the side to move gives check.
pub(super) struct Checks {
    /// By role, pawn first: where such a piece would attack the other king.
    squares: [Bitboard; 5],
    /// Pieces that stand between the other king and a slider of ours.
    screens: Bitboard,
}

impl Checks {
    pub(super) fn of(position: &Chess) -> Self {
        let (board, us) = (position.board(), position.turn());
        let occupied = board.occupied();
        let Some(king) = board.king_of(!us) else {
            return Self { squares: [Bitboard::EMPTY; 5], screens: Bitboard::EMPTY };
        };
        let (bishop, rook) = (bishop_attacks(king, occupied), rook_attacks(king, occupied));
        let pawn = pawn_attacks(!us, king);
        let mut screens = Bitboard::EMPTY;
        let ours = board.by_color(us);
        let straight =
            ours & (board.rooks() | board.queens()) & rook_attacks(king, Bitboard::EMPTY);
        let diagonal =
            ours & (board.bishops() | board.queens()) & bishop_attacks(king, Bitboard::EMPTY);
        for slider in straight | diagonal {
            let screen = between(king, slider) & occupied;
            if screen.count() == 1 {
                screens |= screen;
            }
        }
        Self { squares: [pawn, knight_attacks(king), bishop, rook, bishop | rook], screens }
    }

    /// False where the move gives no check; it may be true for some that give none.
    pub(super) fn may_check(&self, played: Move) -> bool {
        match played {
            Move::Normal { role, from, to, promotion: None, .. } => {
                let squares = match role {
                    Role::Pawn => self.squares[0],
                    Role::Knight => self.squares[1],
                    Role::Bishop => self.squares[2],
                    Role::Rook => self.squares[3],
                    Role::Queen => self.squares[4],
                    Role::King => Bitboard::EMPTY,
                };
                squares.contains(to) || self.screens.contains(from)
            }
            // Promotion, castling and en passant open lines in ways not worth a rule.
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_repetitions_on_the_path_and_in_the_game() {
        let keys = [7, 1, 2, 3, 7, 4, 5, 6];
        let all = Visits { on_path: 1, in_all: 2 };
        assert_eq!(repetitions(&keys, 2, 7, 50), all);
        assert_eq!(repetitions(&keys, 5, 7, 50), Visits { on_path: 0, in_all: 2 });
        assert_eq!(repetitions(&keys, 2, 7, 4), Visits { on_path: 1, in_all: 1 });
        assert_eq!(repetitions(&keys, 2, 7, 3), Visits::default());
        assert!(all.is_draw() && !Visits { on_path: 0, in_all: 1 }.is_draw());
    }

    #[test]
    fn finds_the_mating_move() {
        let fen: shakmaty::fen::Fen = "6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1".parse().unwrap();
        let position: Chess = fen.into_position(shakmaty::CastlingMode::Standard).unwrap();
        let mate = mating_move(&position, &position.legal_moves()).unwrap();
        assert_eq!(mate.to(), shakmaty::Square::A8);
        assert_eq!(mating_move(&Chess::new(), &Chess::new().legal_moves()), None);
    }

    /// No check escapes the quick look, on random games from positions with discoveries, castling,
    /// promotions and en passant.
    #[test]
    fn every_check_is_expected() {
        let starts = [
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
            "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
            "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        ];
        let (mut checks, mut quiet) = (0, 0);
        for (start, seed) in starts.iter().flat_map(|start| (1..40_usize).map(move |s| (start, s)))
        {
            let fen: shakmaty::fen::Fen = start.parse().unwrap();
            let mut position: Chess = fen.into_position(shakmaty::CastlingMode::Standard).unwrap();
            for ply in 0..60_usize {
                let moves = position.legal_moves();
                let expected = Checks::of(&position);
                for &played in &moves {
                    let after = position.clone().play(played).unwrap();
                    assert!(expected.may_check(played) || !after.is_check(), "{played:?}");
                    checks += usize::from(after.is_check());
                    quiet += usize::from(!expected.may_check(played));
                }
                let Some(&played) = moves.get((seed * 31 + ply * ply * 7) % moves.len().max(1))
                else {
                    break;
                };
                position.play_unchecked(played);
            }
        }
        assert!(checks > 1_000 && quiet > 10 * checks, "{checks} {quiet}");
    }
}
