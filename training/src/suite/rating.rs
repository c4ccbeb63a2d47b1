//! A rating from puzzles solved and not solved.

use super::record::{Record, TaskLabel};

/// 95 % quantile of chi-squared with one degree of freedom (1.959964 squared).
const CHI_SQUARED_95: f64 = 3.841_458_820_694_124;
/// Steps of a bisection over Elo; enough to leave nothing of the widest bracket.
const STEPS: u32 = 80;
/// How far beyond the puzzles' ratings an estimate is looked for, Elo. One puzzle missed of a
/// million lies 2400 above.
const MARGIN: f64 = 10_000.0;

/// A rating on the puzzles' scale, Elo, with 95 % bounds by the likelihood ratio.
///
/// The puzzles' ratings count as exact and their results as independent. It is comparable with
/// other engines on the same puzzles, not with the ratings of humans, who solve against the clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RatingEstimate {
    /// Some were solved and some not.
    Bounded {
        /// Maximum of the likelihood.
        elo: f64,
        /// Lower bound.
        low: f64,
        /// Upper bound.
        high: f64,
    },
    /// All were solved: there is no upper bound.
    AllSolved {
        /// Lower bound.
        low: f64,
    },
    /// None was solved: there is no lower bound.
    NoneSolved {
        /// Upper bound.
        high: f64,
    },
    /// There was no rated puzzle.
    Unrated,
}

impl std::fmt::Display for RatingEstimate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RatingEstimate::Bounded { elo, low, high } => {
                write!(f, "{elo:.0} (95 %: {low:.0} to {high:.0})")
            }
            RatingEstimate::AllSolved { low } => {
                write!(f, "unbounded, all solved (95 %: above {low:.0})")
            }
            RatingEstimate::NoneSolved { high } => {
                write!(f, "unbounded, none solved (95 %: below {high:.0})")
            }
            RatingEstimate::Unrated => f.write_str("none, no rated puzzles"),
        }
    }
}

/// Ratings of the puzzles among the records, and whether each was solved.
pub fn puzzle_results(records: &[Record]) -> Vec<(f64, bool)> {
    let rated = records.iter().filter_map(|r| match r.task {
        TaskLabel::Puzzle { rating: Some(rating), .. } => {
            Some((f64::from(rating), r.verdict.solved))
        }
        _ => None,
    });
    rated.collect()
}

/// The rating that makes the results most likely, by the logistic (Elo) curve.
pub fn estimate_rating(results: &[(f64, bool)]) -> RatingEstimate {
    if results.is_empty() {
        return RatingEstimate::Unrated;
    }
    let ratings = || results.iter().map(|(rating, _)| *rating);
    let bottom = ratings().fold(f64::INFINITY, f64::min) - MARGIN;
    let top = ratings().fold(f64::NEG_INFINITY, f64::max) + MARGIN;
    let likely_enough =
        |best: f64| move |elo: f64| 2.0 * (best - log_likelihood(results, elo)) <= CHI_SQUARED_95;
    match results.iter().filter(|(_, solved)| *solved).count() {
        // The likelihood tends to 1 beyond all bounds.
        0 => RatingEstimate::NoneSolved { high: edge(bottom, top, likely_enough(0.0)) },
        n if n == results.len() => {
            RatingEstimate::AllSolved { low: edge(top, bottom, likely_enough(0.0)) }
        }
        n => {
            // The likelihood is concave: it peaks where the expected count is the count.
            let expected = |elo| results.iter().map(|(r, _)| expectation(elo - r)).sum::<f64>();
            let elo = edge(bottom, top, |elo| expected(elo) <= n as f64);
            let enough = likely_enough(log_likelihood(results, elo));
            let (low, high) = (edge(elo, bottom, enough), edge(elo, top, enough));
            RatingEstimate::Bounded { elo, low, high }
        }
    }
}

/// The point between the two ends up to which, from the first, the condition holds.
fn edge(mut holds: f64, mut fails: f64, condition: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..STEPS {
        let middle = f64::midpoint(holds, fails);
        *(if condition(middle) { &mut holds } else { &mut fails }) = middle;
    }
    holds
}

fn expectation(difference: f64) -> f64 {
    1.0 / (1.0 + 10f64.powf(-difference / 400.0))
}

fn log_likelihood(results: &[(f64, bool)], elo: f64) -> f64 {
    let log = |(rating, solved): &(f64, bool)| {
        let difference = if *solved { elo - rating } else { rating - elo };
        let x = difference * std::f64::consts::LN_10 / 400.0;
        // ln 1/(1 + e^-x), without overflow
        if x > 0.0 { -(-x).exp().ln_1p() } else { x - x.exp().ln_1p() }
    };
    results.iter().map(log).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_rating_that_fits() {
        // 3 of 4 at the same rating: 400 log10(3) above it.
        let results = [(1500.0, true), (1500.0, true), (1500.0, true), (1500.0, false)];
        let RatingEstimate::Bounded { elo, low, high } = estimate_rating(&results) else {
            panic!("bounded")
        };
        assert!((elo - (1500.0 + 400.0 * 3f64.log10())).abs() < 1e-6, "{elo}");
        for bound in [low, high] {
            let drop = log_likelihood(&results, elo) - log_likelihood(&results, bound);
            assert!((2.0 * drop - CHI_SQUARED_95).abs() < 1e-6, "{bound}");
        }
        assert!(low < elo && elo < high);
    }

    #[test]
    fn many_results_agree_with_the_standard_error() {
        // Half solved at 1500: variance of the score n/4, one Elo is ln 10 / 400 logits.
        let results: Vec<_> = (0..400).map(|i| (1500.0, i % 2 == 0)).collect();
        let RatingEstimate::Bounded { elo, low, high } = estimate_rating(&results) else {
            panic!("bounded")
        };
        let error = 400.0 / std::f64::consts::LN_10 / 10.0;
        assert!((elo - 1500.0).abs() < 1e-6);
        assert!(((high - low) / 2.0 / error - 1.96).abs() < 0.02, "{low} {high}");
    }

    #[test]
    fn says_when_there_is_no_bound() {
        let RatingEstimate::AllSolved { low } = estimate_rating(&[(2000.0, true)]) else {
            panic!("all solved")
        };
        // ln p = -1.9207: p = 0.1465
        assert!((expectation(low - 2000.0) - 0.1465).abs() < 1e-4, "{low}");
        let none = estimate_rating(&[(2000.0, false); 3]);
        assert!(none.to_string().starts_with("unbounded, none solved (95 %: below"), "{none}");
        assert_eq!(estimate_rating(&[]), RatingEstimate::Unrated);
    }
}
