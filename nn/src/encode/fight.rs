//! How pieces and moves stand in the fight: attack states, features and situations.

use shakmaty::{Bitboard, Board, Chess, Move, Piece, Position, Role, Square, attacks};

use super::aftermath::{self, Captures};
use super::shallow;
use super::{ATTACK_STATES, EXCHANGES, arrivals, role_index};
use crate::classical::exchange::{all_attackers, nets_from};

/// Lower bounds of the classes of what an exchange nets, in centipawns: sure losses, small losses,
/// even, a pawn or so, a piece or more.
const NETS: [i32; EXCHANGES - 1] = [-250, -50, 50, 250];

/// Pawn 1, minor piece 2, rook 3, queen 4, king 5: enough to tell a good capture from a bad one.
fn rank_of(role: Role) -> u8 {
    match role {
        Role::Pawn => 1,
        Role::Knight | Role::Bishop => 2,
        Role::Rook => 3,
        Role::Queen => 4,
        Role::King => 5,
    }
}

/// Rank of the cheapest piece in `pieces`, which must not be empty to mean anything.
fn cheapest(board: &Board, pieces: Bitboard) -> u8 {
    if (pieces & board.pawns()).any() {
        1
    } else if (pieces & (board.knights() | board.bishops())).any() {
        2
    } else if (pieces & board.rooks()).any() {
        3
    } else if (pieces & board.queens()).any() {
        4
    } else {
        5
    }
}

pub(super) fn attack_state(board: &Board, square: Square, piece: Piece) -> u8 {
    let all = all_attackers(board, square, board.occupied());
    let attackers = all & board.by_color(!piece.color);
    if attackers.is_empty() {
        0
    } else if piece.role == Role::King || cheapest(board, attackers) < rank_of(piece.role) {
        1
    } else if (all & board.by_color(piece.color)).is_empty() {
        2
    } else {
        3
    }
}

/// The row of the move-feature table, of a move that takes its piece to a square where it is in
/// this situation.
pub(super) fn move_feature(position: &Chess, m: Move, to: Square, situation: Situation) -> u16 {
    let board = position.board();
    let mover = position.turn();
    let role = m.promotion().unwrap_or(m.role());
    let Situation { attackers, reach, .. } = situation;
    let enemies = attackers & board.by_color(!mover) & !Bitboard::from_square(to);
    let threat = if enemies.is_empty() {
        0
    } else if cheapest(board, enemies) < rank_of(role) {
        2
    } else {
        1
    };
    let from = m.from().map_or(Bitboard::EMPTY, Bitboard::from_square);
    let friends = attackers & board.by_color(mover) & !from;
    let checks = board.king_of(!mover).is_some_and(|king| reach.contains(king));
    let captured = m.capture().map_or(0, |role| u16::from(role_index(role)) + 1);
    let feature = u16::from(role_index(m.role())) * 6 + captured;
    ((feature * 3 + threat) * 2 + u16::from(friends.any())) * 2 + u16::from(checks)
}

/// How a move stands: what it does on its square, and what it leaves behind.
#[derive(Clone, Copy)]
pub(super) struct Situation {
    /// Class of what the exchange on its square nets.
    pub(super) exchange: usize,
    /// Pieces it threatens: none, one, more.
    threats: usize,
    /// Attack state of the mover where it stood.
    state: u8,
    /// Classes of what happens afterwards.
    pub(super) after: usize,
    /// Whether it gives no check and threatens to win nothing.
    is_idle: bool,
    /// What attacks the square that it goes to.
    attackers: Bitboard,
    /// What it attacks from there.
    reach: Bitboard,
}

impl Situation {
    /// Of a legal move, where `states` are the attack states of the pieces by their squares and
    /// `captures` the position's.
    pub(super) fn of(
        position: &Chess,
        m: Move,
        states: &[u8; 64],
        captures: &mut Captures<'_>,
    ) -> Self {
        let board = position.board();
        let mover = position.turn();
        let role = m.role();
        let (to, _) = arrivals(m, mover);
        let from = m.from().unwrap_or(to); // only drops come from nowhere
        let occupied = (board.occupied() ^ Bitboard::from_square(from)) | Bitboard::from_square(to);
        let attackers = all_attackers(board, to, occupied);
        // From the middle: most moves win nothing and lose nothing, which two questions tell.
        let nets = |class: usize| nets_from(position, m, NETS[class - 1], Some(attackers));
        let exchange = if nets(3) {
            3 + usize::from(nets(4))
        } else if nets(2) {
            2
        } else {
            usize::from(nets(1))
        };
        let stands = m.promotion().unwrap_or(role);
        let reach = attacks::attacks(to, Piece { color: mover, role: stands }, occupied);
        let reached = reach & board.by_color(!mover) & !Bitboard::from_square(to);
        let threatened = |square: &Square| {
            let dearer =
                board.role_at(*square).is_some_and(|other| rank_of(other) > rank_of(stands));
            dearer || board.attacks_to(*square, !mover, occupied).is_empty()
        };
        let (after, is_idle) = aftermath::class(position, m, to, captures);
        Self {
            exchange,
            threats: reached.into_iter().filter(threatened).take(2).count(),
            state: states[usize::from(from)],
            after,
            is_idle,
            attackers,
            reach,
        }
    }

    /// What the shallow search is told of it.
    pub(super) fn hint(self) -> shallow::Hint {
        let promise = aftermath::net(self.exchange, self.after);
        shallow::Hint { promise, is_idle: self.is_idle }
    }

    /// The row of the move-situation table, where `class` is its class by the shallow search.
    pub(super) fn row(self, class: usize) -> u16 {
        let plain = (self.exchange * 3 + self.threats) * ATTACK_STATES + usize::from(self.state);
        ((plain * aftermath::CLASSES + self.after) * shallow::CLASSES + class) as u16
    }
}
