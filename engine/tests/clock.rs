//! What the search does with its clock, with the shipped network and the shipped numbers. The price
//! of time (`stop_gain`) has the scale of the search's errors: who changes those must tune it anew.

#![cfg(feature = "net")]
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::num::NonZeroU32;
use std::time::Duration;

use shakmaty::CastlingMode;
use shakmaty::fen::Fen;
use tesla_engine::chess::game::Game;
use tesla_engine::search::clock::Budget;
use tesla_engine::search::{Clock, Limits, StopToken, Task};
use tesla_engine::setup::factory;
use tesla_engine::setup::machine::Machine;
use tesla_engine::setup::settings::Settings;

/// Openings and middle games with several sensible moves.
const HARD: [&str; 10] = [
    "rnbqkb1r/pp3ppp/4pn2/2pp4/2PP4/2N2N2/PP2PPPP/R1BQKB1R w KQkq - 0 5",
    "r1bq1rk1/pp2ppbp/2np1np1/8/3NP3/2N1BP2/PPPQ2PP/R3KB1R w KQ - 3 9",
    "r1bqr1k1/ppp2ppp/2np1n2/2b1p3/2B1P3/2PP1N1P/PP1N1PP1/R1BQR1K1 b - - 0 9",
    "2rq1rk1/pb1nbppp/1p2pn2/3p4/2PP4/1P3NP1/PB1N1PBP/R2Q1RK1 b - - 4 12",
    "r2q1rk1/4bppp/p2pbn2/1p2p3/4P3/1NN1B3/PPP1QPPP/R4RK1 w - - 0 14",
    "4rrk1/pp1n3p/3q2pQ/2p1pb2/2PP4/2P3N1/P2B2PP/4RRK1 b - - 7 19",
    "r1bqk2r/pp2bppp/2n1pn2/2pp4/3P1B2/2P1PN2/PP1N1PPP/R2QKB1R w KQkq - 4 7",
    "r2qkb1r/pp1n1ppp/2p1pn2/3p1b2/2PP4/4PN2/PP1NBPPP/R1BQK2R w KQkq - 2 7",
    "r1b2rk1/2q1bppp/p2ppn2/1p6/3QP3/1BN1B3/PPP2PPP/R4RK1 w - - 0 13",
    "2r2rk1/1bqnbppp/p2ppn2/1p6/3NPP2/1BN1B3/PPP1Q1PP/3R1RK1 w - - 0 14",
];

/// A piece or a pawn was taken, and one move takes back well.
const RECAPTURES: [&str; 6] = [
    "r1bqkb1r/pp2pppp/2np1n2/8/3pP3/2N2N2/PPP2PPP/R1BQKB1R w KQkq - 0 6",
    "rnbqkbnr/pp2pppp/2p5/8/3Pp3/2N5/PPP2PPP/R1BQKBNR w KQkq - 0 4",
    "r1bqkbnr/pppp1ppp/8/8/3nP3/8/PPP2PPP/RNBQKB1R w KQkq - 0 5",
    "rnbq1rk1/ppp1bpp1/4pB1p/3p4/2PP4/2N1PN2/PP3PPP/R2QKB1R b KQ - 0 7",
    "rnbq1rk1/ppp2pbp/3p1np1/4P3/2P1P3/2N2N2/PP2BPPP/R1BQK2R b KQ - 0 7",
    "r3k2r/pb1ppp1p/1p2n1p1/q7/2P1P3/P1bBB3/1P3PPP/2RQ1RK1 w kq - 0 14",
];

fn game(fen: &str) -> Game {
    let fen: Fen = fen.parse().unwrap();
    Game::new(fen.into_position(CastlingMode::Standard).unwrap())
}

/// Which share of the planned time the search takes for each of these positions, where the clock
/// plans so many evaluations. Time is counted in them.
fn shares(positions: &[&str], planned: u32) -> Vec<f64> {
    let machine = Machine { device: "cpu".to_owned(), ..Settings::default().machine() };
    let mut search = factory::search(&machine).unwrap().search;
    search.set_hash_mb(64);
    let clock = Clock {
        remaining: Duration::from_secs(1),
        increment: Duration::ZERO,
        moves_to_go: Some(10),
    };
    let per_ms = NonZeroU32::new(planned / 100).unwrap();
    let limits = Limits { clock: Some(clock), ..Limits::default() };
    let share = |fen: &&str| {
        let game = game(fen);
        let budget = Budget::by_evaluations(&limits, per_ms);
        let stop = StopToken::default();
        let task = Task { game: &game, limits: &limits, budget: &budget, stop: &stop };
        search.clear();
        search.search(&task, &mut |_| {});
        budget.elapsed().as_secs_f64() / budget.soft().unwrap().as_secs_f64()
    };
    positions.iter().map(share).collect()
}

fn mean(shares: &[f64]) -> f64 {
    shares.iter().sum::<f64>() / shares.len() as f64
}

/// Evaluations of a second, and how long it was, where this many evaluations are a millisecond and
/// a batch of at most 64 has this fixed cost.
fn in_a_second(per_ms: u32, fixed_cost: f32) -> (u64, Duration) {
    let mut machine = Machine { device: "cpu".to_owned(), ..Settings::default().machine() };
    machine.batch_size = Some(64);
    machine.params.set("fixed_cost", fixed_cost).unwrap();
    let mut search = factory::search(&machine).unwrap().search;
    let game = game(HARD[0]);
    let limits = Limits { move_time: Some(Duration::from_secs(1)), ..Limits::default() };
    let budget = Budget::by_evaluations(&limits, NonZeroU32::new(per_ms).unwrap());
    let stop = StopToken::default();
    let task = Task { game: &game, limits: &limits, budget: &budget, stop: &stop };
    let outcome = search.search(&task, &mut |_| {});
    (outcome.info.nodes, budget.elapsed())
}

#[test]
fn a_batch_takes_its_fixed_cost_where_evaluations_are_the_clock() {
    let (plain, _) = in_a_second(2, 0.0);
    assert!((1_900..=2_064).contains(&plain), "{plain}");
    let (evaluations, elapsed) = in_a_second(20, 500.0);
    // 20,000 are at most 40 batches, of 64 at most and of a sixth of the tree.
    assert!((100..=2_000).contains(&evaluations), "{evaluations}");
    assert!((950..=1_040).contains(&elapsed.as_millis()), "{elapsed:?}");
}

#[test]
fn hard_choices_take_the_planned_time_and_recaptures_hardly_any() {
    let obvious = shares(&RECAPTURES, 800);
    assert!(obvious.iter().all(|&share| share < 0.5), "recaptures: {obvious:.2?}");
    // A fast machine takes the same share as a slow one.
    let slow = shares(&HARD, 800);
    let fast = shares(&HARD, 6_400);
    for hard in [&slow, &fast] {
        assert!((0.6..=1.1).contains(&mean(hard)), "{:.2}: {hard:.2?}", mean(hard));
    }
    let ratio = mean(&fast) / mean(&slow);
    assert!((0.75..=1.33).contains(&ratio), "{ratio:.2}: {slow:.2?} {fast:.2?}");
}
