//! From the network's numbers for one position to an evaluation.

use crate::evaluator::{Evaluation, Handle, MoveEstimate};

fn softmax(logits: impl Iterator<Item = f32> + Clone) -> impl Iterator<Item = f32> {
    let most = logits.clone().fold(f32::NEG_INFINITY, f32::max);
    let total: f32 = logits.clone().map(|logit| (logit - most).exp()).sum();
    logits.map(move |logit| (logit - most).exp() / total)
}

/// From value logits, the error's logarithm and each move's policy logit and action delta to an
/// evaluation without a handle.
///
/// Win, draw and loss are the histogram's means of `x²`, `2x(1 − x)` and `(1 − x)²`: two halves of
/// a game, each won with probability x. It keeps win + draw / 2 = value and needs no draw head.
pub fn decode(
    bins: &[f32],
    log_error: f32,
    moves: impl Iterator<Item = [f32; 2]> + Clone,
) -> Evaluation {
    let mut value = 0.0;
    let mut win = 0.0;
    for (bin, mass) in softmax(bins.iter().copied()).enumerate() {
        let x = (bin as f32 + 0.5) / bins.len() as f32;
        value += mass * x;
        win += mass * x * x;
    }
    let draw = 2.0 * (value - win);
    let odds = value.clamp(0.002, 0.998);
    let odds = (odds / (1.0 - odds)).ln();
    let policy = softmax(moves.clone().map(|[logit, _]| logit));
    let moves = policy
        .zip(moves)
        .map(|(policy, [_, delta])| MoveEstimate {
            policy,
            action_value: 1.0 / (1.0 + (-(odds + delta)).exp()),
        })
        .collect();
    Evaluation {
        value,
        error: log_error.clamp(-7.0, 1.0).exp(),
        wdl: [win, draw, 1.0 - win - draw],
        moves,
        handle: Handle(0),
    }
}
