//! Whether what was promised happens: probability integral transform, CRPS, reliability.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use statrs::distribution::Uniform;
use statrs::stats_tests::NaNPolicy;
use statrs::stats_tests::ks_test::{KSOneSampleAlternativeMethod, ks_onesample};
use tesla_engine::best_first::error_model::Family;

use super::interval::Interval;
use super::shape::Shape;
use crate::statistics::wilson::wilson;

/// Bins of the histogram of the transform.
const BINS: usize = 20;
/// Seed of the samples of positions.
const SEED: u64 = 1;
/// Ends of the bins of promised chances.
const CHANCES: [f64; 10] = [0.003, 0.01, 0.03, 0.06, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0];

/// How evenly the shares `F(z)` lie in [0, 1].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pit {
    /// Shares of the cases in each twentieth, of 1 in all.
    pub histogram: Vec<f64>,
    /// Kolmogorov and Smirnov's distance from evenness.
    pub distance: f64,
    /// Chance of at least this distance if they are even and independent.
    pub p_value: f64,
    /// Cases.
    pub cases: usize,
}

/// The transform of errors in error scales.
pub fn pit(shape: Shape, errors: &[f64]) -> Pit {
    let shares: Vec<f64> = errors.iter().map(|&z| shape.cdf(z)).collect();
    let mut histogram = vec![0.0; BINS];
    for share in &shares {
        let bin = (share * BINS as f64) as usize;
        histogram[bin.min(BINS - 1)] += 1.0 / shares.len() as f64;
    }
    let cases = shares.len();
    let method = KSOneSampleAlternativeMethod::TwoSidedAsymptotic;
    let (distance, p_value) = Uniform::new(0.0, 1.0)
        .ok()
        .and_then(|even| ks_onesample(shares, &even, method, NaNPolicy::Emit).ok())
        .unwrap_or((f64::NAN, f64::NAN));
    Pit { histogram, distance, p_value, cases }
}

/// Continuous ranked probability score of an error of `z` error scales, in these: the mean distance
/// from a draw, less half the mean distance of two draws (Gneiting and Raftery 2007).
pub fn crps(family: Family, z: f64) -> f64 {
    let spread = match family {
        Family::StudentT2 => std::f64::consts::PI / 8.0_f64.sqrt(),
        Family::Normal => 1.0 / std::f64::consts::PI.sqrt(),
        Family::Logistic => 1.0,
        Family::Laplace => 0.75,
    };
    f64::from(family.excess(z as f32)) + f64::from(family.excess(-z as f32)) - spread
}

/// One bin of a reliability table.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bin {
    /// Mean chance promised.
    pub promised: f64,
    /// Share in which it happened.
    pub happened: f64,
    /// 95 % interval of that over positions, whose cases depend on each other.
    pub interval: (f64, f64),
    /// Cases.
    pub cases: usize,
}

/// A chance that was promised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Promise {
    /// Number of its position.
    pub position: u32,
    /// The chance.
    pub chance: f64,
    /// Whether it happened.
    pub happened: bool,
}

/// How chances that were promised came out, by chance. Empty bins are left out.
pub fn reliability(cases: &[Promise]) -> Vec<Bin> {
    let mut low = 0.0;
    let mut bins = Vec::new();
    for high in CHANCES {
        let here: Vec<_> = cases
            .iter()
            .filter(|case| {
                (low..high).contains(&case.chance) || (high >= 1.0 && case.chance >= 1.0)
            })
            .collect();
        low = high;
        if here.is_empty() {
            continue;
        }
        let happened = here.iter().filter(|case| case.happened).count();
        bins.push(Bin {
            promised: here.iter().map(|case| case.chance).sum::<f64>() / here.len() as f64,
            happened: happened as f64 / here.len() as f64,
            interval: interval(&here),
            cases: here.len(),
        });
    }
    bins
}

/// The interval of the share that happened, over positions: of samples of them, or Wilson's for as
/// many cases where it happened always or never.
fn interval(cases: &[&Promise]) -> (f64, f64) {
    let mut positions: BTreeMap<u32, (usize, usize)> = BTreeMap::new();
    for case in cases {
        let (all, happened) = positions.entry(case.position).or_default();
        *all += 1;
        *happened += usize::from(case.happened);
    }
    let positions: Vec<(usize, usize)> = positions.into_values().collect();
    let share = |sample: &[usize]| {
        let (all, happened) = sample.iter().fold((0, 0), |(all, happened), &item| {
            (all + positions[item].0, happened + positions[item].1)
        });
        (all > 0).then(|| happened as f64 / all as f64)
    };
    let sampled = Interval::bootstrap(positions.len(), SEED, share);
    match sampled {
        Some(Interval { value, low, high }) if value > 0.0 && value < 1.0 => (low, high),
        _ => {
            let always = cases.iter().all(|case| case.happened);
            let interval = wilson(if always { positions.len() } else { 0 }, positions.len());
            (interval.low, interval.high)
        }
    }
}

/// Mean distance of what happened from what was promised, over all cases (expected calibration
/// error).
pub fn calibration_error(bins: &[Bin]) -> f64 {
    let cases: usize = bins.iter().map(|bin| bin.cases).sum();
    let sum: f64 =
        bins.iter().map(|bin| bin.cases as f64 * (bin.promised - bin.happened).abs()).sum();
    sum / cases.max(1) as f64
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    use super::*;

    #[test]
    fn only_the_right_scale_is_even() {
        let shape = Shape::ENGINE[0];
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let draws: Vec<f64> = (0..2000).map(|_| shape.quantile(rng.random())).collect();
        let right = pit(shape, &draws);
        assert!(right.p_value > 0.01 && right.cases == 2000, "{right:?}");
        assert!((right.histogram.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        let too_wide: Vec<f64> = draws.iter().map(|z| z / 1.5).collect();
        assert!(pit(shape, &too_wide).p_value < 0.01);
    }

    /// Against the definition: the squared distance of the distribution from the case's step.
    #[test]
    fn crps_is_its_integral() {
        for shape in Shape::ENGINE {
            let Shape::Closed(family) = shape else { unreachable!("all are closed") };
            for case in [-2.0, 0.0, 0.7, 4.0] {
                let step = 0.01;
                let sum: f64 = (-40_000..40_000)
                    .map(|at| {
                        let z = (f64::from(at) + 0.5) * step;
                        (shape.cdf(z) - f64::from(u8::from(z >= case))).powi(2) * step
                    })
                    .sum();
                let error = (crps(family, case) - sum).abs();
                assert!(error < 0.01, "{} at {case}: {error}", shape.name());
            }
        }
    }

    #[test]
    fn reliability_counts_what_happened() {
        // So many cases a position, which all come out alike.
        let cases = |each: u32| {
            let promised = [(0.04, false); 96].into_iter().chain([(0.04, true); 4]);
            let promised = promised.chain([(1.0, true); 10]);
            let promises: Vec<Promise> = (0_u32..)
                .zip(promised)
                .map(|(position, (chance, happened))| Promise { position, chance, happened })
                .flat_map(|promise| (0..each).map(move |_| promise))
                .collect();
            reliability(&promises)
        };
        let bins = cases(1);
        assert_eq!(bins.len(), 2);
        assert!((bins[0].happened - 0.04).abs() < 1e-9 && bins[0].cases == 100);
        assert!(bins[0].interval.0 < 0.02 && bins[0].interval.1 > 0.07, "{:?}", bins[0]);
        assert!(bins[1].interval.0 > 0.6 && bins[1].interval.1 > 0.999, "{:?}", bins[1]);
        assert!(calibration_error(&bins) < 1e-9);
        // More of the same says no more.
        for (one, many) in bins.iter().zip(cases(15)) {
            assert_eq!((one.interval, 15 * one.cases), (many.interval, many.cases));
        }
        let promise = Promise { position: 0, chance: 0.5, happened: true };
        assert!(calibration_error(&reliability(&[promise])) > 0.49);
        assert!(reliability(&[]).is_empty() && calibration_error(&[]) < 1e-9);
    }
}
