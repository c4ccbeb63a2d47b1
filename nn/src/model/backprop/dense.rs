//! Linear layers, forward and backward.

use super::places::Dense;
use super::product::{Matrix, Size, add_gradient, product, transposed};
use super::rows::add_rows;
use crate::kernels::gemm::{Packed, Then};

/// One or more layers of the same input, their outputs side by side.
#[derive(Debug)]
pub(super) struct Layer {
    parts: Vec<Dense>,
    forward: Packed,
    backward: Packed,
    /// Width of the output.
    pub(super) m: usize,
}

impl Layer {
    /// The layers at `parts`, of the weights `values`.
    pub(super) fn new(values: &[f32], parts: &[Dense]) -> Self {
        let k = parts.first().map_or(0, |part| part.k);
        let m = parts.iter().map(|part| part.m).sum();
        let mut weights = Vec::with_capacity(k * m);
        let mut bias = Vec::with_capacity(m);
        for row in 0..k {
            for part in parts {
                weights.extend_from_slice(&part.weight.of(values)[row * part.m..][..part.m]);
            }
        }
        for part in parts {
            match part.bias {
                Some(span) => bias.extend_from_slice(span.of(values)),
                None => bias.resize(bias.len() + part.m, 0.0),
            }
        }
        Self {
            parts: parts.to_vec(),
            forward: Packed::new(&weights, &bias, k, m),
            backward: Packed::new(&transposed(&weights, m), &[], m, k),
            m,
        }
    }

    /// `y = then(x · W + b)`.
    pub(super) fn run(&self, x: &[f32], y: &mut [f32], then: Then) {
        product(&self.forward, x, y, then);
    }

    /// The gradient of the input, stored in or added to `d_x`, from that of the output.
    pub(super) fn back(&self, d_y: &[f32], d_x: &mut [f32], then: Then) {
        product(&self.backward, d_y, d_x, then);
    }

    /// Adds the weights' gradients to `list`.
    pub(super) fn learn(&self, x: &[f32], d_y: &[f32], list: &mut [f32]) {
        let rows = d_y.len() / self.m;
        let mut column = 0;
        let mut biases = vec![0.0; self.m];
        add_rows(&mut biases, d_y);
        for part in &self.parts {
            let size = Size { rows: part.k, inner: rows, columns: part.m };
            let y = Matrix { data: &d_y[column.min(d_y.len())..], stride: self.m };
            let x = Matrix { data: x, stride: part.k };
            add_gradient(size, x, y, part.weight.of_mut(list));
            if let Some(bias) = part.bias {
                for (to, from) in bias.of_mut(list).iter_mut().zip(&biases[column..]) {
                    *to += from;
                }
            }
            column += part.m;
        }
    }
}
