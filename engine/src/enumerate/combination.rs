//! Sets of pieces of one kind as numbers: the combinatorial number system.
//!
//! A set of `k` among `n` squares is one of `n! / (k! (n-k)!)`, and the sum over its squares, the
//! lowest first, of "(place of the square) choose (1, 2, … k)" counts them through from 0 without a
//! gap.

use shakmaty::{Bitboard, Square};

/// Squares of a board, and one more: the row `n` of Pascal's triangle is found at `n`.
const ROWS: usize = 65;

/// Half of the squares and one more: more pieces than that are not on a board.
const COLUMNS: usize = 33;

/// Sets up to this many are read from a list (512 KiB); larger systems are counted through.
const LISTED: u64 = 1 << 16;

/// Pascal's triangle; "64 choose 32" is below 2^61.
static CHOOSE: [[u64; COLUMNS]; ROWS] = {
    let mut table = [[0; COLUMNS]; ROWS];
    let mut n = 0;
    while n < ROWS {
        table[n][0] = 1;
        let mut k = 1;
        while k < COLUMNS && n > 0 {
            table[n][k] = table[n - 1][k - 1] + table[n - 1][k];
            k += 1;
        }
        n += 1;
    }
    table
};

/// All ways to place a number of like pieces on some squares.
#[derive(Clone, Debug)]
pub(super) struct Combination {
    squares: Bitboard,
    order: Vec<Square>,
    pieces: usize,
    /// Every set by its number, where there are few.
    list: Vec<Bitboard>,
}

impl Combination {
    /// The ways to place `pieces`, at most 32, on `squares`.
    pub(super) fn new(squares: Bitboard, pieces: usize) -> Self {
        let order = squares.into_iter().collect();
        let mut new = Self { squares, order, pieces, list: Vec::new() };
        if new.size() <= LISTED {
            new.list = (0..new.size()).map(|number| new.counted(number)).collect();
        }
        new
    }

    /// Where the pieces may stand.
    pub(super) fn squares(&self) -> Bitboard {
        self.squares
    }

    /// How many pieces there are.
    pub(super) fn pieces(&self) -> usize {
        self.pieces
    }

    /// How many sets there are.
    pub(super) fn size(&self) -> u64 {
        CHOOSE[self.order.len()][self.pieces]
    }

    /// Number of a set of as many pieces as there are, on squares where they may stand.
    pub(super) fn number(&self, set: Bitboard) -> u64 {
        let mut number = 0;
        for (index, square) in set.into_iter().enumerate() {
            let below = Bitboard((1 << u32::from(square)) - 1);
            number += CHOOSE[(self.squares & below).count()][index + 1];
        }
        number
    }

    /// The set with this number, which is below [`Combination::size`].
    pub(super) fn set(&self, number: u64) -> Bitboard {
        match self.list.get(number as usize) {
            Some(&set) => set,
            None => self.counted(number),
        }
    }

    fn counted(&self, mut number: u64) -> Bitboard {
        let mut set = Bitboard::EMPTY;
        let mut place = self.order.len();
        for index in (1..=self.pieces).rev() {
            // The highest square whose share of the number is not more than what is left of it.
            while place > 0 && CHOOSE[place][index] > number {
                place -= 1;
            }
            number -= CHOOSE[place][index];
            if let Some(&square) = self.order.get(place) {
                set.add(square);
            }
        }
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_has_its_own_set() {
        for (squares, pieces) in [(0x00ff_00ff_0000_1234, 3), (0xffff, 8), (0x81, 2), (0xff, 0)] {
            let combination = Combination::new(Bitboard(squares), pieces);
            let mut seen = std::collections::HashSet::new();
            for number in 0..combination.size() {
                let set = combination.set(number);
                assert_eq!(set.count(), pieces);
                assert!(set.is_subset(Bitboard(squares)));
                assert_eq!(combination.number(set), number);
                assert_eq!(combination.counted(number), set);
                seen.insert(set);
            }
            assert_eq!(seen.len() as u64, combination.size());
        }
    }

    #[test]
    fn large_systems_are_counted_through() {
        let combination = Combination::new(Bitboard::FULL, 9);
        assert_eq!(combination.size(), 27_540_584_512);
        for number in [0, 1, 99_999, 1 << 30, combination.size() - 1] {
            assert_eq!(combination.number(combination.set(number)), number);
        }
    }
}
