//! The three-state decider through its public interface: states, limits, chance, experience.

#![expect(clippy::unwrap_used, reason = "helpers of tests, which clippy does not see as such")]

mod common;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use common::{nodes, walk};
use proptest::prelude::*;
use shakmaty::fen::Fen;
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Chess, Move, Position};
use tesla_engine::chess::game::Game;
use tesla_engine::chess::score::Score;
use tesla_engine::chess::tablebase::{self, TablebaseSettings};
use tesla_engine::search::clock::Budget;
use tesla_engine::search::{Clock, Limits, Outcome, Search, StopToken, Task};
use tesla_engine::three_state::{ThreeState, ThreeStateSettings};

fn settings(seed: u64) -> ThreeStateSettings {
    ThreeStateSettings { file: None, size: 10_000, seed, book: None }
}

fn decider(seed: u64) -> ThreeState {
    ThreeState::open(&settings(seed)).unwrap().0
}

fn game(fen: &str) -> Game {
    let setup: Fen = fen.parse().unwrap();
    Game::new(setup.into_position::<Chess>(CastlingMode::Standard).unwrap())
}

fn run(search: &mut ThreeState, game: &Game, limits: &Limits) -> Outcome {
    let (budget, stop) = (Budget::new(limits, Duration::ZERO), StopToken::default());
    let task = Task { game, limits, budget: &budget, stop: &stop };
    let outcome = search.search(&task, &mut |_| {});
    assert_eq!(outcome.info.pv.first(), Some(&outcome.best));
    let mut position = game.position().clone();
    for &played in &outcome.info.pv {
        assert!(position.is_legal(played), "{:?}", outcome.info.pv);
        position.play_unchecked(played);
    }
    outcome
}

/// What is told of the decision.
fn note(outcome: &Outcome) -> &str {
    assert_eq!(outcome.notes.len(), 1, "{:?}", outcome.notes);
    &outcome.notes[0]
}

fn parse(text: &str, game: &Game) -> Move {
    text.parse::<UciMove>().unwrap().to_move(game.position()).unwrap()
}

/// Plenty of everything: the limiters decide alone.
fn unlimited() -> Limits {
    Limits { depth: Some(100), ..Limits::default() }
}

/// Part 3: theory and endgame tables are information, so nothing is played at random there.
#[test]
fn the_book_and_the_tables_are_information() {
    let folder = std::env::temp_dir().join(format!("tesla-book-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let book = folder.join("book.pgn");
    std::fs::write(&book, "[Event \"x\"]\n\n1. e4 e5 *\n").unwrap();
    let with_book = ThreeStateSettings { book: Some(book.display().to_string()), ..settings(1) };
    let mut search = ThreeState::open(&with_book).unwrap().0;
    let mut game = Game::new(Chess::new());
    for (played, source) in [("e2e4", "in the book"), ("e7e5", "in the book"), ("g1f3", "book")] {
        let said = run(&mut search, &game, &nodes(3_000));
        assert!(note(&said).contains("state Uncertain") && note(&said).contains(source));
        game.play(parse(played, &game));
    }
    // Theory ends here.
    assert!(note(&run(&mut search, &game, &nodes(3_000))).starts_with("state Ignorant"));
    let missing = ThreeStateSettings { book: Some("no/book.pgn".to_owned()), ..settings(1) };
    let problem = ThreeState::open(&missing).unwrap_err().to_string();
    assert!(problem.contains("book.pgn") && problem.contains("name another book"), "{problem}");
    std::fs::remove_dir_all(&folder).unwrap();

    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/syzygy");
    let wanted = TablebaseSettings { path: Some(path.to_owned()), ..TablebaseSettings::default() };
    let mut search = decider(1);
    search.set_tables(tablebase::open(&wanted).0);
    let ending = self::game("8/8/4k3/8/4K3/4P3/8/8 w - - 0 1");
    let said = run(&mut search, &ending, &nodes(3_000));
    assert!(note(&said).contains("in the tables"), "{}", note(&said));
    let more = self::game("8/4p3/4k3/8/4K3/4P3/8/8 w - - 0 1");
    assert!(note(&run(&mut search, &more, &nodes(3_000))).starts_with("state Ignorant"));
}

/// What the user leaves of the moves is no decision on a position; what endgame tables leave is.
#[test]
fn the_tables_choice_is_remembered_and_the_users_is_not() {
    for (by_tables, state) in [(false, "state Ignorant"), (true, "state Uncertain")] {
        let (mut search, start) = (decider(1), Game::new(Chess::new()));
        let search_moves = ["e2e4", "d2d4"].map(|text| parse(text, &start)).to_vec();
        run(&mut search, &start, &Limits { search_moves, by_tables, ..nodes(3_000) });
        search.new_game();
        let said = run(&mut search, &start, &nodes(3_000));
        assert!(note(&said).starts_with(state), "{by_tables}: {}", note(&said));
    }
}

#[test]
fn unknown_positions_get_random_moves_and_known_ones_are_searched() {
    let (mut search, start) = (decider(1), Game::new(Chess::new()));
    let first = run(&mut search, &start, &nodes(20_000));
    let told = "state Ignorant eval +0.00 C 0.50 band +0.00 to +1.00 threshold +2.00 random move \
                of 20";
    assert_eq!(note(&first), told);
    search.new_game();
    let second = run(&mut search, &start, &nodes(20_000));
    let told = "state Uncertain eval +0.00 C 0.50 band +0.00 to +1.00 threshold +2.00 seen 1 \
                R 0.86 economic 1.0 \
                objective 1.0 explored 1.0 topology 0.3 depth 6 cut short";
    assert_eq!(note(&second), told);
    // No move was searched to that depth.
    assert_eq!((second.info.nodes, second.info.depth), (20_000, 1));
    // A clock of a few minutes allows less.
    let clock = Clock { remaining: Duration::from_mins(2), ..Clock::default() };
    let limits = Limits { clock: Some(clock), ..Limits::default() };
    let third = run(&mut search, &start, &limits);
    assert!(
        note(&third).ends_with(
            "seen 2 R 0.62 economic 0.2 objective 1.0 explored 1.0 topology 0.3 depth 3"
        )
    );
    assert_eq!(third.info.depth, 3);
}

#[test]
fn confidence_takes_the_best_at_once() {
    // A rook and more ahead; the queen can be won.
    let ahead = game("4k3/8/8/3q4/8/2N5/8/RR2K3 w - - 0 1");
    let outcome = run(&mut decider(1), &ahead, &unlimited());
    assert_eq!(outcome.best, parse("c3d5", &ahead));
    assert!(note(&outcome).starts_with("state Confident eval +"), "{outcome:?}");
    assert_eq!(outcome.info.nodes, ahead.position().legal_moves().len() as u64);
    // It mates where it can, and does not stalemate.
    let mate = game("7k/8/6K1/8/8/8/8/R7 w - - 0 1");
    assert_eq!(run(&mut decider(1), &mate, &unlimited()).info.score, Score::Win(1));
    let stalemating = game("7k/8/5K2/6Q1/8/8/8/8 w - - 0 1");
    let outcome = run(&mut decider(1), &stalemating, &unlimited());
    let mut after = stalemating.position().clone();
    after.play_unchecked(outcome.best);
    assert!(!after.is_stalemate());
}

#[test]
fn uncertainty_is_searched_to_the_allowed_depth() {
    // Black is mated in two; from White's side the values are near enough to equal for a deep
    // search.
    let fen = "kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1";
    let mut search = decider(1);
    run(&mut search, &game(fen), &unlimited());
    search.new_game();
    let outcome = run(&mut search, &game(fen), &unlimited());
    assert!(
        note(&outcome).contains("Confident") || outcome.info.score == Score::Win(3),
        "{outcome:?}"
    );
    // A depth given by the user bounds it.
    let start = Game::new(Chess::new());
    run(&mut search, &start, &unlimited());
    search.new_game();
    let outcome = run(&mut search, &start, &Limits { depth: Some(2), ..Limits::default() });
    assert!(note(&outcome).ends_with("depth 2"), "{outcome:?}");
}

#[test]
fn equal_seeds_play_equal_games_and_others_differ() {
    let play = |first, seed| {
        let mut search = decider(first);
        search.set_seed(seed);
        let mut moves = Vec::new();
        for _ in 0..3 {
            let mut game = Game::new(Chess::new());
            for _ in 0..30 {
                if game.position().is_game_over() {
                    break;
                }
                let best = run(&mut search, &game, &nodes(500)).best;
                moves.push(best);
                game.play(best);
            }
            search.new_game();
        }
        moves
    };
    assert_eq!(play(5, 5), play(6, 5));
    assert_ne!(play(5, 5), play(5, 6));
}

#[test]
fn limits_are_kept() {
    let busy = game("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1");
    let mut search = decider(1);
    run(&mut search, &busy, &unlimited());
    for limit in [1, 2, 48, 49, 1_000, 5_000] {
        let outcome = run(&mut search, &busy, &nodes(limit));
        assert!(note(&outcome).starts_with("state Uncertain"), "{outcome:?}");
        assert!(outcome.info.nodes <= limit, "{} of {limit}", outcome.info.nodes);
    }
    let clock = Clock { remaining: Duration::from_millis(600), ..Clock::default() };
    for limits in [
        Limits { clock: Some(clock), ..Limits::default() },
        Limits { move_time: Some(Duration::from_millis(100)), ..Limits::default() },
    ] {
        let start = Instant::now();
        run(&mut search, &busy, &limits);
        assert!(start.elapsed() < Duration::from_millis(400), "{:?}", start.elapsed());
    }
    for search_moves in
        [vec![parse("a2a3", &busy)], vec![parse("e1g1", &busy), parse("a1b1", &busy)]]
    {
        let limits = Limits { search_moves: search_moves.clone(), ..nodes(500) };
        for mut search in [decider(1), std::mem::replace(&mut search, decider(2))] {
            assert!(search_moves.contains(&run(&mut search, &busy, &limits).best));
        }
    }
}

/// A value one ply deep is not told as one of the depth that was planned.
#[test]
fn the_depth_told_is_that_of_the_value() {
    let busy = game("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1");
    let mut search = decider(1);
    run(&mut search, &busy, &unlimited());
    let outcome = run(&mut search, &busy, &nodes(50));
    assert!(note(&outcome).ends_with("cut short") && outcome.info.depth == 1, "{outcome:?}");
    let outcome = run(&mut search, &busy, &Limits { depth: Some(2), ..Limits::default() });
    assert!(note(&outcome).ends_with("depth 2") && outcome.info.depth == 2, "{outcome:?}");
}

/// What the opponent did not play was never played.
#[test]
fn positions_that_were_only_expected_are_no_experience() {
    let (mut search, stop) = (decider(1), StopToken::default());
    let start = Game::new(Chess::new());
    let clock = Clock { remaining: Duration::from_mins(1), ..Clock::default() };
    let limits = Limits { clock: Some(clock), ..Limits::default() };
    let (budget, _) = Budget::pondering(&limits, Duration::ZERO);
    stop.stop();
    let task = Task { game: &start, limits: &limits, budget: &budget, stop: &stop };
    search.search(&task, &mut |_| {});
    assert_eq!(search.positions(), 0);
    let (budget, hit) = Budget::pondering(&limits, Duration::ZERO);
    let stop = StopToken::default();
    hit.hit();
    let task = Task { game: &start, limits: &limits, budget: &budget, stop: &stop };
    search.search(&task, &mut |_| {});
    assert_eq!(search.positions(), 1);
}

/// What `searchmoves` leaves is no decision on the position, and is not played when all may be.
#[test]
fn restricted_searches_are_no_experience() {
    let (mut search, start) = (decider(1), Game::new(Chess::new()));
    let wanted = parse("h2h4", &start);
    let limits = Limits { search_moves: vec![wanted], ..nodes(100) };
    assert_eq!(run(&mut search, &start, &limits).best, wanted);
    assert_eq!(search.positions(), 0);
    run(&mut search, &start, &nodes(100));
    assert_eq!(search.positions(), 1);
}

#[test]
fn stop_is_answered_at_once() {
    let busy = game("r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1");
    let mut search = decider(1);
    for _ in 0..3 {
        let stop = StopToken::default();
        let remote = stop.clone();
        let stopper = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(100));
            remote.stop();
            Instant::now()
        });
        let limits = Limits { infinite: true, ..Limits::default() };
        let budget = Budget::new(&limits, Duration::ZERO);
        let task = Task { game: &busy, limits: &limits, budget: &budget, stop: &stop };
        search.search(&task, &mut |_| {});
        let late = stopper.join().unwrap().elapsed();
        assert!(late < Duration::from_millis(60), "{late:?}");
    }
}

#[test]
fn experience_outlives_the_search() {
    let folder = std::env::temp_dir().join(format!("tesla-three-state-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file: PathBuf = folder.join("a.experience");
    let settings = ThreeStateSettings { file: Some(file.display().to_string()), ..settings(1) };
    let start = Game::new(Chess::new());
    let (mut search, _) = ThreeState::open(&settings).unwrap();
    assert!(note(&run(&mut search, &start, &nodes(200))).contains("Ignorant"));
    // Another search of the process knows it at once, and one that comes later too.
    let (mut other, _) = ThreeState::open(&settings).unwrap();
    assert!(note(&run(&mut other, &start, &nodes(200))).contains("Uncertain"));
    drop((search, other));
    let (mut later, _) = ThreeState::open(&settings).unwrap();
    assert!(note(&run(&mut later, &start, &nodes(200))).contains("seen 2"));
    drop(later);
    std::fs::write(&file, "my diary").unwrap();
    let error = ThreeState::open(&settings).unwrap_err().to_string();
    assert!(error.contains("is not an experience file"), "{error}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "my diary");
    std::fs::remove_dir_all(&folder).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_answer_is_legal(
        choices in prop::collection::vec(any::<u8>(), 0..120),
        limit in 1..3_000_u64,
    ) {
        let Some(game) = walk(&choices) else { return Ok(()) };
        let mut search = decider(limit);
        // First by chance, then, where it is not confident, by search; `run` checks legality.
        for _ in 0..2 {
            run(&mut search, &game, &nodes(limit));
        }
    }
}
