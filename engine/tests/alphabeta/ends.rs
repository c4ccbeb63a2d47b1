//! How a search ends that is not at the end of an iteration.

use std::time::Duration;

use tesla_engine::alphabeta::AlphaBeta;
use tesla_engine::search::Limits;

use super::ponder::share_after_hit;
use super::{HASH_MB, game, nodes, run};

/// The iteration that is under way at the hit was begun without a clock.
#[test]
fn a_ponder_hit_ends_an_iteration_that_would_not_be_begun() {
    let mut shares = Vec::new();
    for fen in [
        "r1bq1rk1/pp2ppbp/2np1np1/8/3NP3/2N1BP2/PPPQ2PP/R3KB1R w KQ - 3 9",
        "2rq1rk1/pb1nbppp/1p2pn2/3p4/2PP4/1P3NP1/PB1N1PBP/R2Q1RK1 b - - 4 12",
        "4rrk1/pp1n3p/3q2pQ/2p1pb2/2PP4/2P3N1/P2B2PP/4RRK1 b - - 7 19",
    ] {
        let (mut search, second) = (AlphaBeta::classical(HASH_MB), Duration::from_secs(1));
        shares.push(share_after_hit(&mut search, &game(fen), 3 * second, 2 * second));
    }
    shares.sort_by(f64::total_cmp);
    // Now and then an iteration ends right behind the hit and another begins, as without pondering.
    assert!(shares[1] < 1.5, "{shares:?}");
}

/// A better move may be found whose value is not known yet: that is said, and a good line is not
/// given up for it.
#[test]
fn a_bound_is_called_so() {
    let game = game("r1bq2nr/p1pnb2p/1p3kp1/3ppp2/3PP3/1PP2PPP/P3K1B1/RNBQ2NR w - - 1 11");
    let mut bounds = 0;
    for limit in (2_000..60_000).step_by(1_000) {
        let (outcome, news) = run(&mut AlphaBeta::classical(HASH_MB), &game, &nodes(limit));
        let (info, last) = (&outcome.info, news.last().unwrap());
        bounds += usize::from(info.is_bound);
        assert!(!info.is_bound || info.pv[0] != last.pv[0], "{limit}: {info:?}");
        assert!(news.iter().all(|info| !info.is_bound));
        assert!(info.is_bound || info.depth < 6 || info.pv.len() > 1, "{limit}: {info:?}");
        assert!(outcome.ponder.is_some() || info.depth < 3, "{limit}: {info:?}");
    }
    assert!(bounds > 0, "else the test shows nothing");
}

/// The better of two lines of an unfinished iteration is played.
#[test]
fn lines_of_an_unfinished_iteration_are_in_order() {
    let game = game("3k1b1r/p1p1pppp/4r2n/q1n2N2/p3pP2/R6P/1PPPbK1R/1NBQ4 w - - 6 24");
    for limit in (10_000..60_000).step_by(2_000) {
        let limits = Limits { multipv: 3, ..nodes(limit) };
        let info = run(&mut AlphaBeta::classical(HASH_MB), &game, &limits).0.info;
        let lines = info.variations.iter().map(|line| (line.depth, line.score.rank()));
        let all: Vec<_> = std::iter::once((info.depth, info.score.rank())).chain(lines).collect();
        let is_sorted =
            |one: &(u32, (u8, u32)), other: &(u32, (u8, u32))| one.0 > other.0 || one.1 >= other.1;
        assert!(all.is_sorted_by(is_sorted), "{limit}: {info:?}");
    }
}
