//! Two runs over the same items.

use std::collections::HashMap;

use statrs::distribution::{Binomial, DiscreteCDF as _};

use super::record::Record;

/// How two runs did on the items both have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Items solved by both.
    pub both: usize,
    /// Items only the first solved.
    pub only_a: usize,
    /// Items only the second solved.
    pub only_b: usize,
    /// Items neither solved.
    pub neither: usize,
    /// Items only the first run has.
    pub missing_in_b: usize,
    /// Items only the second run has.
    pub missing_in_a: usize,
    /// Probability of a difference at least this large if both were equal: exact two-sided
    /// `McNemar` test.
    pub p_value: f64,
}

/// Compares two runs item by item. Items are matched by id and position, so the order is free.
pub fn compare(a: &[Record], b: &[Record]) -> Comparison {
    let (a, b) = (solved(a), solved(b));
    let mut comparison = Comparison {
        both: 0,
        only_a: 0,
        only_b: 0,
        neither: 0,
        missing_in_b: 0,
        missing_in_a: b.keys().filter(|key| !a.contains_key(*key)).count(),
        p_value: 1.0,
    };
    for (key, solved_by_a) in &a {
        *match (solved_by_a, b.get(key)) {
            (_, None) => &mut comparison.missing_in_b,
            (true, Some(true)) => &mut comparison.both,
            (true, Some(false)) => &mut comparison.only_a,
            (false, Some(true)) => &mut comparison.only_b,
            (false, Some(false)) => &mut comparison.neither,
        } += 1;
    }
    comparison.p_value = mcnemar(comparison.only_a, comparison.only_b);
    comparison
}

fn solved(records: &[Record]) -> HashMap<(&str, &str), bool> {
    records.iter().map(|r| (r.key(), r.verdict.solved)).collect()
}

/// Two-sided p-value of the sign test: twice the smaller tail of the binomial with a half.
fn mcnemar(only_a: usize, only_b: usize) -> f64 {
    let tail = Binomial::new(0.5, (only_a + only_b) as u64)
        .map_or(1.0, |binomial| binomial.cdf(only_a.min(only_b) as u64));
    (2.0 * tail).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::super::record::TaskLabel;
    use super::super::verdict::{Detail, Grade};
    use super::*;

    fn record(id: &str, solved: bool) -> Record {
        let points = f64::from(u8::from(solved));
        Record {
            id: id.to_owned(),
            fen: "same".to_owned(),
            task: TaskLabel::BestMoves,
            answers: Vec::new(),
            verdict: Grade { solved, points, max: 1.0, detail: Detail::Played },
            failure: None,
        }
    }

    #[test]
    fn counts_pairs() {
        let run = |text: &str| -> Vec<Record> {
            text.split(' ').map(|t| record(&t[..1], t.ends_with('+'))).collect()
        };
        let found = compare(&run("a+ b+ c- d- e+"), &run("f+ d- c+ b- a+"));
        let counts = [found.both, found.only_a, found.only_b, found.neither];
        assert_eq!(counts, [1, 1, 1, 1]);
        assert_eq!((found.missing_in_a, found.missing_in_b), (1, 1));
    }

    #[test]
    fn p_value_is_the_exact_binomial() {
        for (a, b, p) in [
            (0, 0, 1.0),
            (5, 0, 2.0 / 32.0),
            (1, 9, 2.0 * 11.0 / 1024.0),
            (4, 4, 1.0),
            // summed in exact fractions
            (5000, 5200, 0.048_787_963_127),
        ] {
            assert!((mcnemar(a, b) - p).abs() < 1e-9, "{a} {b}: {}", mcnemar(a, b));
        }
    }
}
