//! The Tesla search: repeatable, honest about mates and draws, obedient to its limits.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod lines;
mod mates;
mod memory;
mod repetitions;
mod searchmoves;
mod watched;

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use common::{nodes, walk};
use proptest::prelude::*;
use shakmaty::fen::Fen;
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Chess, Position};
use tesla_engine::best_first::BestFirst;
use tesla_engine::best_first::params::Params;
use tesla_engine::chess::game::Game;
use tesla_engine::chess::score::{Score, Verdict};
use tesla_engine::search::clock::Budget;
use tesla_engine::search::{Clock, Info, Limits, Outcome, Search, StopToken, Task};
use tesla_engine::tree::arena::Tree;
use tesla_engine::tree::node::{BLOCKED, KNOWN, PENDING};
use tesla_engine::tree::sweep::recompute_all;
use tesla_nn::classical::ClassicalEvaluator;
use tesla_nn::evaluator::EvalError;
use tesla_nn::guess::Guesser;
use watched::Watched;

fn game(fen: &str, moves: &str) -> Game {
    let fen: Fen = fen.parse().unwrap();
    let mut game = Game::new(fen.into_position(CastlingMode::Standard).unwrap());
    for text in moves.split_whitespace() {
        let played = text.parse::<UciMove>().unwrap().to_move(game.position()).unwrap();
        game.play(played);
    }
    game
}

fn start() -> Game {
    Game::new(Chess::new())
}

/// Changes one tunable.
fn set(search: &mut BestFirst, name: &str, value: f32) {
    let mut params = Params::default();
    params.set(name, value).unwrap();
    search.set_params(params);
}

fn engine(batch: usize) -> BestFirst {
    let mut search = BestFirst::new(Watched::new(batch, u64::MAX).0);
    search.set_hash_mb(32);
    search
}

fn run(search: &mut BestFirst, game: &Game, limits: &Limits) -> Outcome {
    let budget = Budget::new(limits, Duration::ZERO);
    let stop = StopToken::default();
    let task = Task { game, limits, budget: &budget, stop: &stop };
    let mut check = |info: &Info| assert_legal(game, info);
    let outcome = search.search(&task, &mut check);
    assert_legal(game, &outcome.info);
    assert_eq!(outcome.info.pv.first(), Some(&outcome.best));
    outcome
}

fn assert_legal(game: &Game, info: &Info) {
    let mut position = game.position().clone();
    for &played in &info.pv {
        assert!(position.is_legal(played), "{played} in {:?}", info.pv);
        position.play_unchecked(played);
    }
}

fn solve(fen: &str, count: u64) -> (String, Outcome) {
    let outcome = run(&mut engine(16), &game(fen, ""), &nodes(count));
    (best_move(&outcome), outcome)
}

/// The best move in UCI.
fn best_move(outcome: &Outcome) -> String {
    outcome.best.to_uci(CastlingMode::Standard).to_string()
}

#[test]
fn the_same_search_grows_the_same_tree() {
    let middlegame = "r1bq1rk1/pp2bppp/2n1pn2/3p4/3P4/2N1PN2/PP2BPPP/R1BQ1RK1 w - - 0 9";
    for batch in [1, 16, 64] {
        let mut search = engine(batch);
        let first = run(&mut search, &game(middlegame, ""), &nodes(400));
        let signature = search.signature();
        search.clear();
        let again = run(&mut search, &game(middlegame, ""), &nodes(400));
        assert_eq!((search.signature(), again.best), (signature, first.best), "batch {batch}");
        let mut other = engine(batch);
        run(&mut other, &game(middlegame, ""), &nodes(400));
        assert_eq!(other.signature(), signature, "batch {batch}");
    }
}

#[test]
fn proves_mates() {
    let (best, outcome) = solve("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", 10);
    assert_eq!((best.as_str(), outcome.info.score), ("a1a8", Score::Win(1)));
    assert_eq!(outcome.info.nodes, 1);
    let (best, outcome) = solve("5R2/1N3p2/3pk3/6PR/3Q4/B3K3/8/8 w - - 0 1", 2000);
    assert_eq!(outcome.info.score, Score::Win(3), "{best}");
    assert_eq!(outcome.info.pv.len(), 3);
    // Black to move is mated whatever it plays.
    let (_, outcome) = solve("7k/R7/6K1/8/8/8/8/8 b - - 0 1", 100);
    assert_eq!(outcome.info.score, Score::Loss(2));
}

#[test]
fn avoids_stalemate() {
    let (best, outcome) = solve("7k/5K2/8/6Q1/8/8/8/8 w - - 0 1", 50);
    assert_eq!(outcome.info.score, Score::Win(1), "{best}");
    let (_, outcome) = solve("k7/P7/K7/8/8/8/8/8 w - - 0 1", 50);
    assert_eq!(outcome.info.score, Score::Draw);
}

#[test]
fn the_fifty_move_rule_draws_unless_mate_comes_first() {
    let (_, outcome) = solve("8/8/8/3k4/8/8/3K4/3Q4 w - - 99 90", 200);
    assert_eq!(outcome.info.score, Score::Draw);
    let (_, outcome) = solve("6k1/5ppp/8/8/8/8/8/R5K1 w - - 99 90", 200);
    assert_eq!(outcome.info.score, Score::Win(1));
}

#[test]
fn a_third_repetition_is_a_draw() {
    // White is a queen down; the kings have walked to and fro, and Kb1 repeats for the third time.
    let fen = "7k/8/8/8/8/8/1q6/K7 w - - 0 1"; // takes: bare kings
    let (best, outcome) = solve(fen, 50);
    assert_eq!((best.as_str(), outcome.info.score), ("a1b2", Score::Draw));
    let fen = "6k1/6p1/8/8/8/7q/8/K6R w - - 0 1";
    let shuffle = "h1g1 h3c3 a1b1 c3d3 b1a1 d3c3 a1b1 c3d3 b1a1 d3c3";
    let played = game(fen, shuffle);
    let mut search = engine(16);
    let outcome = run(&mut search, &played, &nodes(300));
    assert_eq!(best_move(&outcome), "a1b1");
    let row = search.root_moves()[0];
    assert_eq!(row.mv, outcome.best);
    assert!((row.value - 0.5).abs() < 0.35, "{row:?}");
}

#[test]
fn never_exceeds_the_node_limit() {
    for count in [1, 2, 7, 100, 333] {
        let (evaluator, asked) = Watched::new(64, u64::MAX);
        let mut search = BestFirst::new(evaluator);
        let outcome = run(&mut search, &start(), &nodes(count));
        assert_eq!(outcome.info.nodes, count);
        assert_eq!(asked.load(Ordering::Relaxed), count);
    }
}

#[test]
fn a_depth_limit_ends_the_search() {
    let limits = Limits { depth: Some(4), ..Limits::default() };
    let outcome = run(&mut engine(16), &start(), &limits);
    assert!((4..=5).contains(&outcome.info.depth));
}

#[test]
fn answers_when_stopped_before_the_first_evaluation() {
    let (game, limits) = (start(), Limits { infinite: true, ..Limits::default() });
    let budget = Budget::new(&limits, Duration::ZERO);
    let stop = StopToken::default();
    stop.stop();
    let task = Task { game: &game, limits: &limits, budget: &budget, stop: &stop };
    let outcome = engine(16).search(&task, &mut |_| ());
    assert!(game.position().is_legal(outcome.best));
    // One evaluation is waited for: better than the first move that comes to mind.
    assert!((1..=2).contains(&outcome.info.nodes), "{:?}", outcome.info);
}

#[test]
fn takes_the_queen_with_no_time_at_all() {
    let fen = "rnb1kbnr/pppp1ppp/8/4p3/4P2q/5N2/PPPP1PPP/RNBQKB1R w KQkq - 0 1";
    let clock = Clock { remaining: Duration::from_millis(5), ..Clock::default() };
    let limits = Limits { clock: Some(clock), ..Limits::default() };
    let outcome = run(&mut engine(16), &game(fen, ""), &limits);
    assert_eq!(best_move(&outcome), "f3h4");
}

#[test]
fn a_proven_leaf_that_becomes_the_root_is_searched() {
    let mut search = engine(16);
    // Wide at the root, where the mate begins with a move of little policy.
    set(&mut search, "verify_root", 0.0);
    let mate = "r5rk/5p1p/5R2/4B3/8/8/7P/7K w - - 0 1";
    let outcome = run(&mut search, &game(mate, ""), &nodes(20_000));
    assert_eq!(outcome.info.score, Score::Win(5));
    // The same mate, met as a leaf of another game, and then reached.
    let before = "r4r1k/5p1p/5R2/4B3/8/8/7P/6K1 w - - 0 1";
    run(&mut search, &game(before, ""), &nodes(50));
    let mut limits = nodes(300);
    limits.search_moves = vec!["g1h1".parse::<UciMove>().unwrap()]
        .into_iter()
        .map(|text| text.to_move(game(before, "").position()).unwrap())
        .collect();
    run(&mut search, &game(before, ""), &limits);
    let outcome = run(&mut search, &game(before, "g1h1 f8g8"), &nodes(20_000));
    assert_eq!(best_move(&outcome), "f6a6");
    assert!(matches!(outcome.info.score, Score::Win(_)), "{:?}", outcome.info);
}

#[test]
fn the_fifty_move_clock_is_part_of_the_position() {
    let mut search = engine(16);
    let early = game("8/8/8/8/8/3k4/3q4/K7 b - - 0 60", "");
    let outcome = run(&mut search, &early, &nodes(300));
    assert!(matches!(outcome.info.score, Score::Win(_)), "{:?}", outcome.info);
    let late = game("8/8/8/8/8/3k4/3q4/K7 b - - 98 60", "");
    let outcome = run(&mut search, &late, &nodes(300));
    assert!(!matches!(outcome.info.score, Score::Win(_)), "{:?}", outcome.info);
}

#[test]
fn thinks_again_about_a_position_it_has_thought_about() {
    let mut search = engine(16);
    let fen = "r1bq1rk1/pp2bppp/2n1pn2/3p4/3P4/2N1PN2/PP2BPPP/R1BQ1RK1 w - - 0 9";
    run(&mut search, &game(fen, ""), &nodes(8000));
    let clock = Clock { remaining: Duration::from_secs(2), ..Clock::default() };
    let limits = Limits { clock: Some(clock), ..Limits::default() };
    let outcome = run(&mut search, &game(fen, ""), &limits);
    assert!(outcome.info.nodes > 0, "{:?}", outcome.info);
}

/// White is lost but for a perpetual check, every cycle of which goes through the root.
#[test]
fn a_perpetual_is_still_known_a_move_later() {
    let fen = "6k1/6p1/8/7Q/8/1q6/1r3PPP/6K1 w - - 0 1";
    for puct in [false, true] {
        let evaluator = Box::new(ClassicalEvaluator::new());
        let mut search = if puct { BestFirst::puct(evaluator) } else { BestFirst::new(evaluator) };
        let outcome = run(&mut search, &game(fen, ""), &nodes(2000));
        assert_eq!(best_move(&outcome), "h5e8");
        let outcome = run(&mut search, &game(fen, "h5e8 g8h7"), &nodes(1));
        assert_eq!(best_move(&outcome), "e8h5", "{puct}");
    }
}

#[test]
fn no_line_goes_on_behind_a_draw() {
    // Shuffling side by side, with few moves left on the clock.
    for clock in [90, 94, 97] {
        let mut search = engine(16);
        let mut game = game(&format!("R7/8/1k6/8/8/2K5/8/7r w - - {clock} 97"), "");
        for _ in 0..8 {
            let outcome = run(&mut search, &game, &nodes(150));
            let mut line = game.clone();
            let (last, before) = outcome.info.pv.split_last().unwrap();
            for &played in before {
                line.play(played);
                assert!(line.position().halfmoves() < 100, "{:?}", outcome.info.pv);
                assert!(line.repetitions() < 2, "{:?}", outcome.info.pv);
            }
            assert!(line.position().is_legal(*last));
            game.play(outcome.best);
            if game.position().halfmoves() >= 100 || game.repetitions() >= 2 {
                break;
            }
        }
    }
}

/// Stops an infinite search after a while and returns how long it then took to answer.
fn stop_after(search: &mut BestFirst, game: &Game, wait: Duration) -> Duration {
    let limits = Limits { infinite: true, ..Limits::default() };
    let budget = Budget::new(&limits, Duration::ZERO);
    let stop = StopToken::default();
    let task = Task { game, limits: &limits, budget: &budget, stop: &stop };
    std::thread::scope(|scope| {
        let stopper = scope.spawn(|| {
            std::thread::sleep(wait);
            stop.stop();
            Instant::now()
        });
        let outcome = search.search(&task, &mut |_| ());
        let answered = Instant::now();
        assert!(game.position().is_legal(outcome.best));
        answered.saturating_duration_since(stopper.join().unwrap())
    })
}

#[test]
fn stops_within_a_batch() {
    let mut search = engine(16);
    let delay = stop_after(&mut search, &start(), Duration::from_millis(100));
    assert!(delay < Duration::from_millis(400), "{delay:?}");
    assert_sound(search.tree());
    // With everything proven it still waits for the stop.
    let mate = game("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", "");
    let began = Instant::now();
    stop_after(&mut search, &mate, Duration::from_millis(100));
    assert!(began.elapsed() >= Duration::from_millis(100));
}

#[test]
fn keeps_to_the_clock_and_plays_a_forced_move_at_once() {
    let clock = Clock { remaining: Duration::from_secs(3), ..Clock::default() };
    let limits = Limits { clock: Some(clock), ..Limits::default() };
    let outcome = run(&mut engine(16), &start(), &limits);
    assert!(outcome.info.time < Duration::from_millis(1500), "{:?}", outcome.info);
    let forced = game("7k/8/8/8/8/8/1r6/K7 w - - 0 1", "");
    let outcome = run(&mut engine(16), &forced, &limits);
    assert!(outcome.info.nodes < 64, "{:?}", outcome.info);
}

#[test]
fn a_lost_device_costs_the_answer_nothing_but_depth() {
    let (evaluator, _) = Watched::new(16, 150);
    let mut search = BestFirst::new(evaluator);
    let outcome = run(&mut search, &start(), &nodes(1000));
    assert!(matches!(outcome.error, Some(EvalError::DeviceLost(_))));
    assert!(outcome.info.nodes > 50);
    assert_sound(search.tree());
    let outcome = run(&mut search, &start(), &nodes(100));
    assert_eq!((outcome.error, outcome.info.nodes), (None, 100));
}

/// Sums of work, parents and children, flags, and values recomputed from scratch.
fn assert_sound(tree: &Tree) {
    for id in 0..tree.expansion_count() as u32 {
        let branch = tree.expansion(id);
        let node = tree.node(tree.node_of(branch));
        let below: u32 = tree.children(branch).iter().map(|child| child.visits).sum();
        assert_eq!(node.visits, 1 + below);
        for child in tree.children(branch) {
            assert!(!child.has(PENDING | BLOCKED));
            assert!((0.0..=1.0).contains(&child.value));
            match (node.verdict, child.verdict) {
                (Verdict::Win(plies), Verdict::Loss(longer)) => assert!(longer + 1 >= plies),
                (Verdict::Open | Verdict::Draw | Verdict::Loss(_), Verdict::Loss(_)) => {
                    panic!("a proven win is hidden")
                }
                (Verdict::Loss(plies), Verdict::Win(shorter)) => assert!(shorter < plies),
                _ => {}
            }
        }
    }
}

/// 200 bytes an evaluated position, the moves that nobody looked at included; and blocks that were
/// outgrown are used again.
#[test]
fn the_tree_is_compact() {
    let middlegame =
        game("r1bq1rk1/pp2bppp/2n1pn2/2pp4/3P1B2/2PBPN2/PP1N1PPP/R2QK2R w KQ - 0 8", "");
    let mut search = BestFirst::new(Box::new(Guesser::new(64)));
    run(&mut search, &middlegame, &nodes(20_000));
    let tree = search.tree();
    let each = tree.bytes() as f64 / tree.expansion_count() as f64;
    let nodes = tree.nodes().count() as f64 / tree.expansion_count() as f64;
    assert!(each <= 200.0 && nodes > 1.0, "{each} bytes, {nodes} nodes");
}

fn values(tree: &Tree) -> Vec<(u32, Verdict, bool)> {
    tree.nodes().map(|node| (node.value.to_bits(), node.verdict, node.has(KNOWN))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn incremental_equals_recomputed(choices in prop::collection::vec(any::<u8>(), 0..90)) {
        let Some(game) = walk(&choices) else { return Ok(()) };
        for batch in [1, 32] {
            let (mut search, mut game) = (engine(batch), game.clone());
            // The second search takes over a part of the first one's tree, the third all of it.
            for evaluations in [150, 40, 1] {
                let outcome = run(&mut search, &game, &nodes(evaluations));
                prop_assert!(game.position().is_legal(outcome.best));
                assert_sound(search.tree());
                let (incremental, model) = (values(search.tree()), search.model().clone());
                let tree = search.tree_mut();
                recompute_all(tree, &model);
                prop_assert_eq!(incremental, values(tree));
                let Some(reply) = outcome.ponder.filter(|_| evaluations == 150) else { continue };
                game.play(outcome.best);
                game.play(reply);
                if game.position().is_game_over() {
                    break;
                }
            }
        }
    }
}
