//! Muon: momentum whose singular values are all made about 1 (Jordan 2024).
//!
//! It moves the matrices between hidden layers; tables, scales, biases and output layers stay with
//! `AdamW`. From a fresh network it reaches in half a million positions what `AdamW` needs several
//! millions for (models/README.md).

use burn::tensor::Tensor;

use super::optimizer::{NEGLIGIBLE, Optimizer};

/// Steps of the Newton-Schulz iteration.
const ITERATIONS: usize = 5;
/// Coefficients of its quintic: they drive singular values to 0.7 … 1.2 as fast as they can, which
/// is all that a direction needs.
const QUINTIC: [f32; 3] = [3.4445, -4.7750, 2.0315];
/// Root mean square of the steps that `AdamW` usually takes, in units of its rate, so that one rate
/// serves both (Liu et al. 2025).
const ADAMW_STEP: f32 = 0.2;

/// Whether Muon moves the parameter of this path in the network.
pub(super) fn moves(settings: &Optimizer, path: &[String], dimensions: usize) -> bool {
    settings.muon > 0.0
        && dimensions == 2
        && path.last().is_some_and(|name| name == "weight")
        && !path.iter().any(|name| name.ends_with("_out"))
}

/// One step: the matrix and its momentum, `[rows, columns]` each, after `grad`, which is clipped.
pub(super) fn step(
    settings: &Optimizer,
    rate: f32,
    [matrix, momentum, grad]: [Tensor<2>; 3],
) -> [Tensor<2>; 2] {
    let Optimizer { momentum: keep, muon, weight_decay, .. } = *settings;
    let [rows, columns] = matrix.dims();
    let momentum = without_negligible(momentum * keep + grad.clone() * (1.0 - keep));
    let ahead = momentum.clone() * keep + grad * (1.0 - keep);
    let rate = rate * muon;
    let scale = rate * ADAMW_STEP * (rows.max(columns) as f32).sqrt();
    let matrix = matrix * (1.0 - rate * weight_decay) - orthogonal(ahead) * scale;
    [matrix, momentum]
}

/// `x` with zeros in place of its [`NEGLIGIBLE`] elements.
pub(super) fn without_negligible<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    let is_negligible = x.clone().abs().lower_elem(NEGLIGIBLE);
    x.mask_fill(is_negligible, 0.0)
}

/// A matrix with the singular vectors of `x` and singular values of about 1.
fn orthogonal(x: Tensor<2>) -> Tensor<2> {
    let [rows, columns] = x.dims();
    let is_tall = rows > columns;
    let x = if is_tall { x.transpose() } else { x };
    let norm = x.clone().powi_scalar(2).sum().sqrt() + 1e-12;
    let mut x = x / norm.unsqueeze::<2>();
    let [linear, cubic, quintic] = QUINTIC;
    for _ in 0..ITERATIONS {
        let gram = x.clone().matmul(x.clone().transpose()); // [least, least]
        let factor = gram.clone() * cubic + gram.clone().matmul(gram) * quintic;
        x = x.clone() * linear + factor.matmul(x);
    }
    if is_tall { x.transpose() } else { x }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, Distribution};

    use super::*;

    #[test]
    fn a_direction_is_nearly_orthogonal_whatever_the_shape() {
        let device = Device::default();
        for shape in [[24, 24], [16, 40], [40, 16]] {
            let x = Tensor::<2>::random(shape, Distribution::Normal(0.0, 1e-4), &device);
            let direction = orthogonal(x.clone());
            assert_eq!(direction.dims(), shape);
            // Inner product with the gradient: a direction of descent, as long as the nuclear norm.
            let along = (direction.clone() * x).sum().into_scalar::<f32>();
            assert!(along > 0.0);
            let [rows, columns] = shape;
            let square = direction.powi_scalar(2).sum().into_scalar::<f32>();
            let rank = rows.min(columns) as f32;
            assert!((0.5 * rank..1.45 * rank).contains(&square), "{shape:?}: {square}");
        }
    }

    #[test]
    fn steps_are_as_long_as_the_rate_says() {
        let device = Device::default();
        let settings = Optimizer { muon: 0.5, weight_decay: 0.0, ..Optimizer::default() };
        let grad = Tensor::<2>::random([32, 64], Distribution::Normal(0.0, 1.0), &device);
        let zero = Tensor::<2>::zeros([32, 64], &device);
        let [moved, _] = step(&settings, 0.01, [zero.clone(), zero, grad]);
        let square = moved.powi_scalar(2).mean().into_scalar::<f32>();
        // 0.2 of the rate, times the root of the share of singular values: 32 of 64.
        let expected = 0.01 * 0.5 * ADAMW_STEP;
        assert!((0.7..1.3).contains(&(square.sqrt() / expected)), "{}", square.sqrt());
    }

    #[test]
    fn output_layers_tables_and_biases_are_left_to_adamw() {
        let on = Optimizer { muon: 1.0, ..Optimizer::default() };
        let is_moved = |settings: &Optimizer, path: &str, dimensions| {
            let path: Vec<String> = path.split('.').map(str::to_owned).collect();
            moves(settings, &path, dimensions)
        };
        assert!(is_moved(&on, "blocks.0.query.weight", 2));
        assert!(is_moved(&on, "move_mix.weight", 2));
        for other in ["value_out.weight", "move_out.weight", "piece_square", "blocks.0.bias"] {
            assert!(!is_moved(&on, other, 2), "{other}");
        }
        assert!(!is_moved(&on, "blocks.0.query.bias", 1));
        assert!(!is_moved(&Optimizer::default(), "blocks.0.query.weight", 2));
    }
}
