//! Positions of the game that may come back.

use shakmaty::uci::UciMove;
use shakmaty::{Move, Position as _};
use tesla_engine::chess::game::Game;
use tesla_engine::chess::score::Score;

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

/// The table knows a mate, but its first two moves would end the game as a draw.
#[test]
fn a_mate_that_would_repeat_the_game_is_not_recalled() {
    let mut search = engine(4);
    let root = game("7Q/8/8/3K4/8/k7/8/8 w - - 0 1", "");
    let mate = run(&mut search, &root, &nodes(1600));
    assert!(matches!(mate.info.score, Score::Win(7..)), "{:?}", mate.info);
    let [there, reply] = mate.info.pv[..2] else { panic!("{:?}", mate.info) };
    let mut game = root.clone();
    for played in [there, reply] {
        game.play(played);
    }
    let back = |played: Move| match played {
        Move::Normal { role, from, to, .. } => {
            Move::Normal { role, from: to, to: from, capture: None, promotion: None }
        }
        _ => played,
    };
    // The game begins with the mate's third position, which is there twice before the root is.
    let mut game = Game::new(game.position().clone());
    for played in [back(there), back(reply), there, reply, back(there), back(reply)] {
        assert!(game.position().is_legal(played), "{played:?}");
        game.play(played);
    }
    assert_eq!(game.position().board(), root.position().board());
    // Another position in between: only the table is left.
    run(&mut search, &self::game("8/8/8/3k4/8/8/8/R3K3 w - - 0 1", ""), &nodes(30));
    let outcome = run(&mut search, &game, &nodes(1));
    let is_recalled = matches!(outcome.info.score, Score::Win(_)) && outcome.best == there;
    assert!(!is_recalled, "{:?}", outcome.info);
}
