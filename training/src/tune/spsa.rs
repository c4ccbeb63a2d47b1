//! Simultaneous perturbation stochastic approximation: tunes by games what no law gives.
//!
//! Each pair of games is played between two engines whose tunables lie on either side of the
//! present point, each tunable moved by its step up or down at random; the winner draws the point
//! its way (Spall 1998, with fishtest's way of giving the gains by what they are at the end). Pairs
//! are played in batches from one point, so that a run depends on its seed only and not on how many
//! games are played at once.

use std::ops::Range;

use anyhow::{Result, anyhow, bail, ensure};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};
use tesla_engine::best_first::params::{ParamError, Params};

/// Falls of the gains with the pairs played (Spall's).
const ALPHA: f64 = 0.602;
const GAMMA: f64 = 0.101;
/// Share of the run in which the gain hardly falls.
const STABILITY: f64 = 0.1;

/// What is said where there are no knobs.
pub(super) const NOTHING: &str = "nothing is to be tuned; name tunables with --knob";

/// What is tuned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Knob {
    /// A tunable.
    pub name: String,
    /// By how much it is moved at the end of the run.
    pub step: f64,
}

/// How it is tuned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// What is tuned.
    pub knobs: Vec<Knob>,
    /// Pairs of games in all.
    pub pairs: u64,
    /// Pairs played from one point.
    pub batch: u64,
    /// Share of a step by which a pair's result moves the point at the end (fishtest's `r_end`).
    pub rate: f64,
    /// Decides what is moved up and what down.
    pub seed: u64,
}

impl Knob {
    /// Reads `name` or `name=step`.
    ///
    /// # Errors
    /// When there is no such tunable or the step is not a number above 0.
    pub fn parse(text: &str) -> Result<Self> {
        let (name, step) = text.split_once('=').map_or((text, None), |(n, s)| (n, Some(s)));
        let bad = |what: String| {
            anyhow!(
                "{what}; --knob takes a tunable's name, and a step if another than its own is \
                 wanted: --knob error_scale=0.005"
            )
        };
        let row = Params::TUNABLES
            .iter()
            .find(|row| row.name == name)
            .ok_or_else(|| bad(ParamError::Unknown(name.to_owned()).to_string()))?;
        ensure!(
            !name.starts_with("anchor_"),
            "{name} belongs to the device, which all games share; leave it out"
        );
        let step = match step {
            None => f64::from(row.step),
            Some(step) => step
                .parse()
                .ok()
                .filter(|&step: &f64| step.is_finite() && step > 0.0)
                .ok_or_else(|| bad(format!("'{step}' is not a step")))?,
        };
        let range = f64::from(row.max) - f64::from(row.min);
        if step >= range {
            let (min, max) = (row.min, row.max);
            return Err(bad(format!("a step of {step} leaves {name}'s range, {min} to {max}")));
        }
        Ok(Self { name: name.to_owned(), step })
    }
}

impl Schedule {
    /// Checks that there is something to tune, each thing once.
    ///
    /// # Errors
    /// A sentence.
    pub fn check(&self) -> Result<()> {
        let mut names: Vec<&str> = self.knobs.iter().map(|knob| knob.name.as_str()).collect();
        names.sort_unstable();
        if let Some([name, _]) = names.array_windows().find(|[one, next]| one == next) {
            bail!("{name} is to be tuned twice; name it once");
        }
        ensure!(!names.is_empty(), NOTHING);
        Ok(())
    }

    /// Batches of the run.
    pub fn batches(&self) -> u64 {
        self.pairs.div_ceil(self.batch.max(1))
    }

    /// The pairs of a batch.
    pub fn pairs_of(&self, batch: u64) -> Range<u64> {
        let first = batch * self.batch.max(1);
        first..(first + self.batch.max(1)).min(self.pairs)
    }

    /// Step and rate after so many pairs, as factors on those at the end.
    fn gains(&self, pairs: u64) -> (f64, f64) {
        let (done, all) = (pairs as f64, self.pairs.max(1) as f64);
        let stability = STABILITY * all;
        let rate = ((stability + all) / (stability + done + 1.0)).powf(ALPHA);
        (((all / (done + 1.0)).powf(GAMMA)), rate)
    }

    /// Whether each knob is moved up or down for the plus side of this pair.
    fn signs(&self, pair: u64) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        rng.set_stream(pair);
        self.knobs.iter().map(|_| if rng.random_bool(0.5) { 1.0 } else { -1.0 }).collect()
    }

    /// The point's neighbours for a pair: the plus side's, then the minus side's, within range.
    pub fn neighbours(&self, point: &[f64], pair: u64) -> [Vec<f64>; 2] {
        let (step, _) = self.gains(pair);
        let signs = self.signs(pair);
        [1.0, -1.0].map(|side| {
            let moved = |((knob, at), sign): ((&Knob, &f64), &f64)| {
                clamped(&knob.name, at + side * sign * step * knob.step)
            };
            self.knobs.iter().zip(point).zip(&signs).map(moved).collect()
        })
    }

    /// The point after a batch that began with pair `first`; `results` = wins less losses of the
    /// plus side in each of its pairs, -2 to 2.
    pub fn moved(&self, point: &[f64], first: u64, results: &[i32]) -> Vec<f64> {
        let mut moved = point.to_vec();
        for (pair, &result) in (first..).zip(results) {
            let (step, rate) = self.gains(pair);
            for ((at, knob), sign) in moved.iter_mut().zip(&self.knobs).zip(self.signs(pair)) {
                // The gradient's estimate is result / (2 · step · sign); in units of steps.
                *at += self.rate * rate / step * f64::from(result) * sign * knob.step;
            }
        }
        self.knobs.iter().zip(&moved).map(|(knob, &at)| clamped(&knob.name, at)).collect()
    }
}

/// The value within the tunable's range.
fn clamped(name: &str, value: f64) -> f64 {
    let row = Params::TUNABLES.iter().find(|row| row.name == name);
    row.map_or(value, |row| value.clamp(f64::from(row.min), f64::from(row.max)))
}

/// How a pair of games came out, as the journal keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairResult {
    /// Number of the pair, from 0.
    pub pair: u64,
    /// Wins less losses of the plus side, -2 to 2.
    pub result: i32,
}

/// The way of the point: where it began and where it was after each whole batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// The points, the start first.
    pub points: Vec<Vec<f64>>,
    /// Results of the batch that is not whole yet, by pair.
    pub open: Vec<PairResult>,
}

impl Path {
    /// The way from `start` by these results, in any order.
    pub fn of(schedule: &Schedule, start: Vec<f64>, results: &[PairResult]) -> Self {
        let mut results = results.to_vec();
        results.sort_by_key(|result| result.pair);
        let (mut points, mut point, mut left) = (vec![start.clone()], start, &results[..]);
        for batch in 0..schedule.batches() {
            let pairs = schedule.pairs_of(batch);
            let count = left.iter().take_while(|result| pairs.contains(&result.pair)).count();
            if count as u64 != pairs.end - pairs.start {
                break;
            }
            let (whole, rest) = left.split_at(count);
            let whole: Vec<i32> = whole.iter().map(|result| result.result).collect();
            point = schedule.moved(&point, pairs.start, &whole);
            points.push(point.clone());
            left = rest;
        }
        Self { points, open: left.to_vec() }
    }

    /// Whole batches played.
    pub fn batches(&self) -> u64 {
        self.points.len() as u64 - 1
    }

    /// Where the point is.
    pub fn point(&self) -> &[f64] {
        self.points.last().map_or(&[], Vec::as_slice)
    }

    /// Mean of the points of the last quarter: the noise of single pairs averages out (Polyak and
    /// Ruppert).
    pub fn settled(&self) -> Vec<f64> {
        let last = &self.points[self.points.len() * 3 / 4..];
        let mean = |knob: usize| {
            last.iter().map(|point| point[knob]).sum::<f64>() / last.len().max(1) as f64
        };
        (0..self.point().len()).map(mean).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(pairs: u64) -> Schedule {
        let knobs = ["error_scale=0.01", "branching=0.3"].map(|k| Knob::parse(k).unwrap()).to_vec();
        Schedule { knobs, pairs, batch: 8, rate: 0.02, seed: 4 }
    }

    /// A game that is won the likelier the nearer one is to the best point.
    fn play(at: &[f64], other: &[f64], rng: &mut ChaCha8Rng) -> i32 {
        let badness = |at: &[f64]| ((at[0] - 0.1) / 0.05).powi(2) + ((at[1] - 4.0) / 1.0).powi(2);
        let chance = 1.0 / (1.0 + (badness(at) - badness(other)).exp());
        (0..2).map(|_| if rng.random_bool(chance) { 1 } else { -1 }).sum()
    }

    #[test]
    fn games_draw_the_point_to_the_best_one() {
        let schedule = schedule(4000);
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let start = vec![0.02, 2.2];
        let (mut path, mut results) = (Path::of(&schedule, start.clone(), &[]), Vec::new());
        while path.batches() < schedule.batches() {
            for pair in schedule.pairs_of(path.batches()) {
                let [plus, minus] = schedule.neighbours(path.point(), pair);
                results.push(PairResult { pair, result: play(&plus, &minus, &mut rng) });
            }
            let tail = &results[results.len() - schedule.batch as usize..];
            let point = schedule.moved(
                path.point(),
                tail[0].pair,
                &tail.iter().map(|result| result.result).collect::<Vec<_>>(),
            );
            path.points.push(point);
        }
        let found = path.settled();
        assert!((found[0] - 0.1).abs() < 0.02 && (found[1] - 4.0).abs() < 0.4, "{found:?}");
        // What was played tells the whole way again, in whatever order it is told.
        results.reverse();
        assert_eq!(Path::of(&schedule, start.clone(), &results), path);
        let cut = Path::of(&schedule, start, &results[4..]);
        assert_eq!((cut.batches(), cut.open.len()), (schedule.batches() - 1, 4));
    }

    #[test]
    fn neighbours_are_opposite_and_within_range() {
        let schedule = schedule(100);
        let [plus, minus] = schedule.neighbours(&[0.05, 3.0], 7);
        for (knob, at) in [0.05, 3.0].into_iter().enumerate() {
            assert!((plus[knob] + minus[knob] - 2.0 * at).abs() < 1e-9);
            assert!((plus[knob] - minus[knob]).abs() > 1e-6);
        }
        let [plus, minus] = schedule.neighbours(&[0.001, 10.0], 7);
        for point in [plus, minus] {
            let mut params = Params::default();
            params.set("error_scale", point[0] as f32).unwrap();
            params.set("branching", point[1] as f32).unwrap();
        }
        assert_eq!(schedule.moved(&[0.05, 3.0], 0, &[0, 0]), [0.05, 3.0]);
    }

    #[test]
    fn every_fault_has_its_sentence() {
        let fault = |text: &str| Knob::parse(text).unwrap_err().to_string();
        assert!(fault("eror_scale").contains("no tunable named"));
        assert!(fault("error_scale=wide").contains("not a step"));
        assert!(fault("error_scale=0").contains("not a step"));
        assert!(fault("error_scale=500").contains("leaves error_scale's range, 0.001 to 1"));
        assert!(fault("anchor_work").contains("share"));
        let twice = Schedule { knobs: vec![Knob::parse("horizon").unwrap(); 2], ..schedule(1) };
        assert!(twice.check().unwrap_err().to_string().contains("name it once"));
        assert!(Schedule { knobs: Vec::new(), ..schedule(1) }.check().is_err());
    }
}
