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
    let width = scale.len();
    wide(
        #[inline(always)]
        || {
            let rows = x.chunks_exact(width).zip(back.chunks_exact(width));
            for (((x, back), d_x), &inverse) in rows.zip(d_x.chunks_exact_mut(width)).zip(inverses)
            {
                let mut lanes = [0.0; LINE];
                let lines = x.as_chunks::<LINE>().0.iter().zip(back.as_chunks::<LINE>().0);
                let scales = scale.as_chunks::<LINE>().0.iter();
                for (((x, back), scale), d_scale) in
                    lines.zip(scales).zip(d_scale.as_chunks_mut::<LINE>().0)
                {
                    for i in 0..LINE {
                        let product = x[i] * back[i];
                        d_scale[i] += product * inverse;
                        lanes[i] += product * scale[i];
                    }
                }
                let sum: f32 = lanes.iter().sum();
                let along = sum * inverse * inverse * inverse / width as f32;
                for (((d_x, x), back), scale) in d_x.iter_mut().zip(x).zip(back).zip(scale) {
                    *d_x += back * scale * inverse - x * along;
                }
            }
        },
    );
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
