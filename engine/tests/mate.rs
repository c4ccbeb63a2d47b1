//! `go mate N` in the searches that keep a tree: a mate in N or fewer, or the proof that there is
//! none.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use proptest::prelude::*;
use shakmaty::fen::Fen;
use shakmaty::{
    Bitboard, Board, CastlingMode, Chess, Color, FromSetup, Piece, Position, Role, Setup, Square,
};
use tesla_engine::best_first::BestFirst;
use tesla_engine::chess::game::Game;
use tesla_engine::chess::score::Score;
use tesla_engine::minimax::{EndsOnly, MATE, MATE_BOUND, Pruning, solve};
use tesla_engine::search::clock::Budget;
use tesla_engine::search::{Clock, Limits, Outcome, Search, StopToken, Task};
use tesla_nn::classical::ClassicalEvaluator;

/// Both of them.
fn searches() -> [BestFirst; 2] {
    let make = [BestFirst::new, BestFirst::puct];
    make.map(|make| {
        let mut search = make(Box::new(ClassicalEvaluator::with_batch_size(16)));
        search.set_hash_mb(16);
        search
    })
}

fn game(fen: &str) -> Game {
    let fen: Fen = fen.parse().unwrap();
    Game::new(fen.into_position(CastlingMode::Standard).unwrap())
}

fn run(search: &mut BestFirst, game: &Game, limits: &Limits) -> Outcome {
    let (budget, stop) = (Budget::new(limits, Duration::ZERO), StopToken::default());
    let task = Task { game, limits, budget: &budget, stop: &stop };
    let outcome = search.search(&task, &mut |_| {});
    assert_eq!(outcome.info.pv.first(), Some(&outcome.best));
    outcome
}

fn mate_in(search: &mut BestFirst, game: &Game, moves: u32) -> Outcome {
    run(search, game, &Limits { mate: Some(moves), ..Limits::default() })
}

fn nodes(count: u64) -> Limits {
    Limits { nodes: Some(count), ..Limits::default() }
}

/// Position, moves to the mate.
const MATES: [(&str, u32); 6] = [
    ("6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1", 1),
    ("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", 2),
    ("5R2/1N3p2/3pk3/6PR/3Q4/B3K3/8/8 w - - 0 1", 2),
    ("r5rk/5p1p/5R2/4B3/8/8/7P/7K w - - 0 1", 3),
    ("1k5r/pP3ppp/3p2b1/1BN1n3/1Q2P3/P1B5/KP3P1P/7q w - - 1 1", 3),
    ("3r4/pR2N3/2pkb3/5p2/8/2B5/qP3PPP/4R1K1 w - - 1 1", 3),
];

#[test]
fn a_mate_in_time_is_found_and_a_longer_one_is_not() {
    for mut search in searches() {
        for (fen, moves) in MATES {
            let game = game(fen);
            // One more than is needed takes long where three are.
            for wanted in (1..=(moves + 1).min(3)).rev() {
                let outcome = mate_in(&mut search, &game, wanted);
                let score = outcome.info.score;
                if wanted < moves {
                    assert!(matches!(score, Score::Estimate(_)), "{fen} in {wanted}: {score:?}");
                    assert_eq!(outcome.notes, [format!("there is no mate in {wanted}")]);
                } else {
                    let Score::Win(plies) = score else { panic!("{fen} in {wanted}: {score:?}") };
                    assert!(
                        (2 * moves - 1..2 * wanted).contains(&u32::from(plies)),
                        "{fen}: {plies}"
                    );
                    assert_eq!(outcome.info.pv.len(), usize::from(plies), "{fen}");
                    assert!(outcome.notes.is_empty());
                }
            }
        }
    }
}

#[test]
fn other_searches_do_not_notice() {
    let game = game("7k/8/R7/1R6/8/8/8/K7 w - - 0 1");
    for mut search in searches() {
        let before = run(&mut search, &game, &nodes(4_000)).info.score;
        assert_eq!(before, Score::Win(3));
        assert!(matches!(mate_in(&mut search, &game, 1).info.score, Score::Estimate(_)));
        // What was refuted as a mate in one is no draw.
        assert_eq!(run(&mut search, &game, &nodes(4_000)).info.score, before);
        search.clear();
        let signature = |search: &mut BestFirst| {
            run(search, &game, &nodes(500));
            search.signature()
        };
        let fresh = signature(&mut search);
        search.clear();
        mate_in(&mut search, &game, 1);
        search.clear();
        assert_eq!(signature(&mut search), fresh);
    }
}

#[test]
fn other_limits_hold_too() {
    for mut search in searches() {
        let start = Game::new(Chess::default());
        let limits = Limits { mate: Some(9), ..nodes(300) };
        assert_eq!(run(&mut search, &start, &limits).info.nodes, 300);
        let outcome = mate_in(&mut search, &start, 2);
        assert!(matches!(outcome.info.score, Score::Estimate(_)) && !outcome.notes.is_empty());
        // The only moves allowed do not mate.
        let game = game(MATES[0].0);
        let search_moves = game.position().legal_moves().into_iter().skip(1).take(2).collect();
        let limits = Limits { mate: Some(1), search_moves, ..Limits::default() };
        let outcome = run(&mut search, &game, &limits);
        assert!(limits.search_moves.contains(&outcome.best) && !outcome.notes.is_empty());
    }
}

#[test]
fn the_limit_of_nodes_is_used_up_or_the_question_answered() {
    // Where a move that is refuted already has had most of the work.
    for mut search in searches() {
        for (fen, moves) in MATES {
            for count in [50, 200, 1_000] {
                let limits = Limits { mate: Some(moves), ..nodes(count) };
                let outcome = run(&mut search, &game(fen), &limits);
                let is_answered =
                    matches!(outcome.info.score, Score::Win(_)) || !outcome.notes.is_empty();
                assert!(is_answered || outcome.info.nodes == count, "{fen} {count}: {outcome:?}");
            }
        }
    }
}

#[test]
fn a_clock_is_used_up_or_the_question_answered() {
    let game = game(MATES[3].0);
    for mut search in searches() {
        let clock = Clock { remaining: Duration::from_secs(20), ..Clock::default() };
        let limits = Limits { mate: Some(2), clock: Some(clock), ..Limits::default() };
        let budget = Budget::new(&limits, Duration::ZERO);
        let stop = StopToken::default();
        let task = Task { game: &game, limits: &limits, budget: &budget, stop: &stop };
        let outcome = search.search(&task, &mut |_| {});
        assert!(!outcome.notes.is_empty() || budget.elapsed() >= budget.soft().unwrap());
    }
}

/// Two kings, some white pieces, a black pawn or piece; `None` where that is no position to search.
fn position(squares: [u8; 6], roles: [u8; 4]) -> Option<Game> {
    const ROLES: [Role; 5] = [Role::Pawn, Role::Knight, Role::Bishop, Role::Rook, Role::Queen];
    let role = |place: usize| ROLES[usize::from(roles[place]) % ROLES.len()];
    let pieces = [
        (Color::White, Role::King),
        (Color::Black, Role::King),
        (Color::White, role(0)),
        (Color::White, role(1)),
        (Color::Black, role(2)),
        (Color::Black, role(3)),
    ];
    let mut board = Board::empty();
    let mut taken = Bitboard::EMPTY;
    for (square, (color, role)) in squares.into_iter().zip(pieces) {
        let square = Square::new(u32::from(square % 64));
        let is_end = role == Role::Pawn && Bitboard::BACKRANKS.contains(square);
        if taken.contains(square) || is_end {
            return None;
        }
        taken.add(square);
        board.set_piece_at(square, Piece { color, role });
    }
    let setup = Setup { board, ..Setup::empty() };
    let position = Chess::from_setup(setup, CastlingMode::Standard).ok()?;
    (!position.is_game_over()).then(|| Game::new(position))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Exhaustive search says the same of every position.
    #[test]
    fn mates_are_those_of_exhaustive_search(squares: [u8; 6], roles: [u8; 4], moves in 1..3_u32) {
        let Some(game) = position(squares, roles) else { return Ok(()) };
        let truth = solve(&game, 2 * moves - 1, Pruning::Ordered, EndsOnly).value;
        for mut search in searches() {
            let score = mate_in(&mut search, &game, moves).info.score;
            let plies = if let Score::Win(plies) = score { Some(i32::from(plies)) } else { None };
            let is_mate = truth >= MATE_BOUND;
            prop_assert_eq!(plies.is_some(), is_mate, "{:?} {:?}", score, game.position());
            prop_assert!(plies.is_none_or(|plies| plies >= MATE - truth));
        }
    }
}
