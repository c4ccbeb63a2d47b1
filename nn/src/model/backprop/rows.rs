//! What is done to one row after another.

use pulp::{Simd, WithSimd};

use crate::kernels::vectors::LINE;
use crate::kernels::vectors::dispatch;

/// Runs plain loops on the widest vectors there are. `work` must be marked `#[inline(always)]`, or
/// it is compiled for the oldest processor.
#[inline(always)]
pub(super) fn wide<R>(work: impl FnOnce() -> R) -> R {
    struct Loops<F>(F);
    impl<R, F: FnOnce() -> R> WithSimd for Loops<F> {
        type Output = R;

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) -> R {
            (self.0)()
        }
    }
    dispatch(Loops(work))
}

/// `to += from`.
#[inline(always)]
pub(super) fn add(to: &mut [f32], from: &[f32]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += from;
    }
}

/// Sums the rows of a matrix into one.
pub(super) fn add_rows(sum: &mut [f32], rows: &[f32]) {
    wide(
        #[inline(always)]
        || {
            for row in rows.chunks_exact(sum.len()) {
                add(sum, row);
            }
        },
    );
}

/// Sum of products, by lanes.
#[inline(always)]
fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0; LINE];
    for (a, b) in a.as_chunks::<LINE>().0.iter().zip(b.as_chunks::<LINE>().0) {
        for i in 0..LINE {
            lanes[i] += a[i] * b[i];
        }
    }
    lanes.iter().sum()
}

/// Root-mean-square normalisation: `to = x / sqrt(mean(x²) + 1e-6) * scale`; the inverse roots are
/// kept for the way back.
pub(super) fn normalise(x: &[f32], scale: &[f32], to: &mut [f32], inverses: &mut [f32]) {
    let width = scale.len();
    wide(
        #[inline(always)]
        || {
            let rows = x.chunks_exact(width).zip(to.chunks_exact_mut(width));
            for ((x, to), inverse) in rows.zip(inverses) {
                *inverse = 1.0 / (dot(x, x) / width as f32 + 1e-6).sqrt();
                for ((to, x), scale) in to.iter_mut().zip(x).zip(scale) {
                    *to = x * *inverse * scale;
                }
            }
        },
    );
}

/// What flows back through [`normalise`]: `back` is the gradient of what came out, and what went in
/// gets its own added to `d_x`.
pub(super) fn normalise_back(
    (x, scale, inverses): (&[f32], &[f32], &[f32]),
    back: &[f32],
    d_x: &mut [f32],
    d_scale: &mut [f32],
) {
    dispatch(NormaliseBack { x, scale, inverses, back, d_x, d_scale });
}

struct NormaliseBack<'a> {
    x: &'a [f32],
    scale: &'a [f32],
    inverses: &'a [f32],
    back: &'a [f32],
    d_x: &'a mut [f32],
    d_scale: &'a mut [f32],
}

impl WithSimd for NormaliseBack<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let width = self.scale.len();
        let scale = S::as_simd_f32s(self.scale).0;
        let d_scale = S::as_mut_simd_f32s(self.d_scale).0;
        let rows = self.x.chunks_exact(width).zip(self.back.chunks_exact(width));
        for (((x, back), d_x), &inverse) in
            rows.zip(self.d_x.chunks_exact_mut(width)).zip(self.inverses)
        {
            let (x, back) = (S::as_simd_f32s(x).0, S::as_simd_f32s(back).0);
            let inverses = simd.splat_f32s(inverse);
            let mut sums = simd.splat_f32s(0.0);
            for (((&x, &back), &scale), d_scale) in x.iter().zip(back).zip(scale).zip(&mut *d_scale)
            {
                let product = simd.mul_f32s(x, back);
                *d_scale = simd.mul_add_e_f32s(product, inverses, *d_scale);
                sums = simd.mul_add_e_f32s(product, scale, sums);
            }
            let sum = simd.reduce_sum_f32s(sums);
            let along = simd.splat_f32s(sum * inverse * inverse * inverse / width as f32);
            let d_x = S::as_mut_simd_f32s(d_x).0;
            for (((d_x, &x), &back), &scale) in d_x.iter_mut().zip(x).zip(back).zip(scale) {
                let own = simd.mul_f32s(simd.mul_f32s(back, scale), inverses);
                *d_x = simd.add_f32s(*d_x, simd.sub_f32s(own, simd.mul_f32s(x, along)));
            }
        }
    }
}

/// `fed = up²`, where `up` is not negative.
pub(super) fn square(up: &[f32], fed: &mut [f32]) {
    wide(
        #[inline(always)]
        || {
            for (fed, up) in fed.iter_mut().zip(up) {
                *fed = up * up;
            }
        },
    );
}

/// The gradient of what was squared, where `up = max(x, 0)`: `d = 2 * up * d`.
pub(super) fn square_back(up: &[f32], d: &mut [f32]) {
    wide(
        #[inline(always)]
        || {
            for (d, up) in d.iter_mut().zip(up) {
                *d *= 2.0 * up;
            }
        },
    );
}

/// The gradient before `max(x, 0)`, which came to `y`.
pub(super) fn relu_back(y: &[f32], d: &mut [f32]) {
    wide(
        #[inline(always)]
        || {
            for (d, y) in d.iter_mut().zip(y) {
                *d = if *y > 0.0 { *d } else { 0.0 };
            }
        },
    );
}
