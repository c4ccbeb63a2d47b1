//! Any position in 24 bytes, exactly.

use shakmaty::packed::PackedSetup;
use shakmaty::{
    CastlingMode, Chess, EnPassantMode, FromSetup as _, Position as _, PositionError, Setup,
};

use super::pages::spread;

/// Bytes of a packed position.
pub(super) const PACKED_BYTES: usize = 24;

/// Occupied squares and half a byte for each piece, as shakmaty, Stockfish's nnue-pytorch and
/// Lichess' binary FEN pack them: side to move, castling rights and a legal en-passant square
/// included, move counters left out. Equal bytes are equal positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Packed([u64; 3]);

impl Packed {
    /// Packs a position of at most 32 pieces, as every one is that can arise in a game.
    pub(super) fn new(position: &Chess) -> Self {
        let setup = position.to_setup(EnPassantMode::Legal);
        let packed = PackedSetup::pack_standard_normalized(&setup);
        let mut bytes = [0; PACKED_BYTES];
        // Rights have their rooks and en passant its pawn in every position of shakmaty, so it is
        // packed.
        if let Ok(packed) = packed {
            for (byte, &from) in bytes.iter_mut().zip(packed.as_bytes()) {
                *byte = from;
            }
        }
        Self::from_bytes(&bytes)
    }

    /// The position again, with the castling mode that the first one had; `None` when the bytes are
    /// of none.
    pub(super) fn position(self, mode: CastlingMode) -> Option<Chess> {
        let setup = self.setup()?;
        Chess::from_setup(setup, mode).or_else(PositionError::ignore_impossible_check).ok()
    }

    /// Pieces and side to move, without asking whether the rules allow them: several times as
    /// fast.
    pub(super) fn setup(self) -> Option<Setup> {
        PackedSetup::try_from_bytes(&self.to_bytes()).ok()?.unpack_standard().ok()
    }

    /// The bytes as they are on disk; what is missing counts as 0.
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        let mut words = [0; 3];
        for (word, eight) in words.iter_mut().zip(bytes.chunks_exact(8)) {
            *word = u64::from_le_bytes(eight.try_into().unwrap_or_default());
        }
        Self(words)
    }

    /// As in memory and on disk.
    pub(super) fn to_bytes(self) -> [u8; PACKED_BYTES] {
        let mut bytes = [0; PACKED_BYTES];
        for (eight, word) in bytes.chunks_exact_mut(8).zip(self.0) {
            eight.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Spreads positions evenly.
    pub(super) fn hash(self) -> u64 {
        let [occupied, low, high] = self.0;
        spread(u128::from(occupied) << 64 | u128::from(low ^ high.rotate_left(17)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_position_comes_back(choices in prop::collection::vec(any::<u16>(), 0..150)) {
            let mut position = Chess::default();
            for choice in choices {
                let packed = Packed::new(&position);
                let again = packed.position(CastlingMode::Standard);
                prop_assert_eq!(again.as_ref(), Some(&position));
                prop_assert_eq!(Packed::from_bytes(&packed.to_bytes()), packed);
                let moves = position.legal_moves();
                if moves.is_empty() {
                    break;
                }
                position.play_unchecked(moves[usize::from(choice) % moves.len()]);
            }
        }
    }

    #[test]
    fn side_rights_and_en_passant_count() {
        let fens = [
            "r3k2r/8/8/2pP4/8/8/8/4K3 w kq c6 0 1",
            "r3k2r/8/8/2pP4/8/8/8/4K3 w kq - 0 1",
            "r3k2r/8/8/2pP4/8/8/8/4K3 w k - 0 1",
            "r3k2r/8/8/2pP4/8/8/8/4K3 b k - 0 1",
        ];
        let mut packed =
            fens.map(|fen| Packed::new(&crate::chess::notation::from_fen(fen, false).unwrap()));
        packed.sort();
        assert!(packed.windows(2).all(|pair| pair[0] != pair[1]));
        // En passant that is not legal does not count.
        let with = "4k3/8/8/2p5/8/8/8/4K3 w - c6 0 1";
        let without = "4k3/8/8/2p5/8/8/8/4K3 w - - 0 7";
        let [with, without] = [with, without]
            .map(|fen| Packed::new(&crate::chess::notation::from_fen(fen, false).unwrap()));
        assert_eq!(with, without);
    }
}
