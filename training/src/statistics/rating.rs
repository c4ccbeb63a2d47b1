//! Ratings of any number of players from the results between them.
//!
//! The model is Bradley and Terry's: the expected score of one player against another is the
//! logistic function of their difference in Elo ([`super::elo::score_of_elo`]), and a draw counts
//! half a win. The ratings maximize the likelihood of all results at once, with a weak prior: each
//! player has also drawn [`PRIOR_GAMES`] of a game against a player of mean strength. The prior
//! moves a rating from 100 games by a fraction of a percent, and keeps a clean sweep finite. How
//! sure the ratings are, [`super::bootstrap`] tells.

use std::collections::BTreeMap;

use anyhow::{Result, bail, ensure};

use super::elo::{Pentanomial, Trinomial};

/// Drawn games against a player of mean strength that stand in for what was known before.
pub const PRIOR_GAMES: f64 = 0.5;
/// Elo per unit of natural log-odds.
pub(super) const ELO_PER_LOGIT: f64 = 400.0 / std::f64::consts::LN_10;
/// Newton steps after which the fit is taken as it is; it needs about six, more after long chains
/// of clean sweeps, as a step is at most one logit.
const MOST_STEPS: usize = 1000;

/// Results between two players, from the first one's view: whole game pairs, and single games
/// whose partner was not played. A pairing may be spread over several of these, in any order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairResult {
    /// Number of the first player, from 0.
    pub first: usize,
    /// Number of the second player.
    pub second: usize,
    /// Game pairs.
    pub pairs: Pentanomial,
    /// Games without a partner.
    pub games: Trinomial,
}

impl PairResult {
    /// Results in game pairs alone.
    pub fn of_pairs(first: usize, second: usize, pairs: Pentanomial) -> Self {
        Self { first, second, pairs, games: Trinomial::default() }
    }

    /// Results in single games alone.
    pub fn of_games(first: usize, second: usize, games: Trinomial) -> Self {
        Self { first, second, pairs: Pentanomial::default(), games }
    }

    fn flipped(self) -> Self {
        Self {
            first: self.second,
            second: self.first,
            pairs: self.pairs.flipped(),
            games: self.games.flipped(),
        }
    }

    pub(super) fn score(&self) -> PairScore {
        PairScore {
            first: self.first,
            second: self.second,
            games: self.pairs.games() as f64 + self.games.games() as f64,
            points: self.pairs.points() + self.games.points(),
        }
    }
}

/// Elo of players 0 to `players − 1`, rated together; their mean is 0.
///
/// # Errors
/// When a result makes no sense, or no chain of games links all players.
pub fn fit(players: usize, results: &[PairResult]) -> Result<Vec<f64>> {
    let scores: Vec<PairScore> = checked(players, results)?.iter().map(PairResult::score).collect();
    let mut logits = vec![0.0; players];
    maximize(&mut logits, &scores);
    Ok(in_elo(&logits))
}

/// Games and points of one pairing, the points the first player's.
#[derive(Clone, Copy, Debug)]
pub(super) struct PairScore {
    pub(super) first: usize,
    pub(super) second: usize,
    pub(super) games: f64,
    pub(super) points: f64,
}

/// The results summed by pairing, the smaller number first, once they are known to make sense.
///
/// # Errors
/// When a result makes no sense, or no chain of games links all players.
pub(super) fn checked(players: usize, results: &[PairResult]) -> Result<Vec<PairResult>> {
    let mut pairings: BTreeMap<(usize, usize), PairResult> = BTreeMap::new();
    for &result in results {
        for player in [result.first, result.second] {
            ensure!(
                player < players,
                "player {player} is named but there are {players} players, counted from 0"
            );
        }
        ensure!(
            result.first != result.second,
            "player {} is said to have played itself; name two different players",
            result.first
        );
        if result.score().games <= 0.0 {
            continue;
        }
        let result = if result.first < result.second { result } else { result.flipped() };
        pairings
            .entry((result.first, result.second))
            .and_modify(|sum| {
                sum.pairs += result.pairs;
                sum.games += result.games;
            })
            .or_insert(result);
    }
    let links: Vec<(usize, usize)> = pairings.keys().copied().collect();
    if let Some(player) = cut_off(players, &links) {
        bail!(
            "no chain of games links player {player} to player 0, so they cannot be compared: let \
             them meet a common opponent, or rate the groups apart"
        );
    }
    Ok(pairings.into_values().collect())
}

/// The first player whom no chain of links joins to player 0.
fn cut_off(players: usize, links: &[(usize, usize)]) -> Option<usize> {
    let mut joined: Vec<bool> = (0..players).map(|player| player == 0).collect();
    loop {
        let mut grown = false;
        for &(a, b) in links {
            if joined[a] != joined[b] {
                (joined[a], joined[b]) = (true, true);
                grown = true;
            }
        }
        if !grown {
            return joined.iter().position(|&joined| !joined);
        }
    }
}

/// Ratings in Elo, their mean 0.
pub(super) fn in_elo(logits: &[f64]) -> Vec<f64> {
    let mean = logits.iter().sum::<f64>() / logits.len() as f64;
    logits.iter().map(|logit| (logit - mean) * ELO_PER_LOGIT).collect()
}

/// Moves the ratings (natural log-odds) to the maximum of likelihood and prior, by Newton's method.
/// The function is concave, and a step of at most one logit cannot leave the maximum behind.
pub(super) fn maximize(logits: &mut [f64], scores: &[PairScore]) {
    let players = logits.len();
    let mut curvature = vec![0.0; players * players];
    let mut step = vec![0.0; players];
    for _ in 0..MOST_STEPS {
        curvature.fill(0.0);
        for (player, &logit) in logits.iter().enumerate() {
            let expected = logistic(logit);
            step[player] = PRIOR_GAMES * (0.5 - expected);
            curvature[player * players + player] = PRIOR_GAMES * expected * (1.0 - expected);
        }
        for score in scores {
            let (a, b) = (score.first, score.second);
            let expected = logistic(logits[a] - logits[b]);
            let surplus = score.points - score.games * expected;
            let weight = score.games * expected * (1.0 - expected);
            step[a] += surplus;
            step[b] -= surplus;
            curvature[a * players + a] += weight;
            curvature[b * players + b] += weight;
            curvature[a * players + b] -= weight;
            curvature[b * players + a] -= weight;
        }
        solve(&mut curvature, &mut step);
        let longest = step.iter().fold(0.0_f64, |longest, x| longest.max(x.abs()));
        let damping = 1.0 / longest.max(1.0);
        for (logit, x) in logits.iter_mut().zip(&step) {
            *logit += damping * x;
        }
        if longest < 1e-9 {
            return;
        }
    }
}

fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Solves `matrix · x = vector` in place, the symmetric positive definite matrix given by rows, by
/// its factors L D Lᵀ.
fn solve(matrix: &mut [f64], vector: &mut [f64]) {
    let n = vector.len();
    for column in 0..n {
        // The prior makes every pivot positive, but for rounding.
        let pivot = matrix[column * n + column].max(1e-12);
        matrix[column * n + column] = pivot;
        for row in column + 1..n {
            let factor = matrix[row * n + column] / pivot;
            if factor != 0.0 {
                for k in column + 1..n {
                    matrix[row * n + k] -= factor * matrix[column * n + k];
                }
                vector[row] -= factor * vector[column];
            }
        }
    }
    for row in (0..n).rev() {
        let known: f64 = (row + 1..n).map(|k| matrix[row * n + k] * vector[k]).sum();
        vector[row] = (vector[row] - known) / matrix[row * n + row];
    }
}

#[cfg(test)]
mod tests;
