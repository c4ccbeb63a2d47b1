//! An evaluator without knowledge and almost without cost, so that only the search's own work
//! remains.
//!
//! Reads the clock: it separates its own time from the search's.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use shakmaty::{Color, Position as _};

use crate::evaluator::{
    EvalError, Evaluation, Evaluator, GPU_FIXED_COST, Handle, MoveEstimate, Request,
};
use crate::meter::{Meter, Spent};

/// Answers with noise drawn from the position: a policy that falls by a third from move to move, in
/// an order of its own in every position, and values within a few points of even.
#[derive(Debug)]
pub struct Guesser {
    batch_size: usize,
    waiting: VecDeque<Vec<Evaluation>>,
    finished: Option<Instant>,
    meter: Meter,
}

impl Guesser {
    /// An evaluator with batches of this size.
    pub fn new(batch_size: usize) -> Self {
        let (waiting, meter) = (VecDeque::new(), Meter::default());
        Self { batch_size: batch_size.max(1), waiting, finished: None, meter }
    }

    /// Its own time; what is idle is the search's.
    pub fn meter(&self) -> Meter {
        self.meter.clone()
    }
}

/// Mixes a number (the last steps of `SplitMix64`).
fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// A share in [0, 1).
fn share(number: u64) -> f32 {
    (number >> 40) as f32 / (1_u32 << 24) as f32
}

fn answer(request: &Request) -> Evaluation {
    let board = request.position.board();
    let pieces = mixed(board.occupied().0 ^ board.by_color(Color::White).0.rotate_left(21));
    let seed = mixed(pieces ^ board.pawns().0 ^ (board.knights() | board.rooks()).0.rotate_left(9));
    let count = request.moves.len();
    let first = seed as usize % count.max(1);
    let ratio = 2.0_f32 / 3.0;
    let total = (1.0 - ratio.powi(count as i32)) / (1.0 - ratio);
    let value = 0.47 + 0.06 * share(seed);
    let mut moves = vec![MoveEstimate { policy: 0.0, action_value: value }; count];
    let mut policy = 1.0 / total;
    for rank in 0..count {
        let place = (first + rank) % count;
        let noise = share(mixed(seed ^ place as u64)) - 0.5;
        moves[place] = MoveEstimate { policy, action_value: value + 0.1 * noise };
        policy *= ratio;
    }
    let wdl = [value, 0.0, 1.0 - value];
    Evaluation { value, error: 0.08, wdl, moves: moves.into(), handle: Handle(0) }
}

impl Evaluator for Guesser {
    fn description(&self) -> String {
        "guesses".to_owned()
    }

    fn batch_size(&self) -> usize {
        self.batch_size
    }

    fn fixed_cost(&self) -> f32 {
        GPU_FIXED_COST // whose place it takes
    }

    fn submit(&mut self, batch: Vec<Request>) {
        let began = Instant::now();
        self.waiting.push_back(batch.iter().map(answer).collect());
        let idle = self.finished.map_or(Duration::ZERO, |earlier| began - earlier);
        self.meter.note(Spent { positions: batch.len(), busy: began.elapsed(), idle });
        self.finished = Some(Instant::now());
    }

    fn in_flight(&self) -> usize {
        self.waiting.len()
    }

    fn collect(&mut self) -> Result<Vec<Evaluation>, EvalError> {
        self.waiting.pop_front().ok_or(EvalError::NothingInFlight)
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::Chess;

    use super::*;

    #[test]
    fn answers_are_of_the_form_that_is_asked_for() {
        let mut guesser = Guesser::new(8);
        guesser.submit(vec![Request::single(&Chess::new()); 2]);
        let answers = guesser.collect().unwrap();
        assert_eq!(answers[0], answers[1]);
        assert_eq!(answers[0].moves.len(), 20);
        let sum: f32 = answers[0].moves.iter().map(|estimate| estimate.policy).sum();
        assert!((sum - 1.0).abs() < 1e-4, "{sum}");
        assert!(answers[0].moves.iter().all(|said| (0.0..=1.0).contains(&said.action_value)));
        assert_eq!(guesser.collect(), Err(EvalError::NothingInFlight));
        guesser.submit(Vec::new());
        let batches = guesser.meter().take();
        assert_eq!(batches.iter().map(|spent| spent.positions).collect::<Vec<_>>(), [2, 0]);
        assert!(batches[0].idle.is_zero() && !batches[1].idle.is_zero());
        assert!(guesser.meter().batches().is_empty());
    }
}
