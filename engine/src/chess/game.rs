//! The game so far: positions since the start, for repetitions and the fifty-move rule.

use shakmaty::zobrist::Zobrist64;
use shakmaty::{Chess, EnPassantMode, Move, Position};

/// Key of a position for repetition and the table: placement, side to move, castling rights and a
/// legal en-passant square.
pub fn position_key(position: &Chess) -> u64 {
    position.zobrist_hash::<Zobrist64>(EnPassantMode::Legal).0
}

/// Key of the position after `played` in one with this key; updated where shakmaty can do that
/// cheaply.
pub fn key_after(position: &Chess, key: u64, played: Move) -> u64 {
    let updated = position.update_zobrist_hash(Zobrist64(key), played, EnPassantMode::Legal);
    updated.map_or_else(
        || {
            let mut after = position.clone();
            after.play_unchecked(played);
            position_key(&after)
        },
        |Zobrist64(key)| key,
    )
}

/// A game: its current position and the keys of the earlier ones that can still recur.
#[derive(Clone, Debug)]
pub struct Game {
    position: Chess,
    /// Keys of earlier positions since the last capture or pawn move, oldest first.
    keys: Vec<u64>,
}

impl Game {
    /// A game that starts at `position`.
    pub fn new(position: Chess) -> Self {
        Self { position, keys: Vec::new() }
    }

    /// The current position.
    pub fn position(&self) -> &Chess {
        &self.position
    }

    /// Keys of earlier positions since the last irreversible move, oldest first, without the
    /// current position's.
    pub fn earlier_keys(&self) -> &[u64] {
        &self.keys
    }

    /// Plays a legal move.
    pub fn play(&mut self, played: Move) {
        if played.is_zeroing() {
            self.keys.clear();
        } else {
            self.keys.push(position_key(&self.position));
        }
        self.position.play_unchecked(played);
    }

    /// How often the current position has occurred before in the game.
    pub fn repetitions(&self) -> usize {
        self.earlier(position_key(&self.position))
    }

    /// How often the position with this key has occurred before the current one.
    pub fn earlier(&self, key: u64) -> usize {
        self.keys.iter().filter(|&&earlier| earlier == key).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_agree_with_recomputation() {
        let mut position = Chess::new();
        for step in 0..120_usize {
            let moves = position.legal_moves();
            let Some(&played) = moves.get(step * 7 % moves.len().max(1)) else { break };
            let key = key_after(&position, position_key(&position), played);
            position.play_unchecked(played);
            assert_eq!(key, position_key(&position));
        }
    }
}
