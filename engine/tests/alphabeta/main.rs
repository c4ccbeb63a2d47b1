//! Alpha-beta through its public interface: mates, draws, limits, stopping, faults, legality.

#![expect(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

mod ends;
mod mates;
#[path = "../common/ponder.rs"]
mod ponder;

use std::time::{Duration, Instant};

use proptest::prelude::*;
use shakmaty::fen::Fen;
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Chess, Move, Position};
use tesla_engine::alphabeta::AlphaBeta;
use tesla_engine::chess::game::Game;
use tesla_engine::chess::score::Score;
use tesla_engine::search::clock::Budget;
use tesla_engine::search::snapshot::Stop;
use tesla_engine::search::watch::Watch;
use tesla_engine::search::{Clock, Info, Limits, Outcome, Search, StopToken, Task};
use tesla_nn::classical::ClassicalEvaluator;
use tesla_nn::evaluator::{EvalError, Evaluator as _, Request};
use tesla_nn::simulated::{Behaviour, SimulatedDevice};

const HASH_MB: usize = 4;

fn game(fen: &str) -> Game {
    let setup: Fen = fen.parse().unwrap();
    Game::new(setup.into_position::<Chess>(CastlingMode::Standard).unwrap())
}

fn run(search: &mut AlphaBeta, game: &Game, limits: &Limits) -> (Outcome, Vec<Info>) {
    run_with(search, game, limits, &StopToken::default())
}

fn run_with(
    search: &mut AlphaBeta,
    game: &Game,
    limits: &Limits,
    stop: &StopToken,
) -> (Outcome, Vec<Info>) {
    let budget = Budget::new(limits, Duration::ZERO);
    let mut news = Vec::new();
    let task = Task { game, limits, budget: &budget, stop };
    let outcome = search.search(&task, &mut |info| news.push(info.clone()));
    check_legal(game.position(), &outcome, &news);
    (outcome, news)
}

fn check_legal(position: &Chess, outcome: &Outcome, news: &[Info]) {
    assert_eq!(outcome.info.pv.first(), Some(&outcome.best));
    // A line of one move may have a reply from the table.
    if let (&[best], Some(reply)) = (&outcome.info.pv[..], outcome.ponder) {
        assert!(position.clone().play(best).unwrap().is_legal(reply), "{reply}");
    } else {
        assert_eq!(outcome.info.pv.get(1), outcome.ponder.as_ref());
    }
    for info in news.iter().chain([&outcome.info]) {
        let mut position = position.clone();
        for &played in &info.pv {
            assert!(position.is_legal(played), "{played} in {:?}", info.pv);
            position.play_unchecked(played);
        }
    }
}

fn depth(depth: u32) -> Limits {
    Limits { depth: Some(depth), ..Limits::default() }
}

fn nodes(nodes: u64) -> Limits {
    Limits { nodes: Some(nodes), ..Limits::default() }
}

fn network() -> AlphaBeta {
    AlphaBeta::with_evaluator(Box::new(ClassicalEvaluator::new()), HASH_MB)
}

#[test]
fn a_mate_limit_ends_the_search() {
    let limits = Limits { mate: Some(2), ..Limits::default() };
    let (outcome, _) = run(
        &mut AlphaBeta::classical(HASH_MB),
        &game("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1"),
        &limits,
    );
    assert_eq!(outcome.info.score, Score::Win(3));
}

#[test]
fn being_mated_is_a_loss() {
    let game = game("k7/8/1K6/8/8/8/8/7R b - - 0 1");
    let (outcome, _) = run(&mut AlphaBeta::classical(HASH_MB), &game, &depth(5));
    assert_eq!(outcome.info.score, Score::Loss(2));
}

#[test]
fn equal_node_limits_give_equal_searches() {
    let game = game("r1bqkb1r/pppp1ppp/2n2n2/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 4 4");
    for (mut search, limit) in [(AlphaBeta::classical(HASH_MB), 50_000), (network(), 2_000)] {
        let told = |(outcome, news): (Outcome, Vec<Info>)| {
            let lines: Vec<_> =
                news.iter().map(|n| (n.depth, n.score, n.nodes, n.pv.clone())).collect();
            (outcome.best, outcome.info.nodes, outcome.info.score, lines)
        };
        let first = told(run(&mut search, &game, &nodes(limit)));
        search.clear();
        assert_eq!(told(run(&mut search, &game, &nodes(limit))), first);
    }
}

#[test]
fn node_limits_are_never_exceeded() {
    let game = game("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1");
    for limit in [1, 2, 7, 63, 64, 65, 1_000, 5_000] {
        let (outcome, _) = run(&mut AlphaBeta::classical(HASH_MB), &game, &nodes(limit));
        assert_eq!(outcome.info.nodes, limit);
        let (outcome, _) = run(&mut network(), &game, &nodes(limit));
        assert_eq!(outcome.info.nodes, limit, "by the network");
    }
}

#[test]
fn stop_is_answered_at_once() {
    let game = Game::new(Chess::default());
    let limits = Limits { infinite: true, ..Limits::default() };
    let lateness = |search: &mut AlphaBeta| {
        let stop = StopToken::default();
        let remote = stop.clone();
        let stopper = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(200));
            remote.stop();
            Instant::now()
        });
        run_with(search, &game, &limits, &stop);
        stopper.join().unwrap().elapsed()
    };
    for mut search in [AlphaBeta::classical(HASH_MB), network()] {
        // The best of some tries: a busy machine may stall any one of them.
        let mut tries = (0..5).map(|_| lateness(&mut search));
        assert!(tries.any(|late| late < Duration::from_millis(60)));
    }
}

#[test]
fn infinite_waits_for_stop_with_a_mate_in_hand() {
    let game = game(mates::MATES[0].0);
    let stop = StopToken::default();
    let remote = stop.clone();
    let start = Instant::now();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(150));
        remote.stop();
    });
    let limits = Limits { infinite: true, depth: Some(3), ..Limits::default() };
    run_with(&mut AlphaBeta::classical(HASH_MB), &game, &limits, &stop);
    assert!(start.elapsed() >= Duration::from_millis(150));
}

#[test]
fn a_stop_before_the_start_still_gives_a_move() {
    let stop = StopToken::default();
    stop.stop();
    for mut search in [AlphaBeta::classical(HASH_MB), network()] {
        run_with(&mut search, &Game::new(Chess::default()), &Limits::default(), &stop);
    }
}

#[test]
fn the_clock_is_kept() {
    let clock = Clock { remaining: Duration::from_millis(600), ..Clock::default() };
    let limits = Limits { clock: Some(clock), ..Limits::default() };
    let start = Instant::now();
    run(&mut AlphaBeta::classical(HASH_MB), &Game::new(Chess::default()), &limits);
    assert!(start.elapsed() < Duration::from_millis(400), "{:?}", start.elapsed());
}

#[test]
fn search_moves_are_obeyed() {
    let game = game("6k1/5ppp/8/8/8/8/8/R3K3 w Q - 0 1");
    let wanted: Vec<Move> = ["a1b1", "e1e2"]
        .iter()
        .map(|text| text.parse::<UciMove>().unwrap().to_move(game.position()).unwrap())
        .collect();
    let limits = Limits { search_moves: wanted.clone(), ..depth(5) };
    for mut search in [AlphaBeta::classical(HASH_MB), network()] {
        let (outcome, _) = run(&mut search, &game, &limits);
        assert!(wanted.contains(&outcome.best));
    }
}

fn is_even(score: Score) -> bool {
    (score.expected() - 0.5).abs() < 1e-3
}

#[test]
fn stalemate_saves_the_bare_king() {
    let lost = game("5k2/5P2/5K2/8/8/8/8/8 b - - 0 1");
    assert!(lost.position().is_stalemate());
    let before = game("5k2/5P2/4K3/8/8/8/8/8 w - - 0 1");
    let (outcome, _) = run(&mut AlphaBeta::classical(HASH_MB), &before, &depth(12));
    assert!(is_even(outcome.info.score), "{:?}", outcome.info);
}

#[test]
fn perpetual_check_is_a_draw() {
    let game = game("6k1/5p2/8/7Q/8/7K/qr6/8 w - - 0 1");
    let (outcome, _) = run(&mut AlphaBeta::classical(HASH_MB), &game, &depth(12));
    assert!(is_even(outcome.info.score), "{:?}", outcome.info);
}

#[test]
fn the_third_occurrence_in_the_game_is_a_draw() {
    // White is a queen ahead; every position after Black's knight moves has been there twice.
    let mut game = game("1n2k3/8/8/8/8/8/8/QN2K3 w - - 0 1");
    for text in ["b1c3", "b8c6", "c3b1", "c6b8", "b1c3", "b8c6", "c3b1"] {
        let played = text.parse::<UciMove>().unwrap().to_move(game.position()).unwrap();
        game.play(played);
    }
    let home = "c6b8".parse::<UciMove>().unwrap().to_move(game.position()).unwrap();
    let (outcome, _) = run(&mut AlphaBeta::classical(HASH_MB), &game, &depth(6));
    assert_eq!(outcome.best, home);
    assert!(is_even(outcome.info.score), "{:?}", outcome.info);
}

#[test]
fn fifty_moves_are_a_draw_unless_mate_comes_first() {
    let won = "7k/8/5K2/8/8/8/8/R7 w - - 99 80";
    let (outcome, _) = run(&mut AlphaBeta::classical(HASH_MB), &game(won), &depth(6));
    assert!(is_even(outcome.info.score), "{:?}", outcome.info);
    let mate = "7k/8/6K1/8/8/8/8/R7 w - - 99 80";
    let (outcome, _) = run(&mut AlphaBeta::classical(HASH_MB), &game(mate), &depth(6));
    assert_eq!(outcome.info.score, Score::Win(1));
}

#[test]
fn a_lost_device_is_told_and_a_move_still_played() {
    let behaviour = Behaviour { fail_after: Some(3), ..Behaviour::default() };
    let device = SimulatedDevice::new(ClassicalEvaluator::new(), behaviour);
    let mut search = AlphaBeta::with_evaluator(Box::new(device), HASH_MB);
    let (outcome, _) = run(&mut search, &Game::new(Chess::default()), &depth(6));
    assert!(matches!(outcome.error, Some(EvalError::DeviceLost(_))));
    assert!(search.replace_evaluator(None).is_some());
    let (outcome, _) = run(&mut search, &Game::new(Chess::default()), &depth(4));
    assert_eq!(outcome.error, None);
}

/// One question to the network is worth it even then: its policy tells a move.
#[test]
fn without_any_time_the_likeliest_move_is_played() {
    let game = game("r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4");
    let mut evaluator = ClassicalEvaluator::new();
    evaluator.submit(vec![Request::single(game.position())]);
    let answers = evaluator.collect().unwrap();
    let legal = game.position().legal_moves();
    let likelier =
        |a: &usize, b: &usize| answers[0].moves[*a].policy.total_cmp(&answers[0].moves[*b].policy);
    let likeliest = legal[(0..legal.len()).max_by(likelier).unwrap()];
    assert_ne!(likeliest, legal[0], "else the test shows nothing");
    let limits = Limits { move_time: Some(Duration::ZERO), ..Limits::default() };
    let mut search = network();
    // The second time it is known.
    for asked in [1, 0] {
        let (outcome, _) = run(&mut search, &game, &limits);
        assert_eq!((outcome.best, outcome.info.nodes), (likeliest, asked));
    }
}

/// What nobody has looked at is no line, nor is its value anything.
#[test]
fn lines_without_a_look_are_not_told() {
    // Black's queen is to be taken, else White is lost.
    let game = game("rnb1k2r/pppp1ppp/5n2/4p3/4P3/2q5/P1PP1PPP/1R2KBNR w Kkq - 0 6");
    let blind = Limits { multipv: 5, move_time: Some(Duration::ZERO), ..Limits::default() };
    let (outcome, _) = run(&mut network(), &game, &blind);
    assert!(outcome.info.variations.is_empty() && outcome.info.depth == 0);
    assert!(outcome.info.score.expected() < 0.4, "{:?}", outcome.info.score);
}

/// Each line says how deep it was looked at, and only finished iterations stand side by side.
#[test]
fn lines_of_an_unfinished_iteration_say_so() {
    let game = game("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1");
    let mut depths_differ = false;
    for limit in (2_000..40_000).step_by(2_000) {
        let limits = Limits { multipv: 3, ..nodes(limit) };
        let (outcome, news) = run(&mut AlphaBeta::classical(HASH_MB), &game, &limits);
        let completed = news.last().unwrap().depth;
        let info = outcome.info;
        let depths: Vec<_> = info.variations.iter().map(|line| line.depth).collect();
        let all = [&[info.depth], &depths[..]].concat();
        assert!(all.len() == 3 && all.is_sorted_by(|a, b| a >= b), "{all:?}");
        assert!(all.iter().all(|depth| (completed..=completed + 1).contains(depth)), "{all:?}");
        depths_differ |= all[0] != all[2];
        assert!(info.variations.iter().all(|line| line.pv[0] != info.pv[0]), "{info:?}");
        assert!(info.selective_depth >= news.last().unwrap().selective_depth);
    }
    assert!(depths_differ, "else the test shows nothing");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn every_answer_is_legal(choices in prop::collection::vec(any::<u16>(), 0..120)) {
        let mut game = Game::new(Chess::default());
        let (mut classical, mut network) = (AlphaBeta::classical(1), network());
        for (number, choice) in choices.into_iter().enumerate() {
            let legal = game.position().legal_moves();
            if legal.is_empty() {
                break;
            }
            if number % 8 == 0 {
                // Checks legality.
                run(&mut classical, &game, &nodes(500 + u64::from(choice) % 1_500));
                run(&mut network, &game, &nodes(u64::from(choice) % 200));
            }
            game.play(legal[usize::from(choice) % legal.len()]);
        }
    }
}

/// A search that ends within an iteration plays the best move of the one before, or one that was
/// better in a window in which that was seen: in these positions never one that is much worse than
/// either.
#[test]
fn an_unfinished_iteration_replaces_nothing_unseen() {
    for fen in [
        "4rrk1/pp1n3p/3q2pQ/2p1pb2/2PP4/2P3N1/P2B2PP/4RRK1 b - - 7 19",
        "r1bq2rk/pp3pbp/2p1p1pQ/7P/3P4/2PB1N2/PP3PPR/2KR4 w - - 0 1",
    ] {
        let game = game(fen);
        let moves: Vec<_> = game.position().legal_moves().into_iter().collect();
        for search_moves in [Vec::new(), moves] {
            let limits = |limit| Limits { search_moves: search_moves.clone(), ..nodes(limit) };
            let (_, news) = run(&mut AlphaBeta::classical(HASH_MB), &game, &limits(40_000));
            for pair in news.windows(2) {
                let [before, behind] = pair else { unreachable!() };
                let least = before.score.expected().min(behind.score.expected()) - 0.05;
                for share in 1..8 {
                    let limit = before.nodes + (behind.nodes - before.nodes) * share / 8;
                    let (outcome, _) =
                        run(&mut AlphaBeta::classical(HASH_MB), &game, &limits(limit));
                    let (best, score) = (outcome.best, outcome.info.score);
                    assert!(score.expected() >= least, "{fen} {limit}: {best} {score:?}");
                }
            }
        }
    }
}

/// Several lines were all looked at, whatever the node limit.
#[test]
fn every_line_was_looked_at() {
    let game = game("r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4");
    for mut search in [AlphaBeta::classical(HASH_MB), network()] {
        let (outcome, _) = run(&mut search, &game, &Limits { multipv: 5, ..nodes(4) });
        assert_eq!(outcome.info.score, Score::Win(1));
        assert_eq!(outcome.info.variations.len(), 4);
        assert!(outcome.info.variations.iter().all(|line| line.depth == 1));
    }
}

/// A search without an end that has found its mate shows so at once, not when it is stopped.
#[test]
fn the_end_of_an_endless_search_is_shown() {
    let (stop, watch) = (StopToken::default(), Watch::default());
    let asks = (watch.clone(), stop.clone());
    let watcher = std::thread::spawn(move || {
        let (watch, stop) = asks;
        let last = watch.next(Duration::from_secs(20));
        stop.stop();
        last.unwrap().progress.stopped
    });
    let mut search = network();
    search.set_watch(Some(watch));
    let limits = Limits { infinite: true, ..Limits::default() };
    run_with(&mut search, &game(mates::MATES[0].0), &limits, &stop);
    assert_eq!(watcher.join().unwrap(), Some(Stop::Proof));
}
