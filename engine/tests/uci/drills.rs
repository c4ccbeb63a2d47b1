//! Drills: very long games, clocks that make no sense, an end in the middle.

use std::time::{Duration, Instant};

use crate::SEARCHES;
use crate::process::Engine;

/// Reading a game of 10,000 plies, on a busy machine.
const SOON: Duration =
    if cfg!(debug_assertions) { Duration::from_secs(5) } else { Duration::from_secs(1) };

/// Knights that go out and back: so many plies, and nothing is captured.
fn shuffled(plies: usize) -> String {
    let moves = ["g1f3", "g8f6", "f3g1", "f6g8"];
    let played: Vec<&str> = moves.into_iter().cycle().take(plies).collect();
    format!("position startpos moves {}", played.join(" "))
}

#[test]
fn ten_thousand_moves_are_read_at_once() {
    for &search in SEARCHES {
        let mut engine = Engine::alone(search);
        let began = Instant::now();
        engine.send(&shuffled(10_000));
        engine.send("d");
        let shown = engine.read_to("Moves (20)").join("\n");
        assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
        // The start position is there for the 2,501st time, with White to move in move 5,001.
        assert!(shown.contains("PPPPPPPP/RNBQKBNR w KQkq - 10000 5001"), "{shown}");
        assert!(shown.contains("Repetitions: 2500"), "{shown}");
        let began = Instant::now();
        engine.send("go nodes 100");
        engine.read_to("bestmove");
        assert!(began.elapsed() < SOON, "{search}: {:?}", began.elapsed());
    }
}

#[test]
fn a_pawn_move_behind_ten_thousand_moves_starts_the_count_anew() {
    let mut engine = Engine::start();
    engine.send(&format!("{} e2e4 e7e5 g1f3 g8f6 f3g1 f6g8", shuffled(10_000)));
    engine.send("d");
    let shown = engine.read_to("Moves (29)").join("\n");
    assert!(shown.contains(" w KQkq - 4 5004") && shown.contains("Repetitions: 1"), "{shown}");
}

#[test]
fn one_wrong_move_behind_ten_thousand_gets_one_sentence() {
    let mut engine = Engine::alone("Tesla");
    let began = Instant::now();
    engine.send(&format!("{} e2e5", shuffled(10_000)));
    let told = engine.ready();
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
    let [sentence] = &told[..] else { panic!("{told:?}") };
    assert!(sentence.starts_with("info string move 10001, 'e2e5', is not legal"), "{sentence}");
    engine.send("d");
    engine.read_to("w KQkq - 0 1");
}

#[test]
fn clocks_without_sense_cost_no_game() {
    for &search in SEARCHES {
        let mut engine = Engine::alone(search);
        for (go, most_ms) in [
            ("wtime -9223372036854775808 btime -1 winc -5 binc -5 movestogo -3", 150),
            ("wtime 100 btime 100 winc 3600000 binc 3600000", 150),
            ("wtime 100 btime 100 movestogo 0", 150),
            ("wtime 100 btime 100 movestogo 4294967296", 150),
            ("wtime 0 btime 0 winc 0 binc 0 movestogo 1", 150),
            ("wtime 1e400 btime 1e400 winc 1e400 movestogo 1 depth 1", 1000),
            ("movetime -1", 150),
        ] {
            // A machine with other things to do may wake us late now and then.
            let kept = (0..5).any(|_| {
                let asked = Instant::now();
                engine.send(&format!("go {go}"));
                engine.read_to("bestmove");
                asked.elapsed() < Duration::from_millis(most_ms)
            });
            assert!(kept || cfg!(debug_assertions), "{search}: go {go}");
        }
    }
}

#[test]
fn the_end_of_stdin_ends_every_search_soon() {
    for &search in SEARCHES {
        let mut engine = Engine::alone(search);
        engine.send("go infinite");
        std::thread::sleep(Duration::from_millis(100));
        let began = Instant::now();
        engine.close_stdin();
        engine.read_to("bestmove");
        assert!(engine.exit().success());
        assert!(began.elapsed() < 2 * SOON, "{search}: {:?}", began.elapsed());
    }
}
