//! Mates, how long they take, and the lines to them.

use shakmaty::Position;
use tesla_engine::alphabeta::AlphaBeta;
use tesla_engine::chess::score::Score;

use super::{HASH_MB, depth, game, network, run};

/// Position, plies to the mate, depth at which it is found.
pub(crate) const MATES: [(&str, u16, u32); 5] = [
    ("6k1/5ppp/8/8/8/8/8/R3K3 w Q - 0 1", 1, 1),
    ("r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 0 1", 1, 1),
    // Réti's and Morphy's finishes, and a ladder.
    ("rnb1kb1r/pp3ppp/2p5/4q3/4n3/3Q4/PPPB1PPP/2KR1BNR w kq - 0 1", 5, 12),
    ("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", 3, 12),
    ("7k/8/8/8/8/8/R7/1R4K1 w - - 0 1", 3, 6),
];

#[test]
fn mates_are_found_and_counted() {
    for (fen, plies, deep) in MATES {
        let expected = Score::Win(plies);
        let (outcome, _) = run(&mut AlphaBeta::classical(HASH_MB), &game(fen), &depth(deep));
        assert_eq!(outcome.info.score, expected, "{fen}");
        assert_eq!(outcome.info.pv.len(), usize::from(plies), "{fen}");
        let (outcome, _) = run(&mut network(), &game(fen), &depth(deep + 1));
        assert_eq!(outcome.info.score, expected, "{fen} by the network");
    }
}

/// Also where the search over captures sees the mate: Black's king hunted at random.
#[test]
fn lines_lead_to_the_mates_that_they_tell_of() {
    let (mut told, mut seed) = (0, 1_u64);
    for fen in ["8/8/4k3/8/8/2N5/1Q6/R3K3 w - - 0 1", "8/2p5/1k6/1r6/4P3/2N5/1Q6/R3KB2 w - - 0 1"] {
        for _ in 0..40 {
            let mut game = game(fen);
            for _ in 0..12 {
                let moves = game.position().legal_moves();
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                let Some(&played) = moves.get((seed >> 33) as usize % moves.len().max(1)) else {
                    break;
                };
                game.play(played);
            }
            if game.position().is_game_over() {
                continue;
            }
            let (outcome, _) = run(&mut AlphaBeta::classical(HASH_MB), &game, &depth(5));
            let (Score::Win(plies) | Score::Loss(plies)) = outcome.info.score else { continue };
            told += 1;
            let (line, mut end) = (outcome.info.pv, game.position().clone());
            for &played in &line {
                end.play_unchecked(played);
            }
            let fen = game.position().board();
            assert!(line.len() == usize::from(plies) && end.is_checkmate(), "{fen}: {line:?}");
        }
    }
    assert!(told > 20, "{told}");
}
