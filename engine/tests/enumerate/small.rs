//! Small closures, drawn at random and chosen, in every way the enumerator can make them.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;
use shakmaty::fen::{Epd, Fen};
use shakmaty::{
    CastlingMode, Chess, Color, EnPassantMode, Piece, Position as _, PositionError, Role, Setup,
    Square,
};
use tesla_engine::enumerate::Archive;

use crate::folder::TestFolder;
use crate::naive::{Naive, after};
use crate::{MEBIBYTE, complete, kept, position, request, timeless};

/// Larger closures are passed over.
const LIMIT: usize = 20_000;

/// Castling on both sides; en passant in the first position, which comes again without it, for
/// either side; a promotion that captures a rook with and without its right to castle; one that
/// captures on either side of a second queen; pieces that lock each other; Fischer random castling;
/// a mate; kings.
const CHOSEN: [&str; 9] = [
    "r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R w KQkq - 0 1",
    "k7/8/1p1p4/1PpP4/2P5/8/8/K7 w - c6 0 1",
    "4k3/8/p1p5/Pp6/1PpP4/2P5/8/4K3 b - d3 0 1",
    "r3k3/pPpppppp/P1PPPPPP/8/8/8/8/4K3 w q - 0 1",
    "Q1r3k1/1P6/PpPpPpPp/8/8/8/PPP5/KB6 b - - 0 1",
    "7k/5p1p/5P1P/8/8/2p5/1pPp4/bKb5 w - - 0 1",
    "1r1k2r1/pppppppp/8/8/8/8/PPPPPPPP/1R1K2R1 w GBgb - 0 1",
    "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 0 1",
    "8/8/8/3k4/8/3K4/8/8 w - - 0 1",
];

fn fen_of(start: &Chess) -> String {
    Fen::from(Epd::from_position(start, EnPassantMode::Legal)).to_string()
}

/// Compares every way to enumerate with the naive one.
fn check(start: &Chess, naive: &Naive) {
    let fen = fen_of(start);
    let expected = naive.found(&fen);
    assert_eq!(timeless(complete(&request(start))), expected, "{fen}");
    // Every root told apart by its whole position, not only those that may be met twice.
    let test = TestFolder::new();
    let all = kept(start, test.path());
    assert_eq!(timeless(complete(&all)), expected, "roots kept: {fen}");
    assert_eq!(timeless(complete(&all)), expected, "read back: {fen}");
    check_roots(test.path(), naive);
    // No room at all: every set lies in files.
    let test = TestFolder::new();
    let mut spilt = kept(start, test.path());
    (spilt.edges, spilt.roots, spilt.resources.memory) = (false, false, MEBIBYTE / 64);
    assert_eq!(timeless(complete(&spilt)), expected, "spilt: {fen}");
}

fn check_roots(folder: &std::path::Path, naive: &Naive) {
    let archive = Archive::open(folder).unwrap();
    let mut text = Vec::new();
    archive.write_roots(&mut text).unwrap();
    let mut read: HashMap<String, HashSet<Chess>> = HashMap::new();
    for line in String::from_utf8(text).unwrap().lines() {
        let (hive, fen) = line.split_once(' ').unwrap();
        assert!(read.entry(hive.to_owned()).or_default().insert(position(fen)), "{line} again");
    }
    let expected: HashMap<String, HashSet<Chess>> =
        naive.hives.iter().map(|(hive, roots)| (hive.to_string(), roots.clone())).collect();
    assert!(read == expected);
}

#[test]
fn chosen_closures() {
    for fen in CHOSEN {
        let start = position(fen);
        let naive = Naive::new(&start, 100_000).unwrap_or_else(|| panic!("{fen} is too large"));
        check(&start, &naive);
    }
}

/// Kings, pairs of pawns that block each other, some pieces, and a few moves from there.
pub(crate) fn ending() -> impl Strategy<Value = Option<Chess>> {
    let files = prop::collection::vec(prop::option::weighted(0.7, 1_u32..6), 8);
    let kinds = prop::sample::select(vec![Role::Knight, Role::Bishop, Role::Rook, Role::Queen]);
    let pieces = prop::collection::vec((kinds, any::<bool>(), 0_u32..64), 0..3);
    let moves = prop::collection::vec(any::<u16>(), 0..5);
    (files, 0_u32..64, 0_u32..64, pieces, any::<bool>(), moves).prop_map(
        |(files, white_king, black_king, pieces, white, moves)| {
            let mut setup = Setup { turn: Color::from_white(white), ..Setup::empty() };
            for (file, rank) in files.iter().enumerate() {
                let Some(rank) = *rank else { continue };
                let square = |rank: u32| Square::new(file as u32 + 8 * rank);
                setup.board.set_piece_at(square(rank), Color::White.pawn());
                setup.board.set_piece_at(square(rank + 1), Color::Black.pawn());
            }
            for (role, white, square) in pieces {
                let piece = Piece { color: Color::from_white(white), role };
                setup.board.set_piece_at(Square::new(square), piece);
            }
            setup.board.set_piece_at(Square::new(white_king), Color::White.king());
            setup.board.set_piece_at(Square::new(black_king), Color::Black.king());
            setup.castling_rights = setup.board.rooks();
            let mut start = setup
                .position::<Chess>(CastlingMode::Standard)
                .or_else(PositionError::ignore_invalid_castling_rights)
                .ok()?;
            for choice in moves {
                let legal = start.legal_moves();
                let &played = legal.get(usize::from(choice) % legal.len().max(1))?;
                start = after(&start, played);
            }
            Some(start)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        max_global_rejects: 4000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_small_closure(start in ending()) {
        prop_assume!(start.is_some());
        let start = start.unwrap();
        let naive = Naive::new(&start, LIMIT);
        prop_assume!(naive.is_some());
        check(&start, &naive.unwrap());
    }
}
