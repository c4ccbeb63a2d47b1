//! Positions of the game that may come back.

use shakmaty::Position as _;
use shakmaty::uci::UciMove;

use super::common::nodes;
use super::{engine, game, run};

/// A rook ending, where the same few positions come back again and again.
#[test]
fn a_move_back_is_searched_before_it_is_played() {
    let mut search = engine(16);
    let mut game = game("8/8/8/3k4/8/8/8/R3K3 w - - 0 1", "");
    let mut backs = 0;
    for _ in 0..60 {
        let outcome = run(&mut search, &game, &nodes(150));
        let children = search.tree().children(search.tree().expansion(0));
        let after = |played| {
            let mut next = game.clone();
            next.play(played);
            next
        };
        backs += children.iter().filter(|child| after(child.played).repetitions() > 0).count();
        let played = children.iter().find(|child| child.played == outcome.best).unwrap();
        assert!(played.visits > 0 || played.is_proven(), "{played:?}");
        game = after(outcome.best);
        if game.position().halfmoves() >= 100 || game.position().legal_moves().is_empty() {
            break;
        }
    }
    assert!(backs > 10, "{backs} moves back");
}

/// The knights go out and may come back: the start position is searched anew, from what was
/// thought of it, and the transposition table does not answer for it.
#[test]
fn a_position_of_the_game_is_not_taken_as_known() {
    let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    for keeps_tree in [true, false] {
        let mut search = engine(16);
        let moves = ["g1f3", "g8f6", "f3g1"];
        for played in 0..=moves.len() {
            if !keeps_tree {
                // Another game's search in between: of this one only the table is left.
                run(&mut search, &game("8/8/8/3k4/8/8/8/R3K3 w - - 0 1", ""), &nodes(30));
            }
            run(&mut search, &game(start, &moves[..played].join(" ")), &nodes(600));
        }
        let back: UciMove = "f6g8".parse().unwrap();
        let back = back.to_move(game(start, &moves.join(" ")).position()).unwrap();
        let tree = search.tree();
        let children = tree.children(tree.expansion(0));
        let child = children.iter().find(|child| child.played == back).unwrap();
        assert!(child.visits > 0 && child.depth < 4.0, "{keeps_tree} {child:?}");
    }
}
