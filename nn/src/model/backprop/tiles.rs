//! Matrix products of one step of training in tiles: numbers of bf16, sums of f32.

use pulp::{Simd, WithSimd};
use tesla_tiles::{BLOCK, Block, DEPTH, Row, SIDE, Tiles};

use super::rows::wide;
use crate::kernels::gemm::Then;
use crate::kernels::vectors::dispatch;

/// Rows that a gradient sums at a time: both matrices then stay in the second cache.
const SUMMED: usize = 512;

/// Weights `[k, m]` in tiles of a right matrix, and the bias.
#[derive(Debug)]
pub(super) struct TiledWeights {
    tiles: Tiles,
    k: usize,
    m: usize,
    right: Vec<Row>,
    bias: Vec<f32>,
}

/// Whether tiles fit a product of `k` numbers that gives `m`.
pub(super) fn fit(k: usize, m: usize) -> bool {
    k.is_multiple_of(DEPTH) && m.is_multiple_of(BLOCK) && k * m > 0
}

impl TiledWeights {
    /// Of `weights` (row-major `[k, m]`, which [`fit`]) and `bias` (`m`, or empty for none).
    pub(super) fn new(tiles: Tiles, weights: &[f32], bias: &[f32], [k, m]: [usize; 2]) -> Self {
        let mut right = vec![Row::default(); k / 2 * m / SIDE];
        pack_pairs(weights, m, k / DEPTH, &mut right);
        let mut bias = bias.to_vec();
        bias.resize(m, 0.0);
        Self { tiles, k, m, right, bias }
    }

    /// `c[n, m] = then(a[n, k] · W + b)`; both row-major without gaps.
    pub(super) fn run(&self, a: &[f32], c: &mut [f32], then: Then) {
        let (k, m) = (self.k, self.m);
        let depth = k / DEPTH;
        let mut left = vec![Row::default(); 2 * depth * SIDE];
        let mut words = vec![0; k / 2];
        let mut blocks = vec![Block::default(); m / BLOCK];
        for (a, c) in a.chunks(BLOCK * k).zip(c.chunks_mut(BLOCK * m)) {
            if a.len() < BLOCK * k {
                left.fill(Row::default());
            }
            wide(
                #[inline(always)]
                || pack_rows(a, k, &mut words, &mut left),
            );
            self.tiles.multiply(&left, &self.right, depth, &mut blocks);
            dispatch(Finish { blocks: &blocks, bias: &self.bias, c, then });
        }
    }
}

/// Rows of an answer from up to 32 rows of sums.
struct Finish<'a> {
    blocks: &'a [Block],
    bias: &'a [f32],
    c: &'a mut [f32],
    then: Then,
}

impl WithSimd for Finish<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let zero = simd.splat_f32s(0.0);
        for (r, c) in self.c.chunks_exact_mut(self.bias.len()).enumerate() {
            let biases = self.bias.as_chunks::<BLOCK>().0;
            let columns = self.blocks.iter().zip(biases).zip(c.as_chunks_mut::<BLOCK>().0);
            for ((block, bias), c) in columns {
                let (sums, bias) = (S::as_simd_f32s(&block.0[r]).0, S::as_simd_f32s(bias).0);
                for ((c, &sum), &bias) in S::as_mut_simd_f32s(c).0.iter_mut().zip(sums).zip(bias) {
                    let sum = simd.add_f32s(sum, bias);
                    let positive = simd.max_f32s(sum, zero);
                    *c = match self.then {
                        Then::Store => sum,
                        Then::Relu => positive,
                        Then::SquaredRelu => simd.mul_f32s(positive, positive),
                        Then::Add => simd.add_f32s(*c, sum),
                    };
                }
            }
        }
    }
}

/// Gives `take` the gradient of the weights `[k, m]` of `y = x · W`, which is `xᵀ · dy`, block by
/// block, in parts that are to be summed: the first row and column of a block, and the block.
pub(super) fn gradient(
    tiles: Tiles,
    (x, k): (&[f32], usize),
    (d_y, m): (&[f32], usize),
    mut take: impl FnMut([usize; 2], &Block),
) {
    let mut left = vec![Row::default(); k / SIDE * (SUMMED / DEPTH) * SIDE];
    let mut right = vec![Row::default(); m / SIDE * (SUMMED / DEPTH) * SIDE];
    let mut blocks = vec![Block::default(); m / BLOCK];
    for (x, d_y) in x.chunks(SUMMED * k).zip(d_y.chunks(SUMMED * m)) {
        let depth = (x.len() / k).div_ceil(DEPTH);
        let left = &mut left[..k * depth];
        let right = &mut right[..m * depth];
        pack_columns(x, k, depth, left);
        pack_pairs(d_y, m, depth, right);
        for (row, left) in left.chunks_exact(2 * depth * SIDE).enumerate() {
            tiles.multiply(left, right, depth, &mut blocks);
            for (column, block) in blocks.iter().enumerate() {
                take([row * BLOCK, column * BLOCK], block);
            }
        }
    }
}

/// The nearest number of bf16, in the lower half.
#[inline(always)]
fn bf16(x: f32) -> u32 {
    let bits = x.to_bits();
    // Half of the last place, less a little where that would make an even number odd.
    bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16
}

/// Two numbers in a word, the first one in its lower half.
#[inline(always)]
fn pair(first: f32, second: f32) -> u32 {
    bf16(first) | bf16(second) << 16
}

/// Up to 32 rows of `k` columns as two row tiles of a left matrix; what is left over stays. `words`
/// has room for one row.
#[inline(always)]
fn pack_rows(a: &[f32], k: usize, words: &mut [u32], left: &mut [Row]) {
    let depth = k / DEPTH;
    for (r, a) in a.chunks_exact(k).enumerate() {
        let first = r / SIDE * depth * SIDE + r % SIDE;
        // The whole row at once: a loop over one tile's words is unrolled, not vectorised.
        for (word, [first, second]) in words.iter_mut().zip(a.as_chunks::<2>().0) {
            *word = pair(*first, *second);
        }
        for (step, words) in words.as_chunks::<SIDE>().0.iter().enumerate() {
            left[first + step * SIDE].0 = *words;
        }
    }
}

/// Rows of `m` columns, two in each word, as column tiles of a right matrix, `depth` of each; rows
/// that are missing are zeros.
fn pack_pairs(b: &[f32], m: usize, depth: usize, right: &mut [Row]) {
    let mut words = vec![0; m];
    wide(
        #[inline(always)]
        || {
            for p in 0..depth * SIDE {
                pair_rows(b, m, p, &mut words);
                for (column, words) in words.as_chunks::<SIDE>().0.iter().enumerate() {
                    right[column * depth * SIDE + p].0 = *words;
                }
            }
        },
    );
}

/// The columns of `k` columns' rows as rows of a left matrix, `depth` tiles each; rows that are
/// missing are zeros.
fn pack_columns(a: &[f32], k: usize, depth: usize, left: &mut [Row]) {
    let mut words = vec![0; SIDE * k];
    wide(
        #[inline(always)]
        || {
            for step in 0..depth {
                for (p, words) in words.chunks_exact_mut(k).enumerate() {
                    pair_rows(a, k, step * SIDE + p, words);
                }
                for column in 0..k {
                    let row = (column / SIDE * depth + step) * SIDE + column % SIDE;
                    left[row].0 = std::array::from_fn(|p| words[p * k + column]);
                }
            }
        },
    );
}

/// Rows `2p` and `2p + 1` of a matrix in one, two numbers in each word; rows beyond the last one
/// are zeros.
#[inline(always)]
fn pair_rows(matrix: &[f32], width: usize, p: usize, words: &mut [u32]) {
    let mut rows = matrix.get(2 * p * width..).unwrap_or_default().chunks_exact(width);
    match (rows.next(), rows.next()) {
        (Some(first), Some(second)) => {
            for ((word, first), second) in words.iter_mut().zip(first).zip(second) {
                *word = pair(*first, *second);
            }
        }
        (Some(first), None) => {
            for (word, first) in words.iter_mut().zip(first) {
                *word = bf16(*first);
            }
        }
        _ => words.fill(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::gemm::Packed;
    use crate::model::backprop::product;

    fn value(i: usize) -> f32 {
        ((i * 2_654_435_761 % 1009) as f32 / 1009.0) - 0.5
    }

    #[test]
    fn bf16_rounds_to_the_nearest_and_to_even() {
        let step = f32::EPSILON * 65_536.0; // between neighbours from 1 on
        let ties = [1.0 + 0.5 * step, 1.0 + 1.5 * step, -1.0 - 2.5 * step, 0.0, -0.0];
        for x in (0..2_000).map(|i| value(i) * 3.0).chain(ties).chain([f32::INFINITY, 1e-40]) {
            assert_eq!(bf16(x), u32::from(half::bf16::from_f32(x).to_bits()), "{x}");
        }
        assert!(f32::from_bits(bf16(f32::NAN) << 16).is_nan());
    }

    #[test]
    fn products_on_tiles_are_those_of_vectors_but_for_rounding() {
        let Some(tiles) = Tiles::find() else {
            println!("neither AMX nor AVX-512 BF16 here: not tested");
            return;
        };
        for (n, k, m) in [(70, 32, 64), (33, 128, 96), (32, 512, 128), (5, 64, 32)] {
            let weights: Vec<f32> = (0..k * m).map(value).collect();
            let bias: Vec<f32> = (0..m).map(|i| value(i + 9)).collect();
            let a: Vec<f32> = (0..n * k).map(|i| value(i + 5)).collect();
            for then in [Then::Store, Then::Relu, Then::SquaredRelu, Then::Add] {
                let (mut fast, mut exact) = (vec![1.0; n * m], vec![1.0; n * m]);
                TiledWeights::new(tiles, &weights, &bias, [k, m]).run(&a, &mut fast, then);
                let packed = Packed::new(&weights, &bias, k, m);
                product::product(&packed, &a, &mut exact, then);
                for (fast, exact) in fast.iter().zip(&exact) {
                    assert!((fast - exact).abs() < 0.02 * (1.0 + exact.abs()), "{fast} {exact}");
                }
            }
        }
    }

    #[test]
    fn gradients_on_tiles_are_those_of_vectors_but_for_rounding() {
        let Some(tiles) = Tiles::find() else {
            println!("neither AMX nor AVX-512 BF16 here: not tested");
            return;
        };
        for (n, k, m) in [(1, 32, 32), (700, 64, 96), (513, 96, 32)] {
            let x: Vec<f32> = (0..n * k).map(value).collect();
            let d_y: Vec<f32> = (0..n * m).map(|i| value(i + 3)).collect();
            let mut exact = vec![0.0; k * m];
            let size = product::Size { rows: k, inner: n, columns: m };
            let matrix = |data, stride| product::Matrix { data, stride };
            product::add_gradient(size, matrix(&x, k), matrix(&d_y, m), &mut exact);
            let mut fast = vec![0.0; k * m];
            gradient(tiles, (&x, k), (&d_y, m), |[row, column], block| {
                for (r, sums) in block.0.iter().enumerate() {
                    for (c, sum) in sums.iter().enumerate() {
                        fast[(row + r) * m + column + c] += sum;
                    }
                }
            });
            let norm = |list: &[f32]| list.iter().map(|x| x * x).sum::<f32>().sqrt();
            let off: Vec<f32> = fast.iter().zip(&exact).map(|(a, b)| a - b).collect();
            assert!(norm(&off) < 0.005 * norm(&exact), "{} of {}", norm(&off), norm(&exact));
        }
    }
}
