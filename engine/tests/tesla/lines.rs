//! More lines than one: which they are, and in which order.

use tesla_engine::best_first::BestFirst;
use tesla_engine::chess::score::{Score, Verdict};
use tesla_engine::search::{Clock, Limits, Search as _, Variation};
use tesla_engine::tree::node::{EXCLUDED, ROOT};

use super::common::nodes;
use super::watched::Watched;
use super::{best_move, engine, game, run};

/// The rules rank moves by more than their scores; who reads the lines expects falling scores.
#[test]
fn lines_come_by_falling_scores() {
    for fen in [
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
        "r1bq1rk1/pp2bppp/2n1pn2/2pp4/3P1B2/2PBPN2/PP1N1PPP/R2QK2R w KQ - 0 8",
        "6k1/5p2/4pPp1/3pP1P1/1r1P4/3R1K2/8/3R4 w - - 0 1",
    ] {
        let mut search = engine(8);
        let limits = Limits { multipv: 8, ..nodes(3_000) };
        let info = run(&mut search, &game(fen, ""), &limits).info;
        assert_eq!(info.variations.len(), 7, "{info:?}");
        let ranks = info.variations.iter().map(|line: &Variation| line.score.rank());
        assert!(ranks.is_sorted_by(|better, worse| better >= worse), "{info:?}");
        assert!(info.variations.iter().all(|line| line.pv[0] != info.pv[0]), "{info:?}");
    }
}

/// Who looks at several lines wants to know what the moves beside a forced win are worth.
#[test]
fn a_forced_win_does_not_end_the_search_of_other_lines() {
    let fen = "r1bq2r1/b4pk1/p1pp1p2/1p2pP2/1P2P1PB/3P4/1PPQ2P1/R3K2R w - - 0 1";
    for make in [BestFirst::new, BestFirst::puct] {
        let mut search = make(Watched::new(8, u64::MAX).0);
        let limits = Limits { multipv: 3, ..nodes(2_000) };
        let game = game(fen, "");
        for _ in 0..2 {
            let outcome = run(&mut search, &game, &limits);
            assert_eq!(best_move(&outcome), "d2h6");
            let info = &outcome.info;
            assert_eq!((info.score, info.nodes), (Score::Win(3), 2_000));
            let others: Vec<u32> =
                info.variations.iter().map(|line| visits(&search, line)).collect();
            assert!(others.len() == 2 && others.iter().all(|&visits| visits > 20), "{others:?}");
            let first = search.tree().expansion(0);
            assert!(search.tree().children(first).iter().all(|child| !child.has(EXCLUDED)));
            assert_eq!(search.tree().node(ROOT).verdict, Verdict::Win(3));
        }
        // In a game the win is played, and a choice among lines needs no more than it had.
        for (limits, name) in [
            (Limits { multipv: 1, ..limits.clone() }, "one line"),
            (Limits { is_weakened: true, ..limits.clone() }, "weakened"),
            (Limits { clock: Some(Clock::default()), ..limits.clone() }, "a clock"),
        ] {
            search.clear();
            let outcome = run(&mut search, &game, &limits);
            assert_eq!((outcome.info.nodes, outcome.info.score), (1, Score::Win(3)), "{name}");
        }
    }
}

/// Visits of the root move that a line begins with.
fn visits(search: &BestFirst, line: &Variation) -> u32 {
    let children = search.tree().children(search.tree().expansion(0));
    children.iter().find(|child| child.played == line.pv[0]).unwrap().visits
}

/// Moves that win are set aside round after round, until there are as many as lines.
#[test]
fn lines_that_are_all_proven_end_the_search() {
    // Two moves mate; the rook may also be moved elsewhere.
    let mut search = engine(8);
    let limits = Limits { multipv: 8, ..nodes(3_000) };
    let outcome = run(&mut search, &game("7k/8/6K1/8/8/8/8/RR6 w - - 0 1", ""), &limits);
    let info = outcome.info;
    assert_eq!((info.score, info.variations[0].score), (Score::Win(1), Score::Win(1)));
    assert!(info.variations.iter().all(|line| matches!(line.score, Score::Win(_))), "{info:?}");
    assert!(info.nodes < 3_000, "{info:?}");
}
