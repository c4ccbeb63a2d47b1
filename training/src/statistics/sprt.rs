//! Sequential probability ratio test: stop a match as soon as its result is clear enough.
//!
//! The log-likelihood ratio (LLR) is the exact generalized one of fishtest and fastchess: for each
//! hypothesis, the likeliest distribution of game or pair results that fulfils it, against the
//! other's. See Michel Van den Bergh, "Comments on Normalized Elo",
//! <https://www.cantate.be/Fishtest/normalized_elo_practical.pdf>: Proposition 1.1 (a given mean
//! score) and section 4.1 (a given ratio of mean to standard deviation). Results that never came up
//! count [`EMPTY_COUNT`] times, as in fishtest and fastchess.

use std::str::FromStr;

use anyhow::ensure;
use serde::{Deserialize, Serialize};

use super::elo::{NORMALIZED_ELO_SCALE, Pentanomial, Trinomial, score_of_elo};
use crate::console::options::Shown;
use crate::console::pairs::from_pairs;

/// What stands for the count of a result that never came up.
pub const EMPTY_COUNT: f64 = 1e-3;
/// Greatest distance of a hypothesis from 0, in Elo of either model. Far beyond any sensible test;
/// below it the likeliest distribution always exists.
pub const GREATEST_ELO: f64 = 500.0;
/// Points at which the spread of the likeliest distribution is tried before it is refined.
const GRID: u32 = 48;

/// The unit in which the hypotheses are stated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SprtModel {
    /// Logistic Elo: a mean score.
    Logistic,
    /// Normalized Elo: a mean score in units of its standard deviation.
    #[default]
    Normalized,
}

/// What a test says so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Decision {
    /// Nothing yet: play on.
    Continue,
    /// The difference is `elo0` rather than `elo1`.
    AcceptH0,
    /// The difference is `elo1` rather than `elo0`.
    AcceptH1,
}

/// A test of H0, "the difference is `elo0`", against H1, "the difference is `elo1`".
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sprt {
    /// Elo of H0.
    pub elo0: f64,
    /// Elo of H1.
    pub elo1: f64,
    /// Chance to accept H1 at `elo0`.
    #[serde(default = "five_percent")]
    pub alpha: f64,
    /// Chance to accept H0 at `elo1`.
    #[serde(default = "five_percent")]
    pub beta: f64,
    /// Unit of the hypotheses.
    #[serde(default)]
    pub model: SprtModel,
}

fn five_percent() -> f64 {
    0.05
}

/// Reads `elo0=0,elo1=5,alpha=0.05,beta=0.05,model=normalized`; the last three may be left out.
impl FromStr for Sprt {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        from_pairs(text, "elo0=0,elo1=5,alpha=0.05,beta=0.05,model=normalized")
    }
}

impl Shown for Sprt {
    fn shown(&self) -> Option<String> {
        let Self { elo0, elo1, alpha, beta, .. } = self;
        Some(format!("elo0={elo0},elo1={elo1},alpha={alpha},beta={beta}"))
    }
}

impl Sprt {
    /// Refuses hypotheses out of order or out of range, and chances that leave nothing to decide.
    ///
    /// # Errors
    /// A sentence.
    pub fn check(&self) -> anyhow::Result<()> {
        let Self { elo0, elo1, alpha, beta, .. } = *self;
        for (name, elo) in [("elo0", elo0), ("elo1", elo1)] {
            ensure!(
                elo.abs() <= GREATEST_ELO,
                "{name} is {elo}; give it between -{GREATEST_ELO} and {GREATEST_ELO} Elo"
            );
        }
        ensure!(
            elo0 < elo1,
            "elo0 ({elo0}) must be less than elo1 ({elo1}): swap them or move them apart"
        );
        for (name, chance) in [("alpha", alpha), ("beta", beta)] {
            ensure!(
                chance > 0.0 && chance < 1.0,
                "{name} is {chance}; it is a chance of error: give it above 0 and below 1, as 0.05"
            );
        }
        ensure!(
            alpha + beta < 1.0,
            "alpha ({alpha}) and beta ({beta}) must sum to less than 1: lower one of them"
        );
        Ok(())
    }

    /// Wald's bounds of the LLR: H0 is accepted at the first, H1 at the second.
    pub fn bounds(&self) -> (f64, f64) {
        ((self.beta / (1.0 - self.alpha)).ln(), ((1.0 - self.beta) / self.alpha).ln())
    }

    /// LLR of single games; 0 without any.
    pub fn llr_of_games(&self, games: Trinomial) -> f64 {
        self.llr(games.counts())
    }

    /// LLR of game pairs; 0 without any.
    pub fn llr_of_pairs(&self, pairs: Pentanomial) -> f64 {
        self.llr(pairs.pairs)
    }

    /// What to do at this LLR.
    pub fn decide(&self, llr: f64) -> Decision {
        let (lower, upper) = self.bounds();
        if llr >= upper {
            Decision::AcceptH1
        } else if llr <= lower {
            Decision::AcceptH0
        } else {
            Decision::Continue
        }
    }

    fn llr<const N: usize>(&self, counts: [u64; N]) -> f64 {
        if counts.iter().all(|&n| n == 0) {
            return 0.0;
        }
        let counts = counts.map(|n| if n == 0 { EMPTY_COUNT } else { n as f64 });
        let total: f64 = counts.iter().sum();
        let shares = counts.map(|n| n / total);
        let tilt0 = self.tilt(&shares, self.elo0);
        let tilt1 = self.tilt(&shares, self.elo1);
        (0..N).map(|i| counts[i] * (tilt0[i] / tilt1[i]).ln()).sum()
    }

    /// By how much each share is divided in the likeliest distribution at this Elo.
    fn tilt<const N: usize>(&self, shares: &[f64; N], elo: f64) -> [f64; N] {
        match self.model {
            SprtModel::Logistic => tilt_to_mean(shares, score_of_elo(elo)),
            SprtModel::Normalized => {
                // σ is stated per game; a unit of N results holds (N − 1) / 2 games.
                let per_unit = ((N - 1) as f64 / 2.0).sqrt();
                tilt_to_ratio(shares, elo / NORMALIZED_ELO_SCALE * per_unit)
            }
        }
    }
}

/// Score of a unit per game, less ½.
fn lead<const N: usize>(i: usize) -> f64 {
    i as f64 / (N - 1) as f64 - 0.5
}

/// The likeliest distribution with a given mean score (Proposition 1.1).
fn tilt_to_mean<const N: usize>(shares: &[f64; N], mean: f64) -> [f64; N] {
    secular(shares, &std::array::from_fn(|i| lead::<N>(i) + 0.5 - mean))
}

/// The likeliest distribution with `(mean − ½) / σ = ratio`.
///
/// Section 4.1 iterates on mean and σ at once. Here the one unknown is the root mean square `w` of
/// the lead over ½: the condition is `mean lead = c w` with `c = ratio / √(1 + ratio²)`, and at the
/// likeliest distribution it is linear in the shares once `w` is known. The right `w` is then a
/// root in one dimension, which bisection cannot miss. There may be two likely ones (say, when all
/// games were drawn), so a grid looks for all and the likeliest wins.
fn tilt_to_ratio<const N: usize>(shares: &[f64; N], ratio: f64) -> [f64; N] {
    if ratio.abs() < 1e-9 {
        return tilt_to_mean(shares, 0.5);
    }
    let mut shares = *shares;
    if ratio < 0.0 {
        shares.reverse();
    }
    let slope = ratio.abs() / (1.0 + ratio * ratio).sqrt();
    // No distribution on these scores that fulfils the condition has a smaller spread.
    let least = slope / (N - 1) as f64;
    let step = |k: u32| least * (0.5 / least).powf(f64::from(k) / f64::from(GRID));
    let mut best: Option<(f64, [f64; N])> = None;
    let mut excess_before = true;
    for k in 1..=GRID {
        let excess_after = k < GRID && spread_excess(&shares, slope, step(k)).0 > 0.0;
        if excess_before && !excess_after {
            let tilt = refine(&shares, slope, step(k - 1), step(k));
            let likelihood: f64 = (0..N).map(|i| -shares[i] * tilt[i].ln()).sum();
            if best.is_none_or(|(greatest, _)| likelihood > greatest) {
                best = Some((likelihood, tilt));
            }
        }
        excess_before = excess_after;
    }
    let mut tilt = best.map_or([1.0; N], |(_, tilt)| tilt);
    if ratio < 0.0 {
        tilt.reverse();
    }
    tilt
}

/// Bisects the spread between `low`, where the distribution is wider, and `high`.
fn refine<const N: usize>(shares: &[f64; N], slope: f64, low: f64, high: f64) -> [f64; N] {
    let (mut low, mut high) = (low, high);
    loop {
        let middle = 0.5 * (low + high);
        let (excess, tilt) = spread_excess(shares, slope, middle);
        if high - low < 1e-13 || middle <= low || middle >= high {
            return tilt;
        }
        if excess > 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// The distribution that is likeliest if its root mean square lead is `w`, and by how much its mean
/// square lead exceeds `w²`.
fn spread_excess<const N: usize>(shares: &[f64; N], slope: f64, w: f64) -> (f64, [f64; N]) {
    let condition = |i| lead::<N>(i) - 0.5 * slope * (w + lead::<N>(i).powi(2) / w);
    let tilt = secular(shares, &std::array::from_fn(condition));
    let square: f64 = (0..N).map(|i| shares[i] / tilt[i] * lead::<N>(i).powi(2)).sum();
    (square - w * w, tilt)
}

/// Solves `Σ share a / (1 + x a) = 0` for x and returns the `1 + x a`. The sum falls from +∞ to −∞
/// between its poles, so bisection finds the one root. Without values of both signs there is none,
/// and the shares stay as they are.
fn secular<const N: usize>(shares: &[f64; N], values: &[f64; N]) -> [f64; N] {
    let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    if greatest <= 0.0 || least >= 0.0 {
        return [1.0; N];
    }
    let (mut low, mut high) = (-1.0 / greatest, -1.0 / least);
    let tilt = |x: f64| values.map(|a| (1.0 + x * a).max(f64::MIN_POSITIVE));
    loop {
        let x = 0.5 * (low + high);
        let tilt = tilt(x);
        if x <= low || x >= high {
            return tilt;
        }
        let sum: f64 = (0..N).map(|i| shares[i] * values[i] / tilt[i]).sum();
        if sum > 0.0 {
            low = x;
        } else {
            high = x;
        }
    }
}

#[cfg(test)]
mod tests;
