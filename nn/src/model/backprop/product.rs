//! Matrix products of one step of training, on the widest vectors there are.

use std::ops::Range;

use pulp::{Simd, WithSimd};

use crate::kernels::gemm::{Packed, Then};
use crate::kernels::vectors::dispatch;

/// Rows of the left matrix that a product takes at a time, so that they stay in the nearest cache.
const BLOCK: usize = 96;
/// Rows that a gradient sums at a time, so that they stay there too.
const SUMMED: usize = 64;
/// Rows of a tile.
const TALL: usize = 8;
/// Vectors of a tile at most.
const WIDE: usize = 3;

/// A matrix by rows, each `stride` after the one before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Matrix<'a> {
    pub(super) data: &'a [f32],
    pub(super) stride: usize,
}

impl Matrix<'_> {
    /// Without its first `rows` rows and `columns` columns.
    pub(super) fn from(self, rows: usize, columns: usize) -> Self {
        Self { data: &self.data[rows * self.stride + columns..], ..self }
    }
}

/// Size of a product.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    /// Rows of the result.
    pub(super) rows: usize,
    /// Products that are summed for each of its numbers.
    pub(super) inner: usize,
    /// Columns of the result, in whole vectors.
    pub(super) columns: usize,
}

/// `c = then(a · W + b)`, row by row.
pub(super) fn product(packed: &Packed, a: &[f32], c: &mut [f32], then: Then) {
    struct Run<'a>(&'a Packed, &'a [f32], &'a mut [f32], Then);
    impl WithSimd for Run<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            let Self(packed, a, c, then) = self;
            let (k, m) = packed.shape();
            for (a, c) in a.chunks(BLOCK * k).zip(c.chunks_mut(BLOCK * m)) {
                packed.run(simd, a, c, then);
            }
        }
    }
    dispatch(Run(packed, a, c, then));
}

/// `c += aᵀ · b`, without gaps in `c`: the gradient of a product's weights. `a` has `inner` rows of
/// `rows` columns, `b` as many of `columns` columns.
pub(super) fn add_gradient(size: Size, a: Matrix<'_>, b: Matrix<'_>, c: &mut [f32]) {
    struct Run<'a>(Size, Matrix<'a>, Matrix<'a>, &'a mut [f32]);
    impl WithSimd for Run<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            let Self(size, a, b, c) = self;
            let whole = size.columns - size.columns % S::F32_LANES;
            let mut left = vec![0.0; SUMMED * size.rows.next_multiple_of(TALL)];
            let mut right = vec![0.0; SUMMED * WIDE * S::F32_LANES];
            let mut done = 0;
            while done < size.inner && whole > 0 {
                let inner = SUMMED.min(size.inner - done);
                let part = Size { inner, columns: whole, ..size };
                let (a, b) = (a.from(done, 0), b.from(done, 0));
                add_block(simd, part, [a, b], [&mut left, &mut right], (c, size.columns));
                done += inner;
            }
            if whole < size.columns {
                narrow(size, whole, a, b, c);
            }
        }
    }
    dispatch(Run(size, a, b, c));
}

/// [`add_gradient`] of a few rows, which are copied so that each tile reads on and on: rows that
/// lie a power of two apart would push each other out of the nearest cache.
#[inline(always)]
fn add_block<S: Simd>(
    simd: S,
    size: Size,
    [a, b]: [Matrix<'_>; 2],
    [left, right]: [&mut [f32]; 2],
    (c, stride): (&mut [f32], usize),
) {
    for (group, to) in left.chunks_exact_mut(SUMMED * TALL).enumerate() {
        let columns = group * TALL..size.rows.min((group + 1) * TALL);
        copy(a, size.inner, columns, to, TALL);
    }
    let panel = (if S::REGISTER_COUNT >= 32 { WIDE } else { 2 }) * S::F32_LANES;
    for column in (0..size.columns).step_by(panel) {
        let end = size.columns.min(column + panel);
        copy(b, size.inner, column..end, right, panel);
        let right = Matrix { data: right, stride: panel };
        for (group, left) in left.chunks_exact(SUMMED * TALL).enumerate() {
            let row = group * TALL;
            let rows = TALL.min(size.rows - row);
            let part = Size { rows, inner: size.inner, columns: end - column };
            let left = Matrix { data: left, stride: TALL };
            let to = &mut c[row * stride + column..];
            multiply::<S, true, true>(simd, part, left, right, (&mut *to, stride));
        }
    }
}

/// Copies `rows` rows' part within `columns`.
#[inline(always)]
fn copy(from: Matrix<'_>, rows: usize, columns: Range<usize>, to: &mut [f32], stride: usize) {
    let rows = from.data.chunks(from.stride).take(rows);
    for (from, to) in rows.zip(to.chunks_exact_mut(stride)) {
        to[..columns.len()].copy_from_slice(&from[columns.clone()]);
    }
}

/// The columns of [`add_gradient`] that fill no vector.
#[inline(always)]
fn narrow(size: Size, whole: usize, a: Matrix<'_>, b: Matrix<'_>, c: &mut [f32]) {
    let mut sums = vec![0.0; size.rows];
    for column in whole..size.columns {
        sums.fill(0.0);
        for (a, b) in a.data.chunks(a.stride).zip(b.data.chunks(b.stride)).take(size.inner) {
            let factor = b[column];
            for (sum, a) in sums.iter_mut().zip(&a[..size.rows]) {
                *sum += a * factor;
            }
        }
        for (c, sum) in c.chunks_mut(size.columns).zip(&sums) {
            c[column] += sum;
        }
    }
}

/// `c = a · b`, or `c += a · b` with `ADD`; with `T` it is `aᵀ` that is multiplied. The columns are
/// whole vectors; `stride` is that of `c`.
#[inline(always)]
pub(super) fn multiply<S: Simd, const T: bool, const ADD: bool>(
    simd: S,
    size: Size,
    a: Matrix<'_>,
    b: Matrix<'_>,
    (c, stride): (&mut [f32], usize),
) {
    let mut column = 0;
    while column < size.columns {
        let left = (size.columns - column) / S::F32_LANES;
        let wide = S::REGISTER_COUNT >= 32 && (left == WIDE || left > 4);
        let (b, c) = (b.from(0, column), &mut c[column..]);
        column += S::F32_LANES
            * if wide {
                tiles::<S, WIDE, T, ADD>(simd, size, a, b, (c, stride))
            } else if left >= 2 {
                tiles::<S, 2, T, ADD>(simd, size, a, b, (c, stride))
            } else {
                tiles::<S, 1, T, ADD>(simd, size, a, b, (c, stride))
            };
    }
}

/// `V` vectors of columns, all rows.
#[inline(always)]
fn tiles<S: Simd, const V: usize, const T: bool, const ADD: bool>(
    simd: S,
    size: Size,
    a: Matrix<'_>,
    b: Matrix<'_>,
    (c, stride): (&mut [f32], usize),
) -> usize {
    let mut row = 0;
    while size.rows - row >= TALL && S::REGISTER_COUNT >= 32 {
        tile::<S, TALL, V, T, ADD>(simd, [row, size.inner, stride], a, b, c);
        row += TALL;
    }
    while size.rows - row >= 4 {
        tile::<S, 4, V, T, ADD>(simd, [row, size.inner, stride], a, b, c);
        row += 4;
    }
    while row < size.rows {
        tile::<S, 1, V, T, ADD>(simd, [row, size.inner, stride], a, b, c);
        row += 1;
    }
    V
}

#[inline(always)]
fn tile<S: Simd, const R: usize, const V: usize, const T: bool, const ADD: bool>(
    simd: S,
    [row, inner, stride]: [usize; 3],
    a: Matrix<'_>,
    b: Matrix<'_>,
    c: &mut [f32],
) {
    let a = if T { a.from(0, row) } else { a.from(row, 0) };
    let c = &mut c[row * stride..];
    simd.vectorize(Tile::<S, R, V, T, ADD> { simd, inner, a, b, c, stride });
}

/// `R` rows times `V` vectors, in registers. A struct, so that it is one function of its own.
struct Tile<'a, S, const R: usize, const V: usize, const T: bool, const ADD: bool> {
    simd: S,
    inner: usize,
    a: Matrix<'a>,
    b: Matrix<'a>,
    c: &'a mut [f32],
    stride: usize,
}

impl<S: Simd, const R: usize, const V: usize, const T: bool, const ADD: bool> WithSimd
    for Tile<'_, S, R, V, T, ADD>
{
    type Output = ();

    #[inline(always)]
    fn with_simd<A: Simd>(self, _: A) {
        let Self { simd, inner, a, b, c, stride } = self;
        let width = V * S::F32_LANES;
        let mut sums = [[simd.splat_f32s(0.0); V]; R];
        if T {
            let rows = a.data.chunks(a.stride).zip(b.data.chunks(b.stride)).take(inner);
            for (a, b) in rows {
                let a: &[f32] = &a[..R];
                let b = S::as_simd_f32s(&b[..width]).0;
                for r in 0..R {
                    let x = simd.splat_f32s(a[r]);
                    for v in 0..V {
                        sums[r][v] = simd.mul_add_e_f32s(x, b[v], sums[r][v]);
                    }
                }
            }
        } else {
            let rows: [&[f32]; R] = std::array::from_fn(|r| &a.data[r * a.stride..][..inner]);
            for (i, b) in b.data.chunks(b.stride).take(inner).enumerate() {
                let b = S::as_simd_f32s(&b[..width]).0;
                for r in 0..R {
                    let x = simd.splat_f32s(rows[r][i]);
                    for v in 0..V {
                        sums[r][v] = simd.mul_add_e_f32s(x, b[v], sums[r][v]);
                    }
                }
            }
        }
        for (r, sums) in sums.iter().enumerate() {
            let to = S::as_mut_simd_f32s(&mut c[r * stride..][..width]).0;
            for v in 0..V {
                to[v] = if ADD { simd.add_f32s(to[v], sums[v]) } else { sums[v] };
            }
        }
    }
}

/// `[k, m]` as `[m, k]`, in squares that stay in the nearest cache.
pub fn transposed(matrix: &[f32], m: usize) -> Vec<f32> {
    const SIDE: usize = 16;
    let k = matrix.len() / m;
    let mut turned = vec![0.0; matrix.len()];
    for row in (0..k).step_by(SIDE) {
        for column in (0..m).step_by(SIDE) {
            for j in column..m.min(column + SIDE) {
                let to = &mut turned[j * k + row..j * k + k.min(row + SIDE)];
                let from = matrix[row * m + j..].iter().step_by(m);
                for (to, from) in to.iter_mut().zip(from) {
                    *to = *from;
                }
            }
        }
    }
    turned
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(i: usize) -> f32 {
        ((i * 2_654_435_761 % 1009) as f32 / 1009.0) - 0.5
    }

    #[test]
    fn gradients_of_weights_are_sums_of_outer_products() {
        for (inner, rows, columns) in [(1, 1, 1), (70, 13, 2), (200, 32, 64), (65, 20, 150)] {
            let a: Vec<f32> = (0..inner * rows).map(value).collect();
            let b: Vec<f32> = (0..inner * columns).map(|i| value(i + 3)).collect();
            let mut c = vec![1.0; rows * columns];
            let (left, right) =
                (Matrix { data: &a, stride: rows }, Matrix { data: &b, stride: columns });
            add_gradient(Size { rows, inner, columns }, left, right, &mut c);
            for (i, c) in c.iter().enumerate() {
                let (row, column) = (i / columns, i % columns);
                let products =
                    (0..inner).map(|n| f64::from(a[n * rows + row] * b[n * columns + column]));
                let sum = 1.0 + products.sum::<f64>();
                assert!((f64::from(*c) - sum).abs() < 1e-4, "{c} for {sum}");
            }
        }
    }

    #[test]
    fn products_are_those_of_the_packed_weights() {
        let (n, k, m) = (200, 32, 40);
        let weights: Vec<f32> = (0..k * m).map(value).collect();
        let a: Vec<f32> = (0..n * k).map(|i| value(i + 5)).collect();
        let mut c = vec![0.0; n * m];
        product(&Packed::new(&weights, &[], k, m), &a, &mut c, Then::Store);
        let turned = transposed(&weights, m);
        for (i, c) in c.iter().enumerate() {
            let (row, column) = (i / m, i % m);
            let sum: f32 = (0..k).map(|j| a[row * k + j] * turned[column * k + j]).sum();
            assert!((c - sum).abs() < 1e-4, "{c} for {sum}");
        }
    }
}
