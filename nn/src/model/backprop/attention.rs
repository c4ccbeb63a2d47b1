//! Attention within one window, forward and backward, head by head.

use pulp::{Simd, WithSimd};

use super::plan::WindowRows;
use super::product::{Matrix, Size, multiply};
use crate::batch::HIDDEN;
use crate::kernels::attention::exp;
use crate::kernels::vectors::LINE;
use crate::kernels::vectors::dispatch;

/// What hiding adds to a logit.
const HIDDEN_LOGIT: f32 = -1e4;
/// Logits below it are hidden ones.
const LEAST_LOGIT: f32 = -5e3;

/// Heads of a network.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heads {
    pub(super) count: usize,
    /// Width of one.
    pub(super) width: usize,
}

impl Heads {
    /// Width of a head in whole lines.
    fn lines(self) -> usize {
        self.width.next_multiple_of(LINE)
    }

    /// Attention weights of a window: `[heads][tokens][tokens in whole lines]`.
    pub(super) fn weights_of(self, window: &WindowRows) -> usize {
        let t = window.rows.len();
        self.count * t * t.next_multiple_of(LINE)
    }
}

/// Matrices of one head of one window.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    query: Vec<f32>,
    key: Vec<f32>,
    value: Vec<f32>,
    /// Keys or values by columns.
    turned: Vec<f32>,
    mixed: Vec<f32>,
    d_key: Vec<f32>,
    d_value: Vec<f32>,
    /// Gradients of the logits, of all heads.
    d_logits: Vec<f32>,
}

impl Scratch {
    /// Zeros of the right size.
    fn clear(&mut self, heads: Heads, window: &WindowRows) {
        let (t, e) = (window.rows.len(), heads.lines());
        let Self { query, key, value, mixed, d_key, d_value, turned, d_logits } = self;
        for matrix in [query, key, value, mixed, d_key, d_value] {
            matrix.clear();
            matrix.resize(t * e, 0.0);
        }
        turned.clear();
        turned.resize(e * t.next_multiple_of(LINE), 0.0);
        d_logits.resize(heads.weights_of(window), 0.0);
    }
}

/// One window's attention.
#[derive(Clone, Copy)]
pub(super) struct Attention<'a> {
    pub(super) heads: Heads,
    pub(super) window: &'a WindowRows,
    /// `[n, 3d]`: queries, keys and values.
    pub(super) qkv: &'a [f32],
    /// `[65 * 65, h]`.
    pub(super) bias: &'a [f32],
}

impl Attention<'_> {
    fn tokens(&self) -> usize {
        self.window.rows.len()
    }

    /// Columns of a matrix of weights.
    fn stride(&self) -> usize {
        self.tokens().next_multiple_of(LINE)
    }

    fn scale(&self) -> f32 {
        (self.heads.width as f32).sqrt().recip()
    }

    /// Queries that see the same keys at most: the anchor's pieces, then the others. Each with how
    /// many keys these are.
    fn groups(&self) -> [([usize; 2], usize); 2] {
        let (a, t) = (self.window.anchors, self.tokens());
        [([0, a], a), ([a, t], t)]
    }

    /// Copies columns `column ..` of the window's rows, times `scale`.
    #[inline(always)]
    fn gather(&self, from: &[f32], [stride, column]: [usize; 2], scale: f32, to: &mut [f32]) {
        let e = self.heads.width;
        for (to, &row) in to.chunks_exact_mut(self.heads.lines()).zip(&self.window.rows) {
            let from = &from[row as usize * stride + column..][..e];
            for (to, from) in to.iter_mut().zip(from) {
                *to = from * scale;
            }
        }
    }

    /// Likewise, turned: a column per row.
    #[inline(always)]
    fn gather_turned(&self, [stride, column]: [usize; 2], to: &mut [f32]) {
        let (e, t) = (self.heads.width, self.stride());
        for (i, &row) in self.window.rows.iter().enumerate() {
            let from = &self.qkv[row as usize * stride + column..][..e];
            for (to, from) in to.chunks_exact_mut(t).zip(from) {
                to[i] = *from;
            }
        }
    }

    /// Copies back what [`Self::gather`] copied.
    #[inline(always)]
    fn scatter(&self, from: &[f32], [stride, column]: [usize; 2], scale: f32, to: &mut [f32]) {
        let e = self.heads.width;
        for (from, &row) in from.chunks_exact(self.heads.lines()).zip(&self.window.rows) {
            let to = &mut to[row as usize * stride + column..][..e];
            for (to, from) in to.iter_mut().zip(from) {
                *to = from * scale;
            }
        }
    }

    /// The biases of all pairs, as the first term of the logits.
    #[inline(always)]
    fn fill(&self, weights: &mut [f32]) {
        let (t, stride, heads) = (self.tokens(), self.stride(), self.heads.count);
        weights.fill(HIDDEN_LOGIT);
        let plane = t * stride;
        for (query, pairs) in self.window.pairs.chunks_exact(t).enumerate() {
            for (key, &pair) in pairs.iter().enumerate().filter(|&(_, &pair)| pair != HIDDEN) {
                let bias = &self.bias[pair as usize * heads..][..heads];
                for (head, bias) in bias.iter().enumerate() {
                    weights[head * plane + query * stride + key] = *bias;
                }
            }
        }
    }

    /// Adds the gradients of the logits to those of the biases.
    #[inline(always)]
    fn learn(&self, d_logits: &[f32], d_bias: &mut [f32]) {
        let (t, stride, heads) = (self.tokens(), self.stride(), self.heads.count);
        let plane = t * stride;
        for (query, pairs) in self.window.pairs.chunks_exact(t).enumerate() {
            for (key, &pair) in pairs.iter().enumerate().filter(|&(_, &pair)| pair != HIDDEN) {
                let bias = &mut d_bias[pair as usize * heads..][..heads];
                for (head, bias) in bias.iter_mut().enumerate() {
                    *bias += d_logits[head * plane + query * stride + key];
                }
            }
        }
    }

    /// What the queries take from the values goes into the window's rows of `mixed`, `[n, d]`; the
    /// `weights` are kept for the way back.
    pub(super) fn run(self, weights: &mut [f32], mixed: &mut [f32], scratch: &mut Scratch) {
        dispatch(Forward { of: self, weights, mixed, scratch });
    }

    /// Gradients of queries, keys and values (stored in the window's rows of `d_qkv`) and of the
    /// biases (added), from that of what was mixed.
    pub(super) fn back(
        self,
        weights: &[f32],
        d_mixed: &[f32],
        [d_qkv, d_bias]: [&mut [f32]; 2],
        scratch: &mut Scratch,
    ) {
        dispatch(Backward { of: self, weights, d_mixed, d_qkv, d_bias, scratch });
    }
}

struct Forward<'a> {
    of: Attention<'a>,
    weights: &'a mut [f32],
    mixed: &'a mut [f32],
    scratch: &'a mut Scratch,
}

impl WithSimd for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { of, weights, mixed, scratch } = self;
        let Heads { count, width } = of.heads;
        let (stride, e, d) = (of.stride(), of.heads.lines(), count * width);
        scratch.clear(of.heads, of.window);
        of.fill(weights);
        for (head, weights) in weights.chunks_exact_mut(of.tokens() * stride).enumerate() {
            let column = head * width;
            of.gather(of.qkv, [3 * d, column], of.scale(), &mut scratch.query);
            of.gather_turned([3 * d, d + column], &mut scratch.turned);
            of.gather(of.qkv, [3 * d, 2 * d + column], 1.0, &mut scratch.value);
            let query = Matrix { data: &scratch.query, stride: e };
            let turned = Matrix { data: &scratch.turned, stride };
            let value = Matrix { data: &scratch.value, stride: e };
            for ([start, end], keys) in of.groups() {
                let columns = keys.next_multiple_of(S::F32_LANES);
                let size = Size { rows: end - start, inner: width, columns };
                let own = &mut weights[start * stride..end * stride];
                let query = query.from(start, 0);
                multiply::<S, false, true>(simd, size, query, turned, (&mut *own, stride));
                for row in own.chunks_exact_mut(stride) {
                    softmax(simd, &mut row[..columns]);
                }
                let size = Size { rows: end - start, inner: keys, columns: e };
                let own = Matrix { data: own, stride };
                let to = &mut scratch.mixed[start * e..];
                multiply::<S, false, false>(simd, size, own, value, (to, e));
            }
            of.scatter(&scratch.mixed, [d, column], 1.0, mixed);
        }
    }
}

struct Backward<'a> {
    of: Attention<'a>,
    weights: &'a [f32],
    d_mixed: &'a [f32],
    d_qkv: &'a mut [f32],
    d_bias: &'a mut [f32],
    scratch: &'a mut Scratch,
}

impl WithSimd for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { of, weights, d_mixed, d_qkv, d_bias, scratch } = self;
        let Heads { count, width } = of.heads;
        let (t, stride, e) = (of.tokens(), of.stride(), of.heads.lines());
        let d = count * width;
        scratch.clear(of.heads, of.window);
        for (head, weights) in weights.chunks_exact(t * stride).enumerate() {
            let column = head * width;
            of.gather(of.qkv, [3 * d, column], of.scale(), &mut scratch.query);
            of.gather(of.qkv, [3 * d, d + column], 1.0, &mut scratch.key);
            of.gather_turned([3 * d, 2 * d + column], &mut scratch.turned);
            of.gather(d_mixed, [d, column], 1.0, &mut scratch.mixed);
            let key = Matrix { data: &scratch.key, stride: e };
            let turned = Matrix { data: &scratch.turned, stride };
            let mixed = Matrix { data: &scratch.mixed, stride: e };
            let d_logits = &mut scratch.d_logits[head * t * stride..][..t * stride];
            let d_query = &mut scratch.value;
            for ([start, end], keys) in of.groups() {
                let columns = keys.next_multiple_of(S::F32_LANES);
                let size = Size { rows: end - start, inner: width, columns };
                let own = &mut d_logits[start * stride..end * stride];
                let mixed = mixed.from(start, 0);
                multiply::<S, false, false>(simd, size, mixed, turned, (&mut *own, stride));
                let rows = weights[start * stride..].chunks_exact(stride);
                for (row, weights) in own.chunks_exact_mut(stride).zip(rows) {
                    softmax_back(simd, &weights[..columns], &mut row[..columns]);
                }
                let size = Size { rows: end - start, inner: keys, columns: e };
                let own = Matrix { data: own, stride };
                multiply::<S, false, false>(simd, size, own, key, (&mut d_query[start * e..], e));
            }
            let query = Matrix { data: &scratch.query, stride: e };
            let d_logits = Matrix { data: d_logits, stride };
            let weights = Matrix { data: weights, stride };
            // The anchor's pieces are seen by all, the others by each other.
            for ([start, end], first) in
                [([0, of.window.anchors], 0), ([of.window.anchors, t], of.window.anchors)]
            {
                let size = Size { rows: end - start, inner: t - first, columns: e };
                let (d_key, d_value) = (&mut scratch.d_key, &mut scratch.d_value);
                let (own, query) = (d_logits.from(first, start), query.from(first, 0));
                multiply::<S, true, false>(simd, size, own, query, (&mut d_key[start * e..], e));
                let (own, mixed) = (weights.from(first, start), mixed.from(first, 0));
                multiply::<S, true, false>(simd, size, own, mixed, (&mut d_value[start * e..], e));
            }
            of.scatter(d_query, [3 * d, column], of.scale(), d_qkv);
            of.scatter(&scratch.d_key, [3 * d, d + column], 1.0, d_qkv);
            of.scatter(&scratch.d_value, [3 * d, 2 * d + column], 1.0, d_qkv);
        }
        of.learn(&scratch.d_logits, d_bias);
    }
}

/// Softmax of a row of logits; what is hidden gets no weight at all.
#[inline(always)]
fn softmax<S: Simd>(simd: S, row: &mut [f32]) {
    let row = S::as_mut_simd_f32s(row).0;
    let mut most = simd.splat_f32s(f32::MIN);
    for &x in row.iter() {
        most = simd.max_f32s(most, x);
    }
    let most = simd.splat_f32s(simd.reduce_max_f32s(most));
    let zero = simd.splat_f32s(0.0);
    let mut sum = zero;
    for x in row.iter_mut() {
        let is_hidden = simd.less_than_f32s(*x, simd.splat_f32s(LEAST_LOGIT));
        *x = simd.select_f32s(is_hidden, zero, exp(simd, simd.sub_f32s(*x, most)));
        sum = simd.add_f32s(sum, *x);
    }
    let inverse = simd.splat_f32s(1.0 / simd.reduce_sum_f32s(sum));
    for x in row.iter_mut() {
        *x = simd.mul_f32s(*x, inverse);
    }
}

/// The gradient of logits, in place of that of their softmax.
#[inline(always)]
fn softmax_back<S: Simd>(simd: S, weights: &[f32], d: &mut [f32]) {
    let (weights, d) = (S::as_simd_f32s(weights).0, S::as_mut_simd_f32s(d).0);
    let mut sum = simd.splat_f32s(0.0);
    for (&weight, &d) in weights.iter().zip(d.iter()) {
        sum = simd.mul_add_e_f32s(weight, d, sum);
    }
    let mean = simd.splat_f32s(simd.reduce_sum_f32s(sum));
    for (&weight, d) in weights.iter().zip(d.iter_mut()) {
        *d = simd.mul_f32s(weight, simd.sub_f32s(*d, mean));
    }
}
