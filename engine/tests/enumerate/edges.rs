//! Edges, forward and back.

use std::collections::HashSet;

use shakmaty::{Chess, Position as _};
use tesla_engine::enumerate::{Archive, EnumerateError, enumerate};
use tesla_engine::search::StopToken;

use crate::folder::TestFolder;
use crate::naive::{Naive, after};
use crate::{complete, kept, position};

/// Castling, en passant, promotions with captures.
const FENS: [&str; 4] = [
    "r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R w KQkq - 0 1",
    "k7/8/1p1p4/1PpP4/2P5/8/8/K7 w - c6 0 1",
    "r3k3/pPpppppp/P1PPPPPP/8/8/8/8/4K3 w q - 0 1",
    "Q1r3k1/1P6/PpPpPpPp/8/8/8/PPP5/KB6 b - - 0 1",
];

/// Some of the positions that a closure and its roots have, always the same.
fn sample<'a>(positions: impl Iterator<Item = &'a Chess>, every: usize) -> Vec<Chess> {
    let mut positions: Vec<Chess> = positions.cloned().collect();
    positions.sort_by_cached_key(|position| format!("{:?}{:?}", position.board(), position.turn()));
    positions.into_iter().step_by(every).collect()
}

#[test]
fn every_move_is_found_from_both_ends() {
    for fen in FENS {
        let start = position(fen);
        let naive = Naive::new(&start, 100_000).unwrap();
        let test = TestFolder::new();
        complete(&kept(&start, test.path()));
        let archive = Archive::open(test.path()).unwrap();
        assert!(archive.is_complete());
        let roots: HashSet<Chess> = naive.hives.values().flatten().cloned().collect();
        let every = (naive.positions.len() + roots.len()) / 80 + 1;
        let some = [sample(naive.positions.iter(), every), sample(roots.iter(), every)].concat();
        let mut before: Vec<(HashSet<Chess>, usize)> = vec![(HashSet::new(), 0); some.len()];
        for position in &naive.positions {
            for played in position.legal_moves() {
                let next = after(position, played);
                for (which, _) in some.iter().enumerate().filter(|(_, one)| **one == next) {
                    before[which].0.insert(position.clone());
                    before[which].1 += 1;
                }
            }
        }
        for (one, (before, moves)) in some.iter().zip(before) {
            let (from, to) = archive.edges(one).unwrap();
            assert_eq!(to.len(), moves, "{fen}: to {one:?}");
            assert!(to.iter().all(|edge| edge.to == *one));
            assert_eq!(to.into_iter().map(|edge| edge.from).collect::<HashSet<_>>(), before);
            let is_position = naive.positions.contains(one);
            let legal = if is_position { one.legal_moves().to_vec() } else { Vec::new() };
            let played: Vec<_> = from.iter().map(|edge| edge.played).collect();
            assert_eq!(played, legal, "{fen}: from {one:?}");
        }
    }
}

#[test]
fn lines_for_people() {
    let start = position("k7/8/1p1p4/1PpP4/2P5/8/8/K7 w - c6 0 1");
    let test = TestFolder::new();
    complete(&kept(&start, test.path()));
    let archive = Archive::open(test.path()).unwrap();
    let text = archive.edges_text(&start).unwrap();
    assert!(text.contains("Moves from p = k7/8/1p1p4/1PpP4/2P5/8/8/K7 w - c6 0 1: 5\n"), "{text}");
    assert!(text.contains("p --> d5c6 | k7/8/1pPp4/1P6/2P5/8/8/K7 b - - 0 1 | root, hive 4-3-b"));
    assert!(text.contains("p --> a1b1 | k7/8/1p1p4/1PpP4/2P5/8/8/1K6 b - - 0 1\n"), "{text}");
    assert!(text.ends_with("1: 0"), "{text}");
}

#[test]
fn what_is_not_there_gets_a_sentence() {
    let test = TestFolder::new();
    assert!(matches!(Archive::open(test.path()), Err(EnumerateError::Nothing(_))));
    let start = position("8/8/8/3k4/8/3K4/8/8 w - - 0 1");
    let mut request = kept(&start, test.path());
    (request.edges, request.roots) = (false, false);
    complete(&request);
    let archive = Archive::open(test.path()).unwrap();
    assert!(matches!(archive.edges(&start), Err(EnumerateError::NotKept { .. })));
    let none = archive.write_roots(&mut Vec::new());
    assert!(matches!(none, Err(EnumerateError::NotKept { .. })));
    let test = TestFolder::new();
    let stop = StopToken::default();
    stop.stop();
    enumerate(&kept(&start, test.path()), &stop).unwrap();
    let none = Archive::open(test.path()).unwrap().write_roots(&mut Vec::new());
    assert!(matches!(none, Err(EnumerateError::NotYet(_))));
    complete(&kept(&start, test.path()));
    let archive = Archive::open(test.path()).unwrap();
    assert!(matches!(archive.edges(&Chess::default()), Err(EnumerateError::NotReached(_))));
}
