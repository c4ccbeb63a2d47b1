//! Matrix products `C = A · W + b` whose weights are packed once.
//!
//! Every element of `C` is one chain of fused multiply-adds over `k`, whatever the number of rows:
//! a row's result does not depend on the rows beside it.

use pulp::{Simd, WithSimd};

use super::vectors::{Aligned, lanes};

/// What becomes of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// Stored.
    Store,
    /// `max(y, 0)`.
    Relu,
    /// `max(y, 0)²`.
    SquaredRelu,
    /// Added to what `C` holds.
    Add,
}

/// Weights `[k, m]` and bias, packed in panels of two vectors of columns.
#[derive(Debug)]
pub(crate) struct Packed {
    k: usize,
    m: usize,
    lanes: usize,
    /// Panels of `[k][2 * lanes]`, the last one filled up with zeros.
    panels: Aligned,
    /// Bias, filled up likewise.
    bias: Aligned,
}

impl Packed {
    /// Packs `weights` (row-major `[k, m]`) and `bias` (`m`, or empty for none).
    pub(crate) fn new(weights: &[f32], bias: &[f32], k: usize, m: usize) -> Self {
        let lanes = lanes();
        let width = 2 * lanes;
        let panels = m.div_ceil(width);
        let mut packed = Self {
            k,
            m,
            lanes,
            panels: Aligned::zeros(panels * width * k),
            bias: Aligned::zeros(panels * width),
        };
        packed.bias.get_mut()[..bias.len()].copy_from_slice(bias);
        for (panel, rows) in packed.panels.get_mut().chunks_exact_mut(width * k).enumerate() {
            let columns = panel * width..m.min((panel + 1) * width);
            for (row, to) in rows.chunks_exact_mut(width).enumerate() {
                let from = &weights[row * m..][columns.clone()];
                to[..from.len()].copy_from_slice(from);
            }
        }
        packed
    }

    /// `k` and `m`.
    pub(crate) fn shape(&self) -> (usize, usize) {
        (self.k, self.m)
    }

    /// `c[n, m] = then(a[n, k] · W + b)`; both row-major without gaps.
    #[inline(always)]
    pub(crate) fn run<S: Simd>(&self, simd: S, a: &[f32], c: &mut [f32], then: Then) {
        match then {
            Then::Store => self.rows::<S, 0>(simd, a, c),
            Then::Relu => self.rows::<S, 1>(simd, a, c),
            Then::SquaredRelu => self.rows::<S, 2>(simd, a, c),
            Then::Add => self.rows::<S, 3>(simd, a, c),
        }
    }

    #[inline(always)]
    fn rows<S: Simd, const THEN: u8>(&self, simd: S, a: &[f32], c: &mut [f32]) {
        assert_eq!(S::F32_LANES, self.lanes, "packed for other vectors");
        let (k, m) = (self.k, self.m);
        let n = a.len() / k;
        assert!(a.len() == n * k && c.len() == n * m, "shapes do not fit");
        let width = 2 * self.lanes;
        let full = if m.is_multiple_of(width) { m / width } else { 0 };
        let mut panel = 0;
        if n <= 4 {
            // Few rows: two panels at once, or the chains of additions stand idle.
            while panel + 2 <= full {
                self.block::<S, 2, THEN>(simd, a, c, panel);
                panel += 2;
            }
        }
        for panel in panel..m.div_ceil(width) {
            self.block::<S, 1, THEN>(simd, a, c, panel);
        }
    }

    #[inline(always)]
    fn block<S: Simd, const P: usize, const THEN: u8>(
        &self,
        simd: S,
        a: &[f32],
        c: &mut [f32],
        panel: usize,
    ) {
        let n = a.len() / self.k;
        let mut row = 0;
        if P == 1 && S::REGISTER_COUNT >= 32 {
            while n - row >= 8 {
                self.tile::<S, 8, P, THEN>(simd, a, c, [row, panel]);
                row += 8;
            }
        }
        if P == 1 {
            while n - row >= 6 {
                self.tile::<S, 6, P, THEN>(simd, a, c, [row, panel]);
                row += 6;
            }
        }
        while n - row >= 3 {
            self.tile::<S, 3, P, THEN>(simd, a, c, [row, panel]);
            row += 3;
        }
        match n - row {
            2 => self.tile::<S, 2, P, THEN>(simd, a, c, [row, panel]),
            1 => self.tile::<S, 1, P, THEN>(simd, a, c, [row, panel]),
            _ => {}
        }
    }

    #[inline(always)]
    fn tile<S: Simd, const R: usize, const P: usize, const THEN: u8>(
        &self,
        simd: S,
        a: &[f32],
        c: &mut [f32],
        [row, panel]: [usize; 2],
    ) {
        let work = Tile::<S, R, P, THEN> { packed: self, simd, a, c, row, panel };
        simd.vectorize(work);
    }
}

/// `R` rows times `P` panels, in registers. A struct, so that it is one function of its own.
struct Tile<'a, S, const R: usize, const P: usize, const THEN: u8> {
    packed: &'a Packed,
    simd: S,
    a: &'a [f32],
    c: &'a mut [f32],
    row: usize,
    panel: usize,
}

impl<T: Simd, const R: usize, const P: usize, const THEN: u8> WithSimd for Tile<'_, T, R, P, THEN> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { packed, simd, a, c, row, panel } = self;
        let (k, m) = (packed.k, packed.m);
        let width = 2 * T::F32_LANES;
        let rows: [&[f32]; R] = std::array::from_fn(|r| &a[(row + r) * k..][..k]);
        let weights: [&[[T::f32s; 2]]; P] = std::array::from_fn(|p| {
            let panel = &packed.panels.get()[(panel + p) * width * k..][..width * k];
            &T::as_simd_f32s(panel).0.as_chunks::<2>().0[..k]
        });
        let bias: [[T::f32s; 2]; P] = std::array::from_fn(|p| {
            let bias = &packed.bias.get()[(panel + p) * width..][..width];
            T::as_simd_f32s(bias).0.as_chunks::<2>().0[0]
        });
        let mut sums = [bias; R];
        for i in 0..k {
            let w: [[T::f32s; 2]; P] = std::array::from_fn(|p| weights[p][i]);
            for r in 0..R {
                let x = simd.splat_f32s(rows[r][i]);
                for p in 0..P {
                    sums[r][p][0] = simd.mul_add_e_f32s(x, w[p][0], sums[r][p][0]);
                    sums[r][p][1] = simd.mul_add_e_f32s(x, w[p][1], sums[r][p][1]);
                }
            }
        }
        let zero = simd.splat_f32s(0.0);
        for (r, sums) in sums.iter().enumerate() {
            for (p, sums) in sums.iter().enumerate() {
                let column = (panel + p) * width;
                let columns = width.min(m - column);
                let to = &mut c[(row + r) * m + column..][..columns];
                // A maximum may lose what is not a number, which must not end as a zero.
                let positive = |y: T::f32s| simd.select_f32s(simd.less_than_f32s(y, zero), zero, y);
                let finish = |sum: T::f32s, old: T::f32s| match THEN {
                    0 => sum,
                    1 => positive(sum),
                    2 => {
                        let y = positive(sum);
                        simd.mul_f32s(y, y)
                    }
                    _ => simd.add_f32s(sum, old),
                };
                if columns == width {
                    let to = T::as_mut_simd_f32s(to).0;
                    to[0] = finish(sums[0], to[0]);
                    to[1] = finish(sums[1], to[1]);
                } else {
                    for (to, &sum) in to.chunks_mut(T::F32_LANES).zip(sums) {
                        let old = simd.partial_load_f32s(to);
                        simd.partial_store_f32s(to, finish(sum, old));
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::vectors::dispatch;

    struct Run<'a>(&'a Packed, &'a [f32], &'a mut [f32], Then);

    impl WithSimd for Run<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            self.0.run(simd, self.1, self.2, self.3);
        }
    }

    #[test]
    fn products_are_right_and_do_not_depend_on_other_rows() {
        let value = |i: usize| ((i * 2_654_435_761 % 1009) as f32 / 1009.0) - 0.5;
        for (k, m) in [(128, 384), (128, 65), (32, 2), (256, 128), (16, 4)] {
            let weights: Vec<f32> = (0..k * m).map(value).collect();
            let bias: Vec<f32> = (0..m).map(|i| value(i + 7)).collect();
            let packed = Packed::new(&weights, &bias, k, m);
            let a: Vec<f32> = (0..40 * k).map(|i| value(i * 3 + 1)).collect();
            let mut all = vec![0.0; 40 * m];
            dispatch(Run(&packed, &a, &mut all, Then::Store));
            for n in [1, 2, 3, 4, 5, 7, 13, 26] {
                let mut some = vec![0.0; n * m];
                dispatch(Run(&packed, &a[..n * k], &mut some, Then::Store));
                assert_eq!(some, all[..n * m]);
                dispatch(Run(&packed, &a[..n * k], &mut some, Then::Add));
                assert!(some.iter().zip(&all).all(|(two, one)| (two - 2.0 * one).abs() < 1e-6));
                dispatch(Run(&packed, &a[..n * k], &mut some, Then::SquaredRelu));
                assert!(some.iter().zip(&all).all(|(y, x)| (y - x.max(0.0).powi(2)).abs() < 1e-6));
            }
            for (i, y) in all.iter().enumerate() {
                let (r, c) = (i / m, i % m);
                let sum: f64 =
                    (0..k).map(|j| f64::from(a[r * k + j]) * f64::from(weights[j * m + c])).sum();
                assert!((f64::from(*y) - sum - f64::from(bias[c])).abs() < 1e-4);
            }
        }
    }
}
