//! How far values moved, by the depth they lacked: what was seen beside what a law expects of the
//! same moves.

use statrs::statistics::{Data, OrderStatistics as _};
use tesla_engine::best_first::error_model::{Family, Model};
use tesla_engine::best_first::params::Params;

use super::chart::Point;
use crate::tune::fit::Report;
use crate::tune::interval::Interval;
use crate::tune::law::{Case, Law, cases};
use crate::tune::pairs::Pair;
use crate::tune::shape::Shape;

/// Bins of as many moves each.
const BINS: usize = 10;
/// Fewest moves of a bin.
const FEWEST: usize = 20;
/// Seed of the intervals.
const SEED: u64 = 1;
/// Halvings until a median is exact enough.
const HALVINGS: usize = 40;

/// Medians of the errors of moves, points, by missing depth, plies.
#[derive(Debug, Default)]
pub(super) struct Errors {
    /// With 95 % intervals over positions.
    pub(super) seen: Vec<Point>,
    /// By the fitted law.
    pub(super) fitted: Vec<Point>,
    /// By the tunables as they ship.
    pub(super) shipped: Vec<Point>,
}

/// The shipped tunables with what was fitted.
pub(super) fn fitted_params(fit: &Report) -> Params {
    let mut params = Params::default();
    // A number that the engine would not take leaves the shipped one; the fit has refused those.
    for (name, value) in &fit.given {
        let _ = params.set(name, *value);
    }
    let _ = params.set("branching", fit.branching.value as f32);
    let _ = fit.law.law.set(&mut params);
    params
}

/// Median distance from what the law expects, score units, of cases that follow it.
fn expected(cases: &[Case], law: &Law, shape: Shape) -> f64 {
    let scales: Vec<f64> = cases.iter().map(|case| law.scale(case)).collect();
    let within = |distance: f64| {
        let share = |scale: &f64| 2.0 * shape.cdf(distance / scale) - 1.0;
        scales.iter().map(share).sum::<f64>() / scales.len() as f64
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        if within(middle) < 0.5 { low = middle } else { high = middle }
    }
    high
}

/// Median distance of what was seen from what the law expects, with its interval over positions.
fn observed(cases: &[Case], law: &Law) -> Option<Interval> {
    let mut errors: Vec<(u32, f64)> =
        cases.iter().map(|case| (case.position, (law.z(case) * law.scale(case)).abs())).collect();
    errors.sort_by_key(|(position, _)| *position);
    let positions: Vec<Vec<f64>> = errors
        .chunk_by(|a, b| a.0 == b.0)
        .map(|chunk| chunk.iter().map(|(_, error)| *error).collect())
        .collect();
    Interval::bootstrap(positions.len(), SEED, |sample| {
        let all: Vec<f64> = sample.iter().flat_map(|&at| positions[at].clone()).collect();
        (!all.is_empty()).then(|| Data::new(all).median())
    })
}

impl Errors {
    /// For the moves that were searched, or for the others.
    pub(super) fn of(pairs: &[Pair], fit: &Report, is_seen: bool) -> Self {
        let params = fitted_params(fit);
        let shipped = Params::default();
        let model = Model::new(&params);
        let mut chosen: Vec<(f64, Pair)> = pairs
            .iter()
            .filter(|pair| pair.is_seen() == is_seen)
            .map(|pair| (pair.missing(&model, &params), *pair))
            .collect();
        chosen.sort_by(|a, b| a.0.total_cmp(&b.0));
        let shape = |params: &Params| Shape::Closed(Family::from_number(params.error_family));
        let size = chosen.len().div_ceil(BINS).max(FEWEST);
        let mut errors = Self::default();
        for bin in chosen.chunks(size).filter(|bin| bin.len() >= FEWEST) {
            let missing = bin.iter().map(|(missing, _)| missing).sum::<f64>() / bin.len() as f64;
            let moves: Vec<Pair> = bin.iter().map(|(_, pair)| *pair).collect();
            let of_fitted = cases(&moves, &params);
            let at = |points: f64| Point::new(missing, 100.0 * points);
            if let Some(Interval { value, low, high }) = observed(&of_fitted, &fit.law.law) {
                let interval = (100.0 * low, 100.0 * high);
                errors.seen.push(Point { interval: Some(interval), ..at(value) });
            }
            let law = &fit.law.law;
            errors.fitted.push(at(expected(&of_fitted, law, shape(&params))));
            let of_shipped = cases(&moves, &shipped);
            let law = Law::of(&shipped);
            errors.shipped.push(at(expected(&of_shipped, &law, shape(&shipped))));
        }
        errors
    }
}
