//! No game twice: games are the same when they start alike and the same moves are played.

use std::collections::HashSet;

use sha2::{Digest, Sha256};
use shakmaty::Chess;

use super::{GameRecord, Ply};
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
    hash_of(&game.start, &game.plies)
}

fn hash_of(start: &Chess, plies: &[Ply]) -> u128 {
    let mut sha = Sha256::new();
    sha.update(fen_of(start).as_bytes());
    for ply in plies {
        sha.update(ply.played.to_le_bytes());
    }
    let digest = sha.finalize();
    let mut first = [0; 16];
    first.copy_from_slice(&digest[..16]);
    u128::from_le_bytes(first)
}

/// Whether the game is one of this share of all games, which is held out. It depends on the game
/// alone, so that it is so in whatever run or file the game is. Games that begin alike, other than
/// with the pieces where they belong, are held out together: the paths of a tree share positions,
/// and a network that has learnt some of them knows the others.
pub fn is_held_out(game: &GameRecord, share: f64) -> bool {
    // A hash is not worth its time where nothing is held out.
    if share <= 0.0 {
        return false;
    }
    let plies = if game.start == Chess::default() { &game.plies[..] } else { &[] };
    (((hash_of(&game.start, plies) >> 64) as u64) as f64) / 2f64.powi(64) < share
}

#[cfg(test)]
mod tests {
    use shakmaty::Position;

    use super::*;

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
        let held_out = |share| (0..1000).filter(|&n| is_held_out(&game(n, 0), share)).count();
        assert_eq!(held_out(0.0), 0);
        assert!((150..250).contains(&held_out(0.2)), "{}", held_out(0.2));
    }

    #[test]
    fn games_that_begin_alike_are_held_out_together() {
        let game = |start: &Chess, played| {
            let plies = vec![Ply { played, best: 1, score: 0 }];
            GameRecord { start: start.clone(), result: 1, plies, others: Vec::new() }
        };
        let starts = Chess::default().legal_moves().into_iter().map(|first| {
            let mut start = Chess::default();
            start.play_unchecked(first);
            start
        });
        let mut held_out = 0;
        for start in starts {
            let is_first = is_held_out(&game(&start, 1), 0.5);
            assert!((2..50).all(|played| is_held_out(&game(&start, played), 0.5) == is_first));
            held_out += usize::from(is_first);
        }
        assert!((4..17).contains(&held_out), "{held_out} of 20 starts");
    }
}
