//! Positions and moves as small as the experience keeps them. Two positions are the same where the
//! rules say so: men, side to move, castling rights and an en-passant capture that is legal.

use shakmaty::fen::{Fen, LossyFenError};
use shakmaty::{
    Bitboard, Board, CastlingMode, Chess, Color, EnPassantMode, FromSetup as _, Move, Piece,
    Position, PositionError, Role, Setup, Square,
};

/// Bytes of a position.
pub(super) const BYTES: usize = 24;

/// A position: 8 bytes of occupied squares, the lowest first, and half a byte for each man there,
/// in the same order.
///
/// 0 to 5 are White's pawn to king, 6 to 11 Black's; 12 a pawn that can be captured en passant; 13
/// and 14 a rook of White or Black that may castle; 15 Black's king when Black is to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Packed(pub(super) [u8; BYTES]);

const EN_PASSANT: u8 = 12;
const CASTLING: [u8; 2] = [13, 14];
const BLACK_TO_MOVE: u8 = 15;

impl Packed {
    /// `None` for more than 32 men, which only made-up positions have.
    pub(crate) fn new(position: &Chess) -> Option<Self> {
        let setup = position.to_setup(EnPassantMode::Legal);
        let occupied = setup.board.occupied();
        if occupied.count() > 32 {
            return None;
        }
        let captured = setup.ep_square.map(|square| passed_by(square, setup.turn));
        let mut bytes = [0; BYTES];
        bytes[..8].copy_from_slice(&u64::from(occupied).to_le_bytes());
        for (place, square) in occupied.into_iter().enumerate() {
            let piece = setup.board.piece_at(square)?;
            let is_black = usize::from(piece.color.is_black());
            let code = if Some(square) == captured {
                EN_PASSANT
            } else if setup.castling_rights.contains(square) {
                CASTLING[is_black]
            } else if piece == Color::Black.king() && setup.turn.is_black() {
                BLACK_TO_MOVE
            } else {
                (6 * is_black) as u8 + piece.role as u8 - 1
            };
            bytes[8 + place / 2] |= code << (4 * (place % 2));
        }
        Some(Self(bytes))
    }

    /// The position, without its counters; whatever the bytes, it is something that can be written
    /// down.
    fn setup(self) -> Setup {
        let occupied: [u8; 8] = std::array::from_fn(|place| self.0[place]);
        let mut setup = Setup::empty();
        let mut board = Board::empty();
        for (place, square) in
            Bitboard(u64::from_le_bytes(occupied)).into_iter().enumerate().take(32)
        {
            let code = self.0[8 + place / 2] >> (4 * (place % 2)) & 15;
            let piece = match code {
                EN_PASSANT => {
                    let color = if square.rank() < shakmaty::Rank::Fifth {
                        Color::White
                    } else {
                        Color::Black
                    };
                    setup.ep_square = Some(passed_by(square, color));
                    Piece { color, role: Role::Pawn }
                }
                13 | 14 => {
                    setup.castling_rights.add(square);
                    Piece { color: Color::from_white(code == CASTLING[0]), role: Role::Rook }
                }
                BLACK_TO_MOVE => {
                    setup.turn = Color::Black;
                    Color::Black.king()
                }
                code => Piece {
                    color: Color::from_white(code < 6),
                    role: Role::ALL[usize::from(code % 6)],
                },
            };
            board.set_piece_at(square, piece);
        }
        setup.board = board;
        setup
    }

    /// The position as text, with its counters at their starts.
    pub(super) fn fen(self) -> String {
        Fen::try_from_setup(self.setup()).unwrap_or_else(LossyFenError::ignore).to_string()
    }

    /// The position; `None` where the bytes are of none that the rules allow.
    pub(super) fn position(self) -> Option<Chess> {
        let setup = self.setup();
        let mode = CastlingMode::detect(&setup);
        Chess::from_setup(setup, mode).or_else(PositionError::ignore_impossible_check).ok()
    }

    /// Whose move it is.
    pub(super) fn turn(self) -> Color {
        self.setup().turn
    }
}

/// One step towards White for White, towards Black for Black: from a pawn to the square it passed,
/// for its own side; from that square to the pawn, for the side that may capture it.
fn passed_by(square: Square, side: Color) -> Square {
    let step = if side.is_white() { -8 } else { 8 };
    square.offset(step).unwrap_or(square)
}

/// A move in 16 bits: from, to (castling: the rook's square) and the piece it promotes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PackedMove(pub(super) u16);

impl PackedMove {
    /// Packs it.
    pub(super) fn new(played: Move) -> Self {
        let from = played.from().map_or(0, |square| square as u16);
        let promotion = played.promotion().map_or(0, |role| role as u16);
        Self(from | (played.to() as u16) << 6 | promotion << 12)
    }

    /// As UCI writes it; castling as king takes rook.
    pub(super) fn uci(self) -> String {
        let square = |bits: u16| Square::new(u32::from(bits & 63));
        let promotion = Role::try_from(u32::from(self.0 >> 12)).ok();
        let letter = promotion.map_or_else(String::new, |role| role.char().to_string());
        format!("{}{}{letter}", square(self.0), square(self.0 >> 6))
    }

    /// The legal move that this is, if it is one.
    pub(super) fn find(self, moves: &[Move]) -> Option<Move> {
        moves.iter().copied().find(|&played| Self::new(played) == self)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn position(fen: &str) -> Chess {
        let fen: Fen = fen.parse().unwrap();
        fen.into_position(CastlingMode::Chess960).unwrap()
    }

    fn fen(position: &Chess) -> String {
        let mut setup = position.to_setup(EnPassantMode::Legal);
        (setup.halfmoves, setup.fullmoves) = (0, std::num::NonZeroU32::MIN);
        Fen::try_from_setup(setup).unwrap().to_string()
    }

    #[test]
    fn positions_come_back() {
        for text in [
            "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
            "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b Kq - 0 1",
            "4k3/8/8/8/3Pp3/8/8/4K3 b - d3 0 1",
            "4k3/8/8/3Pp3/8/8/8/4K3 w - e6 0 1",
            "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 0 1",
        ] {
            let packed = Packed::new(&position(text)).unwrap();
            assert_eq!(packed.fen(), fen(&position(text)));
            assert_eq!(packed.turn(), position(text).turn());
            assert_eq!(packed.position().map(|again| fen(&again)), Some(fen(&position(text))));
        }
    }

    /// Equal exactly where shakmaty calls two positions equal, on random games.
    #[test]
    fn different_positions_differ() {
        let mut known: HashMap<Packed, Chess> = HashMap::new();
        let mut again = 0;
        for seed in 0..200_usize {
            let mut position = Chess::new();
            for ply in 0..80_usize {
                let packed = Packed::new(&position).unwrap();
                assert_eq!(packed.fen(), fen(&position));
                if let Some(other) = known.insert(packed, position.clone()) {
                    assert_eq!(fen(&other), fen(&position));
                    again += 1;
                }
                let moves = position.legal_moves();
                for &played in &moves {
                    assert_eq!(PackedMove::new(played).find(&moves), Some(played));
                }
                let Some(&played) = moves.get((seed * 31 + ply * ply * 7) % moves.len().max(1))
                else {
                    break;
                };
                position.play_unchecked(played);
            }
        }
        assert!(again > 200 && known.len() > 5_000, "{again} {}", known.len());
    }

    #[test]
    fn any_bytes_are_some_position() {
        for byte in 0..=255 {
            assert!(!Packed([byte; BYTES]).fen().is_empty());
        }
    }
}
