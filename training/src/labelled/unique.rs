//! No game twice: games are the same when they start alike and the same moves are played.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

use super::GameRecord;
use crate::game::state::fen_of;

/// The games seen so far, 16 bytes each and what a hash set adds.
#[derive(Clone, Debug, Default)]
pub struct Unique(HashSet<u128>);

impl Unique {
    /// Whether the game is new; it is known from then on.
    pub fn insert(&mut self, game: &GameRecord) -> bool {
        self.0.insert(hash(game))
    }
}

/// A hash of the start position and the moves played. Labels and result do not matter.
pub fn hash(game: &GameRecord) -> u128 {
    let mut sha = Sha256::new();
    sha.update(fen_of(&game.start).as_bytes());
    for ply in &game.plies {
        sha.update(ply.played.to_le_bytes());
    }
    let digest = sha.finalize();
    let mut first = [0; 16];
    first.copy_from_slice(&digest[..16]);
    u128::from_le_bytes(first)
}

#[cfg(test)]
mod tests {
    use shakmaty::Chess;

    use super::*;
    use crate::labelled::Ply;

    #[test]
    fn labels_make_no_new_game() {
        let game = |played, score| {
            let plies = vec![Ply { played, best: 1, score }];
            GameRecord { start: Chess::default(), result: 1, plies, others: Vec::new() }
        };
        let mut unique = Unique::default();
        assert!(unique.insert(&game(1, 0)));
        assert!(!unique.insert(&game(1, 50)));
        assert!(unique.insert(&game(2, 0)));
    }
}
