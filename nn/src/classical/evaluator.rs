//! The classical evaluation behind the interface of a network.

use std::collections::VecDeque;

use shakmaty::{Chess, Position};

use super::exchange::nets_at_least;
use super::quiet::{quiet_centipawns, quiet_within};
use crate::evaluator::{
    CacheNote, EvalError, Evaluation, Evaluator, Handle, MoveEstimate, Request,
    score_from_centipawns,
};

/// Default for the largest batch, in positions.
const BATCH_SIZE: usize = 64;
/// Positions searched for the value after one move.
const CHILD_POSITIONS: u32 = 12;
/// Values stay this far from 0 and 1: certainty is for proofs.
const MARGIN: f32 = 0.001;
/// Softmax temperature of the policy over action values, in score units: a move 5 points worse is
/// about a third as likely.
const TEMPERATURE: f32 = 0.05;
/// What the policy adds, in score units, to a capture that loses nothing on its square.
const CAPTURE_BONUS: f32 = 0.02;
/// What the policy adds to a check.
const CHECK_BONUS: f32 = 0.03;
/// What the policy adds to a promotion.
const PROMOTION_BONUS: f32 = 0.02;
/// Error of an even, calm position, in score units.
const CALM_ERROR: f32 = 0.06;
/// Error added by a check to answer.
const CHECK_ERROR: f32 = 0.03;
/// Error added by each good capture, up to [`TENSE`] of them.
const CAPTURE_ERROR: f32 = 0.012;
const TENSE: usize = 4;
/// Share of the error that a decided position keeps.
const DECIDED: f32 = 0.2;

/// A deterministic [`Evaluator`] without a network. It works when `collect` is called, one position
/// after the other, on the calling thread.
///
/// * value: the static value with captures resolved, as an expected score;
/// * action values: one minus the same for the position after each move;
/// * policy: softmax of the action values, with a bonus for good captures, checks, promotions;
/// * error: larger with tension (a check, captures to be had), smaller in decided positions;
/// * win, draw, loss: the binomial model, a game as two independent halves each won with
///   probability `v`: `v²`, `2v(1-v)`, `(1-v)²`, whose expected score is `v`.
///
/// Repetitions and parents in the requests are ignored.
#[derive(Debug)]
pub struct ClassicalEvaluator {
    queue: VecDeque<Vec<Request>>,
    batch_size: usize,
    next_handle: u32,
}

impl Default for ClassicalEvaluator {
    fn default() -> Self {
        Self::new()
    }
}

impl ClassicalEvaluator {
    /// With the default batch size of 64.
    pub fn new() -> Self {
        Self::with_batch_size(BATCH_SIZE)
    }

    /// With another largest batch, in positions; at least 1.
    pub fn with_batch_size(batch_size: usize) -> Self {
        Self { queue: VecDeque::new(), batch_size: batch_size.max(1), next_handle: 0 }
    }

    fn name(&mut self) -> Handle {
        let handle = Handle(self.next_handle);
        self.next_handle = self.next_handle.wrapping_add(1);
        handle
    }

    fn evaluate(&mut self, request: &Request) -> Evaluation {
        let position = &request.position;
        let value = expected(quiet_centipawns(position));
        let mut good_captures = 0;
        let mut logits = Vec::with_capacity(request.moves.len());
        let mut moves: Vec<MoveEstimate> = Vec::with_capacity(request.moves.len());
        for &candidate in &request.moves {
            let mut child = position.clone();
            child.play_unchecked(candidate);
            let action_value = 1.0 - expected(quiet_within(&child, CHILD_POSITIONS));
            let good_capture = candidate.is_capture() && nets_at_least(position, candidate, 0);
            good_captures += usize::from(good_capture);
            let bonus = share(good_capture, CAPTURE_BONUS)
                + share(child.is_check(), CHECK_BONUS)
                + share(candidate.is_promotion(), PROMOTION_BONUS);
            logits.push((action_value + bonus) / TEMPERATURE);
            moves.push(MoveEstimate { policy: 0.0, action_value });
        }
        softmax(&mut logits);
        for (estimate, probability) in moves.iter_mut().zip(logits) {
            estimate.policy = probability;
        }
        Evaluation {
            value,
            error: error(position, value, good_captures),
            wdl: [value * value, 2.0 * value * (1.0 - value), (1.0 - value) * (1.0 - value)],
            moves: moves.into(),
            handle: self.name(),
        }
    }
}

impl Evaluator for ClassicalEvaluator {
    fn description(&self) -> String {
        "classical evaluation (no network)".to_owned()
    }

    fn batch_size(&self) -> usize {
        self.batch_size
    }

    fn submit(&mut self, batch: Vec<Request>) {
        self.queue.push_back(batch);
    }

    fn in_flight(&self) -> usize {
        self.queue.len()
    }

    fn collect(&mut self) -> Result<Vec<Evaluation>, EvalError> {
        let batch = self.queue.pop_front().ok_or(EvalError::NothingInFlight)?;
        Ok(batch.iter().map(|request| self.evaluate(request)).collect())
    }

    fn note(&mut self, _: u32, note: CacheNote) {
        if note == CacheNote::ForgetAll {
            self.next_handle = 0;
        }
    }
}

fn expected(centipawns: i32) -> f32 {
    score_from_centipawns(centipawns as f32).clamp(MARGIN, 1.0 - MARGIN)
}

fn share(applies: bool, bonus: f32) -> f32 {
    if applies { bonus } else { 0.0 }
}

fn error(position: &Chess, value: f32, good_captures: usize) -> f32 {
    let tension = CALM_ERROR
        + share(position.is_check(), CHECK_ERROR)
        + CAPTURE_ERROR * good_captures.min(TENSE) as f32;
    let open = 4.0 * value * (1.0 - value);
    tension * (DECIDED + (1.0 - DECIDED) * open)
}

/// Turns logits into probabilities that sum to 1.
fn softmax(logits: &mut [f32]) {
    let largest = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let mut sum = 0.0;
    for logit in logits.iter_mut() {
        *logit = (*logit - largest).exp();
        sum += *logit;
    }
    for logit in logits.iter_mut() {
        *logit /= sum;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shakmaty::CastlingMode;
    use shakmaty::fen::Fen;

    use super::*;

    fn request(position: &Chess) -> Request {
        Request::single(position)
    }

    fn evaluate(position: &Chess) -> Evaluation {
        let mut evaluator = ClassicalEvaluator::new();
        evaluator.submit(vec![request(position)]);
        evaluator.collect().unwrap().remove(0)
    }

    #[test]
    fn answers_in_order_and_counts_what_is_in_flight() {
        let mut evaluator = ClassicalEvaluator::with_batch_size(0);
        assert_eq!(evaluator.batch_size(), 1);
        assert_eq!(evaluator.collect(), Err(EvalError::NothingInFlight));
        let start = request(&Chess::default());
        evaluator.submit(vec![]);
        evaluator.submit(vec![start.clone(), start]);
        assert_eq!(evaluator.in_flight(), 2);
        assert_eq!(evaluator.collect(), Ok(vec![]));
        let answers = evaluator.collect().unwrap();
        assert_eq!(answers.iter().map(|answer| answer.handle.0).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(evaluator.in_flight(), 0);
    }

    #[test]
    fn the_hanging_queen_is_the_likeliest_capture() {
        let fen = "rnb1kbnr/pppp1ppp/8/4p1q1/4P3/3P4/PPP2PPP/RNBQKBNR w KQkq - 0 1";
        let position: Chess =
            fen.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap();
        let answer = evaluate(&position);
        let legal = position.legal_moves();
        let (index, best) = answer
            .moves
            .iter()
            .enumerate()
            .max_by(|a, b| a.1.policy.total_cmp(&b.1.policy))
            .unwrap();
        assert_eq!(legal[index].capture(), Some(shakmaty::Role::Queen));
        assert!(best.policy > 0.9 && answer.value > 0.9, "{answer:?}");
    }

    proptest! {
        #[test]
        fn answers_are_sound(choices in prop::collection::vec(any::<u16>(), 0..80)) {
            let mut position = Chess::default();
            for choice in choices {
                let legal = position.legal_moves();
                if legal.is_empty() {
                    return Ok(());
                }
                position.play_unchecked(legal[usize::from(choice) % legal.len()]);
            }
            if position.legal_moves().is_empty() {
                return Ok(());
            }
            let answer = evaluate(&position);
            prop_assert!((answer.wdl.iter().sum::<f32>() - 1.0).abs() < 1e-5);
            prop_assert!((answer.wdl[0] + answer.wdl[1] / 2.0 - answer.value).abs() < 1e-5);
            prop_assert!((answer.moves.iter().map(|m| m.policy).sum::<f32>() - 1.0).abs() < 1e-4);
            prop_assert!(answer.error > 0.0 && answer.value > 0.0 && answer.value < 1.0);
            prop_assert!(answer.moves.iter().all(|m| (0.0..=1.0).contains(&m.action_value)));
            prop_assert_eq!(evaluate(&position), answer);
        }
    }
}
