//! A position of the shallow search: a board, and what its side to move can do there.

use shakmaty::attacks::{attacks, between, king_attacks, pawn_attacks};
use shakmaty::{Bitboard, Board, Chess, Color, Piece, Position, Rank, Role, Square};

use crate::classical::exchange::{best_capture, role_value};

/// A move by what it does on the board.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(super) from: Square,
    pub(super) to: Square,
    pub(super) role: Role,
}

/// A position without its rights to castle and to take en passant.
pub(super) struct Node {
    pub(super) board: Board,
    pub(super) turn: Color,
}

impl Node {
    pub(super) fn of(position: &Chess) -> Self {
        Self { board: position.board().clone(), turn: position.turn() }
    }

    /// The position after a null move.
    pub(super) fn passed(&self) -> Self {
        Self { board: self.board.clone(), turn: !self.turn }
    }

    pub(super) fn own(&self, role: Role) -> Bitboard {
        self.board.by_color(self.turn) & self.board.by_role(role)
    }

    pub(super) fn checkers(&self) -> Bitboard {
        self.attackers_of_king(self.turn)
    }

    fn attackers_of_king(&self, color: Color) -> Bitboard {
        let attackers = |king| self.board.attacks_to(king, !color, self.board.occupied());
        self.board.king_of(color).map_or(Bitboard::EMPTY, attackers)
    }

    /// The position after a step and what it gains at once, unless it leaves the king in check.
    pub(super) fn after(&self, step: Step) -> Option<(Self, i32)> {
        let mut board = self.board.clone();
        let taken = board.role_at(step.to).map_or(0, role_value);
        let promotes = step.role == Role::Pawn && Bitboard::BACKRANKS.contains(step.to);
        let (role, promoted) = if promotes {
            (Role::Queen, role_value(Role::Queen) - role_value(Role::Pawn))
        } else {
            (step.role, 0)
        };
        board.discard_piece_at(step.from);
        board.set_piece_at(step.to, Piece { color: self.turn, role });
        let after = Self { board, turn: !self.turn };
        after.attackers_of_king(self.turn).is_empty().then_some((after, taken + promoted))
    }

    /// Whether a capture does not lose more on its square than it takes.
    pub(super) fn keeps(&self, Step { from, to, role }: Step, victim: Role) -> bool {
        // The king may only take what is not defended.
        if role == Role::King || role_value(role) <= role_value(victim) {
            return true;
        }
        let mut board = self.board.clone();
        board.discard_piece_at(from);
        board.set_piece_at(to, Piece { color: self.turn, role });
        best_capture(&board, to, !self.turn) <= role_value(victim)
    }

    /// Visits the steps to `targets`, legal or not, until `visit` says so; whether it did.
    pub(super) fn any(&self, targets: Bitboard, mut visit: impl FnMut(Step) -> bool) -> bool {
        [Role::Knight, Role::Bishop, Role::Rook, Role::Queen, Role::Pawn, Role::King]
            .into_iter()
            .any(|role| {
                self.own(role).into_iter().any(|from| {
                    let reach = self.reach(from, role) & targets;
                    reach.into_iter().any(|to| visit(Step { from, to, role }))
                })
            })
    }

    /// The same for all steps of the king.
    pub(super) fn any_of_king(&self, mut visit: impl FnMut(Step) -> bool) -> bool {
        self.own(Role::King).into_iter().any(|from| {
            let reach = king_attacks(from) & !self.board.by_color(self.turn);
            reach.into_iter().any(|to| visit(Step { from, to, role: Role::King }))
        })
    }

    pub(super) fn can(&self, Step { from, to, role }: Step) -> bool {
        self.own(role).contains(from) && self.reach(from, role).contains(to)
    }

    fn reach(&self, from: Square, role: Role) -> Bitboard {
        if role == Role::Pawn {
            let takes = pawn_attacks(self.turn, from) & self.board.by_color(!self.turn);
            return takes | self.pushes(from);
        }
        let piece = Piece { color: self.turn, role };
        attacks(from, piece, self.board.occupied()) & !self.board.by_color(self.turn)
    }

    pub(super) fn pushes(&self, from: Square) -> Bitboard {
        let (up, home) = self.turn.fold_wb((8, Rank::Second), (-8, Rank::Seventh));
        let free = |square: &Square| !self.board.occupied().contains(*square);
        let one = from.offset(up).filter(free);
        let two = one.filter(|_| from.rank() == home).and_then(|one| one.offset(up)).filter(free);
        one.into_iter().chain(two).collect()
    }

    /// Where a piece may go in answer to these checks; the king may go elsewhere too.
    pub(super) fn answers(&self, checkers: Bitboard) -> Bitboard {
        match (checkers.single_square(), self.board.king_of(self.turn)) {
            (Some(checker), Some(king)) => between(checker, king).with(checker),
            _ if checkers.any() => Bitboard::EMPTY,
            _ => Bitboard::FULL,
        }
    }
}
