//! Mates in two that the rules find: at the root, in a tree that is used again, and inside it.

use shakmaty::{CastlingMode, Position as _};
use tesla_engine::chess::score::Score;

use super::common::nodes;
use super::{engine, game, run, set};

/// Ra7 is quiet, and there is no check that mates in two.
const QUIET: &str = "7k/8/R7/8/8/8/8/1R4K1 w - - 0 1";
/// Kg7 is mated in two by a check, Kg8 and Kh8 by the quiet Rb7.
const BEFORE: &str = "8/7k/R7/1R6/8/8/8/6K1 b - - 0 1";

#[test]
fn a_quiet_mate_in_two_takes_one_evaluation() {
    let mut search = engine(16);
    let outcome = run(&mut search, &game(QUIET, ""), &nodes(1));
    assert_eq!((outcome.info.score, outcome.info.pv.len()), (Score::Win(3), 3));
    set(&mut search, "mate_plies", 1.0);
    let outcome = run(&mut search, &game(QUIET, ""), &nodes(1));
    assert!(matches!(outcome.info.score, Score::Estimate(_)), "{:?}", outcome.info);
}

#[test]
fn a_tree_that_is_used_again_is_looked_through_as_well() {
    let mut search = engine(1);
    set(&mut search, "mate_visits", 0.0);
    run(&mut search, &game(BEFORE, ""), &nodes(3));
    let outcome = run(&mut search, &game(BEFORE, "h7g8"), &nodes(1));
    assert_eq!((outcome.info.score, outcome.info.nodes), (Score::Win(3), 0));
    assert_eq!(outcome.info.pv.len(), 3);
}

#[test]
fn positions_of_the_tree_are_looked_through_once_they_have_evaluations() {
    let evaluations = |visits: f32| {
        let mut search = engine(1);
        set(&mut search, "mate_visits", visits);
        let outcome = run(&mut search, &game(BEFORE, ""), &nodes(5_000));
        // Without the look another, longer mate may be found first.
        assert!(matches!(outcome.info.score, Score::Loss(4 | 6)), "{:?}", outcome.info);
        outcome.info.nodes
    };
    let (often, never) = (evaluations(2.0), evaluations(0.0));
    assert!(often < never && often <= 12, "{often} {never}");
}

/// A line may end in the table, or in a position that was proven without a search below it.
#[test]
fn the_line_of_a_mate_leads_to_the_mate() {
    for fen in [
        "8/5k2/8/4K3/8/3Q4/8/8 b - - 0 1",
        "5k2/8/3K4/8/8/8/6R1/8 w - - 0 1",
        "4k3/8/8/8/8/R7/1R6/6K1 w - - 0 1",
    ] {
        for batch in [1, 4, 16] {
            let (mut search, mut moves, mut mates) = (engine(batch), String::new(), 0);
            for _ in 0..40 {
                let here = game(fen, &moves);
                if here.position().is_game_over() {
                    break;
                }
                let outcome = run(&mut search, &here, &nodes(400));
                if let Score::Win(plies) | Score::Loss(plies) = outcome.info.score {
                    let length = outcome.info.pv.len();
                    assert_eq!(length, usize::from(plies), "{fen} {moves}: {:?}", outcome.info);
                    mates += 1;
                }
                let played = outcome.best.to_uci(CastlingMode::Standard);
                moves = format!("{moves} {played}");
            }
            assert!(mates > 2, "{fen}: {mates}");
        }
    }
}

/// Each move of a forced win leads to a shorter one: no other win that is known is a way back.
#[test]
fn a_win_that_is_known_comes_nearer() {
    let mut wins = 0;
    for (fen, count) in [
        ("8/8/8/6R1/7K/8/2k5/8 w - - 0 1", 1600),
        ("8/2K5/8/8/4R3/8/8/6k1 w - - 0 1", 400),
        ("8/5K2/3R4/8/8/5k2/8/8 w - - 0 1", 800),
        ("8/8/1BB3k1/1K6/8/8/8/8 w - - 0 1", 1600),
        ("2K5/5k2/8/8/8/Q7/8/8 w - - 0 1", 1600),
    ] {
        let (mut search, mut here, mut left) = (engine(4), game(fen, ""), [None; 2]);
        for ply in 0..100 {
            if here.position().is_game_over() || here.repetitions() > 1 {
                break;
            }
            let outcome = run(&mut search, &here, &nodes(count));
            let known = match outcome.info.score {
                Score::Win(plies) => Some(plies),
                _ => None,
            };
            if let Some(before) = left[ply % 2] {
                let is_nearer = known.is_some_and(|plies| plies + 2 <= before);
                assert!(is_nearer, "{fen} {known:?} {before}");
            }
            left[ply % 2] = known;
            wins += usize::from(known.is_some());
            here.play(outcome.best);
        }
    }
    assert!(wins > 10, "{wins}");
}
