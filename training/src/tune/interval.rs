//! A number with its error.

use std::fmt;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

/// Samples of a bootstrap.
const SAMPLES: usize = 200;

/// A number with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The number.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// What `of` says of all items, and the middle 95 % of what it says of samples of them with
    /// replacement; `None` where it says nothing of all. Items are named by number.
    pub fn bootstrap(
        items: usize,
        seed: u64,
        of: impl Fn(&[usize]) -> Option<f64>,
    ) -> Option<Self> {
        let all: Vec<usize> = (0..items).collect();
        let value = of(&all)?;
        let mut said: Vec<f64> = resamples(items, SAMPLES, seed).filter_map(|s| of(&s)).collect();
        Some(Self::of(value, &mut said))
    }

    /// The number with the middle 95 % of what samples said.
    pub fn of(value: f64, said: &mut [f64]) -> Self {
        said.sort_by(f64::total_cmp);
        let at = |share: f64| {
            let place = (share * said.len().saturating_sub(1) as f64).round() as usize;
            said.get(place).copied().unwrap_or(value)
        };
        Self { value, low: at(0.025), high: at(0.975) }
    }

    /// Whether it holds this number.
    pub fn contains(&self, number: f64) -> bool {
        (self.low..=self.high).contains(&number)
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { value, low, high } = self;
        write!(f, "{value:.4} [{low:.4}, {high:.4}]")
    }
}

/// Samples with replacement of so many items, by number.
pub fn resamples(items: usize, samples: usize, seed: u64) -> impl Iterator<Item = Vec<usize>> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..samples).map(move |_| (0..items).map(|_| rng.random_range(0..items)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_has_the_interval_that_theory_gives_it() {
        let items: Vec<f64> = (0..400).map(|step| f64::from(step % 20)).collect();
        let mean = |sample: &[usize]| {
            Some(sample.iter().map(|&item| items[item]).sum::<f64>() / sample.len() as f64)
        };
        let found = Interval::bootstrap(items.len(), 1, mean).unwrap();
        let theory = 1.96 * 5.766 / 20.0;
        assert!((found.value - 9.5).abs() < 1e-9);
        assert!(((found.high - found.low) / (2.0 * theory) - 1.0).abs() < 0.25, "{found:?}");
        assert!(found.contains(9.5) && !found.contains(20.0));
        assert_eq!(Interval::bootstrap(0, 1, |_| None), None);
    }
}
