//! Hidden units of a network that give next to nothing.

use tesla_nn::model::backprop::{Backprop, Workspace};
use tesla_nn::model::{Model, Precision};

use super::fold;
use crate::train::dataset::Dataset;

/// Idle units together give at most this share of what the units of their layer give.
const IDLE: f64 = 1e-4;

/// Which hidden units of the feed-forward parts are worth keeping, `[layers][feed_forward]`, by
/// what they give for the windows of every `every`-th game.
///
/// Almost all of the others fire for no token. The rest are those that give least, as long as they
/// together give at most a ten-thousandth of the sum of squares of their layer.
pub fn busy_units(
    model: &Model,
    dataset: &Dataset,
    every: usize,
    threads: usize,
) -> Vec<Vec<bool>> {
    let strengths = model.unit_strengths();
    let energies = energies(model, &strengths, dataset, every, threads);
    let layers = energies.into_iter().zip(&strengths);
    let given = layers.map(|(energies, strengths)| {
        let given = energies.iter().zip(strengths).map(|(e, &s)| e * f64::from(s));
        given.collect::<Vec<_>>()
    });
    given.map(|given| busy(&given)).collect()
}

/// All but those that give least and together at most the share [`IDLE`].
fn busy(given: &[f64]) -> Vec<bool> {
    let most = IDLE * given.iter().sum::<f64>();
    let mut order: Vec<usize> = (0..given.len()).collect();
    order.sort_by(|&a, &b| given[a].total_cmp(&given[b]));
    let sums = order.iter().scan(0.0, |sum, &unit| {
        *sum += given[unit];
        Some(*sum)
    });
    let idle = sums.take_while(|sum| *sum <= most).count();
    let mut busy = vec![true; given.len()];
    order[..idle].iter().for_each(|&unit| busy[unit] = false);
    busy
}

/// Sum over all tokens of the square of what each unit gives, `[layers][feed_forward]`.
fn energies(
    model: &Model,
    shape: &[Vec<f32>],
    dataset: &Dataset,
    every: usize,
    threads: usize,
) -> Vec<Vec<f64>> {
    let backprop = Backprop::new(model, Precision::F32);
    let zeros = || shape.iter().map(|layer| vec![0.0; layer.len()]).collect::<Vec<_>>();
    let start = || (zeros(), Workspace::default());
    let parts = fold(dataset, every, threads, start, |(energies, memory), windows| {
        backprop.forward(&dataset.batch(windows).0, memory);
        for (sums, units) in energies.iter_mut().zip(memory.hidden_units()) {
            add_squares(sums, units);
        }
    });
    let mut total = zeros();
    for (energies, _) in parts {
        for (sum, more) in total.iter_mut().flatten().zip(energies.iter().flatten()) {
            *sum += more;
        }
    }
    total
}

/// Adds the squares of what the units give, whose values before squared `ReLU`'s square are
/// `units`, token by token.
fn add_squares(sums: &mut [f64], units: &[f32]) {
    for token in units.chunks_exact(sums.len()) {
        for (sum, unit) in sums.iter_mut().zip(token) {
            *sum += f64::from(*unit).powi(4);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_gives_least_is_idle_as_long_as_it_is_little_together() {
        assert_eq!(busy(&[0.0, 1.0, 0.0]), [false, true, false]);
        // Two of 6e-5 are more than 1e-4 of the sum, one is not.
        assert_eq!(busy(&[6e-5, 1.0, 6e-5]), [false, true, true]);
        assert_eq!(busy(&[1.0, 2e-4, 3e-5]), [true, true, false]);
        // A layer that gives nothing has no busy unit.
        assert_eq!(busy(&[0.0, 0.0]), [false, false]);
    }
}
