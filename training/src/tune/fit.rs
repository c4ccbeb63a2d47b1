//! Fits all laws to observations and says how well they hold on positions that were kept out.

use std::collections::BTreeMap;
use std::fmt;
use std::thread;

use anyhow::{Context as _, Result, anyhow, ensure};
use serde::{Deserialize, Serialize};
use tesla_engine::best_first::error_model::Family;
use tesla_engine::best_first::params::{ParamError, Params};
use tesla_engine::console::terminal::bar;

use super::calibration::{Bin, Pit, Promise, calibration_error, crps, pit, reliability};
use super::growth::branching;
use super::interval::{Interval, resamples};
use super::law::{Case, Law, cases};
use super::minimum::minimum;
use super::observe::Observation;
use super::pairs::{Pair, pairs};
use super::promotion::{Chance, Promotion, chances};
use super::shape::Shape;

/// Samples of positions from which a law's intervals are read.
const SAMPLES: usize = 40;
/// Of so many positions the last is kept out.
const KEPT_OUT: u32 = 4;
/// Fewest pairs that are worth a fit.
const FEWEST: usize = 200;
/// Seed of the samples.
const SEED: u64 = 1;
/// Tunables that the laws read and that are not fitted.
const GIVEN: [&str; 4] = ["error_family", "error_reference", "horizon", "missing_min"];

/// A law with its intervals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fitted {
    /// The law.
    pub law: Law,
    /// k.
    pub scale: Interval,
    /// p.
    pub growth: Interval,
    /// γ.
    pub decay: Interval,
    /// The share of the evaluator's own error.
    pub trust: Interval,
    /// τ.
    pub unevaluated: Interval,
    /// The doubt in action values.
    pub doubt: Interval,
}

impl Fitted {
    /// Fits the law, and once more to each of so many samples of the positions, with a bar of the
    /// fits.
    pub fn of(shape: Shape, cases: &[Case], samples: usize, seed: u64) -> Self {
        let bar = bar(1 + samples as u64, "fits");
        let law = Law::fit(shape, cases, &|_| 1.0);
        bar.inc(1);
        let mut positions: Vec<u32> = cases.iter().map(|case| case.position).collect();
        positions.sort_unstable();
        positions.dedup();
        let weights: Vec<Vec<u16>> = resamples(positions.len(), samples, seed)
            .map(|sample| {
                let mut counts = vec![0; positions.len()];
                for item in sample {
                    counts[item] += 1;
                }
                counts
            })
            .collect();
        let of_sample = |counts: &Vec<u16>| {
            let weight = |position: u32| {
                let place = positions.binary_search(&position);
                place.map_or(0.0, |place| f64::from(counts[place]))
            };
            let law = Law::fit(shape, cases, &weight);
            bar.inc(1);
            law
        };
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let laws: Vec<Law> = thread::scope(|scope| {
            let share = weights.len().div_ceil(cores).max(1);
            let workers: Vec<_> = weights
                .chunks(share)
                .map(|chunk| scope.spawn(|| chunk.iter().map(of_sample).collect::<Vec<_>>()))
                .collect();
            let join = |worker: thread::ScopedJoinHandle<'_, Vec<Law>>| {
                worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            workers.into_iter().flat_map(join).collect()
        });
        bar.finish_and_clear();
        let interval = |of: fn(&Law) -> f64| {
            Interval::of(of(&law), &mut laws.iter().map(of).collect::<Vec<_>>())
        };
        Self {
            law,
            scale: interval(|law| law.scale),
            growth: interval(|law| law.growth),
            decay: interval(|law| law.decay),
            trust: interval(|law| law.trust),
            unevaluated: interval(|law| law.unevaluated),
            doubt: interval(|law| law.doubt),
        }
    }

    /// The numbers by the names of their tunables.
    pub fn intervals(&self) -> [(&'static str, Interval); 6] {
        [
            ("error_scale", self.scale),
            ("error_growth", self.growth),
            ("error_decay", self.decay),
            ("error_trust", self.trust),
            ("unevaluated_error", self.unevaluated),
            ("unevaluated_doubt · unevaluated_error", self.doubt),
        ]
    }
}

/// How a family does, each at its own best law.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contest {
    /// The family.
    pub name: String,
    /// Mean log likelihood of the pairs it was fitted to, nats.
    pub fitted: f64,
    /// The same of those kept out.
    pub kept_out: f64,
    /// Its law.
    pub law: Law,
}

/// What the fits found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Tunables that the laws read and the fit leaves alone, as they were; none in older files.
    #[serde(default)]
    pub given: BTreeMap<String, f32>,
    /// Positions, and how many of them were kept out.
    pub positions: (usize, usize),
    /// Pairs of a move and the best one.
    pub pairs: usize,
    /// The effective branching factor.
    pub branching: Interval,
    /// `later gap = a · gap + b` of moves that were searched: a.
    pub slope: Interval,
    /// b, score units.
    pub offset: Interval,
    /// The families.
    pub families: Vec<Contest>,
    /// The law in the family that the tunables have.
    pub law: Fitted,
    /// Floor and trust.
    pub promotion: Promotion,
    /// Log likelihood of what happened to pairs kept out: by the numbers before, after.
    pub promotion_likelihood: (f64, f64),
    /// On positions kept out, one pair of each: errors by the law.
    pub pit: Pit,
    /// The same by the numbers before.
    pub pit_before: Pit,
    /// Share of the error's CRPS that the law saves against one scale for all.
    pub crps_skill: f64,
    /// Chances on positions kept out.
    pub reliability: Vec<Bin>,
    /// Their mean distance from what happened.
    pub calibration_error: f64,
    /// The same by the numbers before.
    pub calibration_error_before: f64,
}

/// Each family at its best law, and Student's t with free degrees; `known` = the law of one family,
/// fitted before.
fn contest(known: (Shape, Law), fitted: &[Case], kept_out: &[Case]) -> Vec<Contest> {
    let contest = |shape: Shape| {
        let law = if shape == known.0 { known.1 } else { Law::fit(shape, fitted, &|_| 1.0) };
        Contest {
            name: shape.name(),
            fitted: law.likelihood(shape, fitted.iter()),
            kept_out: law.likelihood(shape, kept_out.iter()),
            law,
        }
    };
    let mut families: Vec<Contest> = Shape::ENGINE.into_iter().map(contest).collect();
    // The first is Student's t with two: its law is near enough to look for the degrees.
    let law = families[0].law;
    let cost = |degrees: &[f64]| -law.likelihood(Shape::Student(degrees[0].exp()), fitted.iter());
    let degrees = minimum(&[0.7], &[0.3], cost)[0].exp();
    families.push(contest(Shape::Student(degrees)));
    families
}

/// Slope and offset of the later gap on the gap, of moves that were searched: least squares weighed
/// by 1/scale², with intervals over positions.
fn regression(pairs: &[Pair], cases: &[Case], law: &Law) -> Option<(Interval, Interval)> {
    let mut sums: Vec<(u32, [f64; 5])> = Vec::new();
    for (pair, case) in pairs.iter().zip(cases).filter(|(pair, _)| pair.is_seen()) {
        let (x, y, w) = (pair.gap, pair.gap - pair.change, law.scale(case).powi(-2));
        // A far outlier says nothing of the slope: errors have tails.
        let w = w / (1.0 + law.z(case).powi(2) / 2.0);
        if sums.last().is_none_or(|(position, _)| *position != pair.position) {
            sums.push((pair.position, [0.0; 5]));
        }
        if let Some((_, sums)) = sums.last_mut() {
            for (sum, more) in sums.iter_mut().zip([w, w * x, w * y, w * x * x, w * x * y]) {
                *sum += more;
            }
        }
    }
    let line = |sample: &[usize]| {
        let mut all = [0.0; 5];
        for &item in sample {
            all.iter_mut().zip(sums[item].1).for_each(|(sum, more)| *sum += more);
        }
        let [w, x, y, xx, xy] = all;
        let slope = (w * xy - x * y) / (w * xx - x * x);
        slope.is_finite().then(|| (slope, (y - slope * x) / w))
    };
    let slope = Interval::bootstrap(sums.len(), SEED, |s| line(s).map(|(slope, _)| slope))?;
    let offset = Interval::bootstrap(sums.len(), SEED, |s| line(s).map(|(_, offset)| offset))?;
    Some((slope, offset))
}

/// One pair of each position, so that they are independent of each other; which one, goes round
/// with the positions.
fn one_each(pairs: &[Pair]) -> Vec<Pair> {
    let mut chosen = Vec::new();
    for (turn, of_position) in pairs.chunk_by(|a, b| a.position == b.position).enumerate() {
        chosen.push(of_position[turn * 7 % of_position.len()]);
    }
    chosen
}

/// The transform of these pairs by a law.
fn transform(pairs: &[Pair], law: &Law, shape: Shape, params: &Params) -> Pit {
    let errors: Vec<f64> = cases(pairs, params).iter().map(|case| law.z(case)).collect();
    pit(shape, &errors)
}

/// Share of the CRPS that a law saves against the best single scale.
fn skill(cases: &[Case], law: &Law, family: Family) -> f64 {
    let mean = |law: &Law| -> f64 {
        cases.iter().map(|case| law.scale(case) * crps(family, law.z(case))).sum::<f64>()
    };
    let flat = |scale: f64| Law {
        scale,
        growth: 0.0,
        decay: 0.0,
        trust: 0.0,
        unevaluated: 0.0,
        doubt: law.doubt,
    };
    let best = minimum(&[law.scale.ln()], &[0.5], |x| mean(&flat(x[0].exp())))[0].exp();
    1.0 - mean(law) / mean(&flat(best))
}

/// What the laws read of the tunables and the fit leaves alone.
fn given(before: &Params) -> BTreeMap<String, f32> {
    GIVEN.iter().filter_map(|&name| Some((name.to_owned(), before.get(name)?))).collect()
}

/// Fits everything, from these tunables on; gives the report and the tunables that come of it.
///
/// # Errors
/// When there is too little to fit, or a number that the engine does not take comes of it.
pub fn fit(observations: &[Observation], before: &Params) -> Result<(Report, Params)> {
    let all = pairs(observations);
    let too_few = |count: usize| {
        anyhow!("{count} pairs of moves are too few; log more positions (200 pairs at least)")
    };
    ensure!(all.len() >= FEWEST, too_few(all.len()));
    let trees: Vec<&[(u32, f32)]> =
        observations.iter().map(|seen| seen.seen.growth.as_slice()).collect();
    let branching = branching(&trees, SEED)
        .context("no tree grew by doubling; log trees of more evaluations")?;
    let outside = |error: ParamError| anyhow!("the fit leaves the range of a tunable: {error}");
    let mut params = before.clone();
    params.set("branching", branching.value as f32).map_err(outside)?;

    let family = Family::from_number(before.error_family);
    let shape = Shape::Closed(family);
    let is_kept_out = |position: u32| position % KEPT_OUT == KEPT_OUT - 1;
    let (kept_out, fitted): (Vec<Pair>, Vec<Pair>) =
        all.iter().partition(|pair| is_kept_out(pair.position));
    let (fitted_cases, kept_cases) = (cases(&fitted, &params), cases(&kept_out, &params));
    let law = Fitted::of(shape, &fitted_cases, SAMPLES, SEED);
    law.law.set(&mut params).map_err(outside)?;
    let (slope, offset) =
        regression(&fitted, &fitted_cases, &law.law).ok_or_else(|| too_few(fitted.len()))?;

    let chances_of =
        |pairs: &[Pair], params: &Params| chances(pairs, &Law::of(params), shape, params);
    let promotion = Promotion::fit(&chances_of(&fitted, &params), &|_| 1.0);
    promotion.set(&mut params).map_err(outside)?;
    let judged = |params: &Params| {
        let (chances, promotion) = (chances_of(&kept_out, params), Promotion::of(params));
        let promise = |chance: &Chance| Promise {
            position: chance.position,
            chance: promotion.chance(chance),
            happened: chance.happened,
        };
        let promised: Vec<Promise> = chances.iter().map(promise).collect();
        (promotion.likelihood(&chances), reliability(&promised))
    };
    let ((likelihood_before, bins_before), (likelihood, bins)) = (judged(before), judged(&params));
    let independent = one_each(&kept_out);
    let count = |is_out: bool| {
        observations.iter().filter(|seen| is_kept_out(seen.position) == is_out).count()
    };
    let report = Report {
        given: given(before),
        positions: (observations.len(), count(true)),
        pairs: all.len(),
        branching,
        slope,
        offset,
        families: contest((shape, law.law), &fitted_cases, &kept_cases),
        law,
        promotion,
        promotion_likelihood: (likelihood_before, likelihood),
        pit: transform(&independent, &law.law, shape, &params),
        pit_before: transform(&independent, &Law::of(before), shape, before),
        crps_skill: skill(&kept_cases, &law.law, family),
        calibration_error: calibration_error(&bins),
        calibration_error_before: calibration_error(&bins_before),
        reliability: bins,
    };
    Ok((report, params))
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (positions, kept_out) = self.positions;
        writeln!(
            f,
            "{positions} positions, {} pairs of a move and the best one; {kept_out} positions kept \
             out of the fits.\n\nBranching factor {}. Later gap = a · gap + b: a {}, b {}.\n",
            self.pairs, self.branching, self.slope, self.offset
        )?;
        writeln!(f, "| family, at its best law | nats a pair, fitted | kept out |\n|---|---|---|")?;
        for family in &self.families {
            writeln!(f, "| {} | {:.4} | {:.4} |", family.name, family.fitted, family.kept_out)?;
        }
        writeln!(f, "\n| law, with 95 % intervals over positions | |\n|---|---|")?;
        for (name, interval) in self.law.intervals() {
            writeln!(f, "| {name} | {interval} |")?;
        }
        let Promotion { floor, trust } = self.promotion;
        let (before, after) = self.promotion_likelihood;
        writeln!(
            f,
            "\npolicy_floor {floor:.4}, policy_trust {trust:.3}: what happened to pairs kept out \
             has {after:.4} nats a pair, {before:.4} with the numbers before.\n"
        )?;
        writeln!(
            f,
            "Errors on positions kept out, one pair of each: distance from evenness {:.3} (p \
             {:.3}, {} pairs); before {:.3} (p {:.3}). CRPS saved against one scale for all: \
             {:.1} %.\n",
            self.pit.distance,
            self.pit.p_value,
            self.pit.cases,
            self.pit_before.distance,
            self.pit_before.p_value,
            100.0 * self.crps_skill
        )?;
        writeln!(
            f,
            "Chances on positions kept out are {:.2} points off on average, {:.2} before:\n\n\
             | promised | happened | 95 % | pairs |\n|---|---|---|---|",
            100.0 * self.calibration_error,
            100.0 * self.calibration_error_before
        )?;
        for bin in &self.reliability {
            writeln!(
                f,
                "| {:.3} | {:.3} | {:.3} to {:.3} | {} |",
                bin.promised, bin.happened, bin.interval.0, bin.interval.1, bin.cases
            )?;
        }
        Ok(())
    }
}
