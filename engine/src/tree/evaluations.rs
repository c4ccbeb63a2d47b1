//! Evaluations by position, so that no position is evaluated twice: neither in one tree, where it
//! is reached by different moves, nor in the trees of a game's later moves.
//!
//! The evaluations lie one behind the other in a ring of words, where the next overwrites the
//! oldest. An entry is its key, the value and the error, the name on the device and the number of
//! moves, and then its moves as [`Edge`]s, four to a word: about 100 bytes. An index of buckets
//! finds it. A word of the index may point to what was overwritten since; the key tells.

use bytemuck::allocation::try_zeroed_vec;
use tesla_nn::evaluator::{Evaluation, Handle, MoveEstimate, clock_class};

use crate::tree::edge::Edge;

/// Words before the moves of an entry.
const HEAD: usize = 3;
/// Moves in a word.
const EDGES: usize = 4;
/// Words of an entry with the usual number of moves, 36.
const USUAL_WORDS: usize = HEAD + 36 / EDGES;
/// Entries that share a bucket of the index.
const WAYS: usize = 4;
/// Places in the index for an entry of the usual size: most buckets have one to spare.
const PLACES: usize = 2;
/// An empty place of the index.
const EMPTY: u32 = 0;
/// Halfmoves since the last irreversible one from which evaluations differ with every one more.
pub const LONG: u32 = 80;

/// The key under which the evaluation of a position is kept, from the position's own. Positions on
/// different paths share an evaluation if they were repeated equally often, the fifty-move rule is
/// far away, and the evaluator sees the same class of its clock.
pub fn evaluation_key(key: u64, repetitions: u8, halfmoves: u32) -> u64 {
    let is_far = halfmoves < LONG;
    let clock =
        if is_far { u64::from(clock_class(halfmoves)) } else { u64::from(halfmoves.min(100)) };
    key ^ (u64::from(repetitions) | clock << 2).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Evaluations by position, within a bound of memory.
#[derive(Debug)]
pub struct Evaluations {
    /// The ring, as far as it was ever filled.
    words: Vec<u64>,
    /// Words of the whole ring.
    size: usize,
    /// Where the next entry goes, in words.
    next: usize,
    /// One more than an entry's place in words, or [`EMPTY`].
    index: Vec<[u32; WAYS]>,
}

impl Evaluations {
    /// Space for so many bytes; memory is touched only when used. Where the system refuses it,
    /// there is less, in the worst case none.
    pub fn new(bytes: usize) -> Self {
        let each = USUAL_WORDS * size_of::<u64>() + PLACES * size_of::<u32>();
        let mut entries = (bytes / each).min(u32::MAX as usize / USUAL_WORDS);
        loop {
            let (mut words, index) = (Vec::new(), try_zeroed_vec(buckets(entries)));
            let size = entries * USUAL_WORDS;
            if let (Ok(()), Ok(index)) = (words.try_reserve_exact(size), index) {
                return Self { words, size, next: 0, index };
            }
            entries /= 2;
        }
    }

    /// Memory, bytes.
    pub fn bytes(&self) -> usize {
        self.size * size_of::<u64>() + size_of_val(self.index.as_slice())
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        // What nobody points to may stay; and of a new index no page is touched.
        if self.next > 0 {
            self.index.fill([EMPTY; WAYS]);
        }
        self.next = 0;
    }

    /// Whether [`Self::get`] would answer.
    pub fn contains(&self, key: u64, moves: usize) -> bool {
        self.find(key).is_some_and(|at| self.moves(at) == moves)
    }

    /// The evaluation under this key: value, error and name as they were, policy and action values
    /// as exact as an [`Edge`]. Nothing where the position had another number of moves, that is,
    /// where two positions share a key.
    pub fn get(&self, key: u64, moves: usize) -> Option<Evaluation> {
        let at = self.find(key)?;
        if self.moves(at) != moves {
            return None;
        }
        let value_and_error = self.words[at + 1];
        let edges = self.words[at + HEAD..].iter().flat_map(|word| word.to_le_bytes());
        let edges: Vec<u8> = edges.take(2 * moves).collect();
        let estimate = |edge: &[u8; 2]| {
            let edge = Edge::from_bytes(*edge);
            MoveEstimate { policy: edge.policy(), action_value: edge.action_value() }
        };
        Some(Evaluation {
            value: f32::from_bits(value_and_error as u32),
            error: f32::from_bits((value_and_error >> 32) as u32),
            moves: edges.as_chunks().0.iter().map(estimate).collect(),
            handle: self.handle(at),
            ..Evaluation::default()
        })
    }

    /// Keeps an evaluation under this key.
    pub fn store(&mut self, key: u64, evaluation: &Evaluation) {
        let moves = evaluation.moves.len();
        let length = HEAD + moves.div_ceil(EDGES);
        if length > self.size {
            return;
        }
        if self.next + length > self.size {
            self.next = 0;
        }
        let at = self.next;
        self.words.resize(self.words.len().max(at + length), 0);
        let bits = |number: f32| u64::from(number.to_bits());
        self.words[at] = key;
        self.words[at + 1] = bits(evaluation.value) | bits(evaluation.error) << 32;
        self.words[at + 2] = u64::from(evaluation.handle.0) | (moves as u64) << 32;
        for (word, row) in self.words[at + HEAD..].iter_mut().zip(evaluation.moves.chunks(EDGES)) {
            let mut bytes = [[0; 2]; EDGES];
            for (bytes, said) in bytes.iter_mut().zip(row) {
                *bytes = Edge::new(said.policy, said.action_value).to_bytes();
            }
            *word = u64::from_le_bytes(*bytes.as_flattened().as_array().unwrap_or(&[0; 8]));
        }
        self.next = at + length;
        self.point(key, at);
    }

    fn handle(&self, at: usize) -> Handle {
        Handle(self.words[at + 2] as u32)
    }

    fn moves(&self, at: usize) -> usize {
        (self.words[at + 2] >> 32) as usize
    }

    /// Where the entry of this key is.
    fn find(&self, key: u64) -> Option<usize> {
        let places = self.index.get(self.bucket(key))?;
        let at = |&place: &u32| (place as usize).checked_sub(1);
        places.iter().filter_map(at).find(|&at| self.words[at] == key)
    }

    /// Lets the index find an entry: in the key's own place, an empty one, one whose entry was
    /// overwritten, or in that of the oldest.
    fn point(&mut self, key: u64, at: usize) {
        let bucket = self.bucket(key);
        let Some(places) = self.index.get(bucket) else { return };
        let age = |&place: &u32| match place {
            EMPTY => usize::MAX,
            place if self.words[place as usize - 1] == key => usize::MAX,
            place if self.bucket(self.words[place as usize - 1]) != bucket => usize::MAX,
            place => (at + self.size - (place as usize - 1)) % self.size,
        };
        let oldest = (0..WAYS).max_by_key(|&way| age(&places[way])).unwrap_or(0);
        self.index[bucket][oldest] = at as u32 + 1;
    }

    /// The bucket of a key. Its high bits choose it.
    fn bucket(&self, key: u64) -> usize {
        ((u128::from(key) * self.index.len() as u128) >> 64) as usize
    }
}

/// Buckets of the index for so many entries.
fn buckets(entries: usize) -> usize {
    (entries * PLACES).div_ceil(WAYS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluation(number: u32, moves: usize) -> Evaluation {
        let estimate = |index| MoveEstimate {
            policy: 1.0 / (index + 2) as f32,
            action_value: (number + index) as f32 % 7.0 / 7.0,
        };
        Evaluation {
            value: number as f32 / 1e6,
            error: 0.25,
            moves: (0..moves as u32).map(estimate).collect(),
            handle: Handle(number),
            ..Evaluation::default()
        }
    }

    /// Keys as positions have them: every bit counts.
    fn key(number: u32) -> u64 {
        evaluation_key(u64::from(number).wrapping_mul(0x2545_f491_4f6c_dd1d), 0, 3)
    }

    #[test]
    fn what_was_stored_comes_back_as_exact_as_an_edge() {
        let mut known = Evaluations::new(1 << 20);
        for (number, moves) in [(1, 1), (2, 20), (3, 218), (4, 37)] {
            known.store(key(number), &evaluation(number, moves));
        }
        for (number, moves) in [(1, 1), (2, 20), (3, 218), (4, 37)] {
            let (told, was) = (known.get(key(number), moves).unwrap(), evaluation(number, moves));
            assert_eq!((told.value, told.error, told.handle), (was.value, was.error, was.handle));
            for (told, was) in told.moves.iter().zip(&was.moves) {
                assert!((told.policy / was.policy - 1.0).abs() < 0.033, "{told:?} {was:?}");
                assert!((told.action_value - was.action_value).abs() < 0.003);
                // Once more is not once less exact.
                let edge = |said: &MoveEstimate| Edge::new(said.policy, said.action_value);
                assert_eq!(edge(told), edge(was));
            }
            assert_eq!(told.moves.len(), moves);
            assert!(known.get(key(number), moves + 1).is_none(), "another position");
            assert!(!known.contains(key(number), moves + 1));
        }
        assert!(known.get(key(5), 20).is_none());
        known.clear();
        assert!(!known.contains(key(1), 1) && !known.contains(key(4), 37));
    }

    /// A small one forgets the oldest first, never mixes entries up, and keeps its bound.
    #[test]
    fn the_oldest_go_first() {
        let bytes = 1 << 16;
        let mut known = Evaluations::new(bytes);
        assert!((bytes * 9 / 10..=bytes).contains(&known.bytes()), "{}", known.bytes());
        let moves = |number: u32| (number * 7919 % 60) as usize + 1;
        for number in 0..20_000 {
            known.store(key(number), &evaluation(number, moves(number)));
            assert!(known.contains(key(number), moves(number)));
            for back in [1, 50, 200, 3000] {
                let Some(number) = u32::checked_sub(number, back) else { continue };
                let told = known.get(key(number), moves(number));
                assert!(told.is_none_or(|told| told.handle == Handle(number)));
            }
        }
        let there = |ages: std::ops::Range<u32>| {
            ages.filter(|age| known.find(key(19_999 - age)).is_some()).count()
        };
        assert!(there(0..300) >= 290, "{}", there(0..300));
        assert_eq!(there(1000..19_999), 0);
        assert!((400..900).contains(&there(0..1000)), "{}", there(0..1000));
        known.store(key(7), &evaluation(7, 20));
        known.store(key(7), &evaluation(8, 20));
        assert_eq!(known.get(key(7), 20).unwrap().handle, Handle(8));
    }

    /// A place whose entry was overwritten is free, and gives way before an entry that is there.
    #[test]
    fn what_was_overwritten_takes_no_place() {
        let mut known = Evaluations::new(1 << 20);
        let entries = (known.size / USUAL_WORDS) as u32;
        for number in 0..6 * entries {
            known.store(key(number), &evaluation(number, 36));
        }
        let found = (5 * entries..6 * entries).filter(|&number| known.contains(key(number), 36));
        let share = found.count() as f32 / entries as f32;
        assert!(share > 0.945, "{share} of those in the ring are found");
    }

    #[test]
    fn without_memory_nothing_is_known() {
        let mut none = Evaluations::new(0);
        none.store(key(1), &evaluation(1, 20));
        assert!(!none.contains(key(1), 20) && none.get(key(1), 20).is_none() && none.bytes() == 0);
        none.clear();
    }

    #[test]
    fn paths_share_what_they_may() {
        assert_eq!(evaluation_key(9, 0, 3), evaluation_key(9, 0, 12));
        let others = [(0, 13), (0, 79), (0, 80), (0, 81), (1, 3), (2, 3), (1, 80)];
        let keys: std::collections::HashSet<u64> =
            others.iter().map(|&(repeated, clock)| evaluation_key(9, repeated, clock)).collect();
        assert_eq!(keys.len(), others.len());
        assert!(!keys.contains(&evaluation_key(9, 0, 3)));
    }
}
