//! A set of numbers up to 128 bits, and which of them are done.
//!
//! Numbers that differ in their last six bits only share a *page*, two words of 64 bits in a hash
//! table. The positions of a closure lie close together ([`super::space`]), so that a position
//! takes a byte or two; a number that is alone on its page takes as much as it would in a table of
//! numbers.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};

/// Bytes of a page on disk: its number, seen, done.
pub(super) const PAGE_BYTES: usize = 32;
/// Bytes of a page that is on its way to a set: its number, seen.
pub(super) const NEWS_BYTES: usize = 24;

/// The page of a number.
pub(super) fn page_of(number: u128) -> u128 {
    number >> 6
}

/// Spreads numbers of pages evenly (the finalizer of `MurmurHash3`, of both halves in turn).
pub(super) fn spread(page: u128) -> u64 {
    let mut hash = ((page >> 64) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ page as u64;
    hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    hash ^ hash >> 33
}

#[derive(Default)]
struct PageHasher(u64);

impl Hasher for PageHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = spread(u128::from(self.0 << 8 | u64::from(byte)));
        }
    }

    fn write_u128(&mut self, page: u128) {
        self.0 = spread(page);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Bits {
    seen: u64,
    done: u64,
}

/// The set.
#[derive(Debug, Default)]
pub(super) struct Pages {
    bits: HashMap<u128, Bits, BuildHasherDefault<PageHasher>>,
    /// Pages with numbers that are not done, and perhaps some that have none any more.
    waiting: Vec<u128>,
    /// Numbers that are not done.
    left: u64,
}

impl Pages {
    /// Adds a number; whether it is new.
    pub(super) fn add(&mut self, number: u128) -> bool {
        self.add_bits(page_of(number), 1 << (number & 63), 0) != 0
    }

    /// Adds the numbers of a page that are seen, of which some are done; those that were not there.
    pub(super) fn add_bits(&mut self, page: u128, seen: u64, done: u64) -> u64 {
        let bits = match self.bits.entry(page) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => entry.insert(Bits::default()),
        };
        let before = (bits.seen & !bits.done).count_ones();
        let new = seen & !bits.seen;
        bits.seen |= seen;
        bits.done |= done;
        let after = (bits.seen & !bits.done).count_ones();
        if before == 0 && after > 0 {
            self.waiting.push(page);
        }
        self.left = self.left + u64::from(after) - u64::from(before);
        new
    }

    /// Makes room for so many pages in all.
    pub(super) fn expect(&mut self, pages: usize) {
        self.bits.reserve(pages.saturating_sub(self.bits.len()));
    }

    /// How many are not done.
    pub(super) fn left(&self) -> u64 {
        self.left
    }

    /// Moves numbers that are not done to `out`, about `limit` of them; they are done then.
    pub(super) fn take(&mut self, limit: usize, out: &mut Vec<u128>) {
        while out.len() < limit {
            let Some(page) = self.waiting.pop() else { return };
            let Some(bits) = self.bits.get_mut(&page) else { continue };
            let mut rest = bits.seen & !bits.done;
            bits.done = bits.seen;
            self.left -= u64::from(rest.count_ones());
            while rest != 0 {
                out.push(page << 6 | u128::from(rest.trailing_zeros()));
                rest &= rest - 1;
            }
        }
    }

    /// Whether there is nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.bits.is_empty()
    }

    /// Memory in use.
    pub(super) fn bytes(&self) -> u64 {
        // A table of 2^n slots is used up to seven eighths; a slot has one more byte.
        let slots = match self.bits.capacity() {
            0 => 0,
            capacity => (capacity * 8 / 7).next_power_of_two(),
        };
        let slot = size_of::<(u128, Bits)>() + 1;
        (slots * slot + self.waiting.capacity() * size_of::<u128>()) as u64
    }

    /// Every page: number, seen, done.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u128, u64, u64)> {
        self.bits.iter().map(|(&page, bits)| (page, bits.seen, bits.done))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_set(
            numbers in prop::collection::vec(0_u128..500, 0..300),
            far: u128,
            limit in 1_usize..90,
        ) {
            let mut pages = Pages::default();
            let mut set = BTreeSet::new();
            let mut taken = Vec::new();
            for (step, number) in numbers.into_iter().enumerate() {
                let number = if number % 3 == 0 { far.wrapping_add(number) >> 8 } else { number };
                prop_assert_eq!(pages.add(number), set.insert(number));
                if step % 7 == 0 {
                    let mut some = Vec::new();
                    pages.take(limit, &mut some);
                    taken.append(&mut some);
                }
            }
            pages.take(usize::MAX, &mut taken);
            prop_assert_eq!(pages.left(), 0);
            prop_assert_eq!(taken.len(), set.len());
            prop_assert_eq!(taken.into_iter().collect::<BTreeSet<_>>(), set);
        }
    }
}
