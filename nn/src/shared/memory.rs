//! A cache of recent answers, for devices that keep nothing of earlier positions.

use std::collections::HashMap;

use shakmaty::zobrist::Zobrist128;
use shakmaty::{EnPassantMode, Position};

use crate::evaluator::{Evaluation, Request};

/// Answers that are remembered, about 400 bytes each.
const REMEMBERED: usize = 200_000;

/// What tells positions apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// All that an answer depends on: placement, side to move, castling rights and a legal
    /// en-passant square in the hash; the fifty-move clock and repetitions beside it.
    Position { hash: u128, halfmoves: u32, repetitions: u8 },
    /// Submission and place: where the answer depends on the path too, every request is its own.
    Place(u64, usize),
}

impl Key {
    /// Of a position whose answer depends on nothing else.
    pub(super) fn of(request: &Request) -> Self {
        let position = &request.position;
        Self::Position {
            hash: position.zobrist_hash::<Zobrist128>(EnPassantMode::Legal).0,
            halfmoves: position.halfmoves(),
            repetitions: request.repetitions,
        }
    }
}

/// Recent answers, in two generations: when the new one is full, the old one is dropped.
#[derive(Debug, Default)]
pub(super) struct Memory {
    young: HashMap<Key, Evaluation>,
    old: HashMap<Key, Evaluation>,
}

impl Memory {
    /// What was answered, if it is remembered.
    pub(super) fn get(&mut self, key: Key) -> Option<Evaluation> {
        if let Some(answer) = self.young.get(&key) {
            return Some(answer.clone());
        }
        let answer = self.old.remove(&key)?;
        self.put(key, answer.clone());
        Some(answer)
    }

    /// Remembers an answer.
    pub(super) fn put(&mut self, key: Key, answer: Evaluation) {
        if self.young.len() >= REMEMBERED / 2 {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, answer);
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::Chess;

    use super::*;
    use crate::classical::ClassicalEvaluator;
    use crate::evaluator::Evaluator as _;

    #[test]
    fn memory_is_bounded() {
        let mut memory = Memory::default();
        let mut evaluator = ClassicalEvaluator::new();
        evaluator.submit(vec![Request::single(&Chess::default())]);
        let answer = evaluator.collect().unwrap().remove(0);
        let key = |hash| Key::Position { hash, halfmoves: 0, repetitions: 0 };
        for position in 0..3 * REMEMBERED as u128 {
            memory.put(key(position), Evaluation { moves: Box::new([]), ..answer.clone() });
            assert!(memory.get(key(0)).is_some(), "in use and forgotten");
        }
        assert!(memory.young.len() + memory.old.len() <= REMEMBERED);
        assert!(memory.get(key(1)).is_none());
    }
}
