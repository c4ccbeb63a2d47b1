//! Elo difference and its error bar from the score of a match.
//!
//! A match is counted in games ([`Trinomial`]) or, better, in pairs of games that share an opening
//! with colours swapped ([`Pentanomial`]): the two games of a pair depend on each other, so only
//! the variance over pairs is unbiased. Both give a [`Sample`], which holds mean and variance of
//! the score per unit and turns them into Elo, normalized Elo and likelihood of superiority.
//!
//! The formulas are those of fastchess (`elo_pentanomial.cpp`, `elo_wdl.cpp`); normalized Elo is
//! Michel Van den Bergh's, "Comments on Normalized Elo",
//! <https://www.cantate.be/Fishtest/normalized_elo_practical.pdf>. Where fastchess divides by a
//! variance of zero, this module gives exact ends instead.

use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};
use statrs::function::erf::erfc;

use super::estimate::Estimate;

/// Half the width of a 95 % interval in standard errors.
const Z95: f64 = 1.959_963_984_540_054;
/// Chance left outside each end of a 95 % interval.
const TAIL: f64 = 0.025;
/// Normalized Elo per unit of `(score − ½) / σ`: `800 / ln 10`.
pub const NORMALIZED_ELO_SCALE: f64 = 800.0 / std::f64::consts::LN_10;

/// Logistic Elo difference at which a mean score in `[0, 1]` is expected; infinite at the ends.
pub fn elo_of_score(score: f64) -> f64 {
    if score <= 0.0 {
        f64::NEG_INFINITY
    } else if score >= 1.0 {
        f64::INFINITY
    } else {
        400.0 * (score / (1.0 - score)).log10()
    }
}

/// Expected score in `[0, 1]` of a player who is `elo` logistic Elo stronger.
pub fn score_of_elo(elo: f64) -> f64 {
    1.0 / (1.0 + 10f64.powf(-elo / 400.0))
}

/// Games counted by result, from one side's view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trinomial {
    /// Games won.
    pub wins: u64,
    /// Games drawn.
    pub draws: u64,
    /// Games lost.
    pub losses: u64,
}

impl Trinomial {
    /// One game that gave 0, 1 or 2 half points; `None` for any other number.
    pub fn of_game(half_points: u8) -> Option<Self> {
        let mut counts = [0; 3];
        *counts.get_mut(usize::from(half_points))? = 1;
        Some(Self::from_counts(counts))
    }

    /// Number of games.
    pub fn games(self) -> u64 {
        self.counts().into_iter().fold(0, u64::saturating_add)
    }

    /// Points scored, a draw being half a point.
    pub fn points(self) -> f64 {
        self.wins as f64 + 0.5 * self.draws as f64
    }

    /// The same games from the other side's view.
    #[must_use]
    pub fn flipped(self) -> Self {
        Self { wins: self.losses, draws: self.draws, losses: self.wins }
    }

    /// Share of drawn games in `[0, 1]`; `None` without games.
    pub fn draw_ratio(self) -> Option<f64> {
        (self.games() > 0).then(|| self.draws as f64 / self.games() as f64)
    }

    /// Mean and variance of the score per game.
    pub fn sample(self) -> Sample {
        Sample::new(self.counts(), 1)
    }

    /// Losses, draws, wins: indexed by half points.
    pub(super) fn counts(self) -> [u64; 3] {
        [self.losses, self.draws, self.wins]
    }

    fn from_counts([losses, draws, wins]: [u64; 3]) -> Self {
        Self { wins, draws, losses }
    }
}

impl Add for Trinomial {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::from_counts(added(self.counts(), other.counts()))
    }
}

impl AddAssign for Trinomial {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Game pairs counted by their points, from one side's view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pentanomial {
    /// Pairs that gave 0, ½, 1, 1½ and 2 points, as fishtest's `Ptnml(0-2)`.
    pub pairs: [u64; 5],
}

impl Pentanomial {
    /// One pair that gave 0 to 4 half points; `None` for any other number.
    pub fn of_pair(half_points: u8) -> Option<Self> {
        let mut pairs = [0; 5];
        *pairs.get_mut(usize::from(half_points))? = 1;
        Some(Self { pairs })
    }

    /// Number of pairs.
    pub fn total(self) -> u64 {
        self.pairs.into_iter().fold(0, u64::saturating_add)
    }

    /// Number of games, two a pair.
    pub fn games(self) -> u64 {
        self.total().saturating_mul(2)
    }

    /// Points scored.
    pub fn points(self) -> f64 {
        (0u32..).zip(self.pairs).map(|(half, n)| 0.5 * f64::from(half) * n as f64).sum()
    }

    /// The same pairs from the other side's view.
    #[must_use]
    pub fn flipped(mut self) -> Self {
        self.pairs.reverse();
        self
    }

    /// Share of pairs that ended 1–1, in `[0, 1]` (fastchess's `DrawRatio`); `None` without pairs.
    pub fn draw_ratio(self) -> Option<f64> {
        (self.total() > 0).then(|| self.pairs[2] as f64 / self.total() as f64)
    }

    /// Pairs won over pairs lost (fastchess's `PairsRatio`): infinite when none was lost, `None`
    /// when none was won or lost.
    pub fn pair_ratio(self) -> Option<f64> {
        let [lost_both, lost, _, won, won_both] = self.pairs.map(|n| n as f64);
        let (won, lost) = (won + won_both, lost + lost_both);
        (won + lost > 0.0).then(|| won / lost)
    }

    /// Mean and variance of the score per pair.
    pub fn sample(self) -> Sample {
        Sample::new(self.pairs, 2)
    }
}

impl Add for Pentanomial {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { pairs: added(self.pairs, other.pairs) }
    }
}

impl AddAssign for Pentanomial {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// What is known of strength from `games`, of which `pairs` are those with a partner: by pairs,
/// which know that two games share an opening, where they hold most of the games; else by games.
pub fn sample(pairs: Pentanomial, games: Trinomial) -> Sample {
    let most = pairs.games() > games.games() / 2;
    if most { pairs.sample() } else { games.sample() }
}

/// Counts of two tallies; they stop at the largest number, as no input may panic.
fn added<const N: usize>(a: [u64; N], b: [u64; N]) -> [u64; N] {
    std::array::from_fn(|i| a[i].saturating_add(b[i]))
}

/// Mean and variance of a score per unit, a unit being a game or a game pair.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    units: f64,
    games_per_unit: u32,
    mean: f64,
    /// Of the score of one unit (of a pair's mean score per game, for pairs), as fastchess counts
    /// it: divided by the number of units, not by one less.
    variance: f64,
}

impl Sample {
    fn new<const N: usize>(counts: [u64; N], games_per_unit: u32) -> Self {
        let units: f64 = counts.iter().map(|&n| n as f64).sum();
        let score = |i: usize| i as f64 / (N - 1) as f64;
        let share = |i: usize| if units > 0.0 { counts[i] as f64 / units } else { 0.0 };
        let mean = (0..N).map(|i| share(i) * score(i)).sum::<f64>();
        let variance = (0..N).map(|i| share(i) * (score(i) - mean).powi(2)).sum();
        Self { units, games_per_unit, mean, variance }
    }

    /// Mean score in `[0, 1]`; `None` without games.
    pub fn score(&self) -> Option<f64> {
        (self.units > 0.0).then_some(self.mean)
    }

    /// Standard error of the mean score.
    pub fn standard_error(&self) -> f64 {
        if self.units > 0.0 { (self.variance / self.units).sqrt() } else { f64::INFINITY }
    }

    /// Logistic Elo difference with its 95 % interval: the ends of the score's interval, seen
    /// through [`elo_of_score`] as in fastchess, whose `+/-` is [`Estimate::margin`].
    ///
    /// An end whose score reaches 0 or 1 is infinite. Where all units gave the same score, the
    /// interval is exact (Clopper–Pearson): that score has at least the chance `0.025^(1/n)`, and
    /// the rest may be all lost or all won.
    pub fn elo(&self) -> Estimate {
        if self.units <= 0.0 {
            return Estimate::UNKNOWN;
        }
        let (low, high) = if self.variance > 0.0 {
            let margin = Z95 * self.standard_error();
            (self.mean - margin, self.mean + margin)
        } else {
            let sure = 1.0 - self.doubt();
            (self.mean * sure, 1.0 - (1.0 - self.mean) * sure)
        };
        Estimate {
            value: Some(elo_of_score(self.mean)),
            low: elo_of_score(low),
            high: elo_of_score(high),
        }
    }

    /// Normalized Elo, `(score − ½) / σ · 800 / ln 10` with σ per game (for pairs `√2` times that
    /// of a pair's mean score), with its 95 % interval at fixed σ, as fastchess prints it.
    ///
    /// Where all units gave the same score, the ends are the least and the greatest value of any
    /// distribution that gives this score the chance `0.025^(1/n)` or more.
    pub fn normalized_elo(&self) -> Estimate {
        if self.units <= 0.0 {
            return Estimate::UNKNOWN;
        }
        let scale = NORMALIZED_ELO_SCALE / f64::from(self.games_per_unit).sqrt();
        let lead = self.mean - 0.5;
        if self.variance > 0.0 {
            let value = scale * lead / self.variance.sqrt();
            let margin = scale * Z95 / self.units.sqrt();
            return Estimate { value: Some(value), low: value - margin, high: value + margin };
        }
        let (doubt, sure) = (self.doubt(), 1.0 - self.doubt());
        // The worst rest is all lost: a two-point distribution on 0 and the score seen.
        let worst = |score: f64| scale * (score * sure - 0.5) / (score * (sure * doubt).sqrt());
        let (value, low, high) = if lead > 0.0 {
            (f64::INFINITY, worst(self.mean), f64::INFINITY)
        } else if lead < 0.0 {
            (f64::NEG_INFINITY, f64::NEG_INFINITY, -worst(1.0 - self.mean))
        } else {
            (0.0, worst(0.5), -worst(0.5))
        };
        Estimate { value: Some(value), low, high }
    }

    /// Likelihood of superiority in `[0, 1]`: `Φ((score − ½) / standard error)`.
    ///
    /// Where all n units gave the same score s > ½, it is `1 − ½ (½ / s)^n`, from the greatest
    /// chance that equal players produce such a row; ½ without games.
    pub fn los(&self) -> f64 {
        let lead = self.mean - 0.5;
        if self.units <= 0.0 {
            0.5
        } else if self.variance > 0.0 {
            0.5 * erfc(-lead / self.standard_error() / std::f64::consts::SQRT_2)
        } else {
            let doubt = 0.5 * (0.5 / (0.5 + lead.abs())).powf(self.units);
            if lead < 0.0 { doubt } else { 1.0 - doubt }
        }
    }

    /// The chance of any other score that n equal scores leave open: 1 less Clopper and Pearson's
    /// lower end for n of n, which is the 2.5 % quantile of Beta(n, 1), `0.025^(1/n)`.
    fn doubt(&self) -> f64 {
        -(TAIL.ln() / self.units).exp_m1()
    }
}

#[cfg(test)]
mod tests;
