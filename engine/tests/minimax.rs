//! Minimax through its public interface: the same value however it is pruned, exact mates, draws,
//! limits.

#![expect(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

#[path = "common/ponder.rs"]
mod ponder;

use std::time::{Duration, Instant};

use ponder::share_after_hit;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use shakmaty::fen::Fen;
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Chess, Position};
use tesla_engine::chess::game::Game;
use tesla_engine::chess::score::Score;
use tesla_engine::commands::perft::perft;
use tesla_engine::minimax::{
    EndsOnly, Found, MATE, Material, Minimax, Pruning, StaticValue, solve,
};
use tesla_engine::search::clock::Budget;
use tesla_engine::search::{Clock, Info, Limits, Outcome, Search, StopToken, Task};

fn game(fen: &str) -> Game {
    let setup: Fen = fen.parse().unwrap();
    Game::new(setup.into_position::<Chess>(CastlingMode::Standard).unwrap())
}

fn run(pruning: Pruning, game: &Game, limits: &Limits) -> (Outcome, Vec<Info>) {
    let (budget, stop) = (Budget::new(limits, Duration::ZERO), StopToken::default());
    let mut news = Vec::new();
    let task = Task { game, limits, budget: &budget, stop: &stop };
    let outcome = Minimax::new(pruning).search(&task, &mut |info| news.push(info.clone()));
    assert!(game.position().is_legal(outcome.best));
    (outcome, news)
}

fn depth(depth: u32) -> Limits {
    Limits { depth: Some(depth), ..Limits::default() }
}

fn nodes(count: u64) -> Limits {
    Limits { nodes: Some(count), ..Limits::default() }
}

/// The game played at random for some plies, from the start or into an ending.
fn playout(random: &mut ChaCha8Rng) -> Option<Game> {
    let mut game = Game::new(Chess::new());
    let capturing = random.random_bool(0.5);
    for _ in 0..random.random_range(0..160) {
        let moves = game.position().legal_moves();
        let captures = game.position().capture_moves();
        let choice = if capturing && !captures.is_empty() { &captures } else { &moves };
        if moves.is_empty() {
            return None;
        }
        game.play(choice[random.random_range(0..choice.len())]);
    }
    (!game.position().is_game_over()).then_some(game)
}

fn check_line(game: &Game, found: &Found) {
    let mut position = game.position().clone();
    for &played in &found.line {
        assert!(position.is_legal(played));
        position.play_unchecked(played);
    }
}

/// The bar of the seed's claim: pruning changes nothing but the work.
#[test]
fn pruning_changes_no_value() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let (mut compared, mut saved, mut mates) = (0, [0.0; 2], 0);
    while compared < 1_000 {
        let Some(game) = playout(&mut random) else { continue };
        let [plain, pruned, ordered] =
            Pruning::ALL.map(|pruning| solve(&game, 3, pruning, Material));
        assert_eq!(plain.value, pruned.value, "{:?}", game.position().board());
        assert_eq!(plain.value, ordered.value, "{:?}", game.position().board());
        // Without ordering the first of equal lines is found either way.
        assert_eq!(plain.line, pruned.line);
        for found in [&plain, &ordered] {
            check_line(&game, found);
        }
        assert!(pruned.nodes <= plain.nodes && ordered.nodes <= plain.nodes);
        for (sum, found) in saved.iter_mut().zip([&pruned, &ordered]) {
            *sum += 1.0 - found.nodes as f64 / plain.nodes as f64;
        }
        mates += u32::from(plain.value.abs() > MATE / 2);
        compared += 1;
    }
    assert!(mates > 10, "{mates} mates are too few to say that they agree");
    let [pruned, ordered] = saved.map(|sum| sum / f64::from(compared));
    assert!(pruned > 0.4 && ordered > 0.6, "{pruned} {ordered} saved");
}

/// The search as slow and as literal as it can be: all of shakmaty's verdicts, no shortcuts.
fn naive(position: &Chess, depth: u32, ply: i32, seen: &mut Vec<Chess>) -> (i32, u64) {
    if position.is_checkmate() {
        return (ply - MATE, 1);
    }
    let same = |other: &&Chess| {
        let setup = |p: &Chess| {
            let setup = p.to_setup(shakmaty::EnPassantMode::Legal);
            (setup.board, setup.turn, setup.castling_rights, setup.ep_square)
        };
        setup(other) == setup(position)
    };
    let is_third = seen.iter().filter(same).count() >= 2;
    let drawn = position.is_insufficient_material() || position.halfmoves() >= 100 || is_third;
    if position.is_stalemate() || ply > 0 && drawn {
        return (0, 1);
    }
    if depth == 0 {
        return (Material.of(position), 1);
    }
    let (mut best, mut nodes) = (i32::MIN, 1);
    for &played in &position.legal_moves() {
        let mut after = position.clone();
        after.play_unchecked(played);
        seen.push(position.clone());
        let (value, count) = naive(&after, depth - 1, ply + 1, seen);
        seen.pop();
        best = best.max(-value);
        nodes += count;
    }
    (best, nodes)
}

#[test]
fn minimax_is_what_the_rules_say() {
    let mut random = ChaCha8Rng::seed_from_u64(8);
    let mut compared = 0;
    while compared < 60 {
        let Some(game) = playout(&mut random) else { continue };
        let found = solve(&game, 2, Pruning::None, Material);
        let (value, nodes) = naive(game.position(), 2, 0, &mut Vec::new());
        assert_eq!((found.value, found.nodes + 1), (value, nodes));
        compared += 1;
    }
    // Deep enough for repetitions: few moves each, and the clock of the fifty-move rule near its
    // end.
    for fen in ["7k/8/8/8/8/p7/P7/K7 w - - 92 90", "7k/5K2/8/8/8/8/8/R7 w - - 97 90"] {
        for depth in [3, 5] {
            let found = solve(&game(fen), depth, Pruning::None, Material);
            let expected = naive(game(fen).position(), depth, 0, &mut Vec::new());
            assert_eq!((found.value, found.nodes + 1), expected, "{fen} at {depth}");
        }
    }
}

/// Where no line ends early, minimax looks at every line there is.
#[test]
fn nodes_are_those_of_perft() {
    let start = Game::new(Chess::new());
    let lines: u64 = (1..=4).map(|depth| perft(start.position(), depth)).sum();
    assert_eq!(solve(&start, 4, Pruning::None, Material).nodes, lines);
}

#[test]
fn mates_are_found_and_counted() {
    // Of the endings' list: plies to the mate, won and lost.
    for (fen, score) in [
        ("8/1k6/8/1K5R/8/8/8/8 w - - 0 1", Score::Win(7)),
        ("8/6k1/4K3/8/8/8/8/6R1 b - - 0 1", Score::Loss(8)),
        ("7k/8/8/8/8/8/R7/1R4K1 w - - 0 1", Score::Win(3)),
        ("k7/8/1K6/8/8/8/8/7R b - - 0 1", Score::Loss(2)),
    ] {
        let limits = Limits { mate: Some(4), ..Limits::default() };
        let (outcome, _) = run(Pruning::Ordered, &game(fen), &limits);
        assert_eq!(outcome.info.score, score, "{fen}");
        let (Score::Win(plies) | Score::Loss(plies)) = score else { continue };
        assert_eq!(outcome.info.pv.len(), usize::from(plies), "{fen}");
        if plies < 4 {
            let (plain, _) = run(Pruning::None, &game(fen), &limits);
            assert_eq!(plain.info.score, score, "{fen} by minimax");
        }
    }
    // No mate in 2 where one in 4 is the shortest.
    let limits = Limits { mate: Some(2), ..Limits::default() };
    let (outcome, _) = run(Pruning::Ordered, &game("8/1k6/8/1K5R/8/8/8/8 w - - 0 1"), &limits);
    assert_eq!(outcome.info.score, Score::Centipawns(0));
}

#[test]
fn a_game_seen_to_its_end_is_proven() {
    // Blocked pawns, and six plies before the fifty-move rule ends it.
    let drawn = game("7k/8/8/p7/P7/8/8/K7 w - - 94 90");
    for pruning in Pruning::ALL {
        let (outcome, _) = run(pruning, &drawn, &depth(20));
        assert_eq!((outcome.info.score, outcome.info.depth), (Score::Draw, 6));
    }
    // With a king in reach of the pawn the game goes on behind it.
    assert!(!solve(&game("8/8/8/p7/Pk6/8/8/K7 w - - 94 90"), 6, Pruning::None, EndsOnly).is_whole);
    let (outcome, _) = run(Pruning::None, &game("7k/8/6K1/8/8/8/8/R7 w - - 99 80"), &depth(9));
    assert_eq!(outcome.info.score, Score::Win(1), "a mate comes before the fifty-move rule");
}

#[test]
fn the_third_occurrence_is_a_draw_and_not_the_second() {
    let mut game = game("1n2k3/8/8/8/8/8/8/QN2K3 w - - 0 1");
    for text in ["b1c3", "b8c6", "c3b1", "c6b8", "b1c3", "b8c6", "c3b1"] {
        let played = text.parse::<UciMove>().unwrap().to_move(game.position()).unwrap();
        game.play(played);
    }
    let (outcome, _) = run(Pruning::None, &game, &depth(1));
    assert_eq!(outcome.best.to_uci(CastlingMode::Standard).to_string(), "c6b8");
    assert_eq!(outcome.info.score, Score::Centipawns(0));
}

#[test]
fn limits_are_kept() {
    let busy = game("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1");
    for pruning in Pruning::ALL {
        for limit in [1, 2, 48, 49, 1_000, 5_000] {
            assert_eq!(run(pruning, &busy, &nodes(limit)).0.info.nodes, limit);
        }
        let (outcome, news) = run(pruning, &busy, &depth(2));
        assert_eq!((outcome.info.depth, news.len()), (2, 2));
        let clock = Clock { remaining: Duration::from_millis(600), ..Clock::default() };
        for limits in [
            Limits { clock: Some(clock), ..Limits::default() },
            Limits { move_time: Some(Duration::from_millis(100)), ..Limits::default() },
        ] {
            let start = Instant::now();
            run(pruning, &busy, &limits);
            assert!(start.elapsed() < Duration::from_millis(400), "{:?}", start.elapsed());
        }
    }
    let only = "a2a3".parse::<UciMove>().unwrap().to_move(busy.position()).unwrap();
    let limits = Limits { search_moves: vec![only], ..depth(2) };
    assert_eq!(run(Pruning::Ordered, &busy, &limits).0.best, only);
}

#[test]
fn stop_is_answered_at_once() {
    let (game, stop) = (Game::new(Chess::new()), StopToken::default());
    let limits = Limits { infinite: true, ..Limits::default() };
    for pruning in Pruning::ALL {
        // The best of some tries: a busy machine may stall any one of them.
        let mut tries = (0..5).map(|_| lateness(pruning, &game, &limits));
        assert!(tries.any(|late| late < Duration::from_millis(60)), "{pruning:?}");
    }
    stop.stop();
    let budget = Budget::new(&limits, Duration::ZERO);
    let task = Task { game: &game, limits: &limits, budget: &budget, stop: &stop };
    let outcome = Minimax::new(Pruning::None).search(&task, &mut |_| {});
    assert!(game.position().is_legal(outcome.best), "a stop before the start still gives a move");
}

/// From `stop` to the answer.
fn lateness(pruning: Pruning, game: &Game, limits: &Limits) -> Duration {
    let stop = StopToken::default();
    let remote = stop.clone();
    let stopper = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(150));
        remote.stop();
        Instant::now()
    });
    let budget = Budget::new(limits, Duration::ZERO);
    Minimax::new(pruning).search(&Task { game, limits, budget: &budget, stop: &stop }, &mut |_| {});
    stopper.join().unwrap().elapsed()
}

/// The depth that is under way at the hit was begun without a clock, and may take minutes.
#[test]
fn a_ponder_hit_ends_what_would_not_be_begun() {
    let game = game("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1");
    let (mut search, second) = (Minimax::new(Pruning::AlphaBeta), Duration::from_secs(1));
    let share = share_after_hit(&mut search, &game, 10 * second, second);
    assert!(share < 1.0, "{share}");
}
