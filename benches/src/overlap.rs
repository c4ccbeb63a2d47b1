//! A device with a set latency: how busy the search keeps it, how full its batches are, and how
//! soon a `stop` is answered.
//!
//! Reads the clock: busy time and answers to `stop` are what it measures.

use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

use shakmaty::Chess;
use tesla_engine::best_first::BestFirst;
use tesla_engine::chess::game::Game;
use tesla_engine::search::clock::Budget;
use tesla_engine::search::{Limits, Search as _, StopToken, Task};
use tesla_nn::evaluator::Evaluator as _;
use tesla_nn::guess::Guesser;
use tesla_nn::simulated::{Behaviour, SimulatedDevice};

use crate::positions::limited;

/// What to measure.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Time for a batch of any size, microseconds
    #[arg(long, default_value_t = 1_000)]
    base: u64,
    /// Time added by each position of a batch, microseconds
    #[arg(long, default_value_t = 2)]
    per_position: u64,
    /// Largest batch, evaluations
    #[arg(long, default_value_t = 256)]
    batch: usize,
    /// Evaluations
    #[arg(long, default_value_t = 200_000)]
    nodes: u64,
    /// Evaluations of each search that are not counted, while the tree is small
    #[arg(long, default_value_t = 5_000)]
    skip: u64,
    /// Search for this long, milliseconds, instead of a number of evaluations
    #[arg(long, conflicts_with = "nodes")]
    movetime: Option<u64>,
    /// Searches, each from an empty tree
    #[arg(long, default_value_t = 1)]
    searches: usize,
    /// Searches that are stopped
    #[arg(long, default_value_t = 50)]
    stops: usize,
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let behaviour = Behaviour::of_micros(arguments.base, arguments.per_position);
    let device = SimulatedDevice::new(Guesser::new(arguments.batch), behaviour);
    println!("{}", device.description());
    let meter = device.meter();
    let mut search = BestFirst::new(Box::new(device));
    search.set_hash_mb(1024);
    let limits = match arguments.movetime {
        Some(ms) => Limits { move_time: Some(Duration::from_millis(ms)), ..Limits::default() },
        None => Limits { nodes: Some(arguments.nodes), ..Limits::default() },
    };
    let mut counted = Vec::new();
    for _ in 0..arguments.searches {
        limited(&mut search, &limits, &Chess::default(), &mut |_| {});
        let mut before = 0;
        counted.extend(meter.take().into_iter().filter(|spent| {
            before += spent.positions as u64;
            before - spent.positions as u64 >= arguments.skip
        }));
    }
    let busy = counted.iter().map(|spent| spent.busy).sum::<Duration>().as_secs_f64();
    let idle = counted.iter().map(|spent| spent.idle).sum::<Duration>().as_secs_f64();
    let filled = counted.iter().map(|spent| spent.positions).sum::<usize>() as f64;
    let most = (counted.len() * arguments.batch) as f64;
    println!(
        "after the first {} evaluations of each: device busy {:.1} % of the time, batches {:.1} % \
         full ({} batches), {:.0} evaluations/s",
        arguments.skip,
        100.0 * busy / (busy + idle).max(1e-9),
        100.0 * filled / most.max(1.0),
        counted.len(),
        filled / (busy + idle).max(1e-9)
    );
    let mut waits: Vec<Duration> = (0..arguments.stops)
        .map(|number| stop_after(&mut search, number))
        .collect::<Result<_, _>>()?;
    waits.sort_unstable();
    if let (Some(middle), Some(most)) = (waits.get(waits.len() / 2), waits.last()) {
        println!(
            "stop is answered in {middle:.1?} (median of {}), {most:.1?} at most",
            waits.len()
        );
    }
    Ok(())
}

/// Stops an endless search after a while; answers how long that took.
fn stop_after(search: &mut BestFirst, number: usize) -> Result<Duration, Box<dyn Error>> {
    search.clear();
    let game = Game::new(Chess::default());
    let limits = Limits { infinite: true, ..Limits::default() };
    let budget = Budget::new(&limits, Duration::ZERO);
    let stop = StopToken::default();
    let token = stop.clone();
    let after = Duration::from_millis(60 + 7 * number as u64);
    let stopper = thread::spawn(move || {
        thread::sleep(after);
        token.stop();
        Instant::now()
    });
    search
        .search(&Task { game: &game, limits: &limits, budget: &budget, stop: &stop }, &mut |_| ());
    let ended = Instant::now();
    let stopped = stopper.join().map_err(|_| "the stopping thread failed")?;
    Ok(ended.saturating_duration_since(stopped))
}
