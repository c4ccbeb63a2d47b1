//! From the network's numbers for one position to an evaluation.

use crate::evaluator::{Evaluation, Handle, MoveEstimate};
use crate::model::VALUE_BINS;

/// The highest of these.
fn highest(logits: impl Iterator<Item = f32>) -> f32 {
    logits.fold(f32::NEG_INFINITY, f32::max)
}

/// From the value logits of all bins, the error's logarithm and each move's policy logit and action
/// delta to an evaluation without a handle.
///
/// Win, draw and loss are the histogram's means of `x²`, `2x(1 − x)` and `(1 − x)²`: two halves of
/// a game, each won with probability x. It keeps win + draw / 2 = value and needs no draw head.
pub fn decode(
    bins: &[f32],
    log_error: f32,
    moves: impl Iterator<Item = [f32; 2]> + Clone,
) -> Evaluation {
    let most = highest(bins.iter().copied());
    let mut masses = [0.0; VALUE_BINS];
    for (mass, logit) in masses.iter_mut().zip(bins) {
        *mass = (logit - most).exp();
    }
    let total: f32 = masses.iter().sum();
    let mut value = 0.0;
    let mut win = 0.0;
    for (bin, mass) in masses.into_iter().enumerate() {
        let (mass, x) = (mass / total, (bin as f32 + 0.5) / VALUE_BINS as f32);
        value += mass * x;
        win += mass * x * x;
    }
    let draw = 2.0 * (value - win);
    let odds = value.clamp(0.002, 0.998);
    let odds = (odds / (1.0 - odds)).ln();
    let most = highest(moves.clone().map(|[logit, _]| logit));
    let estimate = |[logit, delta]: [f32; 2]| MoveEstimate {
        policy: (logit - most).exp(),
        action_value: 1.0 / (1.0 + (-(odds + delta)).exp()),
    };
    let mut moves: Box<[MoveEstimate]> = moves.map(estimate).collect();
    let total: f32 = moves.iter().map(|estimate| estimate.policy).sum();
    for estimate in &mut moves {
        estimate.policy /= total;
    }
    Evaluation {
        value,
        error: log_error.clamp(-7.0, 1.0).exp(),
        wdl: [win, draw, 1.0 - win - draw],
        moves,
        handle: Handle(0),
    }
}
