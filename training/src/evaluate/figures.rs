//! Sums over positions, and the measures that follow from them.

use serde::{Deserialize, Deserializer, Serialize};

/// Bins of the reliability table, by the network's value.
const VALUE_BINS: usize = 10;
/// Bins of the probability integral transform; the Kolmogorov-Smirnov distance is taken at their
/// ends.
const PIT_BINS: usize = 200;
/// Bins of it that are reported.
const PIT_SHOWN: usize = 20;
/// How many of the policy's first moves count.
const TOP: [usize; 3] = [1, 3, 5];
/// Student's t with two degrees of freedom lies within these with probability .5 and .9.
const BANDS: [f64; 2] = [0.816_5, 2.919_99];

/// What the network said about a position, beside what the teacher says.
#[derive(Clone, Debug, Default)]
pub(super) struct Observation {
    /// The network's value.
    pub(super) value: f64,
    /// Its error scale.
    pub(super) error: f64,
    /// The teacher's score.
    pub(super) score: f64,
    /// Moves that the policy likes better than the teacher's best.
    pub(super) rank: usize,
    /// The policy of the teacher's best move.
    pub(super) policy: f64,
    /// Whether the move with the highest action value is the teacher's best.
    pub(super) action_is_best: bool,
    /// Action values of the moves whose values the teacher knows, beside these: its best move, the
    /// move played where that is another, and what else it scored.
    pub(super) actions: Vec<[f64; 2]>,
}

impl Observation {
    /// The teacher's score in the error head's distribution around the value: uniform in `0..=1` if
    /// the head is right. Student's t, two degrees of freedom: P(T < t) = ½ + t / (2 √(2 + t²)).
    fn pit(&self) -> f64 {
        let t = (self.score - self.value) / self.error;
        0.5 + 0.5 * t / (2.0 + t * t).sqrt()
    }

    /// Pairs of moves of which the teacher prefers one, and how many of them the action values
    /// order as it does and the other way round.
    fn pairs(&self) -> [u64; 3] {
        let mut counts = [0; 3];
        for (index, [said, taught]) in self.actions.iter().enumerate() {
            for [other_said, other_taught] in &self.actions[index + 1..] {
                let preferred = taught - other_taught;
                counts[0] += u64::from(preferred != 0.0);
                counts[1] += u64::from((said - other_said) * preferred > 0.0);
                counts[2] += u64::from((said - other_said) * preferred < 0.0);
            }
        }
        counts
    }
}

/// Values of one bin of the reliability table.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    positions: u64,
    value: f64,
    score: f64,
}

/// Sums over positions.
#[derive(Clone, Debug)]
pub struct Sums {
    positions: u64,
    score: f64,
    score_squared: f64,
    residual_squared: f64,
    residual_absolute: f64,
    surprise: f64,
    top: [u64; TOP.len()],
    within: [u64; BANDS.len()],
    action_best: u64,
    actions: u64,
    action_squared: f64,
    pairs: u64,
    ordered: u64,
    reversed: u64,
    bins: [Bin; VALUE_BINS],
    pit: [u64; PIT_BINS],
}

impl Default for Sums {
    fn default() -> Self {
        Self {
            positions: 0,
            score: 0.0,
            score_squared: 0.0,
            residual_squared: 0.0,
            residual_absolute: 0.0,
            surprise: 0.0,
            top: [0; TOP.len()],
            within: [0; BANDS.len()],
            action_best: 0,
            actions: 0,
            action_squared: 0.0,
            pairs: 0,
            ordered: 0,
            reversed: 0,
            bins: [Bin::default(); VALUE_BINS],
            pit: [0; PIT_BINS],
        }
    }
}

fn bin(x: f64, bins: usize) -> usize {
    ((x * bins as f64) as usize).min(bins - 1)
}

impl Sums {
    pub(super) fn observe(&mut self, seen: &Observation) {
        let residual = seen.value - seen.score;
        self.positions += 1;
        self.score += seen.score;
        self.score_squared += seen.score * seen.score;
        self.residual_squared += residual * residual;
        self.residual_absolute += residual.abs();
        self.surprise -= seen.policy.max(f64::MIN_POSITIVE).ln();
        for (count, k) in self.top.iter_mut().zip(TOP) {
            *count += u64::from(seen.rank < k);
        }
        for (count, band) in self.within.iter_mut().zip(BANDS) {
            *count += u64::from(residual.abs() / seen.error < band);
        }
        self.action_best += u64::from(seen.action_is_best);
        for [said, score] in &seen.actions {
            self.actions += 1;
            self.action_squared += (said - score).powi(2);
        }
        let [pairs, ordered, reversed] = seen.pairs();
        self.pairs += pairs;
        self.ordered += ordered;
        self.reversed += reversed;
        let bin_seen = &mut self.bins[bin(seen.value, VALUE_BINS)];
        bin_seen.positions += 1;
        bin_seen.value += seen.value;
        bin_seen.score += seen.score;
        self.pit[bin(seen.pit(), PIT_BINS)] += 1;
    }

    pub(super) fn add(&mut self, other: &Self) {
        let counts = |own: &mut [u64], other: &[u64]| {
            own.iter_mut().zip(other).for_each(|(own, other)| *own += other);
        };
        self.positions += other.positions;
        self.score += other.score;
        self.score_squared += other.score_squared;
        self.residual_squared += other.residual_squared;
        self.residual_absolute += other.residual_absolute;
        self.surprise += other.surprise;
        counts(&mut self.top, &other.top);
        counts(&mut self.within, &other.within);
        self.action_best += other.action_best;
        self.actions += other.actions;
        self.action_squared += other.action_squared;
        self.pairs += other.pairs;
        self.ordered += other.ordered;
        self.reversed += other.reversed;
        for (own, other) in self.bins.iter_mut().zip(&other.bins) {
            own.positions += other.positions;
            own.value += other.value;
            own.score += other.score;
        }
        counts(&mut self.pit, &other.pit);
    }

    /// What follows from the sums.
    pub fn measures(&self) -> Measures {
        let n = self.positions.max(1) as f64;
        let share = |count: u64| count as f64 / n;
        let variance = self.score_squared / n - (self.score / n).powi(2);
        // No number where there are none.
        let of_pairs = |count: f64| count / self.pairs as f64;
        let [policy_top_1, policy_top_3, policy_top_5] = self.top.map(share);
        let [within_50, within_90] = self.within.map(share);
        Measures {
            positions: self.positions,
            variance_explained: 1.0 - self.residual_squared / n / variance,
            rmse_points: (self.residual_squared / n).sqrt() * 100.0,
            mean_error_points: self.residual_absolute / n * 100.0,
            policy_nats: self.surprise / n,
            policy_top_1,
            policy_top_3,
            policy_top_5,
            action_accuracy: share(self.action_best),
            action_rmse_points: (self.action_squared / self.actions.max(1) as f64).sqrt() * 100.0,
            pairs: self.pairs,
            pair_agreement: of_pairs(self.ordered as f64),
            kendall_tau: of_pairs(self.ordered as f64 - self.reversed as f64),
            within_50,
            within_90,
            calibration_error_points: self.calibration_error() * 100.0,
            pit_distance: self.pit_distance(),
            reliability: self.reliability(),
            pit: self.pit.chunks(PIT_BINS / PIT_SHOWN).map(|c| share(c.iter().sum())).collect(),
        }
    }

    fn reliability(&self) -> Vec<Reliability> {
        let edge = |index: usize| index as f64 / VALUE_BINS as f64;
        let bins = self.bins.iter().enumerate();
        bins.map(|(index, bin)| {
            let n = bin.positions.max(1) as f64;
            Reliability {
                from: edge(index),
                to: edge(index + 1),
                positions: bin.positions,
                value: bin.value / n,
                score: bin.score / n,
            }
        })
        .collect()
    }

    /// Mean distance of a bin's mean value from its mean score, weighted by its positions.
    fn calibration_error(&self) -> f64 {
        let sum: f64 = self.bins.iter().map(|bin| (bin.value - bin.score).abs()).sum();
        sum / self.positions.max(1) as f64
    }

    /// Largest distance of the transform's distribution from the uniform one.
    fn pit_distance(&self) -> f64 {
        if self.positions == 0 {
            return f64::NAN;
        }
        let (mut below, mut most) = (0, 0.0_f64);
        for (index, count) in self.pit.iter().enumerate() {
            below += count;
            let share = below as f64 / self.positions as f64;
            most = most.max((share - (index + 1) as f64 / PIT_BINS as f64).abs());
        }
        most
    }
}

/// The measures of a set of positions. A point is a hundredth of the expected score; a share is of
/// the positions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measures {
    /// Number of positions.
    pub positions: u64,
    /// Share of the labels' variance that the value explains; no number without positions.
    #[serde(deserialize_with = "number")]
    pub variance_explained: f64,
    /// Root-mean-square error of the value.
    pub rmse_points: f64,
    /// Mean absolute error of the value.
    pub mean_error_points: f64,
    /// Cross-entropy of the teacher's best move under the policy, nats: the finest measure of a
    /// policy; no number in figures made before 2026-11-28.
    #[serde(default = "unknown", deserialize_with = "number")]
    pub policy_nats: f64,
    /// Share whose likeliest move is the teacher's best.
    pub policy_top_1: f64,
    /// Share whose three likeliest moves hold it.
    pub policy_top_3: f64,
    /// Share whose five likeliest moves hold it.
    pub policy_top_5: f64,
    /// Share in which it has the highest action value.
    pub action_accuracy: f64,
    /// Root-mean-square error of the action values of all moves whose values the data know: the
    /// teacher's best, the one played, and what else it scored.
    pub action_rmse_points: f64,
    /// Pairs of such moves in one position, without ties of the teacher's.
    pub pairs: u64,
    /// Share of the pairs that the action values order as the teacher does; no number without
    /// pairs.
    #[serde(deserialize_with = "number")]
    pub pair_agreement: f64,
    /// Kendall's tau over the pairs: concordant less discordant, by all; no number without pairs.
    #[serde(deserialize_with = "number")]
    pub kendall_tau: f64,
    /// Share of the scores within the error head's 50 % band.
    pub within_50: f64,
    /// Share of the scores within its 90 % band.
    pub within_90: f64,
    /// Mean distance between value and score over the bins of `reliability`.
    pub calibration_error_points: f64,
    /// Kolmogorov-Smirnov distance of the scores' places in the error head's distributions from
    /// the uniform distribution; no number without positions.
    #[serde(deserialize_with = "number")]
    pub pit_distance: f64,
    /// By value, in ten bins.
    pub reliability: Vec<Reliability>,
    /// Shares of those places in twenty bins, `.05` each if the error head is right.
    pub pit: Vec<f64>,
}

/// JSON writes what is not a number as `null`.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or(f64::NAN))
}

fn unknown() -> f64 {
    f64::NAN
}

/// One bin of the reliability table.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Reliability {
    /// Lower end of the values.
    pub from: f64,
    /// Upper end.
    pub to: f64,
    /// Positions whose value lies between.
    pub positions: u64,
    /// Their mean value; 0 without positions.
    pub value: f64,
    /// Their mean score; 0 without positions.
    pub score: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn measures_follow_from_what_was_seen() {
        let mut sums = Sums::default();
        let seen = |value, score, rank, actions: &[[f64; 2]]| Observation {
            value,
            score,
            error: 0.1,
            rank,
            policy: 0.5_f64.powi(rank as i32),
            action_is_best: rank == 0,
            actions: actions.to_vec(),
        };
        sums.observe(&seen(0.55, 0.5, 0, &[[0.6, 0.5]]));
        sums.observe(&seen(0.55, 0.7, 2, &[[0.6, 0.7], [0.5, 0.2]]));
        sums.observe(&seen(0.05, 0.1, 4, &[[0.1, 0.1], [0.3, 0.05]]));
        sums.observe(&seen(0.95, 0.9, 5, &[[0.9, 0.9], [0.3, 0.9]]));
        assert_eq!(seen(0.5, 0.5, 0, &[[0.6, 0.7], [0.5, 0.2], [0.4, 0.3]]).pairs(), [3, 2, 1]);
        // A tie is neither.
        assert_eq!(seen(0.5, 0.5, 0, &[[0.6, 0.7], [0.6, 0.2]]).pairs(), [1, 0, 0]);
        let nothing = Sums::default().measures();
        assert!(nothing.kendall_tau.is_nan() && nothing.pair_agreement.is_nan());
        let text = serde_json::to_string(&nothing).unwrap();
        assert!(serde_json::from_str::<Measures>(&text).unwrap().pit_distance.is_nan());
        let mut twice = sums.clone();
        twice.add(&sums);
        for (measures, times) in [(sums.measures(), 1), (twice.measures(), 2)] {
            assert_eq!((measures.positions, measures.pairs), (4 * times, 2 * times));
            let top = [measures.policy_top_1, measures.policy_top_3, measures.policy_top_5];
            assert!(top.iter().zip([0.25, 0.5, 0.75]).all(|(&a, b)| close(a, b)));
            // Ranks 0, 2, 4 and 5: 11 halvings.
            assert!(close(measures.policy_nats, 11.0 * std::f64::consts::LN_2 / 4.0));
            assert!(close(measures.action_accuracy, 0.25));
            assert!(close(measures.pair_agreement, 0.5) && close(measures.kendall_tau, 0.0));
            assert!(close(measures.mean_error_points, 100.0 * 0.3 / 4.0));
            // The two values in the middle err by +5 and −15 points, the others by ∓5.
            assert!(close(measures.calibration_error_points, (10.0 + 5.0 + 5.0) / 4.0));
            assert!(close(measures.within_50, 0.75) && close(measures.within_90, 1.0));
            let middle = measures.reliability[5];
            assert_eq!((middle.positions, middle.from, middle.to), (2 * times, 0.5, 0.6));
            assert!(close(middle.value, 0.55) && close(middle.score, 0.6));
        }
    }

    /// Scores at the quantiles of the error head's own distribution are uniform under it.
    #[test]
    fn a_right_error_head_has_no_distance() {
        let n = 2000;
        let distance = |scale: f64| {
            let mut sums = Sums::default();
            for index in 0..n {
                let p = (f64::from(index) + 0.5) / f64::from(n);
                // Quantile of Student's t with two degrees of freedom.
                let t = (2.0 * p - 1.0) * (2.0 / (4.0 * p * (1.0 - p))).sqrt();
                let (value, error) = (0.5, 0.01);
                let score = value + t * error * scale;
                sums.observe(&Observation { value, error, score, ..Observation::default() });
            }
            sums.measures().pit_distance
        };
        assert!(distance(1.0) < 0.002, "{}", distance(1.0));
        assert!(distance(2.0) > 0.1);
    }
}
