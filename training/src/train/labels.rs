//! What the teacher said about the readouts of a batch.

use shakmaty::Move;
use tesla_nn::batch::Batch;
use tesla_nn::model::VALUE_BINS;

use crate::labelled::{Candidate, Ply, pack};

/// Standard deviation of the value label's histogram, in bins (HL-Gauss).
const LABEL_SIGMA_BINS: f32 = 0.75;
/// How much the whole encode (staleness 0) counts against a stale readout: it is one of nine, and
/// the one that re-anchoring relies on.
const WHOLE_WEIGHT: f32 = 2.0;

/// Labels of a batch, in readout order; missing readouts have weight 0.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// Readout slots per window.
    readouts: usize,
    in_window: usize,
    /// `[b * r]`: teacher's expected score for the side to move.
    pub score: Vec<f32>,
    /// `[b * r]`: weight in the loss; 0 = no such readout.
    pub weight: Vec<f32>,
    /// `[b * r]`: index of the best move among the readout's legal moves.
    pub best: Vec<i32>,
    /// Index of the move played from here.
    played: Vec<Option<usize>>,
    /// Value after the move played, for the mover, where the game tells it.
    after: Vec<Option<f32>>,
    /// Other moves that the teacher scored, by index: readout, move and expected score.
    others: Vec<(usize, usize, f32)>,
    /// Legal moves padded to the longest list: rows of the flat move list, or one past its end.
    pub slots: Vec<i32>,
    /// Longest list of legal moves.
    pub longest: usize,
    /// Flat moves with a known value after them …
    pub action_move: Vec<i32>,
    /// … the readout they belong to …
    pub action_readout: Vec<i32>,
    /// … and that value for the mover.
    pub action_score: Vec<f32>,
}

/// What is known of a readout.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The move played, the best one and its score.
    pub ply: Ply,
    /// Weight in the loss.
    pub weight: f32,
    /// Value of the move played for the mover, where the next ply tells it.
    pub after: Option<f32>,
    /// Moves beside the best one that the teacher scored; those that are not legal are left out.
    pub others: &'a [Candidate],
}

impl Labels {
    /// No labels yet, for windows of at most `readouts` positions.
    pub fn new(readouts: usize) -> Self {
        Self { readouts, ..Self::default() }
    }

    /// Adds the next readout of the current window, a position with these legal moves.
    pub fn push(&mut self, known: Known<'_>, moves: &[Move]) {
        let Known { ply, weight, after, others } = known;
        let index = |packed: u16| moves.iter().position(|&m| pack(m) == packed);
        let readout = self.score.len();
        let known = others.iter().filter_map(|other| {
            let is_new = other.played != ply.best;
            is_new.then_some((readout, index(other.played)?, other.expected()))
        });
        self.others.extend(known);
        let weight = if self.in_window == 0 { weight * WHOLE_WEIGHT } else { weight };
        self.score.push(ply.expected());
        self.weight.push(weight);
        self.best.push(index(ply.best).map_or(0, |i| i as i32));
        self.played.push(index(ply.played));
        self.after.push(after);
        self.in_window += 1;
    }

    /// Pads the current window to its slots.
    pub fn end_window(&mut self) {
        for _ in self.in_window..self.readouts {
            self.score.push(0.5);
            self.weight.push(0.0);
            self.best.push(0);
            self.played.push(None);
            self.after.push(None);
        }
        self.in_window = 0;
    }

    /// Resolves moves against the packed batch.
    pub fn finish(&mut self, batch: &Batch) {
        let offsets = &batch.move_offsets;
        let total = offsets.last().copied().unwrap_or(0);
        self.longest = offsets.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0).max(1);
        self.slots = vec![total as i32; self.score.len() * self.longest];
        let others = std::mem::take(&mut self.others);
        let mut others = others.as_slice();
        for readout in 0..self.score.len() {
            let (first, end) = (offsets[readout], offsets[readout + 1]);
            for (slot, row) in (first..end).enumerate() {
                self.slots[readout * self.longest + slot] = row as i32;
            }
            if self.weight[readout] == 0.0 {
                continue;
            }
            let of_readout = others.partition_point(|&(at, ..)| at <= readout);
            let (scored, later) = others.split_at(of_readout);
            others = later;
            let best = self.best[readout] as usize;
            let mut label = |index: usize, score: f32| {
                self.action_move.push((first + index) as i32);
                self.action_readout.push(readout as i32);
                self.action_score.push(score);
            };
            label(best, self.score[readout]);
            // The position after the move played had a search of its own.
            let played = self.played[readout].filter(|&played| played != best);
            let played = played.zip(self.after[readout]);
            for &(at, index, score) in scored {
                if at == readout && played.is_none_or(|(played, _)| played != index) {
                    label(index, score);
                }
            }
            if let Some((played, after)) = played {
                label(played, after);
            }
        }
    }

    /// `[b * r * 64]`: the value labels as histograms.
    pub fn histograms(&self) -> Vec<f32> {
        let mut bins = vec![0.0; self.score.len() * VALUE_BINS];
        for (score, row) in self.score.iter().zip(bins.chunks_exact_mut(VALUE_BINS)) {
            histogram(*score, row);
        }
        bins
    }
}

/// Gauss around `score`, cut at 0 and 1, integrated over each bin and normalised.
fn histogram(score: f32, row: &mut [f32]) {
    let bins = row.len() as f32;
    let sigma = LABEL_SIGMA_BINS / bins;
    let cumulative = |x: f32| logistic_normal((x - score) / sigma);
    let mut below = cumulative(0.0);
    for (bin, mass) in row.iter_mut().enumerate() {
        let up_to = cumulative((bin + 1) as f32 / bins);
        *mass = up_to - below;
        below = up_to;
    }
    let total: f32 = row.iter().sum();
    for mass in row {
        *mass /= total;
    }
}

/// The normal CDF by the logistic approximation of Bowling et al. 2009 (error below 0.00015).
fn logistic_normal(z: f32) -> f32 {
    1.0 / (1.0 + (-(0.070_56 * z * z * z + 1.5976 * z)).exp())
}

#[cfg(test)]
mod tests {
    use shakmaty::{Chess, Position};
    use tesla_nn::encode::Window;

    use super::*;

    #[test]
    fn histograms_keep_the_mean() {
        for score in [0.0, 0.013, 0.31, 0.5, 0.77, 1.0] {
            let mut row = [0.0; VALUE_BINS];
            histogram(score, &mut row);
            let total: f32 = row.iter().sum();
            let mean: f32 = row
                .iter()
                .enumerate()
                .map(|(bin, mass)| mass * (bin as f32 + 0.5) / VALUE_BINS as f32)
                .sum();
            assert!((total - 1.0).abs() < 1e-5);
            assert!((mean - score).abs() < 0.012, "{score} became {mean}");
        }
    }

    #[test]
    fn every_scored_move_is_an_action_label_once() {
        let position = Chess::default();
        let moves = position.legal_moves();
        let ply = Ply { played: pack(moves[3]), best: pack(moves[5]), score: 40 };
        let other = |index: usize, score| Candidate { played: pack(moves[index]), score };
        // A move that is not legal, the best one again, and the one played, which is known better.
        let stranger = Candidate { played: u16::MAX, score: 5 };
        let others = [other(1, -30), stranger, other(5, 7), other(3, 9), other(0, -50)];
        let mut labels = Labels::new(1);
        let window = || Window::new(&position, 0, &moves);
        labels.push(Known { ply, weight: 1.0, after: Some(0.25), others: &[] }, &moves);
        labels.end_window();
        labels.push(Known { ply, weight: 1.0, after: Some(0.25), others: &others }, &moves);
        labels.end_window();
        labels.finish(&Batch::pack(&[window(), window()]));
        assert_eq!(labels.action_readout, [0, 0, 1, 1, 1, 1]);
        let first = moves.len() as i32;
        assert_eq!(labels.action_move, [5, 3, first + 5, first + 1, first, first + 3]);
        let [best, second, last] = [40, -30, -50].map(|score| other(0, score).expected());
        assert_eq!(labels.action_score, [best, 0.25, best, second, last, 0.25]);
    }

    #[test]
    fn without_a_value_after_it_the_move_played_has_its_own_score() {
        let position = Chess::default();
        let moves = position.legal_moves();
        let ply = Ply { played: pack(moves[1]), best: pack(moves[0]), score: 0 };
        let mut labels = Labels::new(1);
        let other = Candidate { played: pack(moves[1]), score: -100 };
        labels.push(Known { ply, weight: 1.0, after: None, others: &[other] }, &moves);
        labels.end_window();
        labels.finish(&Batch::pack(&[Window::new(&position, 0, &moves)]));
        assert_eq!(labels.action_move, [0, 1]);
        assert!((labels.action_score[1] - other.expected()).abs() < 1e-6);
    }
}
