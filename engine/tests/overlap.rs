//! The device must not wait for the search: two batches in flight.

use std::time::{Duration, Instant};

use shakmaty::Chess;
use tesla_engine::best_first::BestFirst;
use tesla_engine::chess::game::Game;
use tesla_engine::search::clock::Budget;
use tesla_engine::search::{Limits, Search, StopToken, Task};
use tesla_engine::tree::node::{PENDING, ROOT};
use tesla_nn::guess::Guesser;
use tesla_nn::simulated::{Behaviour, SimulatedDevice};

#[test]
fn the_device_hardly_waits() {
    let base = Duration::from_millis(10);
    let device = SimulatedDevice::new(Guesser::new(64), Behaviour { base, ..Behaviour::default() });
    let meter = device.meter();
    let mut search = BestFirst::new(Box::new(device));
    let game = Game::new(Chess::new());
    let limits = Limits { nodes: Some(4000), ..Limits::default() };
    let budget = Budget::new(&limits, Duration::ZERO);
    let task = Task { game: &game, limits: &limits, budget: &budget, stop: &StopToken::default() };
    let outcome = search.search(&task, &mut |_| ());
    assert_eq!(outcome.info.nodes, 4000);
    let share = meter.busy_share();
    println!("device busy {:.1} % of the time", 100.0 * share);
    assert!(share > 0.6, "{share}");
}

/// Two batches are in flight; only the older one is waited for.
#[test]
fn stop_waits_for_one_batch() {
    let base = Duration::from_millis(300);
    let device = SimulatedDevice::new(Guesser::new(64), Behaviour { base, ..Behaviour::default() });
    let mut search = BestFirst::new(Box::new(device));
    let game = Game::new(Chess::new());
    let limits = Limits { nodes: Some(1_000_000), ..Limits::default() };
    let budget = Budget::new(&limits, Duration::ZERO);
    let stop = StopToken::default();
    let token = stop.clone();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(1));
        token.stop();
        Instant::now()
    });
    let task = Task { game: &game, limits: &limits, budget: &budget, stop: &stop };
    let outcome = search.search(&task, &mut |_| ());
    let waited = stopper.join().unwrap().elapsed();
    assert!(waited < base + base / 2, "{waited:?}");
    // What was given up leaves no trace: the tree holds what was answered, and goes on.
    assert_eq!(u64::from(search.tree().node(ROOT).visits), outcome.info.nodes);
    assert!(search.tree().nodes().all(|node| !node.has(PENDING)));
    let limits = Limits { nodes: Some(20), ..Limits::default() };
    let task = Task { game: &game, limits: &limits, budget: &budget, stop: &StopToken::default() };
    assert_eq!(search.search(&task, &mut |_| ()).info.nodes, 20);
}
