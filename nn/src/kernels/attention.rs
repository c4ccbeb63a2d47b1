//! Attention of one token over gathered keys and values; normalisation.
//!
//! Queries, keys and values are arranged so that lane `l` of every vector belongs to head
//! `l % heads`: the weights of all heads for one key are then one vector, which multiplies the
//! value as it lies. Nothing here depends on other tokens of the batch.

use pulp::Simd;

use super::vectors::LINE;

/// Most entries that a token can see: pieces, and the readouts of its chain.
pub(crate) const MAX_KEYS: usize = 64;

/// `e^x` for `x <= 0`, within 3e-7 of the exact value, relatively; far below, about 1e-38.
#[inline(always)]
pub(crate) fn exp<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    /// Adding it rounds to an integer, which then stands in the low bits.
    const ROUND: f32 = 12_582_912.0;
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = -2.121_944_4e-4;
    let splat = |x: f32| simd.splat_f32s(x);
    let x = simd.max_f32s(x, splat(-87.0));
    let shifted = simd.mul_add_e_f32s(x, splat(std::f32::consts::LOG2_E), splat(ROUND));
    let n = simd.sub_f32s(shifted, splat(ROUND));
    let r = simd.mul_add_e_f32s(n, splat(-LN_2_HIGH), x);
    let r = simd.mul_add_e_f32s(n, splat(-LN_2_LOW), r);
    // Cephes' polynomial for e^r, |r| <= ln 2 / 2.
    let mut p = splat(1.987_569_1e-4);
    for c in [1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 0.166_666_65, 0.5] {
        p = simd.mul_add_e_f32s(p, r, splat(c));
    }
    let p = simd.mul_add_e_f32s(simd.mul_f32s(p, r), r, r);
    let p = simd.transmute_u32s_f32s(simd.add_f32s(p, splat(1.0)));
    let bits = simd.transmute_u32s_f32s(shifted);
    let power = simd.wrapping_dyn_shl_u32s(bits, simd.splat_u32s(23));
    simd.transmute_f32s_u32s(simd.add_u32s(p, power))
}

/// `to = x / sqrt(mean(x²) + 1e-6)` row by row; the learnt scale is in the weights that follow.
#[inline(always)]
pub(crate) fn normalise<S: Simd>(simd: S, x: &[f32], to: &mut [f32], width: usize) {
    for (x, to) in x.chunks_exact(width).zip(to.chunks_exact_mut(width)) {
        let mut squares = simd.splat_f32s(0.0);
        for &x in S::as_simd_f32s(x).0 {
            squares = simd.mul_add_e_f32s(x, x, squares);
        }
        let sum = simd.reduce_sum_f32s(squares);
        let scale = simd.splat_f32s(1.0 / (sum / width as f32 + 1e-6).sqrt());
        for (to, &x) in S::as_mut_simd_f32s(to).0.iter_mut().zip(S::as_simd_f32s(x).0) {
            *to = simd.mul_f32s(x, scale);
        }
    }
}

/// Place of column `column` of the network's queries, keys and values among the packed ones.
pub(crate) fn head_column(column: usize, width: usize, heads: usize) -> usize {
    let per_head = width / heads;
    column % per_head * heads + column / per_head
}

/// Weights of one query.
#[derive(Debug)]
#[repr(align(64))]
pub(crate) struct Weights {
    /// One vector per key, in which the heads repeat.
    pub(super) vectors: [f32; MAX_KEYS * LINE],
    /// One over the sum of each head's weights.
    pub(super) inverses: [f32; LINE],
    /// From one key's weights to the next one's.
    pub(super) stride: usize,
}

impl Default for Weights {
    fn default() -> Self {
        Self { vectors: [0.0; MAX_KEYS * LINE], inverses: [1.0; LINE], stride: LINE }
    }
}

impl Weights {
    /// Attention that key `key` got, mean over the heads.
    pub(crate) fn of_key(&self, key: usize, heads: usize) -> f32 {
        let weights = &self.vectors[key * self.stride..][..heads];
        weights.iter().zip(&self.inverses).map(|(w, inverse)| w * inverse).sum::<f32>()
            / heads as f32
    }
}

/// What one query attends to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a> {
    /// Key and value, end to end, of every visible token.
    pub(crate) entries: &'a [&'a [f32]],
    /// Squares of these tokens; 64 is a readout.
    pub(crate) squares: &'a [u8],
    /// `[65][16]`: bias by the key's square, for the query's square; the heads repeat.
    pub(crate) bias: &'a [f32],
    pub(crate) heads: usize,
}

/// Attention of `query`, already scaled; the mixed values go `to`.
#[inline(always)]
pub(crate) fn attend<S: Simd>(
    simd: S,
    query: &[f32],
    seen: Seen<'_>,
    weights: &mut Weights,
    to: &mut [f32],
) {
    match (query.len() / S::F32_LANES, S::F32_LANES) {
        (_, lanes) if !lanes.is_multiple_of(seen.heads) => attend_plain(query, seen, weights, to),
        // Widths 32, 128 and 384 with vectors of 8 or 16.
        (2, 16) => attend_vectors::<S, 2, 1>(simd, query, seen, weights, to),
        (4, 8) => attend_vectors::<S, 4, 1>(simd, query, seen, weights, to),
        (8, 8 | 16) => attend_vectors::<S, 8, 1>(simd, query, seen, weights, to),
        (16, 8) => attend_vectors::<S, 8, 2>(simd, query, seen, weights, to),
        (24, 16) => attend_vectors::<S, 8, 3>(simd, query, seen, weights, to),
        (48, 8) => attend_vectors::<S, 8, 6>(simd, query, seen, weights, to),
        _ => attend_plain(query, seen, weights, to),
    }
}

/// [`attend`] with `G` groups of `V` vectors; the heads divide the lanes.
#[inline(always)]
fn attend_vectors<S: Simd, const V: usize, const G: usize>(
    simd: S,
    query: &[f32],
    seen: Seen<'_>,
    weights: &mut Weights,
    to: &mut [f32],
) {
    let lanes = S::F32_LANES;
    let query: &[[S::f32s; V]; G] = vectors::<S, V, G>(query);
    let count = seen.entries.len();
    let logits = &mut S::as_mut_simd_f32s(&mut weights.vectors).0[..count];
    let biases = S::as_simd_f32s(seen.bias).0;
    let per_line = LINE / lanes;
    let mut most = simd.splat_f32s(f32::MIN);
    for ((to, entry), &square) in logits.iter_mut().zip(seen.entries).zip(seen.squares) {
        let key: &[[S::f32s; V]; G] = vectors::<S, V, G>(entry);
        let zero = simd.splat_f32s(0.0);
        let mut sums = [zero; 2];
        for g in 0..G {
            for v in 0..V {
                sums[v % 2] = simd.mul_add_e_f32s(query[g][v], key[g][v], sums[v % 2]);
            }
        }
        let mut sum = simd.add_f32s(sums[0], sums[1]);
        let mut step = seen.heads;
        while step < lanes {
            sum = simd.add_f32s(sum, simd.rotate_left_f32s(sum, step));
            step *= 2;
        }
        *to = simd.add_f32s(sum, biases[usize::from(square) * per_line]);
        most = simd.max_f32s(most, *to);
    }
    let mut sum = simd.splat_f32s(0.0);
    for logit in logits.iter_mut() {
        *logit = exp(simd, simd.sub_f32s(*logit, most));
        sum = simd.add_f32s(sum, *logit);
    }
    let inverse = simd.div_f32s(simd.splat_f32s(1.0), sum);
    S::as_mut_simd_f32s(&mut weights.inverses).0[0] = inverse;
    weights.stride = lanes;
    let to = S::as_mut_simd_f32s(to).0.as_chunks_mut::<V>().0;
    let weights = &S::as_simd_f32s(&weights.vectors).0[..count];
    for (g, to) in to.iter_mut().enumerate().take(G) {
        let mut mixed = [simd.splat_f32s(0.0); V];
        for (&weight, entry) in weights.iter().zip(seen.entries) {
            let value: &[[S::f32s; V]; G] = vectors::<S, V, G>(&entry[V * G * lanes..]);
            for v in 0..V {
                mixed[v] = simd.mul_add_e_f32s(weight, value[g][v], mixed[v]);
            }
        }
        for v in 0..V {
            to[v] = simd.mul_f32s(mixed[v], inverse);
        }
    }
}

/// The first `V * G` vectors; shorter input is a bug in the caller.
#[inline(always)]
fn vectors<S: Simd, const V: usize, const G: usize>(floats: &[f32]) -> &[[S::f32s; V]; G] {
    &S::as_simd_f32s(floats).0.as_chunks::<V>().0.as_chunks::<G>().0[0]
}

/// [`attend`] for machines without wide vectors.
#[inline(always)]
fn attend_plain(query: &[f32], seen: Seen<'_>, weights: &mut Weights, to: &mut [f32]) {
    let heads = seen.heads;
    weights.stride = LINE;
    let mut most = [f32::MIN; LINE];
    let places = weights.vectors.as_chunks_mut::<LINE>().0;
    for ((to, entry), &square) in places.iter_mut().zip(seen.entries).zip(seen.squares) {
        to.copy_from_slice(&seen.bias[usize::from(square) * LINE..][..LINE]);
        for (column, (q, k)) in query.iter().zip(*entry).enumerate() {
            to[column % heads] += q * k;
        }
        for head in 0..heads {
            most[head] = most[head].max(to[head]);
        }
    }
    let mut sums = [0.0; LINE];
    to.fill(0.0);
    for (weight, entry) in places.iter_mut().zip(seen.entries) {
        for head in 0..heads {
            weight[head] = (weight[head] - most[head]).exp();
            sums[head] += weight[head];
        }
        for (column, (to, value)) in to.iter_mut().zip(&entry[query.len()..]).enumerate() {
            *to += weight[column % heads] * value;
        }
    }
    for (column, to) in to.iter_mut().enumerate() {
        *to /= sums[column % heads];
    }
    weights.inverses = sums.map(f32::recip);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::vectors::dispatch;

    struct Exp(Vec<f32>);

    impl pulp::WithSimd for Exp {
        type Output = Vec<f32>;

        #[inline(always)]
        fn with_simd<S: Simd>(mut self, simd: S) -> Vec<f32> {
            let vectors = S::as_mut_simd_f32s(&mut self.0).0;
            for x in vectors {
                *x = exp(simd, *x);
            }
            self.0
        }
    }

    #[test]
    fn exponentials_are_close() {
        let mut inputs: Vec<f32> = (0..80_000).map(|i| -(i as f32) / 1000.0).collect();
        inputs[79_999] = f32::MIN;
        let outputs = dispatch(Exp(inputs.clone()));
        for (x, y) in inputs.iter().zip(&outputs).take(79_999) {
            assert!((f64::from(*y) / f64::from(*x).exp() - 1.0).abs() < 3e-7, "{x}");
        }
        assert!(outputs[79_999] < 1e-30);
    }

    struct Both<'a>(&'a [f32], Seen<'a>);

    impl pulp::WithSimd for Both<'_> {
        type Output = [Vec<f32>; 2];

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> [Vec<f32>; 2] {
            let mut answers = [vec![0.0; 128], vec![0.0; 128]];
            let mut weights = Weights::default();
            attend(simd, self.0, self.1, &mut weights, &mut answers[0]);
            let total: f32 = (0..self.1.entries.len()).map(|key| weights.of_key(key, 4)).sum();
            assert!((total - 1.0).abs() < 1e-5);
            attend_plain(self.0, self.1, &mut weights, &mut answers[1]);
            answers
        }
    }

    #[test]
    fn vectors_attend_as_plain_loops_do() {
        let value = |i: usize| ((i * 2_654_435_761 % 1009) as f32 / 1009.0) - 0.5;
        let floats: Vec<f32> = (0..40 * 256).map(value).collect();
        let entries: Vec<&[f32]> = floats.chunks_exact(256).collect();
        let bias: Vec<f32> = (0..65 * LINE).map(|i| value(i / LINE * 4 + i % 4)).collect();
        let query: Vec<f32> = (0..128).map(|i| value(i + 5)).collect();
        for count in [1, 2, 31, 40] {
            let squares: Vec<u8> = (0..count as u8).collect();
            let seen =
                Seen { entries: &entries[..count], squares: &squares, bias: &bias, heads: 4 };
            let [fast, plain] = dispatch(Both(&query, seen));
            assert!(fast.iter().zip(&plain).all(|(a, b)| (a - b).abs() < 1e-5));
        }
    }
}
