//! Searches of some of the root's moves only.

use shakmaty::{Position, Square};
use tesla_engine::search::Limits;

use super::common::nodes;
use super::{engine, run, start};

#[test]
fn searchmoves_bind_the_root() {
    let game = start();
    let wanted = game.position().legal_moves()[..2].to_vec();
    let limits = Limits { search_moves: wanted.clone(), ..nodes(200) };
    let mut search = engine(16);
    let outcome = run(&mut search, &game, &limits);
    assert!(wanted.contains(&outcome.best));
    assert_eq!(search.root_moves().len(), 2);
    let outcome = run(&mut search, &game, &nodes(200));
    assert_eq!(search.root_moves().len(), 20);
    assert!(game.position().is_legal(outcome.best));
}

/// A position's tree belongs to the moves that it was searched with: depth of others is none of
/// theirs, and one move searched alone is no rival of all.
#[test]
fn other_searchmoves_begin_another_tree() {
    let game = start();
    let poor = game.position().legal_moves().into_iter().filter(|m| m.from() == Some(Square::H2));
    let alone = Limits { search_moves: poor.collect(), depth: Some(6), ..Limits::default() };
    let all = Limits { depth: Some(6), ..Limits::default() };
    let mut search = engine(16);
    for limits in [&alone, &all, &alone] {
        let outcome = run(&mut search, &game, limits);
        assert!(outcome.info.nodes > 10, "{:?}", outcome.info);
        assert_eq!(alone.search_moves.contains(&outcome.best), limits.search_moves.len() == 2);
    }
    // The same moves go on with their tree.
    assert_eq!(run(&mut search, &game, &alone).info.nodes, 0);
}
