//! Linear layers, forward and backward.

use tesla_tiles::Tiles;

use super::places::Dense;
use super::product::{Matrix, Size, add_gradient, product, transposed};
use super::rows::add_rows;
use super::tiles::{TiledWeights, fit, gradient};
use crate::kernels::gemm::{Packed, Then};

/// Weights in the order in which they are multiplied.
#[derive(Debug)]
enum Weights {
    /// By vectors, in f32.
    Packed(Packed),
    /// On the processor's tiles, in bf16.
    Tiled(TiledWeights),
}

impl Weights {
    fn new(tiles: Option<Tiles>, weights: &[f32], bias: &[f32], [k, m]: [usize; 2]) -> Self {
        match tiles {
            Some(tiles) => Self::Tiled(TiledWeights::new(tiles, weights, bias, [k, m])),
            None => Self::Packed(Packed::new(weights, bias, k, m)),
        }
    }

    /// `c = then(a · W + b)`.
    fn run(&self, a: &[f32], c: &mut [f32], then: Then) {
        match self {
            Self::Packed(packed) => product(packed, a, c, then),
            Self::Tiled(tiled) => tiled.run(a, c, then),
        }
    }
}

/// One or more layers of the same input, their outputs side by side.
#[derive(Debug)]
pub(super) struct Layer {
    parts: Vec<Dense>,
    forward: Weights,
    backward: Weights,
    /// Where the weights are tiled.
    tiles: Option<Tiles>,
    /// Width of the output.
    pub(super) m: usize,
}

impl Layer {
    /// The layers at `parts`, of the weights `values`; on `tiles` where these are given and fit.
    pub(super) fn new(values: &[f32], parts: &[Dense], tiles: Option<Tiles>) -> Self {
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
        // Forward, backward, and each part's gradient: blocks lie within a part.
        let fits = fit(k, m) && fit(m, k) && parts.iter().all(|part| fit(k, part.m));
        let tiles = tiles.filter(|_| fits);
        Self {
            parts: parts.to_vec(),
            forward: Weights::new(tiles, &weights, &bias, [k, m]),
            backward: Weights::new(tiles, &transposed(&weights, m), &[], [m, k]),
            tiles,
            m,
        }
    }

    /// `y = then(x · W + b)`.
    pub(super) fn run(&self, x: &[f32], y: &mut [f32], then: Then) {
        self.forward.run(x, y, then);
    }

    /// The gradient of the input, stored in or added to `d_x`, from that of the output.
    pub(super) fn back(&self, d_y: &[f32], d_x: &mut [f32], then: Then) {
        self.backward.run(d_y, d_x, then);
    }

    /// Adds the weights' gradients to `list`.
    pub(super) fn learn(&self, x: &[f32], d_y: &[f32], list: &mut [f32]) {
        let mut biases = vec![0.0; self.m];
        add_rows(&mut biases, d_y);
        if let Some(tiles) = self.tiles {
            self.learn_on_tiles(tiles, x, d_y, list);
        }
        let mut column = 0;
        for part in &self.parts {
            if self.tiles.is_none() {
                let size = Size { rows: part.k, inner: d_y.len() / self.m, columns: part.m };
                let y = Matrix { data: &d_y[column.min(d_y.len())..], stride: self.m };
                let x = Matrix { data: x, stride: part.k };
                add_gradient(size, x, y, part.weight.of_mut(list));
            }
            if let Some(bias) = part.bias {
                for (to, from) in bias.of_mut(list).iter_mut().zip(&biases[column..]) {
                    *to += from;
                }
            }
            column += part.m;
        }
    }

    fn learn_on_tiles(&self, tiles: Tiles, x: &[f32], d_y: &[f32], list: &mut [f32]) {
        let k = self.parts.first().map_or(0, |part| part.k);
        gradient(tiles, (x, k), (d_y, self.m), |[row, mut column], block| {
            for part in &self.parts {
                if column < part.m {
                    let weights = part.weight.of_mut(list);
                    for (to, sums) in weights[row * part.m..].chunks_mut(part.m).zip(&block.0) {
                        for (to, sum) in to[column..].iter_mut().zip(sums) {
                            *to += sum;
                        }
                    }
                    break;
                }
                column -= part.m;
            }
        });
    }
}
