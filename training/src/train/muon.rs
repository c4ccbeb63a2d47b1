//! Muon: momentum whose singular values are all made about 1 (Jordan 2024).
//!
//! It moves the matrices between hidden layers; tables, scales, biases and output layers stay with
//! `AdamW`. From a fresh network it reaches in half a million positions what `AdamW` needs several
//! millions for (models/README.md).

use std::collections::BTreeMap;

use burn::tensor::{Device, Tensor, TensorData};
use tesla_nn::model::backprop::{tiled_product, transposed};

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

/// A matrix to be moved, its momentum and its gradient, which is clipped: `[rows, columns]` each.
pub(super) type Operands = [Tensor<2>; 3];

/// One step of one matrix on a CPU: the matrix and its momentum afterwards. Products are in bf16
/// where `on_tiles` and the processor's tiles fit.
pub(super) fn step(
    settings: &Optimizer,
    rate: f32,
    on_tiles: bool,
    operands: Operands,
) -> [Tensor<2>; 2] {
    let (momentum, ahead) = pushed(settings, &operands);
    let direction = on_tiles.then(|| orthogonal_on_tiles(&ahead)).flatten();
    let direction = direction.unwrap_or_else(|| orthogonal(ahead.unsqueeze()).squeeze_dim(0));
    let [matrix, ..] = operands;
    [stepped(settings, rate, matrix, direction), momentum]
}

/// One step of many matrices on a GPU: those of a size go through the products together.
pub(super) fn step_all(
    settings: &Optimizer,
    rate: f32,
    operands: Vec<Operands>,
) -> Vec<[Tensor<2>; 2]> {
    let (momenta, ahead): (Vec<_>, Vec<_>) =
        operands.iter().map(|operands| pushed(settings, operands)).unzip();
    let mut sizes: BTreeMap<[usize; 2], Vec<usize>> = BTreeMap::new();
    for (index, ahead) in ahead.iter().enumerate() {
        sizes.entry(ahead.dims()).or_default().push(index);
    }
    let mut directions = Vec::with_capacity(ahead.len());
    for indices in sizes.into_values() {
        let together = indices.iter().map(|&index| ahead[index].clone()).collect();
        let together = orthogonal(Tensor::stack(together, 0)).iter_dim(0);
        directions.extend(indices.into_iter().zip(together.map(|each| each.squeeze_dim(0))));
    }
    directions.sort_unstable_by_key(|&(index, _)| index);
    let each = operands.into_iter().zip(directions).zip(momenta);
    each.map(|(([matrix, ..], (_, direction)), momentum)| {
        [stepped(settings, rate, matrix, direction), momentum]
    })
    .collect()
}

/// The momentum after a gradient, and one step ahead of it.
fn pushed(settings: &Optimizer, [_, momentum, grad]: &Operands) -> (Tensor<2>, Tensor<2>) {
    let keep = settings.momentum;
    let momentum = momentum.clone() * keep + grad.clone() * (1.0 - keep);
    let momentum = without_negligible(momentum);
    let ahead = momentum.clone() * keep + grad.clone() * (1.0 - keep);
    (momentum, ahead)
}

/// A matrix after a step against a direction.
fn stepped(settings: &Optimizer, rate: f32, matrix: Tensor<2>, direction: Tensor<2>) -> Tensor<2> {
    let [rows, columns] = matrix.dims();
    let rate = rate * settings.muon;
    let scale = rate * ADAMW_STEP * (rows.max(columns) as f32).sqrt();
    matrix * (1.0 - rate * settings.weight_decay) - direction * scale
}

/// `x` with zeros in place of its [`NEGLIGIBLE`] elements on a CPU, which subnormal numbers make
/// slow; on a GPU `x` itself.
pub(super) fn without_negligible<const D: usize>(x: Tensor<D>) -> Tensor<D> {
    if x.device() != Device::flex() {
        return x;
    }
    let is_negligible = x.clone().abs().lower_elem(NEGLIGIBLE);
    x.mask_fill(is_negligible, 0.0)
}

/// Matrices `[n, rows, columns]` with the singular vectors of `x` and singular values of about 1.
fn orthogonal(x: Tensor<3>) -> Tensor<3> {
    let [_, rows, columns] = x.dims();
    let is_tall = rows > columns;
    let x = if is_tall { x.transpose() } else { x };
    let norm = x.clone().powi_scalar(2).sum_dim(2).sum_dim(1).sqrt() + 1e-12;
    let mut x = x / norm;
    let [linear, cubic, quintic] = QUINTIC;
    for _ in 0..ITERATIONS {
        let gram = x.clone().matmul(x.clone().transpose()); // [n, least, least]
        let factor = gram.clone() * cubic + gram.clone().matmul(gram) * quintic;
        x = x.clone() * linear + factor.matmul(x);
    }
    if is_tall { x.transpose() } else { x }
}

/// The same of one matrix, on the processor's tiles; `None` where these do not fit.
fn orthogonal_on_tiles(x: &Tensor<2>) -> Option<Tensor<2>> {
    let [rows, columns] = x.dims();
    let is_tall = rows > columns;
    let [least, most] = if is_tall { [columns, rows] } else { [rows, columns] };
    let device = x.device();
    let list: Vec<f32> = x.clone().into_data().try_into_vec().ok()?;
    let mut x = if is_tall { transposed(&list, columns) } else { list };
    let norm = x.iter().map(|x| x * x).sum::<f32>().sqrt() + 1e-12;
    for x in &mut x {
        *x /= norm;
    }
    let [linear, cubic, quintic] = QUINTIC;
    for _ in 0..ITERATIONS {
        let gram = tiled_product(&x, &transposed(&x, most), [most, least])?;
        let mut factor = tiled_product(&gram, &gram, [least, least])?;
        for (factor, gram) in factor.iter_mut().zip(&gram) {
            *factor = *factor * quintic + gram * cubic;
        }
        let steps = tiled_product(&factor, &x, [least, most])?;
        for (x, step) in x.iter_mut().zip(steps) {
            *x = *x * linear + step;
        }
    }
    let x = if is_tall { transposed(&x, rows) } else { x };
    Some(Tensor::from_data(TensorData::new(x, [rows, columns]), &device))
}

#[cfg(test)]
mod tests {
    use burn::tensor::Distribution;
    use tesla_nn::model::backprop::Backprop;

    use super::*;

    /// Says so where this processor has no tiles, on which half of a test does not run then.
    fn has_tiles() -> bool {
        let has_tiles = Backprop::has_tiles();
        if !has_tiles {
            println!("skipped on tiles: this processor has none");
        }
        has_tiles
    }

    #[test]
    fn a_direction_is_nearly_orthogonal_whatever_the_shape() {
        let device = Device::flex();
        let has_tiles = has_tiles();
        for shape in [[24, 24], [16, 40], [40, 16], [64, 32], [32, 96]] {
            let x = Tensor::<2>::random(shape, Distribution::Normal(0.0, 1e-4), &device);
            let direction = orthogonal(x.clone().unsqueeze()).squeeze_dim::<2>(0);
            let fits = shape.iter().all(|side| side % 32 == 0);
            assert!(!fits || orthogonal_on_tiles(&x).is_some() == has_tiles);
            for direction in orthogonal_on_tiles(&x).into_iter().chain([direction]) {
                assert_eq!(direction.dims(), shape);
                // Inner product with the gradient: a direction of descent, as long as the nuclear
                // norm.
                let along = (direction.clone() * x.clone()).sum().into_scalar::<f32>();
                assert!(along > 0.0);
                let [rows, columns] = shape;
                let square = direction.powi_scalar(2).sum().into_scalar::<f32>();
                let rank = rows.min(columns) as f32;
                assert!((0.5 * rank..1.45 * rank).contains(&square), "{shape:?}: {square}");
            }
        }
    }

    #[test]
    fn steps_are_as_long_as_the_rate_says() {
        let device = Device::flex();
        let settings = Optimizer { muon: 0.5, weight_decay: 0.0, ..Optimizer::default() };
        let grad = Tensor::<2>::random([32, 64], Distribution::Normal(0.0, 1.0), &device);
        let zero = Tensor::<2>::zeros([32, 64], &device);
        for on_tiles in [false, true] {
            let operands = [zero.clone(), zero.clone(), grad.clone()];
            let [moved, _] = step(&settings, 0.01, on_tiles, operands);
            let square = moved.powi_scalar(2).mean().into_scalar::<f32>();
            // 0.2 of the rate, times the root of the share of singular values: 32 of 64.
            let expected = 0.01 * 0.5 * ADAMW_STEP;
            assert!((0.7..1.3).contains(&(square.sqrt() / expected)), "{}", square.sqrt());
        }
    }

    #[test]
    fn together_matrices_move_as_each_by_itself() {
        let device = Device::flex();
        let settings = Optimizer { muon: 1.0, ..Optimizer::default() };
        let random = |shape| Tensor::<2>::random(shape, Distribution::Normal(0.0, 0.1), &device);
        let shapes = [[16, 24], [24, 16], [16, 24], [32, 32]];
        let operands = shapes.map(|shape| [random(shape), random(shape), random(shape)]);
        let together = step_all(&settings, 0.02, operands.to_vec());
        assert_eq!(together.len(), shapes.len());
        for (operands, together) in operands.into_iter().zip(together) {
            let alone = step(&settings, 0.02, false, operands);
            for (alone, together) in alone.into_iter().zip(together) {
                let apart = (alone - together).abs().max().into_scalar::<f32>();
                assert!(apart < 1e-6, "{apart}");
            }
        }
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
