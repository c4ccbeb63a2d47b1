use proptest::prelude::*;

use super::*;
use crate::chess::notation::from_fen;

/// Walks through the closure by these choices and checks each step's index.
fn walk(fen: &str, choices: &[u16]) {
    let start = from_fen(fen, false).unwrap();
    let space = Space::new(&start).unwrap();
    let mut position = start;
    assert_eq!(space.index_of(&position), Some(space.first()));
    for &choice in choices {
        let index = space.index_of(&position).unwrap();
        let parts = space.parts(index);
        assert_eq!(space.position_of(index, &parts).as_ref(), Some(&position));
        let mut moves = position.legal_moves();
        moves.retain(|played| !played.is_zeroing());
        if moves.is_empty() {
            return;
        }
        let played = moves[usize::from(choice) % moves.len()];
        position.play_unchecked(played);
        assert_eq!(space.index_of(&position), Some(space.after(&parts, played)));
    }
}

const FENS: [&str; 6] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9",
    "4k3/8/8/2pP4/8/8/8/R3K2R w KQ c6 0 1",
    "QQQQQQQ1/8/8/8/k7/8/8/6K1 b - - 0 1",
];

proptest! {
    #[test]
    fn an_index_is_a_position(
        which in 0..FENS.len(),
        choices in prop::collection::vec(any::<u16>(), 0..60),
    ) {
        walk(FENS[which], &choices);
    }
}

#[test]
fn en_passant_is_a_position_of_its_own() {
    let start = from_fen(FENS[4], false).unwrap();
    let space = Space::new(&start).unwrap();
    assert_eq!(space.first() + 1, space.size());
    assert_eq!(space.position(space.first()).as_ref(), Some(&start));
    let later = from_fen("4k3/8/8/2pP4/8/8/8/R3K2R w KQ - 0 1", false).unwrap();
    let index = space.index_of(&later).unwrap();
    assert_ne!(index, space.first());
    assert!(space.is_twin(&space.parts(index)) && space.is_twin(&space.parts(space.first())));
}

#[test]
fn strangers_have_no_index() {
    let space = Space::new(&Chess::default()).unwrap();
    let stranger = |fen: &str| space.index_of(&from_fen(fen, false).unwrap());
    assert_eq!(stranger("rnbqkbnr/pppppppp/8/8/8/P7/1PPPPPPP/RNBQKBNR b KQkq - 0 1"), None);
    assert_eq!(stranger("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKB1R w KQkq - 0 1"), None);
    assert_eq!(stranger("rnbqkbnr/pppppppp/8/8/8/B7/PPPPPPPP/RN1QKBNR w KQkq - 0 1"), None);
    let space = Space::new(&from_fen(FENS[2], false).unwrap()).unwrap();
    assert_eq!(space.position(u128::MAX), None);
}

#[test]
fn what_nobody_could_enumerate_is_refused() {
    let crowd = from_fen("rrbbnnqk/qqqqqqqq/8/8/8/8/QQQQQQQQ/KQNNBBRR w - - 0 1", false);
    assert!(matches!(Space::new(&crowd.unwrap()), Err(EnumerateError::TooWide)));
}
