//! The device must not wait for the search: two batches in flight.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use shakmaty::Chess;
use tesla_engine::history::Game;
use tesla_engine::search_api::{Limits, Search, StopToken, Task};
use tesla_engine::tesla::TeslaSearch;
use tesla_engine::timeman::Budget;
use tesla_nn::evaluator::{EvalError, Evaluation, Evaluator, Handle, MoveEstimate, Request};
use tesla_nn::simulated::{Behaviour, SimulatedDevice};

/// Answers at once with values drawn from the position's material hash: the device's latency is
/// all that counts here.
#[derive(Debug, Default)]
struct Instant(Vec<Vec<Request>>);

impl Evaluator for Instant {
    fn description(&self) -> String {
        "instant".to_owned()
    }

    fn batch_size(&self) -> usize {
        64
    }

    fn submit(&mut self, batch: Vec<Request>) {
        self.0.push(batch);
    }

    fn in_flight(&self) -> usize {
        self.0.len()
    }

    fn collect(&mut self) -> Result<Vec<Evaluation>, EvalError> {
        if self.0.is_empty() {
            return Err(EvalError::NothingInFlight);
        }
        let batch = self.0.remove(0);
        Ok(batch.iter().map(answer).collect())
    }
}

fn answer(request: &Request) -> Evaluation {
    let policy = 1.0 / request.moves.len() as f32;
    let guess = |place: usize| 0.4 + 0.2 * ((place * 37 % 101) as f32 / 101.0);
    let moves = (0..request.moves.len())
        .map(|place| MoveEstimate { policy, action_value: guess(place) })
        .collect();
    let value = guess(request.moves.len());
    Evaluation { value, error: 0.1, wdl: [value, 0.0, 1.0 - value], moves, handle: Handle(0) }
}

/// Tells how busy the device was.
struct Metered(SimulatedDevice, Arc<Mutex<f64>>);

impl Evaluator for Metered {
    fn description(&self) -> String {
        self.0.description()
    }

    fn batch_size(&self) -> usize {
        self.0.batch_size()
    }

    fn submit(&mut self, batch: Vec<Request>) {
        self.0.submit(batch);
    }

    fn in_flight(&self) -> usize {
        self.0.in_flight()
    }

    fn collect(&mut self) -> Result<Vec<Evaluation>, EvalError> {
        let answers = self.0.collect();
        if let Ok(mut share) = self.1.lock() {
            *share = self.0.busy_share();
        }
        answers
    }
}

#[test]
fn the_device_hardly_waits() {
    let share = Arc::new(Mutex::new(0.0));
    let base = Duration::from_millis(10);
    let device =
        SimulatedDevice::new(Instant::default(), Behaviour { base, ..Behaviour::default() });
    let mut search = TeslaSearch::new(Box::new(Metered(device, Arc::clone(&share))));
    let game = Game::new(Chess::new());
    let limits = Limits { nodes: Some(4000), ..Limits::default() };
    let budget = Budget::new(&limits, Duration::ZERO);
    let task = Task { game: &game, limits: &limits, budget: &budget, stop: &StopToken::default() };
    let outcome = search.search(&task, &mut |_| ());
    assert_eq!(outcome.info.nodes, 4000);
    let share = share.lock().map_or(0.0, |share| *share);
    println!("device busy {:.1} % of the time", 100.0 * share);
    assert!(share > 0.6, "{share}");
}
