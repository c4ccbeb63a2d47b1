//! PUCT, the control: lc0's formula to the visit, averages that are averages, and full obedience.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;
#[path = "puct/formula.rs"]
mod formula;

use std::path::Path;
use std::time::Duration;

use common::{nodes, walk};
use formula::{Fixed, even};
use proptest::prelude::*;
use shakmaty::fen::Fen;
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Chess, Position};
use tesla_engine::best_first::BestFirst;
use tesla_engine::best_first::params::Params;
use tesla_engine::best_first::puct::lead;
use tesla_engine::chess::game::Game;
use tesla_engine::chess::score::Verdict;
use tesla_engine::search::clock::Budget;
use tesla_engine::search::{Clock, Limits, Outcome, Search, StopToken, Task};
use tesla_engine::setup::mode::SearchMode;
use tesla_engine::tree::arena::Tree;
use tesla_engine::tree::node::{PENDING, ROOT, UNEVALUATED};
use tesla_nn::classical::ClassicalEvaluator;

fn game(fen: &str) -> Game {
    let fen: Fen = fen.parse().unwrap();
    Game::new(fen.into_position(CastlingMode::Standard).unwrap())
}

fn run(search: &mut BestFirst, game: &Game, limits: &Limits) -> Outcome {
    let budget = Budget::new(limits, Duration::ZERO);
    let stop = StopToken::default();
    let outcome =
        search.search(&Task { game, limits, budget: &budget, stop: &stop }, &mut |info| {
            // What was known before counts as no evaluation.
            assert!(!info.pv.is_empty() || info.nodes == 0);
        });
    assert!(game.position().is_legal(outcome.best));
    outcome
}

/// lc0's constants, changed.
fn lc0(changes: &[(&str, f32)]) -> Params {
    changed(Params::read(Path::new("<lc0>")).unwrap(), changes)
}

fn params(changes: &[(&str, f32)]) -> Params {
    changed(Params::default(), changes)
}

fn changed(mut params: Params, changes: &[(&str, f32)]) -> Params {
    for &(name, value) in changes {
        params.set(name, value).unwrap();
    }
    params
}

fn classical(batch: usize) -> BestFirst {
    let mut search = BestFirst::puct(Box::new(ClassicalEvaluator::with_batch_size(batch)));
    search.set_hash_mb(32);
    search
}

/// A batch ends at its first collision while the tree is small, and never asks for more than fits.
#[test]
fn collisions_end_a_batch() {
    let (evaluator, batches) = Fixed::boxed(64, even);
    let mut search = BestFirst::puct(evaluator);
    search.set_params(params(&[("evaluations_share", 0.0)]));
    run(&mut search, &Game::new(Chess::new()), &nodes(3_000));
    let batches = batches.lock().unwrap();
    assert_eq!(batches[0], 1);
    assert!(batches.iter().take(4).all(|&size| size < 16), "{batches:?}");
    assert!(batches.iter().all(|&size| size <= 64));
    assert!(batches.iter().rev().take(10).any(|&size| size > 16), "{batches:?}");
    assert_eq!(batches.iter().sum::<usize>(), 3_000);
}

/// Every value is what its visits say, and proofs are minimax's.
fn assert_averages(tree: &Tree, minimax: f32) {
    for id in 0..tree.expansion_count() as u32 {
        let branch = tree.expansion(id);
        let node = tree.node(tree.node_of(branch));
        let children = tree.children(branch);
        assert!(children.iter().all(|child| !child.has(PENDING)));
        if node.verdict != Verdict::Open {
            continue;
        }
        let (mut sum, mut total) = (f64::from(branch.static_value), 1.0);
        let mut highest: Option<f64> = None;
        for child in children.iter().filter(|child| child.visits > 0) {
            let value = match child.verdict {
                Verdict::Win(_) => 0.0,
                Verdict::Draw => 0.5,
                Verdict::Loss(_) => panic!("a proven win is hidden"),
                Verdict::Open => {
                    assert!(!child.has(UNEVALUATED));
                    1.0 - f64::from(child.value)
                }
            };
            sum += f64::from(child.visits) * value;
            total += f64::from(child.visits);
            highest = Some(highest.map_or(value, |highest| highest.max(value)));
        }
        assert!((f64::from(node.visits) - total).abs() < 0.5);
        let highest = highest.unwrap_or(f64::from(branch.static_value));
        let minimax = f64::from(minimax);
        let expected = (1.0 - minimax) * sum / total + minimax * highest;
        assert!((f64::from(node.value) - expected).abs() < 1e-4, "{} {expected}", node.value);
        let most = children.iter().map(|child| child.visits).max();
        assert_eq!(branch.best_child().map(|best| tree.node(best).visits), most);
    }
}

#[test]
fn finds_mates_and_proves_them() {
    for batch in [1, 64] {
        let mate_in_two = game("7k/8/R7/1R6/8/8/8/K7 w - - 0 1");
        let mut search = classical(batch);
        let outcome = run(&mut search, &mate_in_two, &nodes(4_000));
        assert_eq!(outcome.best.to_uci(CastlingMode::Standard).to_string(), "b5b7");
        assert_eq!(search.tree().node(ROOT).verdict, Verdict::Win(3));
    }
}

/// To take the queen leaves too little to mate with; everything else loses.
#[test]
fn plays_a_draw_that_the_rules_give() {
    let game = game("8/8/8/8/3q4/1N6/8/K6k w - - 0 1");
    let mut search = classical(1);
    // So that the others are looked at too.
    search.set_params(params(&[("puct_exploration", 10.0), ("puct_temperature", 5.0)]));
    let outcome = run(&mut search, &game, &nodes(400));
    assert_eq!(outcome.best.to_uci(CastlingMode::Standard).to_string(), "b3d4");
    assert!(search.root_moves().iter().skip(1).any(|row| row.visits > 0));
}

/// Two moves repeat a position of the game for the third time, all others lose: visits go from one
/// to the other, ask nothing and must end.
#[test]
fn two_drawn_moves_end_the_search() {
    let mut game = game("5q1k/8/8/8/8/8/7P/K7 w - - 0 1");
    let [first, second] = ["a1b1 h8g8 b1a1 g8h8", "a1a2 h8g8 a2a1 g8h8"];
    for text in [first, first, second, second].iter().flat_map(|loops| loops.split(' ')) {
        let played = text.parse::<UciMove>().unwrap().to_move(game.position()).unwrap();
        game.play(played);
    }
    let mut search = classical(1);
    search.set_params(params(&[("puct_temperature", 5.0)]));
    let outcome = run(&mut search, &game, &nodes(2_000));
    assert!(
        ["a1b1", "a1a2"]
            .contains(&outcome.best.to_uci(CastlingMode::Standard).to_string().as_str())
    );
    assert!(outcome.info.nodes < 2_000);
}

#[test]
fn a_clock_is_kept() {
    let clock = Clock {
        remaining: Duration::from_millis(400),
        increment: Duration::ZERO,
        moves_to_go: None,
    };
    let limits = Limits { clock: Some(clock), ..Limits::default() };
    let mut search = classical(32);
    let began = std::time::Instant::now();
    run(&mut search, &Game::new(Chess::new()), &limits);
    assert!(began.elapsed() < Duration::from_millis(390));
}

#[test]
fn the_tree_is_reused() {
    let mut search = classical(16);
    let mut game = Game::new(Chess::new());
    let outcome = run(&mut search, &game, &nodes(2_000));
    game.play(outcome.best);
    let reply = outcome.ponder.unwrap();
    let kept = {
        let tree = search.tree();
        let branch = tree.expansion_of(ROOT).unwrap();
        tree.children(branch).iter().find(|child| child.played == outcome.best).unwrap().visits
    };
    game.play(reply);
    run(&mut search, &game, &nodes(1));
    let work = search.tree().node(ROOT).visits;
    assert!(work > 1 && work < kept, "{work} {kept}");
    assert_averages(search.tree(), Params::default().puct_minimax);
}

#[test]
fn memory_is_a_hard_cap() {
    let mut search = classical(16);
    search.set_hash_mb(1);
    let outcome = run(&mut search, &Game::new(Chess::new()), &nodes(6_000));
    assert_eq!(outcome.info.nodes, 6_000);
    assert!(search.tree().bytes() <= 1 << 20);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn values_are_what_visits_say(
        choices in prop::collection::vec(any::<u8>(), 0..90),
        minimax in prop_oneof![Just(0.0_f32), Just(0.5), Just(1.0)],
    ) {
        let Some(game) = walk(&choices) else { return Ok(()) };
        for batch in [1, 32] {
            let mut signatures = Vec::new();
            for _ in 0..2 {
                let mut search = classical(batch);
                search.set_params(params(&[("puct_minimax", minimax)]));
                let outcome = run(&mut search, &game, &nodes(150));
                let is_proven = search.tree().node(ROOT).verdict != Verdict::Open;
                let left = 150 - outcome.info.nodes;
                let is_decided = left > 0 && u64::from(lead(search.tree())) > left;
                prop_assert!(left == 0 || is_proven || is_decided);
                assert_averages(search.tree(), minimax);
                signatures.push(search.signature());
            }
            prop_assert_eq!(signatures[0], signatures[1]);
        }
    }
}

/// What `searchmoves` leaves out may have had most of the visits before.
#[test]
fn searchmoves_are_searched_in_a_tree_that_preferred_others() {
    let game = Game::new(Chess::new());
    let mut search = classical(16);
    let before = run(&mut search, &game, &nodes(3_000));
    let moves = game.position().legal_moves();
    let wanted: Vec<_> = moves.into_iter().filter(|&m| m != before.best).take(3).collect();
    let limits = Limits { search_moves: wanted.clone(), ..nodes(300) };
    let outcome = run(&mut search, &game, &limits);
    assert!(wanted.contains(&outcome.best));
    assert_eq!(outcome.info.nodes, 300);
}

/// A move that turns out to lose has most of the visits and leads nobody: the others get the rest.
#[test]
fn a_leader_that_loses_ends_nothing() {
    let mut search = BestFirst::puct(Box::new(ClassicalEvaluator::new()));
    let game = game("5k2/5p2/2Np4/5n1P/P3Pr1P/1q6/3P4/b3K1NR w - - 2 26");
    let outcome = run(&mut search, &game, &nodes(200));
    let tree = search.tree();
    let children = tree.children(tree.expansion_of(ROOT).unwrap());
    let most = children.iter().max_by_key(|child| child.visits).unwrap();
    assert!(matches!(most.verdict, Verdict::Win(_)), "another position is needed");
    assert_eq!(outcome.info.nodes, 200);
    let open = children.iter().filter(|child| child.verdict == Verdict::Open);
    let played = open.max_by_key(|child| child.visits).unwrap();
    assert_eq!(outcome.best, played.played);
}

/// What is refused beside a search in a match has no effect on it.
#[test]
fn tunables_of_the_other_rule_change_nothing() {
    let game = game("r1bq1rk1/pp2bppp/2n1pn2/2pp4/3P1B2/2PBPN2/PP1N1PPP/R2QK2R w KQ - 0 8");
    for (mode, make) in [
        (SearchMode::Puct, BestFirst::puct as fn(_) -> BestFirst),
        (SearchMode::Tesla, BestFirst::new),
    ] {
        let signature = |changes: &[(&str, f32)]| {
            let mut search = make(Box::new(ClassicalEvaluator::with_batch_size(8)));
            search.set_params(params(changes));
            run(&mut search, &game, &nodes(150));
            search.signature()
        };
        let plain = signature(&[]);
        for row in Params::TUNABLES.iter().filter(|row| !mode.reads(row.name)) {
            for value in [row.min, row.max] {
                assert_eq!(signature(&[(row.name, value)]), plain, "{mode}: {}", row.name);
            }
        }
    }
}
