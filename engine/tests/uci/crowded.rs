//! Positions with more promotions and captures than any game has: every limit ends the search.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use crate::process::Engine;

/// Sixteen pawns about to promote, and boards full of queens.
const CROWDED: [&str; 3] = [
    "8/PPPPPPPP/8/k7/7K/8/pppppppp/8 w - - 0 1",
    "q1q1q1qk/1q1q1q1q/8/q7/7Q/8/Q1Q1Q1Q1/KQ1Q1Q1Q w - - 0 1",
    "QQQQQQBk/Q6B/Q6Q/Q6Q/Q6Q/Q6Q/Q6Q/KQQQQQQQ w - - 0 1",
];

/// Limits that ask for little.
const LIMITS: [&str; 4] = ["nodes 1", "nodes 500", "depth 1", "movetime 20"];

/// How long any of them may take. Without a bound it is hours.
const PATIENCE: Duration = Duration::from_mins(1);

fn options(index: usize) -> &'static [&'static str] {
    match index {
        0 => &[],
        1 => &["MultiPV value 2"],
        2 => &["MultiPV value 218"],
        _ => &["UCI_LimitStrength value true", "UCI_Elo value 1100"],
    }
}

/// Whether a `go` is answered in time.
fn is_answered(search: &str, option: usize, fen: &str, limit: &str) -> Result<(), TestCaseError> {
    let mut engine = Engine::alone(search);
    for option in options(option) {
        engine.send(&format!("setoption name {option}"));
    }
    engine.ready();
    engine.send(&format!("position fen {fen}"));
    engine.send("isready");
    let told = engine.read_to("readyok");
    prop_assert!(!told.iter().any(|line| line.contains("the FEN")), "{told:?}");
    let asked = Instant::now();
    engine.send(&format!("go {limit}"));
    let told = engine.read_to("bestmove");
    let waited = asked.elapsed();
    prop_assert!(!told.iter().any(|line| line.contains("internal error")), "{told:?}");
    prop_assert!(waited < PATIENCE, "{search}, {option}, {fen}, {limit}: {waited:?}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..Default::default()
    })]

    #[test]
    fn every_go_ends(
        search in prop::sample::select(crate::SEARCHES),
        option in 0..4_usize,
        fen in prop::sample::select(&CROWDED[..]),
        limit in prop::sample::select(&LIMITS[..]),
    ) {
        is_answered(search, option, fen, limit)?;
    }
}

/// What once went on for ever.
#[test]
fn alpha_beta_with_several_lines_ends() {
    for limit in ["nodes 1", "depth 1"] {
        for option in [1, 3] {
            is_answered("AlphaBeta", option, CROWDED[0], limit).unwrap();
        }
        is_answered("AlphaBeta", 2, CROWDED[1], limit).unwrap();
    }
}

/// Whoever has read enough goes away, and takes the program along.
#[test]
fn genfens_ends_with_its_reader() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_tesla"))
        .arg("genfens 100000000 seed 1 book None")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("info string genfens"), "{line}");
    let asked = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(asked.elapsed() < PATIENCE, "nobody reads what it makes");
        sleep(Duration::from_millis(10));
    }
}

/// Openings are made until there are enough, or nobody wants more.
#[test]
fn genfens_ends_with_quit() {
    let mut engine = Engine::alone("Tesla");
    engine.send("genfens 100000000 seed 1 book None");
    engine.read_to("info string genfens");
    engine.send("stop");
    engine.ready();
    engine.send("genfens 100000000 seed 2 book None");
    engine.read_to("info string genfens");
    let asked = Instant::now();
    engine.send("quit");
    engine.exit();
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
}
