//! The commands that the pages show: none is stale, and those of the laboratory's page do what it
//! says, one after the other, with smaller numbers.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[path = "../../engine/tests/pages/commands.rs"]
mod commands;
#[path = "support/program.rs"]
#[expect(dead_code, reason = "what other tests need")]
mod program;

use std::fs;
use std::path::Path;

use clap::Parser as _;
use commands::{PageCommand, commands_of};
use tesla_training::commands::Cli;
use tesla_training::players::programs;

use program::{Scratch, program};

/// What has to be small for a test: option, value there, and whether it is added where the page
/// leaves it out, by command.
const SMALL: [(&str, &str, &str, bool); 21] = [
    ("datagen", "--games", "12", false),
    ("datagen", "--nodes", "40", false),
    ("datagen", "--max-plies", "40", true),
    ("datagen", "--trees", "20", false),
    ("merge", "--valid", "0.4", false),
    ("train", "--steps", "2", true),
    ("train", "--batch", "2", true),
    ("train", "--shape", "tiny", true),
    ("evaluate", "--nodes", "4,8", false),
    ("log", "--positions", "40", false),
    ("log", "--most", "64", true),
    ("spsa", "--pairs", "2", true),
    ("spsa", "--nodes", "4", true),
    ("book", "--size", "20", false),
    ("quickstart", "--games", "24", true),
    ("quickstart", "--steps", "4", true),
    ("quickstart", "--match-games", "2", true),
    ("match", "--games", "2", false),
    ("match", "--nodes", "4", false),
    ("match", "--max-moves", "3", true),
    ("suite", "--movetime", "0.05", false),
];

#[test]
fn the_commands_of_the_pages_are_understood() {
    let commands = commands_of("tesla-train");
    assert!(commands.len() >= 20, "{commands:?}");
    let wrong: Vec<String> = commands
        .iter()
        .filter_map(|PageCommand { page, words }| {
            let error = Cli::try_parse_from(words).err()?;
            let is_help = !error.use_stderr();
            (!is_help).then(|| format!("{page}: {}\n{error}", words.join(" ")))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(Cli::try_parse_from(["tesla-train", "inspect", "a", "--no-such"]).is_err());
}

/// A command with the numbers of a test; without Stockfish where there is none.
fn small(words: &[String]) -> Vec<String> {
    let mut words = words.to_vec();
    let command = words[if words[1] == "tune" { 2 } else { 1 }].clone();
    for (of, option, value, is_added) in SMALL {
        match words.iter().position(|word| word == option) {
            Some(at) if of == command => value.clone_into(&mut words[at + 1]),
            None if of == command && is_added => {
                words.extend([option.to_owned(), value.to_owned()]);
            }
            _ => {}
        }
    }
    if words.iter().any(|word| word == "--relabel") {
        let games = words.iter().position(|word| word == "--games").unwrap();
        "2".clone_into(&mut words[games + 1]);
    }
    if programs::find(Path::new("stockfish")).is_none() {
        without_stockfish(&mut words);
    }
    words
}

fn without_stockfish(words: &mut Vec<String>) {
    if let Some(at) = words.iter().position(|word| word == "--teacher") {
        let own = ["--option", "Search=AlphaBeta", "--option", "Evaluator=Classical"];
        words.splice(at..at + 4, own.map(str::to_owned));
    }
    if let Some(at) = words.iter().position(|word| word == "cmd=stockfish") {
        words.drain(at - 2..at + 2);
    }
}

#[test]
fn the_laboratory_works_from_top_to_bottom() {
    let scratch = Scratch::new("pages");
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    fs::create_dir_all(scratch.0.join("training/configs")).unwrap();
    for config in ["small.toml", "tiny.toml"] {
        let config = format!("training/configs/{config}");
        fs::copy(top.join(&config), scratch.0.join(&config)).unwrap();
    }
    // What comes from outside.
    let game = "[Event \"x\"]\n\n1. e4 {+0.30/9} e5 {+0.20/9} 2. Nf3 {+0.31/9} 1-0\n";
    fs::write(scratch.0.join("games.pgn"), game).unwrap();
    let mate = "6k1/5ppp/8/8/8/8/8/R5K1 w - - bm Ra8#; id \"back rank\";\n";
    fs::write(scratch.0.join("wac.epd"), mate).unwrap();
    let head = "PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl\n";
    let puzzle = "00001,6k1/5ppp/8/8/7p/8/8/R5K1 b - - 0 1,h4h3 a1a8,900,80,90,100,mate,x\n";
    fs::write(scratch.0.join("puzzles.csv"), format!("{head}{puzzle}")).unwrap();
    let mut count = 0;
    for PageCommand { page, words } in commands_of("tesla-train") {
        if page != "docs/laboratory.md" {
            continue;
        }
        let words = small(&words);
        let mut program = program("", &[]);
        let output = program.args(&words[1..]).current_dir(&scratch.0).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}\n{said}", words.join(" "));
        count += 1;
    }
    assert!(count >= 12, "{count}");
    assert!(fs::metadata(scratch.0.join("report.html")).unwrap().len() > 1000);
}
