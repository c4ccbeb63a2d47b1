//! Attention over keys and values that are kept as 16-bit integers.
//!
//! Queries, keys and values are arranged as in [`attention`](super::attention), and calculated with
//! in floats. A word holds the numbers of one lane of two neighbouring vectors. How much a unit is
//! worth is set once per layer, by what its weights can make of a normalised row: so what is kept
//! of a token depends on that token only.

use super::attention::{MAX_KEYS, Seen, Weights, exp};
use super::integers::Pairs;

/// Largest integer of 16 bits that is kept.
const MOST: f32 = 32_000.0;
/// By this the integers are multiplied where they are read.
const SHIFTED: f32 = 65_536.0;
/// Vectors of floats that are mixed in registers.
const GROUP: usize = 8;
/// The bias of no key: its weight is too small to count.
const NOTHING: f32 = -1e30;

/// What a unit is worth where no number is larger than `bound`, as it is written and as it is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Grid {
    inverse: f32,
    pub(crate) read: f32,
}

impl Grid {
    /// The grid for numbers up to `bound`.
    pub(crate) fn within(bound: f32) -> Self {
        let unit = bound.max(f32::MIN_POSITIVE) / MOST;
        Self { inverse: unit.recip(), read: unit / SHIFTED }
    }
}

/// Whether there is a path for this shape on vectors of so many lanes.
pub(crate) fn fits(lanes: usize, width: usize, heads: usize) -> bool {
    let parts = lanes / heads;
    width.is_multiple_of(GROUP * lanes) && heads >= 4 && matches!(parts, 1 | 2 | 4)
}

/// Rounds numbers to words, half as many.
#[inline(always)]
pub(crate) fn round<S: Pairs>(simd: S, from: &[f32], to: &mut [f32], grid: Grid) {
    let low_half = simd.splat_u32s(0xffff);
    let unit = |x| simd.mul_f32s(x, simd.splat_f32s(grid.inverse));
    let integers = |x| simd.transmute_u32s_i32s(simd.to_integers(x));
    let pairs = S::as_simd_f32s(from).0.as_chunks::<2>().0;
    for (to, &[low, high]) in S::as_mut_simd_f32s(to).0.iter_mut().zip(pairs) {
        let low = simd.and_u32s(integers(unit(low)), low_half);
        // The word as a whole is nearest to the high number: it is read without taking it apart.
        let high = integers(simd.mul_f32s(unit(high), simd.splat_f32s(SHIFTED)));
        let high = simd.sub_u32s(simd.add_u32s(high, simd.splat_u32s(0x8000)), low);
        let high = simd.and_u32s(high, simd.splat_u32s(0xffff_0000));
        *to = simd.transmute_f32s_u32s(simd.or_u32s(low, high));
    }
}

/// The two vectors in a vector of words, in units of [`Grid::read`].
#[inline(always)]
pub(crate) fn read<S: Pairs>(simd: S, words: S::f32s) -> [S::f32s; 2] {
    let bits = simd.transmute_u32s_f32s(words);
    let low = simd.wrapping_dyn_shl_u32s(bits, simd.splat_u32s(16));
    [low, bits].map(|bits| simd.to_floats(simd.transmute_i32s_u32s(bits)))
}

/// Attention of `query`, already scaled and in units of the keys; the mixed values go `to`, in
/// units of `value`. The entries of `seen` are words, keys first; its bias has no heads repeated.
/// `N` keys' weights are one vector.
#[inline(always)]
pub(crate) fn attend<S: Pairs, const N: usize>(
    simd: S,
    query: &[f32],
    seen: Seen<'_>,
    weights: &mut Weights,
    (to, value): (&mut [f32], Grid),
) {
    let (lanes, heads) = (S::F32_LANES, S::F32_LANES / N);
    let count = seen.entries.len().min(MAX_KEYS);
    let logits = &mut weights.vectors[..count.div_ceil(N) * lanes];
    let biases = logits.chunks_exact_mut(heads).zip(seen.squares);
    for (to, &square) in biases {
        to.copy_from_slice(&seen.bias[usize::from(square) * heads..][..heads]);
    }
    logits[count * heads..].fill(NOTHING);
    let logits = S::as_mut_simd_f32s(logits).0;
    let inverse = weigh::<S, N>(simd, query, seen.entries, logits);
    S::as_mut_simd_f32s(&mut weights.inverses).0[0] = inverse;
    weights.stride = heads;
    let inverse = simd.mul_f32s(inverse, simd.splat_f32s(value.read));
    let half = query.len() / 2;
    for (group, to) in to.chunks_exact_mut(GROUP * lanes).enumerate() {
        let mut mixed = [simd.splat_f32s(0.0); GROUP];
        let keys = weights.vectors.chunks_exact(heads).zip(seen.entries);
        for (weight, entry) in keys {
            let weight = simd.repeat(weight);
            let words = &entry[half + group * GROUP / 2 * lanes..][..GROUP / 2 * lanes];
            let words = &S::as_simd_f32s(words).0.as_chunks::<{ GROUP / 2 }>().0[0];
            for v in 0..GROUP / 2 {
                let [low, high] = read(simd, words[v]);
                mixed[2 * v] = simd.mul_add_e_f32s(weight, low, mixed[2 * v]);
                mixed[2 * v + 1] = simd.mul_add_e_f32s(weight, high, mixed[2 * v + 1]);
            }
        }
        for (to, mixed) in S::as_mut_simd_f32s(to).0.iter_mut().zip(mixed) {
            *to = simd.mul_f32s(mixed, inverse);
        }
    }
}

/// From biases to weights; answers with one over their sum, by head.
#[inline(always)]
fn weigh<S: Pairs, const N: usize>(
    simd: S,
    query: &[f32],
    entries: &[&[f32]],
    logits: &mut [S::f32s],
) -> S::f32s {
    let heads = S::F32_LANES / N;
    let query = S::as_simd_f32s(query).0.as_chunks::<GROUP>().0;
    let over_heads = |mut x: S::f32s, add: fn(S, S::f32s, S::f32s) -> S::f32s| {
        let mut step = heads;
        while step < S::F32_LANES {
            x = add(simd, x, simd.rotate_left_f32s(x, step));
            step *= 2;
        }
        x
    };
    let mut most = simd.splat_f32s(f32::MIN);
    for (group, logit) in logits.iter_mut().enumerate() {
        let mut sums = [simd.splat_f32s(0.0); 4];
        for (part, sum) in sums.iter_mut().enumerate().take(N) {
            // Beyond the last key it comes again, with a bias that makes it nothing.
            let entry = entries[(group * N + part).min(entries.len() - 1)];
            *sum = similarity(simd, query, entry);
        }
        *logit = simd.add_f32s(*logit, simd.fold(sums, N));
        most = simd.max_f32s(most, *logit);
    }
    let most = over_heads(most, S::max_f32s);
    let mut sum = simd.splat_f32s(0.0);
    for logit in logits.iter_mut() {
        *logit = exp(simd, simd.sub_f32s(*logit, most));
        sum = simd.add_f32s(sum, *logit);
    }
    simd.div_f32s(simd.splat_f32s(1.0), over_heads(sum, S::add_f32s))
}

/// Query times key, in parts that are still to be summed head by head.
#[inline(always)]
fn similarity<S: Pairs>(simd: S, query: &[[S::f32s; GROUP]], entry: &[f32]) -> S::f32s {
    let words = S::as_simd_f32s(entry).0.as_chunks::<{ GROUP / 2 }>().0;
    let mut sums = [simd.splat_f32s(0.0); 2];
    for (query, words) in query.iter().zip(words) {
        for v in 0..GROUP / 2 {
            let [low, high] = read(simd, words[v]);
            sums[0] = simd.mul_add_e_f32s(query[2 * v], low, sums[0]);
            sums[1] = simd.mul_add_e_f32s(query[2 * v + 1], high, sums[1]);
        }
    }
    simd.add_f32s(sums[0], sums[1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::attention;
    use crate::kernels::integers::{Unit, WithPairs};
    use crate::kernels::vectors::LINE;

    /// Width and heads.
    const SHAPES: [[usize; 2]; 4] = [[128, 4], [256, 8], [384, 8], [128, 16]];

    struct Both<'a> {
        query: &'a [f32],
        entries: &'a [&'a [f32]],
        heads: usize,
    }

    impl WithPairs for Both<'_> {
        type Output = Option<[Vec<f32>; 2]>;

        #[inline(always)]
        fn with_pairs<S: Pairs>(self, simd: S) -> Self::Output {
            let Self { query, entries, heads } = self;
            let (width, count) = (query.len(), entries.len());
            if !fits(S::F32_LANES, width, heads) {
                return None;
            }
            let grid = Grid::within(0.5);
            let value = |i: usize| ((i * 2_654_435_761 % 1009) as f32 / 1009.0) - 0.5;
            let narrow: Vec<f32> = (0..65 * heads).map(value).collect();
            let wide: Vec<f32> =
                (0..65 * LINE).map(|i| narrow[i / LINE * heads + i % LINE % heads]).collect();
            let squares: Vec<u8> = (0..count as u8).collect();
            let mut answers = [vec![0.0; width], vec![0.0; width]];
            let mut weights = Weights::default();
            let seen = Seen { entries, squares: &squares, bias: &wide, heads };
            attention::attend(simd, query, seen, &mut weights, &mut answers[0]);
            let shares: Vec<f32> = (0..count).map(|key| weights.of_key(key, heads)).collect();

            let mut words: Vec<Vec<f32>> = vec![vec![0.0; width]; count];
            for (to, from) in words.iter_mut().zip(entries) {
                round(simd, from, to, grid);
            }
            let words: Vec<&[f32]> = words.iter().map(Vec::as_slice).collect();
            let seen = Seen { entries: &words, squares: &squares, bias: &narrow, heads };
            let query: Vec<f32> = query.iter().map(|x| x * grid.read).collect();
            let to = (&mut answers[1][..], grid);
            match S::F32_LANES / heads {
                1 => attend::<S, 1>(simd, &query, seen, &mut weights, to),
                2 => attend::<S, 2>(simd, &query, seen, &mut weights, to),
                _ => attend::<S, 4>(simd, &query, seen, &mut weights, to),
            }
            for (key, share) in shares.iter().enumerate() {
                assert!((weights.of_key(key, heads) - share).abs() < 1e-4, "key {key}");
            }
            Some(answers)
        }
    }

    #[test]
    fn short_keys_and_values_are_nearly_the_long_ones() {
        let value = |i: usize| ((i * 2_654_435_761 % 1009) as f32 / 1009.0) - 0.5;
        let mut checked = 0;
        for unit in Unit::all() {
            for [width, heads] in SHAPES {
                let floats: Vec<f32> = (0..40 * 2 * width).map(value).collect();
                let entries: Vec<&[f32]> = floats.chunks_exact(2 * width).collect();
                let query: Vec<f32> = (0..width).map(|i| value(i + 5)).collect();
                for count in [1, 2, 3, 31, 40] {
                    let entries = &entries[..count];
                    let both = unit.run(Both { query: &query, entries, heads });
                    let Some([long, short]) = both else { continue };
                    assert!(long.iter().zip(&short).all(|(a, b)| (a - b).abs() < 1e-4));
                    checked += 1;
                }
            }
        }
        assert!(checked > 0 || Unit::all().is_empty());
    }
}
