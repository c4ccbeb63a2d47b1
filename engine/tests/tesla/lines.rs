//! More lines than one: which they are, and in which order.

use tesla_engine::search::{Limits, Variation};

use super::common::nodes;
use super::{engine, game, run};

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
