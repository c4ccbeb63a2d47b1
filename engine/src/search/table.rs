//! The transposition table: what is known of a position, by key, for every search.
//!
//! An entry has 128 bits, four entries fill one 64-byte cache line:
//!
//! | bits | meaning |
//! |---|---|
//! | 64 | key of the position |
//! | 32 | value payload; its meaning belongs to the search that owns the table |
//! | 18 | best move: 6 from-square, 6 to-square, 3 moved type, 3 target type |
//! | 1  | principal-variation tag |
//! | 8  | depth |
//! | 5  | age: the search that wrote it, 1 to 31 in turn; 0 = the slot is empty |
//!
//! The *target type* is the role that stands on the target square after the move: the promotion's
//! role for a promotion, otherwise the moved type. Castling is written as the king moving onto its
//! own rook, which no other move does. So the 18 bits name every legal move of a position uniquely.
//!
//! One thread reads and writes; nothing is locked.

use bytemuck::Zeroable;
use bytemuck::allocation::try_zeroed_vec;
use shakmaty::{Move, Role};

/// Entries that share a cache line.
const SLOTS: usize = 4;
/// Cache lines in one MiB.
const BUCKETS_PER_MB: usize = (1 << 20) / 64;
/// Ages run from 1 to this and start again; 0 marks an empty slot.
const OLDEST_AGE: u8 = 31;
/// Depths by which an entry of the principal variation outlives another one of the same age.
const PV_BONUS: i32 = 16;
/// Depths that one generation of age costs an entry when a slot is needed.
const AGE_COST: i32 = 64;
/// Buckets sampled for [`Table::hashfull`].
const SAMPLE: usize = 250;

/// A move in 18 bits; see the [module](self) for its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PackedMove(u32);

impl PackedMove {
    /// Packs a move of ordinary chess. Moves that drop a piece do not occur there; one would be
    /// packed as a move from its own square.
    pub fn pack(played: Move) -> Self {
        let to = played.to();
        let from = played.from().unwrap_or(to);
        let target = played.promotion().unwrap_or(played.role());
        Self(
            u32::from(from)
                | u32::from(to) << 6
                | role_bits(played.role()) << 12
                | role_bits(target) << 15,
        )
    }

    /// Whether this is `candidate`, given that both are moves in the same position.
    pub fn matches(self, candidate: Move) -> bool {
        self == Self::pack(candidate)
    }

    /// The legal move this stands for; `None` means that the entry belongs to another position.
    pub fn find(self, legal: &[Move]) -> Option<Move> {
        legal.iter().copied().find(|&candidate| self.matches(candidate))
    }

    /// The 18 bits; a real move is never 0, because its moved type is not.
    pub fn bits(self) -> u32 {
        self.0
    }

    /// The move with these bits; `None` where they name no moved type or exceed 18 bits.
    pub fn from_bits(bits: u32) -> Option<Self> {
        (bits >> 12 & 7 != 0 && bits >> 18 == 0).then_some(Self(bits))
    }
}

fn role_bits(role: Role) -> u32 {
    u32::from(role) // pawn 1 … king 6
}

/// What the table knows of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// 32 bits of the search's own: score, bound, static value.
    pub payload: u32,
    /// The best move found, if any; check it against the legal moves before use.
    pub best: Option<PackedMove>,
    /// Depth of the search behind the payload, in plies.
    pub depth: u8,
    /// Whether the position was on a principal variation.
    pub is_pv: bool,
}

impl Entry {
    /// The word beside the key: payload, move, tag, depth, age from the lowest bit up.
    fn word(self, age: u8) -> u64 {
        u64::from(self.payload)
            | u64::from(self.best.map_or(0, PackedMove::bits)) << 32
            | u64::from(self.is_pv) << 50
            | u64::from(self.depth) << 51
            | u64::from(age) << 59
    }

    fn from_word(word: u64) -> Self {
        Self {
            payload: word as u32,
            best: PackedMove::from_bits((word >> 32) as u32 & 0x3_FFFF),
            depth: (word >> 51) as u8,
            is_pv: word >> 50 & 1 == 1,
        }
    }
}

fn age_of(word: u64) -> u8 {
    (word >> 59) as u8
}

/// One cache line: key, word, key, word, ….
#[derive(Clone, Copy, Debug, Zeroable)]
#[repr(C, align(64))]
struct Bucket([u64; 2 * SLOTS]);

/// A fixed number of entries, found by key. The newest answer for a key replaces the older one.
#[derive(Debug)]
pub struct Table {
    buckets: Vec<Bucket>,
    age: u8,
    /// Whether nothing was stored since it is clear.
    is_empty: bool,
}

impl Table {
    /// A table of at most this many MiB. Where the system refuses the memory the table is smaller,
    /// in the worst case empty: it then remembers nothing, and the search still works.
    pub fn new(megabytes: usize) -> Self {
        let mut count = megabytes.saturating_mul(BUCKETS_PER_MB);
        loop {
            // No page of it is touched before it is used.
            if let Ok(buckets) = try_zeroed_vec(count) {
                return Self { buckets, age: 1, is_empty: true };
            }
            count /= 2;
        }
    }

    /// Size in bytes, without the struct itself.
    pub fn bytes(&self) -> usize {
        self.buckets.len() * size_of::<Bucket>()
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        if !self.is_empty {
            self.buckets.fill(Bucket([0; 2 * SLOTS]));
        }
        (self.age, self.is_empty) = (1, true);
    }

    /// Starts a new search: what is in the table now becomes one generation older.
    pub fn new_generation(&mut self) {
        self.age = self.age % OLDEST_AGE + 1;
    }

    /// The entry of this position, if any. Keys may collide: check that the move is legal.
    pub fn probe(&self, key: u64) -> Option<Entry> {
        let bucket = self.buckets.get(self.index(key))?;
        bucket
            .0
            .chunks_exact(2)
            .find(|slot| slot[0] == key && age_of(slot[1]) != 0)
            .map(|slot| Entry::from_word(slot[1]))
    }

    /// Stores `entry`: over the entry of the same position, else in an empty slot, else over the
    /// least valuable entry (old, shallow, not of a principal variation).
    pub fn store(&mut self, key: u64, entry: Entry) {
        let (index, age) = (self.index(key), self.age);
        let Some(bucket) = self.buckets.get_mut(index) else { return };
        let worth = |slot: &[u64]| match slot[1] {
            word if age_of(word) == 0 => i32::MIN + 1,
            _ if slot[0] == key => i32::MIN,
            word => {
                let entry = Entry::from_word(word);
                let generations = (age + OLDEST_AGE - age_of(word)) % OLDEST_AGE;
                i32::from(entry.depth) + PV_BONUS * i32::from(entry.is_pv)
                    - AGE_COST * i32::from(generations)
            }
        };
        if let Some(slot) = bucket.0.chunks_exact_mut(2).min_by_key(|slot| worth(slot)) {
            slot[0] = key;
            slot[1] = entry.word(age);
            self.is_empty = false;
        }
    }

    /// Share of the slots written during the current generation, permille, from a sample.
    pub fn hashfull(&self) -> u32 {
        let sample = &self.buckets[..self.buckets.len().min(SAMPLE)];
        if sample.is_empty() {
            return 0;
        }
        let used = sample
            .iter()
            .flat_map(|bucket| bucket.0.chunks_exact(2))
            .filter(|slot| age_of(slot[1]) == self.age)
            .count();
        (used * 1000 / (sample.len() * SLOTS)) as u32
    }

    /// Spreads keys evenly over any number of buckets: the key as a fraction of 2^64.
    fn index(&self, key: u64) -> usize {
        ((u128::from(key) * self.buckets.len() as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shakmaty::{Chess, Position};

    use super::*;

    fn entry(payload: u32, depth: u8, is_pv: bool) -> Entry {
        Entry { payload, best: None, depth, is_pv }
    }

    #[test]
    fn four_entries_fill_a_cache_line() {
        assert_eq!(size_of::<Bucket>(), 64);
        assert_eq!(align_of::<Bucket>(), 64);
        assert_eq!(Table::new(3).bytes(), 3 << 20);
    }

    #[test]
    fn a_table_without_memory_remembers_nothing() {
        let mut table = Table::new(0);
        table.store(1, entry(1, 1, true));
        assert_eq!(table.probe(1), None);
        assert_eq!(table.hashfull(), 0);
    }

    #[test]
    fn key_zero_is_a_key() {
        let mut table = Table::new(1);
        assert_eq!(table.probe(0), None);
        table.store(0, entry(0, 0, false));
        assert_eq!(table.probe(0), Some(entry(0, 0, false)));
        table.clear();
        assert_eq!(table.probe(0), None);
    }

    #[test]
    fn shallow_goes_first_and_principal_variation_last() {
        let mut table = Table::new(1);
        for (key, depth, is_pv) in [(1, 9, false), (2, 3, true), (3, 5, false), (4, 7, false)] {
            table.store(key, entry(0, depth, is_pv));
        }
        table.store(5, entry(0, 1, false)); // the same bucket: the keys are all tiny
        assert_eq!(table.probe(3), None);
        for key in [1, 2, 4, 5] {
            assert!(table.probe(key).is_some(), "{key}");
        }
    }

    #[test]
    fn the_older_generation_goes_first() {
        let mut table = Table::new(1);
        table.store(1, entry(0, 40, true));
        for _ in 0..40 {
            table.new_generation(); // past the wrap of the age
            for key in 2..5 {
                table.store(key, entry(0, 1, false));
            }
            table.store(1, entry(0, 40, true));
        }
        table.new_generation();
        for key in 2..5 {
            table.store(key, entry(0, 1, false));
        }
        table.store(9, entry(0, 1, false));
        assert_eq!(table.probe(1), None);
    }

    #[test]
    fn hashfull_counts_this_generation() {
        let mut table = Table::new(1);
        for i in 0..400_000_u64 {
            table.store(i.wrapping_mul(0x9E37_79B9_7F4A_7C15), entry(0, 1, false));
        }
        assert!(table.hashfull() > 950, "{}", table.hashfull());
        table.new_generation();
        assert_eq!(table.hashfull(), 0);
    }

    proptest! {
        #[test]
        fn every_field_comes_back(
            key: u64, payload: u32, bits in 0_u32..1 << 18, depth: u8, is_pv: bool,
            searches in 0..70,
        ) {
            let mut table = Table::new(1);
            (0..searches).for_each(|_| table.new_generation());
            let entry = Entry { payload, best: PackedMove::from_bits(bits), depth, is_pv };
            table.store(key, entry);
            prop_assert_eq!(table.probe(key), Some(entry));
            prop_assert_eq!(table.probe(!key), None);
        }

        #[test]
        fn every_legal_move_comes_back(choices in prop::collection::vec(any::<u16>(), 0..200)) {
            let mut position = Chess::default();
            for choice in choices {
                let legal = position.legal_moves();
                for &candidate in &legal {
                    prop_assert_eq!(PackedMove::pack(candidate).find(&legal), Some(candidate));
                }
                if legal.is_empty() {
                    break;
                }
                position.play_unchecked(legal[usize::from(choice) % legal.len()]);
            }
        }
    }

    #[test]
    fn promotions_and_castling_are_told_apart() {
        for fen in ["1n2k3/P7/8/8/8/8/8/R3K2R w KQ - 0 1", "r3k2r/8/8/8/8/8/6p1/4K2R b kq - 0 1"] {
            let setup: shakmaty::fen::Fen = fen.parse().unwrap();
            let position: Chess = setup.into_position(shakmaty::CastlingMode::Standard).unwrap();
            let legal = position.legal_moves();
            assert!(legal.iter().any(|m| m.is_promotion()));
            for &candidate in &legal {
                assert_eq!(PackedMove::pack(candidate).find(&legal), Some(candidate));
            }
        }
    }
}
