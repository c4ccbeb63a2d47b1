//! Matrix products in 16-bit integers: weights rounded once, every row of activations as it comes.
//!
//! A column of weights has a scale of its own, and so has a row of activations. The weights take 12
//! bits and their sign; a row takes as many as its sums of 32 bits leave room for, whatever the
//! row is: a sum never overflows. So sums are exact, and a row's result does not depend on the
//! rows beside it.

use super::gemm::Then;
use super::integers::{Pairs, Unit, WithPairs};
use super::vectors::Aligned;

/// Largest weight.
const MOST_WEIGHT: f32 = 4095.0;
/// Largest activation: 15 bits, if the sums leave room.
const MOST: f32 = 32_767.0;
/// Below it a row counts as zeros.
const TINY: f32 = 1e-30;

/// Rows of activations as integers; grows to the largest product.
#[derive(Debug, Default)]
pub(crate) struct Rounded {
    /// `[rows][k / 2]` pairs, as bits.
    pairs: Aligned,
    /// What a unit of each row is worth.
    units: Aligned,
}

/// Weights `[k, m]` as integers and bias, packed in panels of two vectors of columns.
#[derive(Debug)]
pub(crate) struct Packed {
    unit: Unit,
    k: usize,
    m: usize,
    lanes: usize,
    /// Panels of `[k / 2][2 * lanes]` pairs, the last one filled up with zeros.
    panels: Vec<Aligned>,
    /// What a unit of each column is worth, filled up likewise.
    scales: Aligned,
    /// Bias, filled up likewise.
    bias: Aligned,
    /// Largest activation that cannot overflow a sum.
    most: f32,
}

/// Row of the weights that is the first of pair `pair`; the second comes `lanes` later.
fn first_row(pair: usize, lanes: usize) -> usize {
    pair / lanes * 2 * lanes + pair % lanes
}

impl Packed {
    /// Packs `weights` (row-major `[k, m]`) and `bias` (`m`); nothing where `k` is no multiple of
    /// two vectors or there are too few columns to be worth the rounding.
    pub(crate) fn new(
        unit: Unit,
        weights: &[f32],
        bias: &[f32],
        [k, m]: [usize; 2],
    ) -> Option<Self> {
        let lanes = unit.lanes();
        let width = 2 * lanes;
        if !k.is_multiple_of(width) || m < lanes {
            return None;
        }
        let count = m.div_ceil(width);
        let (mut scales, mut biases) =
            (Aligned::zeros(count * width), Aligned::zeros(count * width));
        biases.get_mut()[..m].copy_from_slice(bias);
        let mut largest = 1;
        let mut rounded = vec![0_i32; k * m];
        for column in 0..m {
            let places = || (0..k).map(|row| row * m + column);
            let most = places().map(|i| weights[i].abs()).fold(TINY, f32::max);
            scales.get_mut()[column] = most / MOST_WEIGHT;
            let mut sum = 0;
            for i in places() {
                rounded[i] = (weights[i] / most * MOST_WEIGHT).round() as i32;
                sum += i64::from(rounded[i].abs());
            }
            largest = largest.max(sum);
        }
        let most = (f64::from(i32::MAX) / largest as f64).floor() as f32;
        let panels = (0..count).map(|panel| {
            let mut packed = Aligned::zeros(k / 2 * width);
            for (pair, to) in packed.get_mut().chunks_exact_mut(width).enumerate() {
                let row = first_row(pair, lanes);
                for (column, to) in (panel * width..m).zip(to) {
                    let [low, high] = [row, row + lanes].map(|row| rounded[row * m + column]);
                    *to = f32::from_bits(((high << 16) | (low & 0xffff)) as u32);
                }
            }
            packed
        });
        let panels = panels.collect();
        Some(Self { unit, k, m, lanes, panels, scales, bias: biases, most: most.min(MOST) })
    }

    /// `c[n, m] = then(a[n, k] · W + b)`; both row-major without gaps.
    pub(crate) fn run(&self, a: &[f32], c: &mut [f32], then: Then, rounded: &mut Rounded) {
        let (k, m) = (self.k, self.m);
        let n = a.len() / k;
        assert!(a.len() == n * k && c.len() == n * m, "shapes do not fit");
        rounded.pairs.reserve(n * k / 2);
        rounded.units.reserve(n);
        self.unit.run(Round { packed: self, a, to: &mut *rounded });
        let width = 2 * self.lanes;
        let full = if m.is_multiple_of(width) { m / width } else { 0 };
        let mut panel = 0;
        if n <= 4 {
            // Few rows: two panels at once, or the chains of additions stand idle.
            while panel + 2 <= full {
                self.block::<2>(rounded, c, then, panel);
                panel += 2;
            }
        }
        for panel in panel..self.panels.len() {
            self.block::<1>(rounded, c, then, panel);
        }
    }

    fn block<const P: usize>(&self, a: &Rounded, c: &mut [f32], then: Then, panel: usize) {
        let n = c.len() / self.m;
        let mut row = 0;
        if P == 1 {
            while self.lanes == 16 && n - row >= 8 {
                self.unit.run(Tile::<8, P> { packed: self, a, c, then, place: [row, panel] });
                row += 8;
            }
            while n - row >= 6 {
                self.unit.run(Tile::<6, P> { packed: self, a, c, then, place: [row, panel] });
                row += 6;
            }
        }
        while n - row >= 3 {
            self.unit.run(Tile::<3, P> { packed: self, a, c, then, place: [row, panel] });
            row += 3;
        }
        match n - row {
            2 => self.unit.run(Tile::<2, P> { packed: self, a, c, then, place: [row, panel] }),
            1 => self.unit.run(Tile::<1, P> { packed: self, a, c, then, place: [row, panel] }),
            _ => {}
        }
    }
}

/// Rows of floats to integers.
struct Round<'a> {
    packed: &'a Packed,
    a: &'a [f32],
    to: &'a mut Rounded,
}

impl WithPairs for Round<'_> {
    type Output = ();

    #[inline(always)]
    fn with_pairs<S: Pairs>(self, simd: S) {
        let Self { packed, a, to } = self;
        let k = packed.k;
        let rows = to.pairs.get_mut().chunks_exact_mut(k / 2).zip(to.units.get_mut());
        let shift = simd.splat_u32s(16);
        let low_half = simd.splat_u32s(0xffff);
        for (a, (to, unit)) in a.chunks_exact(k).zip(rows) {
            let a = S::as_simd_f32s(a).0;
            let mut most = simd.splat_f32s(TINY);
            for &a in a {
                most = simd.max_f32s(most, simd.abs_f32s(a));
            }
            let most = simd.reduce_max_f32s(most);
            *unit = most / packed.most;
            let scale = simd.splat_f32s(packed.most / most);
            let to = S::as_mut_simd_f32s(to).0;
            let integers = |x| simd.transmute_u32s_i32s(simd.to_integers(simd.mul_f32s(x, scale)));
            for (to, &[low, high]) in to.iter_mut().zip(a.as_chunks::<2>().0) {
                let low = simd.and_u32s(integers(low), low_half);
                let high = simd.wrapping_dyn_shl_u32s(integers(high), shift);
                *to = simd.transmute_f32s_u32s(simd.or_u32s(low, high));
            }
        }
    }
}

/// `R` rows times `P` panels, in registers.
struct Tile<'a, const R: usize, const P: usize> {
    packed: &'a Packed,
    a: &'a Rounded,
    c: &'a mut [f32],
    then: Then,
    /// First row and first panel.
    place: [usize; 2],
}

impl<const R: usize, const P: usize> WithPairs for Tile<'_, R, P> {
    type Output = ();

    #[inline(always)]
    fn with_pairs<S: Pairs>(self, simd: S) {
        let Self { packed, a, c, then, place: [row, panel] } = self;
        let pairs = packed.k / 2;
        let rows: [&[f32]; R] =
            std::array::from_fn(|r| &a.pairs.get()[(row + r) * pairs..][..pairs]);
        let weights: [&[[S::i32s; 2]]; P] = std::array::from_fn(|p| {
            let panel: &[i32] = pulp::bytemuck::cast_slice(packed.panels[panel + p].get());
            &S::as_simd_i32s(panel).0.as_chunks::<2>().0[..pairs]
        });
        let mut sums = [[[simd.splat_i32s(0); 2]; P]; R];
        for i in 0..pairs {
            let w: [[S::i32s; 2]; P] = std::array::from_fn(|p| weights[p][i]);
            for r in 0..R {
                let x = simd.splat_i32s(rows[r][i].to_bits().cast_signed());
                for p in 0..P {
                    sums[r][p] =
                        std::array::from_fn(|v| simd.multiply_pairs(x, w[p][v], sums[r][p][v]));
                }
            }
        }
        let finish = Finish { packed, then, units: a.units.get(), place: [row, panel] };
        for (r, sums) in sums.iter().enumerate() {
            for (p, &sums) in sums.iter().enumerate() {
                finish.store(simd, sums, c, [r, p]);
            }
        }
    }
}

/// From sums of a tile to numbers.
struct Finish<'a> {
    packed: &'a Packed,
    then: Then,
    /// What a unit of each row is worth.
    units: &'a [f32],
    /// First row and first panel.
    place: [usize; 2],
}

impl Finish<'_> {
    /// Stores a row's sums of a panel, both counted from the tile's first.
    #[inline(always)]
    fn store<S: Pairs>(&self, simd: S, sums: [S::i32s; 2], c: &mut [f32], [r, p]: [usize; 2]) {
        let Self { packed, then, units, place: [row, panel] } = *self;
        let (width, m) = (2 * S::F32_LANES, packed.m);
        let column = (panel + p) * width;
        let read = |from: &Aligned| -> [S::f32s; 2] {
            S::as_simd_f32s(&from.get()[column..][..width]).0.as_chunks::<2>().0[0]
        };
        let (scale, bias) = (read(&packed.scales), read(&packed.bias));
        let (unit, zero) = (simd.splat_f32s(units[row + r]), simd.splat_f32s(0.0));
        let to = &mut c[(row + r) * m + column..][..width.min(m - column)];
        let old = |to: &[f32]| match S::as_simd_f32s(to) {
            ([whole, ..], _) => *whole,
            _ => simd.partial_load_f32s(to),
        };
        for (v, to) in to.chunks_mut(S::F32_LANES).enumerate() {
            let factor = simd.mul_f32s(scale[v], unit);
            let y = simd.mul_add_e_f32s(simd.to_floats(sums[v]), factor, bias[v]);
            // The maximum of vectors gives its second operand where one is not a number, which must
            // not end as a zero.
            let y = match then {
                Then::Store => y,
                Then::Relu => simd.max_f32s(zero, y),
                Then::SquaredRelu => {
                    let y = simd.max_f32s(zero, y);
                    simd.mul_f32s(y, y)
                }
                Then::Add => simd.add_f32s(y, old(to)),
            };
            match S::as_mut_simd_f32s(to) {
                ([whole, ..], _) => *whole = y,
                _ => simd.partial_store_f32s(to, y),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_are_close_and_do_not_depend_on_other_rows() {
        let value = |i: usize| ((i * 2_654_435_761 % 1009) as f32 / 1009.0) - 0.5;
        for unit in Unit::all() {
            for [k, m] in [[128, 384], [128, 65], [32, 16], [256, 128], [1024, 40]] {
                let weights: Vec<f32> = (0..k * m).map(value).collect();
                let bias: Vec<f32> = (0..m).map(|i| value(i + 7)).collect();
                let packed = Packed::new(unit, &weights, &bias, [k, m]).unwrap();
                // Rows of very different sizes, one of them zeros.
                let size = |row: usize| [1.0, 1e-4, 300.0, 0.0][row % 4];
                let a: Vec<f32> = (0..40 * k).map(|i| size(i / k) * value(i * 3 + 1)).collect();
                let mut all = vec![0.0; 40 * m];
                let mut rounded = Rounded::default();
                packed.run(&a, &mut all, Then::Store, &mut rounded);
                for (i, y) in all.iter().enumerate() {
                    let (r, c) = (i / m, i % m);
                    let terms = (0..k).map(|j| f64::from(a[r * k + j] * weights[j * m + c]));
                    let error = f64::from(*y) - terms.sum::<f64>() - f64::from(bias[c]);
                    let norm = f64::from(size(r)) * 0.083 * (k as f64).sqrt();
                    assert!(error.abs() < 2e-3 * norm + 1e-6, "{k} × {m}, {r}: {error}, {norm}");
                }
                for n in [1, 2, 3, 4, 5, 7, 13, 26] {
                    let mut some = vec![0.0; n * m];
                    packed.run(&a[..n * k], &mut some, Then::Store, &mut rounded);
                    assert_eq!(some, all[..n * m]);
                    packed.run(&a[..n * k], &mut some, Then::Add, &mut rounded);
                    assert!(
                        some.iter()
                            .zip(&all)
                            .all(|(two, one)| two.to_bits() == (one + one).to_bits())
                    );
                    packed.run(&a[..n * k], &mut some, Then::SquaredRelu, &mut rounded);
                    let squared = |x: f32| x.max(0.0) * x.max(0.0);
                    let mut both = some.iter().zip(&all);
                    assert!(both.all(|(y, x)| y.to_bits() == squared(*x).to_bits()));
                }
            }
        }
    }

    /// Weights and activations that are all as large as they may be, with one sign.
    #[test]
    fn the_largest_sums_do_not_overflow() {
        for unit in Unit::all() {
            for k in [128, 1024] {
                let packed = Packed::new(unit, &vec![0.7; k * 32], &[0.0; 32], [k, 32]).unwrap();
                let mut c = [0.0; 64];
                let mut a = vec![5.0; k];
                a.extend(vec![-5.0; k]);
                packed.run(&a, &mut c, Then::Store, &mut Rounded::default());
                let expected = 3.5 * k as f32;
                assert!(c[..32].iter().all(|y| (y / expected - 1.0).abs() < 1e-3), "{c:?}");
                assert!(c[32..].iter().all(|y| (y / expected + 1.0).abs() < 1e-3), "{c:?}");
            }
        }
    }

    #[test]
    fn shapes_that_do_not_fit_are_left_to_floats() {
        for unit in Unit::all() {
            assert!(
                Packed::new(unit, &[0.0; 48 * 64], &[0.0; 64], [48, 64]).is_none()
                    || unit.lanes() < 16
            );
            assert!(Packed::new(unit, &[0.0; 64], &[0.0; 2], [32, 2]).is_none());
        }
    }
}
