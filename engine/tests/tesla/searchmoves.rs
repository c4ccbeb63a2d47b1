//! Searches of some of the root's moves only.

use shakmaty::{Position, Square};
use tesla_engine::chess::score::Verdict;
use tesla_engine::search::Limits;
use tesla_engine::tree::node::ROOT;

use super::common::nodes;
use super::{engine, game, run, start};

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
        // Most evaluations of the third are known.
        assert!(search.tree().node(ROOT).visits > 10, "{:?}", outcome.info);
        assert_eq!(alone.search_moves.contains(&outcome.best), limits.search_moves.len() == 2);
    }
    // The same moves go on with their tree.
    assert_eq!(run(&mut search, &game, &alone).info.nodes, 0);
}

/// A root that was in the tree before knows which of its moves repeat the game's positions, as a
/// new one does.
#[test]
fn a_tree_that_is_kept_knows_the_draws_of_its_root() {
    let fen = "6k1/pp3ppp/8/2q5/8/8/PP3PPP/R5K1 b - - 0 1";
    let before = "g8h8 a1b1 h8g8 b1a1 g8h8";
    let old = game(fen, before);
    let wanted = old.position().legal_moves().into_iter().filter(|m| m.to() == Square::B1);
    let limits = Limits { search_moves: wanted.collect(), ..nodes(500) };
    let new = game(fen, &format!("{before} a1b1 h8g8"));
    let mut search = engine(16);
    run(&mut search, &old, &limits);
    let outcome = run(&mut search, &new, &nodes(1));
    let tree = search.tree();
    assert!(tree.node(ROOT).visits > 1, "{outcome:?}");
    let moves = tree.children(tree.expansion_of(ROOT).unwrap());
    let back = moves.iter().find(|node| node.played.to() == Square::A1).unwrap();
    assert_eq!(back.verdict, Verdict::Draw);
    assert_eq!(moves.iter().filter(|node| node.is_proven()).count(), 1);
}
