//! A short game against itself; the rules are checked by shakmaty.

use shakmaty::fen::Fen;
use shakmaty::uci::UciMove;
use shakmaty::{CastlingMode, Chess, EnPassantMode, Position};

use crate::SEARCHES;
use crate::process::Engine;

/// The moves of a line, played from `position`; each must be legal.
fn follow(position: &Chess, moves: &str) -> Option<UciMove> {
    let mut position = position.clone();
    let mut first = None;
    for text in moves.split_whitespace() {
        let uci: UciMove = text.parse().unwrap();
        let played = uci.to_move(&position).unwrap();
        position.play_unchecked(played);
        first.get_or_insert(uci);
    }
    first
}

fn play(start: &Chess, search: &str, chess960: bool) {
    let mut engine = Engine::with_search(search);
    engine.send(&format!("setoption name UCI_Chess960 value {chess960}"));
    engine.send("ucinewgame");
    engine.ready();
    let fen = Fen::from_position(start, EnPassantMode::Legal);
    let mut position = start.clone();
    let mut moves = String::new();
    for _ in 0..40 {
        if position.is_game_over() {
            break;
        }
        engine.send(&format!("position fen {fen} moves{moves}"));
        engine.send("go nodes 60");
        let read = engine.read_to("bestmove");
        let mut words = read.last().unwrap().split_whitespace().skip(1);
        let best = words.next().unwrap();
        // The final news come directly before, and every line of them can be played.
        let mut first = None;
        for line in read.iter().filter(|line| !line.starts_with("info string")) {
            let Some((_, line)) = line.split_once(" pv ") else { continue };
            first = follow(&position, line);
        }
        assert!(read[read.len() - 2].contains(" pv "), "{read:?}");
        assert_eq!(first, best.parse().ok(), "{read:?}");
        let ponder = words.nth(1).unwrap_or("");
        follow(&position, &format!("{best} {ponder}"));
        let played = best.parse::<UciMove>().unwrap().to_move(&position).unwrap();
        let mode = if chess960 { CastlingMode::Chess960 } else { CastlingMode::Standard };
        assert_eq!(UciMove::from_move(played, mode).to_string(), best);
        position.play_unchecked(played);
        moves = format!("{moves} {best}");
    }
}

#[test]
fn a_short_game() {
    for &search in SEARCHES {
        play(&Chess::default(), search, false);
    }
}

#[test]
fn a_short_game_of_fischer_random_chess() {
    let fen: Fen =
        "bqnb1rkr/pp3ppp/3ppn2/2p5/5P2/P2P4/NPP1P1PP/BQ1BNRKR w HFhf - 2 9".parse().unwrap();
    play(&fen.into_position(CastlingMode::Chess960).unwrap(), "Tesla", true);
}
