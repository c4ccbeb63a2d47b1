//! Whatever comes, the program lives and answers.

use std::fmt::Write as _;

use rand::seq::IndexedRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::process::Engine;

/// Pieces of commands, right and wrong. Searches among them are short: the point is the text.
const WORDS: &[&str] = &[
    "position",
    "startpos",
    "fen",
    "moves",
    "e2e4",
    "e7e5",
    "e2e9",
    "0000",
    "a7a8q",
    "P@e4",
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR",
    "8/8/8/8/8/8/8/8",
    "9/9/9",
    "w",
    "b",
    "-",
    "KQkq",
    "HAha",
    "0",
    "1",
    "-1",
    "99999999999999999999999",
    "1e400",
    "NaN",
    "go",
    "stop",
    "nodes 5",
    "depth 1",
    "movetime 1",
    "wtime 1",
    "btime",
    "winc",
    "movestogo",
    "mate 1",
    "searchmoves",
    "perft 1",
    "setoption",
    "name",
    "value",
    "Hash",
    "Clear Hash",
    "UCI_Chess960",
    "true",
    "ucinewgame",
    "isready",
    "uci",
    "d",
    "debug",
    "on",
    "ponderhit",
    "register",
    "perft",
    "eval",
    "\u{fffd}",
    "ÿ",
    "\t",
    "''",
    "%s%n",
    "\0",
];

fn sentence(random: &mut impl Rng) -> String {
    let count = random.random_range(0..9);
    let mut text = String::new();
    for _ in 0..count {
        write!(text, "{} ", WORDS.choose(random).unwrap()).unwrap();
    }
    text
}

/// Stops whatever a random line has started, then expects the usual answers.
fn is_alive(engine: &mut Engine) {
    engine.send("\nstop");
    engine.send("setoption name UCI_Chess960 value false");
    engine.ready();
    engine.send("position startpos moves e2e4");
    engine.send("go nodes 20");
    engine.read_to("bestmove");
    engine.ready();
}

#[test]
fn random_commands() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let mut engine = Engine::start();
    for line in 0..3_000 {
        engine.send(&sentence(&mut random));
        if line % 50 == 49 {
            is_alive(&mut engine);
        }
    }
}

#[test]
fn random_bytes() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    let mut engine = Engine::start();
    for _ in 0..100 {
        let mut bytes = vec![0; random.random_range(1..5_000)];
        random.fill_bytes(&mut bytes);
        engine.send_bytes(&bytes);
        is_alive(&mut engine);
    }
}

#[test]
fn damaged_commands() {
    let whole = "position fen r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1 \
                 moves e1g1 e8c8";
    let mut random = ChaCha8Rng::seed_from_u64(4);
    let mut engine = Engine::start();
    for line in 0..2_000 {
        let mut bytes = whole.as_bytes().to_vec();
        match line % 3 {
            0 => bytes.truncate(random.random_range(0..bytes.len())),
            1 => drop(bytes.remove(random.random_range(0..bytes.len()))),
            _ => {
                let at = random.random_range(0..bytes.len());
                bytes[at] = random.random();
            }
        }
        engine.send_bytes(&bytes);
        engine.send("\ngo nodes 1");
        if line % 100 == 99 {
            is_alive(&mut engine);
        }
    }
}

#[test]
fn endless_lines() {
    let mut engine = Engine::start();
    let piece = vec![b'x'; 1 << 16];
    for _ in 0..200 {
        engine.send_bytes(&piece);
    }
    engine.send("");
    engine.read_to("too long");
    is_alive(&mut engine);
}
