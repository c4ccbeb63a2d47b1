//! Drills: the device is lost in mid-search, and the search goes on with another.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use shakmaty::{Chess, Position};
use tesla_engine::alphabeta::AlphaBeta;
use tesla_engine::best_first::BestFirst;
use tesla_engine::chess::game::Game;
use tesla_engine::search::clock::Budget;
use tesla_engine::search::{Fallbacks, Limits, Outcome, Search, StopToken, Task};
use tesla_nn::classical::ClassicalEvaluator;
use tesla_nn::evaluator::{EvalError, Evaluation, Evaluator, Request};
use tesla_nn::simulated::{Behaviour, SimulatedDevice};

/// So many evaluations and no other limit.
fn nodes(count: u64) -> Limits {
    Limits { nodes: Some(count), ..Limits::default() }
}

/// A driver that brings its thread down with the third batch.
struct Panicking(ClassicalEvaluator, u32);

impl Evaluator for Panicking {
    fn description(&self) -> String {
        "a driver that panics".to_owned()
    }

    fn batch_size(&self) -> usize {
        self.0.batch_size()
    }

    fn submit(&mut self, batch: Vec<Request>) {
        self.1 += 1;
        assert!(self.1 < 3, "this panic belongs to the drill");
        self.0.submit(batch);
    }

    fn in_flight(&self) -> usize {
        self.0.in_flight()
    }

    fn collect(&mut self) -> Result<Vec<Evaluation>, EvalError> {
        self.0.collect()
    }
}

/// A device that is lost after so many batches.
fn lost_after(batches: u64) -> Box<dyn Evaluator> {
    let behaviour = Behaviour { fail_after: Some(batches), ..Behaviour::default() };
    Box::new(SimulatedDevice::new(ClassicalEvaluator::with_batch_size(8), behaviour))
}

fn panicking() -> Box<dyn Evaluator> {
    let driver = Panicking(ClassicalEvaluator::with_batch_size(8), 0);
    Box::new(SimulatedDevice::new(driver, Behaviour::default()))
}

fn sound() -> Box<dyn Evaluator> {
    Box::new(ClassicalEvaluator::with_batch_size(8))
}

/// Every search that asks an evaluator, on this one.
fn searches(evaluator: fn() -> Box<dyn Evaluator>) -> [Box<dyn Search>; 3] {
    [
        Box::new(BestFirst::new(evaluator())),
        Box::new(BestFirst::puct(evaluator())),
        Box::new(AlphaBeta::with_evaluator(evaluator(), 4)),
    ]
}

/// Gives these, the last one first, and keeps why each was asked for.
fn fallbacks(mut left: Vec<Box<dyn Evaluator>>) -> (Fallbacks, Arc<Mutex<Vec<EvalError>>>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = Arc::clone(&told);
    let fallbacks = move |error: &EvalError| {
        tell.lock().unwrap().push(error.clone());
        left.pop()
    };
    (Box::new(fallbacks), told)
}

fn run(search: &mut dyn Search, limits: &Limits) -> Outcome {
    let game = Game::new(Chess::default());
    let (budget, stop) = (Budget::new(limits, Duration::ZERO), StopToken::default());
    let task = Task { game: &game, limits, budget: &budget, stop: &stop };
    let outcome = search.search(&task, &mut |_| ());
    assert!(game.position().is_legal(outcome.best));
    outcome
}

#[test]
fn the_search_goes_on_with_the_next_device() {
    for lost in [|| lost_after(0), || lost_after(5), panicking] {
        for mut search in searches(lost) {
            let (fallbacks, told) = fallbacks(vec![sound()]);
            search.set_fallbacks(fallbacks);
            let outcome = run(search.as_mut(), &nodes(400));
            assert_eq!((outcome.error, outcome.info.nodes), (None, 400));
            assert!(matches!(told.lock().unwrap()[..], [EvalError::DeviceLost(_)]));
            // The next search is an ordinary one.
            let outcome = run(search.as_mut(), &nodes(400));
            assert_eq!((outcome.error, told.lock().unwrap().len()), (None, 1));
        }
    }
}

#[test]
fn whichever_batch_is_the_last_what_it_owed_is_asked_again() {
    let mut was_lost = 0;
    // Among them those that are under way when all that the limit allows has been asked.
    for batches in 0..60 {
        for make in [BestFirst::new, BestFirst::puct] {
            let mut search = make(lost_after(batches));
            let (fallbacks, told) = fallbacks(vec![sound()]);
            search.set_fallbacks(fallbacks);
            assert_eq!(run(&mut search, &nodes(100)).info.nodes, 100, "{batches}");
            was_lost += told.lock().unwrap().len();
        }
    }
    assert!(was_lost > 20, "{was_lost}");
}

#[test]
fn what_was_known_is_kept() {
    let mut undisturbed = BestFirst::new(sound());
    run(&mut undisturbed, &nodes(300));
    let mut disturbed = BestFirst::new(lost_after(5));
    disturbed.set_fallbacks(fallbacks(vec![sound()]).0);
    let before = run(&mut disturbed, &nodes(300));
    assert_eq!(before.info.nodes, 300);
    // Taken back and asked again: no leaf is lost or counted twice.
    assert_eq!(disturbed.tree().expansion_count(), undisturbed.tree().expansion_count());
}

#[test]
fn one_device_after_the_other_may_be_lost() {
    for mut search in searches(|| lost_after(2)) {
        let (fallbacks, told) = fallbacks(vec![sound(), panicking(), lost_after(3)]);
        search.set_fallbacks(fallbacks);
        let outcome = run(search.as_mut(), &nodes(400));
        assert_eq!((outcome.error, outcome.info.nodes), (None, 400));
        assert_eq!(told.lock().unwrap().len(), 3);
    }
}

#[test]
fn where_nothing_is_left_the_search_ends_with_what_it_knows() {
    for mut search in searches(|| lost_after(2)) {
        let (fallbacks, told) = fallbacks(vec![lost_after(1)]);
        search.set_fallbacks(fallbacks);
        let outcome = run(search.as_mut(), &nodes(400));
        assert!(matches!(outcome.error, Some(EvalError::DeviceLost(_))));
        assert_eq!(told.lock().unwrap().len(), 2);
    }
}

#[test]
fn nothing_is_started_with_too_little_time() {
    let limits = Limits { move_time: Some(Duration::from_millis(450)), ..Limits::default() };
    for mut search in searches(|| lost_after(3)) {
        let (fallbacks, told) = fallbacks(vec![sound()]);
        search.set_fallbacks(fallbacks);
        let outcome = run(search.as_mut(), &limits);
        assert!(outcome.error.is_some() && told.lock().unwrap().is_empty());
    }
    // A game is not played from the first legal move that comes to mind.
    let mut search = BestFirst::new(lost_after(0));
    search.set_fallbacks(fallbacks(vec![sound()]).0);
    let outcome = run(&mut search, &limits);
    assert!(outcome.error.is_none() && outcome.info.nodes > 0);
}
