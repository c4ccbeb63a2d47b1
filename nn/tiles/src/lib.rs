//! Products of bf16 matrices on the matrix tiles of Intel processors (AMX, from Sapphire Rapids on;
//! the module `amx`), or else by the bf16 instructions of AVX-512 (AMD from Zen 4 on; `vectors`).
//!
//! A core multiplies sixteen times as many numbers a cycle on tiles as on its widest vectors in
//! f32, and twice as many by the instructions, with sums in f32. The trainer uses them
//! ([`Tiles::find`]); where there are neither, it multiplies in f32.
//!
//! A tile is 16 rows of 64 bytes. The left matrix and the right one come in tiles already:
//!
//! * a tile of the left matrix is 16 of its rows, 32 columns of each, side by side in a [`Row`];
//! * a tile of the right matrix is 32 of its rows and 16 columns: row `p` of the tile holds row
//!   `2p` in the lower halves of its words and row `2p + 1` in the upper halves.
//!
//! So a word always holds two numbers that follow each other in the dimension that is summed over.

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod amx;
#[cfg(target_arch = "x86_64")]
mod vectors;

/// Rows of a tile, and columns of a product's tile.
pub const SIDE: usize = 16;
/// Numbers in a row of a tile: how many products one step sums.
pub const DEPTH: usize = 32;
/// Rows and columns of a [`Block`].
pub const BLOCK: usize = 2 * SIDE;

/// A row of a tile: 32 numbers of bf16, two in a word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Row(pub [u32; SIDE]);

/// 32 by 32 sums: two by two tiles.
#[derive(Clone, Debug, PartialEq)]
#[repr(C, align(64))]
pub struct Block(pub [[f32; BLOCK]; BLOCK]);

impl Default for Block {
    fn default() -> Self {
        Self([[0.0; BLOCK]; BLOCK])
    }
}

/// Leave to use the instructions: the processor has them and the system lets this process use them.
#[derive(Clone, Copy, Debug)]
pub struct Tiles(Unit);

/// What multiplies.
#[derive(Clone, Copy, Debug)]
enum Unit {
    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    Amx(amx::Amx),
    #[cfg(target_arch = "x86_64")]
    Vectors(vectors::Vectors),
}

impl Tiles {
    /// The fastest of this machine, `None` where it has none. The first call asks the system.
    pub fn find() -> Option<Self> {
        Self::all().next()
    }

    /// All of this machine, the fastest first.
    fn all() -> impl Iterator<Item = Self> {
        let units: [Option<Unit>; 2] = [
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            amx::Amx::find().map(Unit::Amx),
            #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
            None,
            #[cfg(target_arch = "x86_64")]
            vectors::Vectors::find().map(Unit::Vectors),
            #[cfg(not(target_arch = "x86_64"))]
            None,
        ];
        units.into_iter().flatten().map(Self)
    }

    /// `blocks[i] = left · right[i]` for 32 rows of the left matrix and 32 columns of the right one
    /// for each block. Denormal numbers count as zero.
    ///
    /// # Shapes
    /// `left`: 2 row tiles, one after the other, each of `depth` tiles; `right`: for each block 2
    /// column tiles likewise. A tile is [`SIDE`] rows.
    ///
    /// # Panics
    /// When the lengths are not these.
    pub fn multiply(self, left: &[Row], right: &[Row], depth: usize, blocks: &mut [Block]) {
        check(left, right, depth, blocks);
        match self.0 {
            #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
            Unit::Amx(amx) => amx::multiply(amx, left, right, depth, blocks),
            #[cfg(target_arch = "x86_64")]
            Unit::Vectors(vectors) => vectors::multiply(vectors, left, right, depth, blocks),
        }
    }
}

fn check(left: &[Row], right: &[Row], depth: usize, blocks: &[Block]) {
    let rows = 2 * depth * SIDE;
    assert!(depth > 0, "nothing to sum");
    assert_eq!(left.len(), rows, "rows of the left matrix");
    assert_eq!(right.len(), blocks.len() * rows, "rows of the right matrix");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// [`Tiles::multiply`] in plain code: its definition.
    fn multiply_anywhere(left: &[Row], right: &[Row], depth: usize, blocks: &mut [Block]) {
        check(left, right, depth, blocks);
        let (low, high) = (
            |word: u32| f32::from_bits(word << 16),
            |word: u32| f32::from_bits(word & 0xffff_0000),
        );
        let at = |rows: &[Row], part: usize, step: usize, row: usize, word: usize| {
            rows[(part * depth + step) * SIDE + row].0[word]
        };
        for (block, right) in blocks.iter_mut().zip(right.chunks_exact(2 * depth * SIDE)) {
            for (r, sums) in block.0.iter_mut().enumerate() {
                for (c, sum) in sums.iter_mut().enumerate() {
                    *sum = 0.0;
                    for step in 0..depth {
                        for pair in 0..SIDE {
                            let a = at(left, r / SIDE, step, r % SIDE, pair);
                            let b = at(right, c / SIDE, step, pair, c % SIDE);
                            *sum += low(a) * low(b) + high(a) * high(b);
                        }
                    }
                }
            }
        }
    }

    /// Rows of small numbers that bf16 holds exactly, as their products and sums are in f32.
    fn rows(count: usize, seed: u32) -> Vec<Row> {
        let number = |i: u32| {
            let value = (i.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 20) % 17;
            (value as f32 / 4.0 - 2.0).to_bits() >> 16
        };
        let word = |i: u32| number(2 * i) | number(2 * i + 1) << 16;
        let row = |r: u32| Row(std::array::from_fn(|w| word(r * SIDE as u32 + w as u32)));
        (0..count as u32).map(row).collect()
    }

    #[test]
    fn the_slow_product_is_the_definition() {
        let (left, right) = (rows(2 * SIDE, 1), rows(2 * SIDE, 2));
        let mut blocks = [Block::default()];
        multiply_anywhere(&left, &right, 1, &mut blocks);
        let halves = |word: u32| [word << 16, word & 0xffff_0000].map(f32::from_bits);
        // Row 17 is the second of the lower tile, column 3 the fourth of the left one.
        let by_hand: f32 = (0..SIDE)
            .map(|p| {
                let (a, b) = (halves(left[SIDE + 1].0[p]), halves(right[p].0[3]));
                a[0] * b[0] + a[1] * b[1]
            })
            .sum();
        assert!((blocks[0].0[17][3] - by_hand).abs() < f32::EPSILON);
    }

    #[test]
    fn tiles_multiply_as_the_definition_says() {
        if Tiles::find().is_none() {
            println!("neither AMX nor AVX-512 BF16 here: not tested");
        }
        for (depth, count) in [(1, 1), (4, 3), (16, 2)] {
            let (left, right) =
                (rows(2 * depth * SIDE, 3), rows(count * 2 * depth * SIDE, depth as u32));
            let mut slow = vec![Block::default(); count];
            multiply_anywhere(&left, &right, depth, &mut slow);
            assert!(slow.iter().all(|block| block.0.as_flattened().iter().any(|&sum| sum != 0.0)));
            for tiles in Tiles::all() {
                let mut fast = vec![Block::default(); count];
                tiles.multiply(&left, &right, depth, &mut fast);
                assert!(fast == slow, "{tiles:?}, depth {depth}");
            }
        }
    }

    #[test]
    #[should_panic(expected = "rows of the right matrix")]
    fn lengths_are_checked() {
        multiply_anywhere(&rows(2 * SIDE, 1), &rows(SIDE, 1), 1, &mut [Block::default()]);
    }
}
