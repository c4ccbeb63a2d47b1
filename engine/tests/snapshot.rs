//! What a search tells of itself: figures that add up, of any position of its tree, while it runs.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use std::thread;
use std::time::Duration;

use common::{nodes, walk};
use shakmaty::{CastlingMode, Chess, Position};
use tesla_engine::alphabeta::AlphaBeta;
use tesla_engine::best_first::BestFirst;
use tesla_engine::chess::game::Game;
use tesla_engine::chess::notation;
use tesla_engine::search::clock::Budget;
use tesla_engine::search::snapshot::{NodeSnapshot, Outlook, Snapshot, Stop};
use tesla_engine::search::watch::Watch;
use tesla_engine::search::{Clock, Limits, Outcome, Search, StopToken, Task};
use tesla_nn::classical::ClassicalEvaluator;

fn both() -> [BestFirst; 2] {
    let evaluator = || Box::new(ClassicalEvaluator::new());
    [BestFirst::new(evaluator()), BestFirst::puct(evaluator())]
}

fn run(search: &mut dyn Search, game: &Game, limits: &Limits) -> Outcome {
    let (budget, stop) = (Budget::new(limits, Duration::ZERO), StopToken::default());
    let task = Task { game, limits, budget: &budget, stop: &stop };
    search.search(&task, &mut |_| {})
}

fn from_fen(fen: &str) -> Game {
    Game::new(notation::from_fen(fen, false).unwrap())
}

/// What every node keeps to.
fn check(node: &NodeSnapshot) {
    let moves = &node.moves;
    let sum = |of: fn(&tesla_engine::search::snapshot::MoveSnapshot) -> f32| {
        moves.iter().map(of).sum::<f32>()
    };
    assert!((sum(|told| told.work) - 1.0).abs() < 1e-3, "{node:?}");
    if node.proof.is_none() {
        assert!((sum(|told| told.next.unwrap_or(0.0)) - 1.0).abs() < 1e-3, "{node:?}");
    }
    assert!((sum(|told| told.policy.unwrap()) - 1.0).abs() < 0.1, "{node:?}");
    for told in moves {
        assert_eq!((&told.pv[0], &told.pv_san[0]), (&told.uci, &told.san));
        assert!((0.0..=100.0).contains(&told.value.unwrap()), "{told:?}");
        assert!(told.overtake.is_none_or(|chance| (0.0..=1.0).contains(&chance)), "{told:?}");
    }
    assert_eq!(moves.first().map(|told| &told.uci), node.best.as_ref());
}

#[test]
fn evaluations_add_up_and_visits_are_told_apart() {
    for mut search in both() {
        let mut game = Game::new(Chess::default());
        let mut is_root_known = false;
        for round in 0..3 {
            let outcome = run(&mut search, &game, &nodes(400 + round));
            let told = search.snapshot(&[]).unwrap();
            check(&told.root);
            assert_eq!(told.progress.stopped, Some(Stop::Nodes));
            assert_eq!(told.progress.evaluations, outcome.info.nodes);
            let sum: u64 = told.root.moves.iter().map(|told| told.evaluations.unwrap()).sum();
            let root = u64::from(!is_root_known);
            assert_eq!(sum + root, outcome.info.nodes, "{round} {}", told.search);
            assert_eq!(told.root.moves.len(), game.position().legal_moves().len());
            for played in outcome.info.pv.iter().take(2) {
                game.play(*played);
            }
            is_root_known = true;
        }
        // The tree was kept, so there are more visits than evaluations.
        let told = search.snapshot(&[]).unwrap();
        assert!(told.root.visits > told.progress.evaluations, "{}", told.search);
    }
}

/// A forced draw costs PUCT visits, but no evaluations.
#[test]
fn visits_that_cost_nothing_are_no_evaluations() {
    let [_, mut search] = both();
    let game = from_fen("6k1/5ppp/8/8/8/8/5PPP/6K1 w - - 99 90");
    let outcome = run(&mut search, &game, &nodes(300));
    let told = search.snapshot(&[]).unwrap();
    let sum: u64 = told.root.moves.iter().map(|told| told.evaluations.unwrap()).sum();
    assert_eq!(sum + 1, outcome.info.nodes);
    assert!(told.root.visits > outcome.info.nodes, "{told:?}");
}

#[test]
fn any_position_of_the_tree_can_be_looked_at() {
    for mut search in both() {
        let game = Game::new(Chess::default());
        let outcome = run(&mut search, &game, &nodes(900));
        for length in 1..4 {
            let path = &outcome.info.pv[..length];
            let node = search.snapshot(path).unwrap().focus.unwrap();
            assert_eq!(node.path.len(), length);
            let mut position = game.position().clone();
            for &played in path {
                position.play_unchecked(played);
            }
            assert_eq!(node.fen, tesla_engine::search::snapshot::fen(&position));
            assert_eq!(node.moves.len(), position.legal_moves().len());
            check(&node);
        }
        // Of a move that was never looked at there is nothing to tell.
        let mut path = outcome.info.pv[..2].to_vec();
        path.push(outcome.info.pv[0]);
        assert!(search.snapshot(&path).unwrap().focus.is_none());
    }
}

#[test]
fn a_mate_is_proven_and_nothing_overtakes_it() {
    let [mut search, _] = both();
    run(&mut search, &from_fen("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1"), &nodes(300));
    let told = search.snapshot(&[]).unwrap();
    let proof = told.root.proof.unwrap();
    assert_eq!((proof.result, proof.mate), (Outlook::Win, Some(1)));
    assert_eq!(told.why, "Ra8# is mate; it stops because the result is proven.");
    assert!(told.root.moves.iter().all(|told| told.overtake == Some(0.0)));
    assert!(told.root.moves.iter().all(|told| told.next.is_none()));
}

#[test]
fn under_a_clock_thought_has_its_price() {
    let [mut search, _] = both();
    let clock = Clock { remaining: Duration::from_secs(2), ..Clock::default() };
    let limits = Limits { clock: Some(clock), ..Limits::default() };
    run(&mut search, &Game::new(Chess::default()), &limits);
    let told = search.snapshot(&[]).unwrap();
    let worth = told.progress.worth.unwrap();
    let gains = told.root.moves.iter().filter_map(|told| told.gain);
    assert!((gains.fold(0.0, f32::max) - worth.gain).abs() < 1e-4);
    assert!(worth.price.unwrap() > 0.0 && worth.next > 0.0 && worth.next <= worth.gain);
    assert!(worth.evaluations >= told.progress.evaluations as f32);
    let stop = told.progress.stopped.unwrap();
    assert!(matches!(stop, Stop::Planned | Stop::Satisfied | Stop::Time), "{stop:?}");
    let game = from_fen("7k/8/8/8/8/8/6qr/7K w - - 0 1");
    run(&mut search, &game, &limits);
    assert!(search.snapshot(&[]).unwrap().root.moves.len() <= 1);
}

#[test]
fn a_running_search_is_watched() {
    for mut search in both() {
        let watch = Watch::default();
        search.set_watch(Some(watch.clone()));
        let game = Game::new(Chess::default());
        let stop = StopToken::default();
        let longest = Some(Duration::from_secs(20));
        let limits = Limits { move_time: longest, ..Limits::default() };
        let told: Vec<Snapshot> = thread::scope(|scope| {
            let (ends, reader) = (stop.clone(), watch.clone());
            let reader = scope.spawn(move || {
                let mut told = Vec::new();
                while told.len() < 4 {
                    told.push(reader.next(Duration::from_secs(10)).unwrap());
                    let played = told[0].root.moves[0].uci.clone();
                    let played = notation::parse_move(&played, &Chess::default()).unwrap();
                    reader.look_at(vec![played]);
                }
                ends.stop();
                told
            });
            let budget = Budget::new(&limits, Duration::ZERO);
            let task = Task { game: &game, limits: &limits, budget: &budget, stop: &stop };
            search.search(&task, &mut |_| {});
            reader.join().unwrap()
        });
        for pair in told.windows(2) {
            assert!(pair[1].progress.evaluations > pair[0].progress.evaluations);
            assert!(pair[1].progress.time >= pair[0].progress.time + 40);
            assert_eq!(pair[0].progress.stopped, None);
        }
        assert_eq!(told[2].focus.as_ref().unwrap().path.len(), 1);
        // The last word is said whether or not anybody asks.
        let last = watch.take().unwrap();
        assert_eq!(last.progress.stopped, Some(Stop::Asked));
        assert!(last.why.ends_with("it stops because it was told to."), "{}", last.why);
    }
}

/// Whether or not somebody looks on, the tree is the same.
#[test]
fn looking_on_changes_nothing() {
    for (mut alone, mut watched) in both().into_iter().zip(both()) {
        let game = walk(&[12, 12]).unwrap();
        let watch = Watch::default();
        watched.set_watch(Some(watch.clone()));
        watch.ask();
        run(&mut alone, &game, &nodes(3000));
        run(&mut watched, &game, &nodes(3000));
        assert_eq!(alone.signature(), watched.signature());
        assert!(watch.take().is_some());
    }
}

#[test]
fn snapshots_cross_json() {
    let [mut search, _] = both();
    run(&mut search, &Game::new(Chess::default()), &nodes(200));
    let told = search.snapshot(&[]).unwrap();
    let text = serde_json::to_string(&told).unwrap();
    let back: Snapshot = serde_json::from_str(&text).unwrap();
    assert_eq!(back.root.moves.len(), told.root.moves.len());
    assert!(text.contains("\"selectiveDepth\"") && text.contains("\"pvSan\""));
    assert!(!text.contains("NaN") && text.len() < 40_000, "{}", text.len());
}

/// Alpha-beta knows a value of the best move and bounds of the others, and where its nodes went.
#[test]
fn alpha_beta_tells_what_it_has() {
    let mut search = AlphaBeta::classical(4);
    let watch = Watch::default();
    search.set_watch(Some(watch.clone()));
    watch.ask();
    let outcome = run(&mut search, &Game::new(Chess::default()), &nodes(30_000));
    let told = watch.take().unwrap();
    assert_eq!(told.progress.stopped, Some(Stop::Nodes));
    assert_eq!((told.search.as_str(), told.root.moves.len()), ("AlphaBeta", 20));
    let best = &told.root.moves[0];
    assert_eq!(best.uci, outcome.best.to_uci(CastlingMode::Standard).to_string());
    assert!(!best.is_bound && best.is_evaluated && best.pv.len() > 1);
    assert!(told.root.moves[1..].iter().any(|told| told.is_bound));
    // The root itself is a node of every iteration.
    let below: u64 = told.root.moves.iter().map(|told| told.visits).sum();
    assert!(below < outcome.info.nodes && below + 50 > outcome.info.nodes, "{below}");
    assert_eq!(search.snapshot(&[]), Some(told));
}
