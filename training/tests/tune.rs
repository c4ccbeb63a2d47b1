//! Whole runs of `tune`: nothing that interrupts a run changes what comes of it, the engine loads
//! what it writes, and whatever is wrong gets a sentence.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[path = "support/program.rs"]
mod program;

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tesla_engine::best_first::params::Params;

use program::{Scratch, complaint, done, program};

/// Kills the program as soon as `file` has so many lines.
fn killed_at(lines: usize, file: &str, line: &str, more: &[&str]) {
    let mut child = program(line, more).spawn().unwrap();
    let patience = Instant::now() + Duration::from_mins(1);
    while fs::read_to_string(file).map_or(0, |text| text.lines().count()) < lines {
        assert!(Instant::now() < patience, "nothing came of it");
        if child.try_wait().unwrap().is_some() {
            return;
        }
        thread::sleep(Duration::from_millis(2));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

const LOG: &str = "tune log --positions 60 --least 32 --most 200 --option Evaluator=Classical";

fn sorted(path: &str) -> Vec<String> {
    let mut lines: Vec<String> =
        fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

#[test]
fn observations_do_not_depend_on_kills_and_fit_to_a_file_that_the_engine_loads() {
    let scratch = Scratch::new("log");
    let data = scratch.join("data");
    let games = "datagen --games 12 --nodes 60 --max-plies 60 --option Evaluator=Classical \
                 --option Search=AlphaBeta";
    done(games, &["--out", &data]);
    let (straight, parts) = (scratch.join("straight"), scratch.join("parts"));
    done(LOG, &["--data", &data, "--out", &straight]);
    let file = scratch.join("parts/observations.jsonl");
    for lines in [10, 35] {
        killed_at(lines, &file, LOG, &["--data", &data, "--out", &parts, "--concurrency", "3"]);
    }
    done(LOG, &["--data", &data, "--out", &parts, "--concurrency", "1"]);
    assert_eq!(sorted(&scratch.join("straight/observations.jsonl")), sorted(&file));

    let said = done("tune fit", &["--out", &parts]);
    assert!(said.contains("Branching factor") && said.contains("kept out"), "{said}");
    let tunables = PathBuf::from(scratch.join("parts/tunables.toml"));
    let params = Params::read(&tunables).unwrap();
    assert!(params.branching > 1.1 && params != Params::default());

    let file = tunables.to_str().unwrap();
    proofs_survive(&parts, file);

    // A match knows the numbers that it took from the file.
    let side = format!("option.TunablesFile={}", tunables.display());
    let games = "match --games 2 --nodes 20 --max-moves 20 --side name=A \
                 option.Evaluator=Classical --side name=B option.Evaluator=Classical";
    let match_out = scratch.join("match");
    done(games, &[&side, "--out", &match_out]);
    fs::write(&tunables, "error_scale = 0.3").unwrap();
    let changed = complaint(games, &[&side, "--out", &match_out]);
    assert!(changed.contains("networks[1] is"), "{changed}");

    let other = complaint(LOG, &["--data", &data, "--out", &parts, "--seed", "2"]);
    assert!(other.contains("seed is 1 there"), "{other}");
    let none = complaint("tune fit", &["--out", &scratch.join("nowhere")]);
    assert!(none.contains("cannot read") && none.contains("check the path"), "{none}");
    fs::write(&tunables, "error_scale = 99").unwrap();
    let wild = complaint("tune fit", &["--out", &parts, "--from", file]);
    assert!(wild.contains("a number from"), "{wild}");
}

/// The numbers as they were read play the fitted ones with the options of the log in `out`, and a
/// match that is refused changes nothing.
fn proofs_survive(out: &str, tunables: &str) {
    let gate = ["--games", "12", "--nodes", "2", "--out", out, "--from", tunables];
    let before = "error_scale = 0.4";
    fs::write(tunables, before).unwrap();
    done("tune fit", &gate);
    let proved = fs::read_to_string(tunables).unwrap();
    assert!(proved.contains("in 12 games of 2 evaluations a move"), "{proved}");
    let results = format!("{out}/gate/results.jsonl");
    let games = fs::read_to_string(&results).unwrap();
    let head: Value = serde_json::from_str(games.lines().next().unwrap()).unwrap();
    let [fitted, other] = [0, 1].map(|side| &head["match"]["config"]["side"][side]["option"]);
    assert_eq!(*other, json!({"Evaluator": "Classical", "error_scale": "0.4"}));
    let scale = Params::read(Path::new(tunables)).unwrap().error_scale;
    assert_eq!(fitted["error_scale"], json!(scale.to_string()));

    // Now other numbers are those before.
    let refused = complaint("tune fit", &gate);
    assert!(refused.contains("a different run") && refused.contains("move"), "{refused}");
    assert_eq!(fs::read_to_string(tunables).unwrap(), proved);

    // Numbers that lost replace none.
    let lost = games.lines().map(|line| {
        let mut game: Value = serde_json::from_str(line).unwrap();
        if let Some(ending) = game.get("ending") {
            let result = if game["white"] == "fitted" { "0-1" } else { "1-0" };
            game["ending"] = json!({"result": result, "termination": ending["termination"]});
        }
        format!("{game}\n")
    });
    fs::write(&results, lost.collect::<String>()).unwrap();
    fs::write(tunables, before).unwrap();
    assert!(done("tune fit", &gate).contains("they are WORSE"));
    assert_eq!(fs::read_to_string(tunables).unwrap(), before);
}

#[test]
fn spsa_goes_the_same_way_whatever_interrupts_it() {
    let scratch = Scratch::new("spsa");
    let book = scratch.join("book.epd");
    fs::write(
        &book,
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -\n\
         rnbqkbnr/pppp1ppp/8/4p3/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -\n\
         rnbqkbnr/ppp1pppp/8/3p4/3P4/8/PPP1PPPP/RNBQKBNR w KQkq -\n\
         rnbqkbnr/pp1ppppp/8/2p5/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -\n\
         rnbqkbnr/pppp1ppp/4p3/8/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -\n\
         rnbqkbnr/pp1ppppp/2p5/8/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -\n",
    )
    .unwrap();
    let line = "tune spsa --knob error_scale static_weight=0.3 --pairs 6 --batch 2 --nodes 24 \
                --resign movecount=1,score=300 --option Evaluator=Classical";
    let (straight, parts) = (scratch.join("straight"), scratch.join("parts"));
    done(line, &["--openings", &book, "--out", &straight, "--concurrency", "2"]);
    let file = scratch.join("parts/spsa.jsonl");
    for lines in [2, 5] {
        killed_at(lines, &file, line, &["--openings", &book, "--out", &parts]);
    }
    let said = done(line, &["--openings", &book, "--out", &parts, "--concurrency", "1"]);
    assert!(said.contains("after 3 of 3 batches"), "{said}");
    for name in ["spsa.csv", "tunables.toml"] {
        let read = |run: &str| fs::read_to_string(scratch.join(&format!("{run}/{name}"))).unwrap();
        assert_eq!(read("straight"), read("parts"), "{name}");
    }
    assert_ne!(Params::read(&scratch.0.join("parts/tunables.toml")).unwrap(), Params::default());

    let beside = scratch.join("fitted");
    fs::create_dir(&beside).unwrap();
    let tunables = scratch.0.join("fitted/tunables.toml");
    fs::write(&tunables, "error_scale = 0.3").unwrap();
    let said = complaint(line, &["--openings", &book, "--out", &beside]);
    assert!(said.contains("tunables.toml is of something else"), "{said}");
    assert_eq!(fs::read_dir(&beside).unwrap().count(), 1);

    let useless = "tune spsa --knob puct_base --pairs 2";
    let said = complaint(useless, &["--openings", &book, "--out", &scratch.join("x")]);
    assert!(said.contains("puct_base has no effect on the search Tesla"), "{said}");

    let unknown = "tune spsa --knob eror_scale --pairs 2";
    let said = complaint(unknown, &["--openings", &book, "--out", &scratch.join("x")]);
    assert!(said.contains("no tunable named eror_scale"), "{said}");
}
