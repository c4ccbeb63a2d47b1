//! Whole runs of `datagen` and what is done with their games: nothing that interrupts a run changes
//! its files, and whatever is wrong gets a sentence.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[path = "support/program.rs"]
mod program;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use tesla_training::labelled::read_file;
use tesla_training::labelled::unique::is_held_out;

use program::{Scratch, complaint, done, program};

/// Short games of our own search without a network.
const OWN: &[&str] = &[
    "--games",
    "30",
    "--shard-games",
    "8",
    "--nodes",
    "150",
    "--max-plies",
    "40",
    "--option",
    "Evaluator=Classical",
    "--option",
    "Search=AlphaBeta",
];

/// The shards of a folder by name.
fn shards(folder: &str) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let shards = files.filter(|path| path.to_string_lossy().ends_with(".games.zst"));
    let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
    shards.map(|path| (name(&path), fs::read(&path).unwrap())).collect()
}

fn own<'a>(out: &'a str, concurrency: &'a str) -> Vec<&'a str> {
    [OWN, &["--out", out, "--concurrency", concurrency]].concat()
}

#[test]
fn concurrency_and_kills_change_nothing() {
    let scratch = Scratch::new("kill");
    let (whole, killed) = (scratch.join("whole"), scratch.join("killed"));
    let started = Instant::now();
    let said = done("datagen", &own(&whole, "1"));
    let time = started.elapsed();
    assert!(said.contains("30 games") && said.contains("refuted moves"), "{said}");
    assert_eq!(shards(&whole).len(), 4);
    for kill in 0..10 {
        let mut child = program("datagen", &own(&killed, "3")).spawn().unwrap();
        thread::sleep(time.mul_f64(f64::from(kill * 7 % 10) / 20.0 + 0.05));
        let _ = child.kill();
        child.wait().unwrap();
    }
    done("datagen", &own(&killed, "2"));
    assert!(shards(&killed) == shards(&whole));
    // A finished run is only summed up again.
    assert!(done("datagen", &own(&killed, "2")).contains("this run: 0 games"));
    let other = [&own(&killed, "2")[..], &["--seed", "2"]].concat();
    let said = complaint("datagen", &other);
    assert!(said.contains("seed is 1 there and 2 here (match.config.seed)"), "{said}");
}

#[test]
fn games_and_paths_of_trees_are_labelled_anew() {
    let scratch = Scratch::new("relabel");
    let games = scratch.join("games");
    done("datagen", &own(&games, "2"));
    let anew = |out: &str, more: &[&str]| {
        let nodes = ["--nodes", "40", "--option", "Evaluator=Classical"];
        let run = ["--relabel", &games, "--out", out, "--option", "Search=AlphaBeta"];
        done("datagen", &[&nodes[..], &run, more].concat());
        let figures: Value = serde_json::from_str(&done("inspect", &[out, "--json"])).unwrap();
        (shards(out), figures["positions"].as_u64().unwrap())
    };
    let (one, two) = (scratch.join("one"), scratch.join("two"));
    let spans = ["--games", "30", "--span", "4"];
    let first = anew(&one, &[&spans[..], &["--concurrency", "1"]].concat());
    assert_eq!(first.1, 30 * 4);
    assert!(first == anew(&two, &[&spans[..], &["--concurrency", "3"]].concat()));

    let (one, two) = (scratch.join("trees-1"), scratch.join("trees-2"));
    let trees = ["--games", "20", "--trees", "60"];
    let first = anew(&one, &[&trees[..], &["--concurrency", "1"]].concat());
    // From the root to a position below it, in nearly all of the paths.
    assert!(first.1 > 40, "{}", first.1);
    assert!(first == anew(&two, &[&trees[..], &["--concurrency", "2"]].concat()));

    // Held-out games are nobody's material, unless they are named.
    fs::copy(format!("{games}/shard-00000.games.zst"), format!("{games}/valid.games.zst")).unwrap();
    let three = scratch.join("three");
    assert!(first == anew(&three, &[&trees[..], &["--concurrency", "2"]].concat()));
    let alone = [&spans[..2], &["--span", "4", "--concurrency", "2"]].concat();
    let held_out = format!("{games}/valid.games.zst");
    let named = ["--relabel", &held_out, "--out", "y", "--nodes", "9"];
    assert!(complaint("datagen", &[&named[..], &alone].concat()).contains("has 8 games"));
    let more = ["--relabel", &games, "--out", "x", "--nodes", "9", "--games", "31"];
    assert!(complaint("datagen", &more).contains("has 30 games"));
}

#[test]
fn games_are_merged_and_inspected() {
    let scratch = Scratch::new("merge");
    let (a, b, both) = (scratch.join("a"), scratch.join("b"), scratch.join("both"));
    done("datagen", &own(&a, "2"));
    done("datagen", &[&own(&b, "2")[..], &["--seed", "2"]].concat());
    let said = done("merge", &[&a, &b, &a, "--out", &both, "--shard-games", "25"]);
    assert!(said.contains("60 games in 3 files, 0 of them held out, 30 dropped"), "{said}");
    let figures = |path: &str| -> Value {
        serde_json::from_str(&done("inspect", &[path, "--json"])).unwrap()
    };
    let (first, second, merged) = (figures(&a), figures(&b), figures(&both));
    let count = |figures: &Value, name: &str| figures[name].as_u64().unwrap();
    for name in ["games", "positions", "white_wins", "draws", "black_wins"] {
        let sum = count(&first, name) + count(&second, name);
        assert_eq!(count(&merged, name), sum, "{name}");
    }
    assert_eq!(count(&merged, "same_games"), 0);
    let refuted = merged["refuted"].as_f64().unwrap();
    assert!((0.05..0.3).contains(&refuted), "{refuted}");
    // A third is held out, the same games whatever lies beside them.
    let (split, again) = (scratch.join("split"), scratch.join("again"));
    let said = done("merge", &[&both, "--out", &split, "--valid", "0.33"]);
    let held_out = figures(&scratch.join("split/valid.games.zst"));
    let count_held_out = count(&held_out, "games");
    assert!((10..30).contains(&count_held_out), "{said}");
    assert!(said.contains(&format!("60 games in 2 files, {count_held_out} of them held out")));
    done("merge", &[&b, &a, "--out", &again, "--valid", "0.33"]);
    assert_eq!(count(&figures(&scratch.join("again/valid.games.zst")), "games"), count_held_out);
    assert!(complaint("merge", &[&a, "--out", &again, "--valid", "1"]).contains("--valid is 1"));
    let one = scratch.join("one.games.zst");
    assert!(complaint("merge", &[&a, "--out", &one, "--valid", "0.1"]).contains("needs a folder"));
    done("merge", &[&both, "--out", &one]);
    assert_eq!(figures(&one), merged);
    let shown = done("inspect", &[&one, "--samples", "3", "--seed", "5"]);
    assert_eq!(shown.matches("played ").count(), 3, "{shown}");
    assert!(complaint("merge", &[&a, "--out", &one]).contains("exists already"));
    assert!(complaint("merge", &[&a, "--out", &both]).contains("exists already"));
    fs::write(scratch.0.join("b/shard-00000.games.zst"), b"rubbish").unwrap();
    let new = scratch.join("new");
    assert!(complaint("merge", &[&a, &b, "--out", &new]).contains("not a file of games"));
    assert!(shards(&new).is_empty(), "half a merge must not pass for a whole one");
    // What a killed merge leaves is cleared away by the next.
    let left = ["shard-00000.games.zst.part", "shard-00001.games.zst.part.new"];
    for name in left {
        fs::write(scratch.0.join("new").join(name), b"half").unwrap();
    }
    assert!(complaint("inspect", &[&new]).contains("half of a merge"));
    done("merge", &[&a, "--out", &new]);
    assert_eq!(count(&figures(&new), "games"), count(&figures(&a), "games"));
    assert!(left.iter().all(|name| !scratch.0.join("new").join(name).exists()));
    // A power cut between two of its last steps: no reader takes the half for the whole.
    fs::write(scratch.0.join("new").join(left[0]), b"half").unwrap();
    for command in ["inspect", "merge"] {
        let words: &[&str] = if command == "merge" { &[&a, "--out", &new] } else { &[&new] };
        assert!(complaint(command, words).contains("half of a merge"), "{command}");
    }
    fs::write(scratch.0.join("b/shard-00000.games.zst"), &fs::read(&one).unwrap()[..9]).unwrap();
    assert!(complaint("inspect", &[&b]).contains("damaged"));
    fs::write(scratch.0.join("b/shard-00000.games.zst"), b"rubbish").unwrap();
    assert!(complaint("inspect", &[&b]).contains("not a file of games"));
}

/// Whatever else is asked for, and whatever comes first.
#[test]
fn what_was_held_out_stays_so() {
    let scratch = Scratch::new("held-out");
    let [a, split, kept, more, one, valid] =
        ["a", "split", "kept", "more", "one.games.zst", "valid-2.games.zst"]
            .map(|name| scratch.join(name));
    done("datagen", &own(&a, "2"));
    done("merge", &[&a, "--out", &split, "--valid", "0.33"]);
    let held_out = |folder: &str| -> Value {
        let path = format!("{folder}/valid.games.zst");
        serde_json::from_str(&done("inspect", &[&path, "--json"])).unwrap()
    };
    let before = held_out(&split);
    let count = before["games"].as_u64().unwrap();
    assert!((3..20).contains(&count), "{count}");
    let said = done("merge", &[&a, &split, "--out", &kept]);
    assert!(said.contains(&format!("30 games in 2 files, {count} of them held out")), "{said}");
    assert_eq!(held_out(&kept), before);
    done("merge", &[&split, "--out", &more, "--valid", "0.9"]);
    assert!(held_out(&more)["games"].as_u64().unwrap() > count.max(20));
    assert!(complaint("merge", &[&split, "--out", &one]).contains("holds held-out games"));
    let said = done("merge", &[&format!("{split}/valid.games.zst"), "--out", &valid]);
    assert!(said.contains(&format!("{count} games in 1 files, 0 of them held out")), "{said}");
}

/// Two games as `match` writes them.
const PGN: &str = "[Event \"x\"]\n[Result \"1-0\"]\n\n\
    1. e4 {book} e5 {-0.10/4 0.1s} 2. Nf3 {+0.20/4}\n\
    Nc6 {-0.15/4} 1-0\n\n[Event \"x\"]\n[Result \"1/2-1/2\"]\n\n\
    1. d4 {+0.11/3} d5 {0.00/3} 2. c4 e6\n\
    {+M5/7} 1/2-1/2\n";

#[test]
fn pgn_is_imported() {
    let scratch = Scratch::new("import");
    let (pgn, out) = (scratch.join("games.pgn"), scratch.join("out"));
    fs::write(&pgn, PGN).unwrap();
    let said = complaint("import", &[&pgn, "--out", &out]);
    assert!(said.contains("game 2: 1 moves") && said.contains("--skip-unscored"), "{said}");
    let said = done("import", &[&pgn, "--out", &out, "--skip-unscored"]);
    assert!(said.contains("2 games read") && said.contains("3 games in 1 files"), "{said}");
    let figures: Value = serde_json::from_str(&done("inspect", &[&out, "--json"])).unwrap();
    assert_eq!((figures["games"].as_u64(), figures["positions"].as_u64()), (Some(3), Some(6)));
    // The parts of a game are held out together, here at a share between theirs. The first game has
    // three positions in one part, the second three in two.
    let parts = read_file(&scratch.0.join("out/shard-00000.games.zst")).unwrap();
    let is_between = |share: &f64| is_held_out(&parts[1], *share) != is_held_out(&parts[2], *share);
    let share = (1..1000).map(|part| f64::from(part) / 1000.0).find(is_between).unwrap();
    let (held, share) = (scratch.join("held"), share.to_string());
    done("import", &[&pgn, "--out", &held, "--skip-unscored", "--valid", &share]);
    let figures: Value = serde_json::from_str(&done("inspect", &[&held, "--json"])).unwrap();
    assert_eq!(figures["positions"].as_u64(), Some(6));
    let valid = scratch.0.join("held/valid.games.zst");
    let games = if valid.exists() { read_file(&valid).unwrap() } else { Vec::new() };
    let positions: usize = games.iter().map(|game| game.plies.len()).sum();
    assert!([0, 3, 6].contains(&positions), "{share}: {positions} positions held out");
    fs::write(&pgn, PGN.replace("d5", "d8")).unwrap();
    let (new, lenient) = (scratch.join("new"), scratch.join("lenient"));
    let said = complaint("import", &[&pgn, "--out", &new]);
    assert!(said.contains("game 2 (line 7)") && said.contains("--lenient"), "{said}");
    let said = done("import", &[&pgn, "--out", &lenient, "--lenient"]);
    assert!(said.contains("1 that cannot be read"), "{said}");
    fs::write(&pgn, "1. e4 e5 1-0").unwrap();
    let said = complaint("import", &[&pgn, "--out", &new]);
    assert!(said.contains("nothing was written; 1 games read: 0 without a result, 1 without a"));
    assert!(complaint("import", &["games.txt", "--out", &new]).contains("--format"));
    assert!(complaint("import", &["/no/such.pgn", "--out", &new]).contains("cannot read"));
    let binpack = scratch.join("rubbish.binpack");
    fs::write(&binpack, [&b"BINP\x28\0\0\0"[..], &[0x5a; 40]].concat()).unwrap();
    let said = complaint("import", &[&binpack, "--out", &new]);
    assert!(said.contains("rubbish.binpack, chunk 1"), "{said}");
}

#[test]
fn wrong_runs_get_a_sentence() {
    let scratch = Scratch::new("wrong");
    let out = scratch.join("out");
    let with = |more: &[&str]| complaint("datagen", &[&own(&out, "1")[..], more].concat());
    assert!(with(&["--random", "0.5..0.1"]).contains("is not a range"));
    assert!(with(&["--random", "0..2"]).contains("from 0 to 1"));
    assert!(with(&["--openings", "/no/such/book"]).contains("opening book: cannot read"));
    assert!(with(&["--option", "Style=wild"]).contains("no option named"));
    assert!(with(&["--option", "Hash"]).contains("key"));
    assert!(with(&["--depth", "3", "--movetime", "0"]).contains("must be more than zero"));
    assert!(with(&["--teacher", "/no/such/engine"]).contains("cannot run the engine"));
    assert!(with(&["--resign", "3"]).contains("key=value"));
    let random = ["--random", "0", "--random-plies", "0", "--openings", "startpos"];
    assert!(with(&random).contains("all games would be the same"));
    let none = complaint("datagen", &["--games", "2", "--out", &out]);
    assert!(none.contains("give it --nodes"), "{none}");
    let peer = |mode| {
        let (peer, out) = (env!("CARGO_BIN_EXE_bad_peer"), scratch.join(mode));
        let few = ["--games", "2", "--nodes", "5", "--out", &out];
        complaint("datagen", &[&few[..], &["--teacher", peer, "--arg", mode]].concat())
    };
    let started = Instant::now();
    assert!(peer("exit").contains("game 0: "));
    assert!(peer("garbage").contains("the same command resumes"));
    assert!(peer("exit-at-start").contains("side teacher"));
    assert!(started.elapsed() < Duration::from_mins(1));
    fs::write(scratch.0.join("file"), b"").unwrap();
    let file = scratch.join("file");
    assert!(complaint("datagen", &own(&file, "1")).contains("cannot make the folder"));
    assert!(complaint("inspect", &["/no/such/folder"]).contains("labelled games: cannot read"));
    let empty = scratch.join("empty");
    fs::create_dir(&empty).unwrap();
    assert!(complaint("inspect", &[&empty]).contains("found no games"));
}
