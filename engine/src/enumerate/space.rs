//! The positions of one closure as exact numbers, without a gap that matters.
//!
//! Pawns, locked pieces and material are the same everywhere in a closure; what differs is where
//! each group of pieces stands ([`super::reach`]), who is to move and which of the first position's
//! castling rights are left. The *index* of a position is these in mixed radix, the groups lowest.
//! Two positions have the same index only if they are the same, so nothing is ever mistaken for
//! something else.
//!
//! En passant can be played in the first position only: a pawn that went two squares starts a
//! closure. A first position in which it is legal has an index of its own, one behind all others.

use shakmaty::{
    Bitboard, Board, ByColor, CastlingSide, Chess, Color, FromSetup as _, Move, Piece, Position,
    PositionError, Role, Setup, Square,
};

use super::error::EnumerateError;
use super::reach::{self, Group};

/// More pieces than can move, one of them on every second square.
const MOST_GROUPS: usize = 32;

/// Spaces above this are refused; 128 bits hold what is added to an index of them.
const LARGEST: u128 = 1 << 120;

/// All positions that pieces could make within a closure, and their numbers.
#[derive(Clone, Debug)]
pub struct Space {
    start: Chess,
    fixed: Board,
    groups: Vec<Group>,
    /// What one more in a group's number adds to the index.
    weights: Vec<u128>,
    /// Black to move.
    side_weight: u128,
    /// One more in the number of the castling rights.
    rights_weight: u128,
    /// Rooks that may castle in the first position.
    rights: Bitboard,
    /// Indices but for that of a first position with en passant.
    size: u128,
}

/// A position taken apart: what is needed to number the positions after it.
#[derive(Clone, Debug)]
pub(super) struct Parts {
    /// Index of the same position without en passant.
    index: u128,
    numbers: [u64; MOST_GROUPS],
    sets: [Bitboard; MOST_GROUPS],
    turn: Color,
    rights: Bitboard,
}

impl Space {
    /// The space of the closure that starts at this position.
    ///
    /// # Errors
    /// When 120 bits are too few for it.
    pub fn new(start: &Chess) -> Result<Self, EnumerateError> {
        Self::divided(std::slice::from_ref(start))
    }

    /// The space of the closures of all these positions together: they have the same pawns, as many
    /// pieces of each kind, and none of them has en passant.
    ///
    /// # Errors
    /// As [`Space::new`].
    pub(super) fn of_all(
        first: Chess,
        others: impl Iterator<Item = Chess>,
    ) -> Result<Self, EnumerateError> {
        let mut chosen = vec![first];
        let mut space = Self::divided(&chosen)?;
        // A position that has a number cannot leave the space: what is locked there is locked here,
        // and no piece leaves its group's squares.
        for start in others {
            if space.index_of(&start).is_none() {
                chosen.push(start);
                space = Self::divided(&chosen)?;
            }
        }
        Ok(space)
    }

    fn divided(starts: &[Chess]) -> Result<Self, EnumerateError> {
        let start = &starts[0];
        let division = reach::divide(starts);
        let rights = starts
            .iter()
            .fold(Bitboard::EMPTY, |rights, start| rights | start.castles().castling_rights());
        let mut weights = Vec::new();
        let mut weight: u128 = 1;
        let grown = |weight: u128, by: u128| {
            weight.checked_mul(by).filter(|&size| size <= LARGEST).ok_or(EnumerateError::TooWide)
        };
        for group in &division.groups {
            weights.push(weight);
            weight = grown(weight, u128::from(group.places.size()))?;
        }
        let side_weight = weight;
        let rights_weight = grown(side_weight, 2)?;
        let size = grown(rights_weight, 1 << rights.count())?;
        if weights.len() > MOST_GROUPS {
            return Err(EnumerateError::TooWide);
        }
        Ok(Self {
            start: start.clone(),
            fixed: division.fixed,
            groups: division.groups,
            weights,
            side_weight,
            rights_weight,
            rights,
            size,
        })
    }

    /// The first position.
    pub fn start(&self) -> &Chess {
        &self.start
    }

    /// Number of indices; the positions of the closure are some of them.
    pub fn size(&self) -> u128 {
        self.size + u128::from(self.has_en_passant())
    }

    /// Whether the first position differs from the same placement later on, by en passant.
    fn has_en_passant(&self) -> bool {
        self.start.legal_ep_square().is_some()
    }

    /// Index of the first position.
    pub(super) fn first(&self) -> u128 {
        if self.has_en_passant() { self.size } else { self.placed(&self.start) }
    }

    /// Whether this index is that of the first position's placement, with en passant or without,
    /// where those are two positions.
    pub(super) fn is_twin(&self, parts: &Parts) -> bool {
        self.has_en_passant() && parts.index == self.placed(&self.start)
    }

    fn placed(&self, position: &Chess) -> u128 {
        let rights = position.castles().castling_rights();
        self.index(position.board(), position.turn(), rights).unwrap_or_default()
    }

    /// Index of a position; `None` when it is of no closure with these pawns, pieces and rights.
    pub fn index_of(&self, position: &Chess) -> Option<u128> {
        if position.legal_ep_square().is_some() {
            return (*position == self.start).then_some(self.size);
        }
        self.index(position.board(), position.turn(), position.castles().castling_rights())
    }

    /// The same for a position without en passant that is given by its parts.
    pub(super) fn index(&self, board: &Board, turn: Color, rights: Bitboard) -> Option<u128> {
        let fixed_is_there = |color: Color, role: Role| {
            self.fixed
                .by_piece(Piece { color, role })
                .is_subset(board.by_piece(Piece { color, role }))
        };
        let both = Color::ALL.into_iter();
        let stands = both
            .flat_map(|color| Role::ALL.map(|role| (color, role)))
            .all(|(color, role)| fixed_is_there(color, role));
        if !stands || !rights.is_subset(self.rights) {
            return None;
        }
        let mut rest = board.occupied() & !self.fixed.occupied();
        let mut index = self.side_and_rights(turn, rights);
        for (group, &weight) in self.groups.iter().zip(&self.weights) {
            let set = board.by_piece(group.piece) & rest & group.places.squares();
            if set.count() != group.places.pieces() {
                return None;
            }
            rest.discard(set);
            index += u128::from(group.places.number(set)) * weight;
        }
        rest.is_empty().then_some(index)
    }

    fn side_and_rights(&self, turn: Color, rights: Bitboard) -> u128 {
        let mut bits = 0;
        for (bit, rook) in self.rights.into_iter().enumerate() {
            bits |= u128::from(rights.contains(rook)) << bit;
        }
        bits * self.rights_weight + turn.fold_wb(0, self.side_weight)
    }

    /// Takes the position with this index apart.
    pub(super) fn parts(&self, index: u128) -> Parts {
        let index = if index == self.size { self.placed(&self.start) } else { index };
        let mut parts = Parts {
            index,
            numbers: [0; MOST_GROUPS],
            sets: [Bitboard::EMPTY; MOST_GROUPS],
            turn: Color::White,
            rights: Bitboard::EMPTY,
        };
        let mut rest = index;
        for (which, group) in self.groups.iter().enumerate() {
            let number = divided(&mut rest, group.places.size());
            parts.numbers[which] = number;
            parts.sets[which] = group.places.set(number);
        }
        parts.turn = Color::from_white(divided(&mut rest, 2) == 0);
        for rook in self.rights {
            if divided(&mut rest, 2) == 1 {
                parts.rights.add(rook);
            }
        }
        parts
    }

    /// The position with this index and these parts; `None` when pieces would stand on each other
    /// or the rules forbid it otherwise, so that it is in no closure.
    pub(super) fn position_of(&self, index: u128, parts: &Parts) -> Option<Chess> {
        if index == self.size {
            return Some(self.start.clone());
        }
        let (mut by_role, mut by_color) = self.fixed.clone().into_bitboards();
        let mut standing = self.fixed.occupied();
        for (group, &set) in self.groups.iter().zip(&parts.sets) {
            if set.intersects(standing) {
                return None;
            }
            standing |= set;
            *by_role.get_mut(group.piece.role) |= set;
            *by_color.get_mut(group.piece.color) |= set;
        }
        let setup = Setup {
            board: Board::try_from_bitboards(by_role, by_color).ok()?,
            turn: parts.turn,
            castling_rights: parts.rights,
            ..Setup::empty()
        };
        Chess::from_setup(setup, self.start.castles().mode())
            .or_else(PositionError::ignore_impossible_check)
            .ok()
    }

    /// The position with this index, where there is one.
    pub fn position(&self, index: u128) -> Option<Chess> {
        if index >= self.size() { None } else { self.position_of(index, &self.parts(index)) }
    }

    /// Index of the position after a legal move that is neither a capture nor a pawn's.
    pub(super) fn after(&self, parts: &Parts, played: Move) -> u128 {
        let turn = parts.turn;
        let mut index = match turn {
            Color::White => parts.index.wrapping_add(self.side_weight),
            Color::Black => parts.index.wrapping_sub(self.side_weight),
        };
        let mut lost = Bitboard::EMPTY;
        match played {
            Move::Castle { king, rook } => {
                let side = CastlingSide::from_king_side(king < rook);
                let (king_to, rook_to) = (side.king_to(turn), side.rook_to(turn));
                index = self.moved(index, parts, turn.king(), (king, king_to));
                index = self.moved(index, parts, turn.rook(), (rook, rook_to));
                lost |= self.rights & turn.backrank();
            }
            Move::Normal { role, from, to, .. } => {
                index = self.moved(index, parts, Piece { color: turn, role }, (from, to));
                lost |= if role == Role::King {
                    self.rights & turn.backrank()
                } else {
                    Bitboard::from_square(from)
                };
            }
            Move::EnPassant { .. } | Move::Put { .. } => {}
        }
        if parts.rights.intersects(lost) {
            let kept = parts.rights & !lost;
            index = index
                .wrapping_sub(self.side_and_rights(Color::White, parts.rights))
                .wrapping_add(self.side_and_rights(Color::White, kept));
        }
        index
    }

    fn moved(
        &self,
        index: u128,
        parts: &Parts,
        piece: Piece,
        (from, to): (Square, Square),
    ) -> u128 {
        let group = self
            .groups
            .iter()
            .zip(&parts.sets)
            .position(|(group, set)| group.piece == piece && set.contains(from));
        let Some(which) = group else { return index };
        let set = parts.sets[which].without(from).with(to);
        let new = self.groups[which].places.number(set);
        // Modulo 2^128, so that a smaller number needs no case of its own.
        let step = u128::from(new).wrapping_sub(u128::from(parts.numbers[which]));
        index.wrapping_add(step.wrapping_mul(self.weights[which]))
    }

    /// Pawns of the closure.
    pub(super) fn pawns(&self, color: Color) -> Bitboard {
        self.fixed.by_piece(color.pawn())
    }

    /// Castling rights of the first position, as squares of rooks.
    pub(super) fn rights(&self) -> Bitboard {
        self.rights
    }

    /// Pieces of each side, pawns and king included.
    pub(super) fn counts(&self) -> ByColor<usize> {
        let board = self.start.board();
        ByColor { white: board.white().count(), black: board.black().count() }
    }
}

/// Takes the lowest digit off. Nearly all indices fit 64 bits, where division is several times
/// faster.
fn divided(rest: &mut u128, radix: u64) -> u64 {
    if let Ok(short) = u64::try_from(*rest) {
        *rest = u128::from(short / radix);
        short % radix
    } else {
        let digit = *rest % u128::from(radix);
        *rest /= u128::from(radix);
        digit as u64
    }
}

#[cfg(test)]
mod tests;
