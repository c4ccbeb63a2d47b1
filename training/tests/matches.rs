//! Whole matches: any concurrency and any interruption give the same results file, and no peer,
//! however bad, stops a match.
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[path = "support/runs.rs"]
mod runs;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tesla_engine::search::StopToken;
use tesla_training::console::table::Table;
use tesla_training::game::ending::Termination;
use tesla_training::matches::config::MatchConfig;
use tesla_training::matches::report::{self, Finished};
use tesla_training::matches::runner;
use tesla_training::statistics::sprt::Decision;

use runs::{book, context};

/// A folder that is gone after the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tesla-match-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("book.epd"), book()).unwrap();
        Self(path)
    }

    fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Two sides of ours that need no network.
const OWN: &str = r#"
    games = 24
    max_moves = 40
    [[side]]
    name = "Tesla"
    limit = { nodes = 60 }
    option = { Evaluator = "Classical" }
    [[side]]
    name = "AlphaBeta"
    limit = { nodes = 400 }
    option = { Evaluator = "Classical", Search = "AlphaBeta" }
"#;

fn config(scratch: &Scratch, text: &str) -> MatchConfig {
    let mut config: MatchConfig = toml::from_str(text).unwrap();
    config.openings = scratch.join("book.epd").into();
    config.complete().unwrap()
}

fn run(config: &MatchConfig, folder: &Path, concurrency: usize) -> Finished {
    runner::run(config, &context(folder, concurrency, &StopToken::default())).unwrap()
}

fn results(folder: &Path) -> Vec<u8> {
    fs::read(folder.join("results.jsonl")).unwrap()
}

#[test]
fn concurrency_and_interruptions_change_nothing() {
    let scratch = Scratch::new("same");
    let config = config(&scratch, OWN);
    let finished = run(&config, &scratch.join("one"), 1);
    assert_eq!((finished.tally.games(), finished.played), (24, 24));
    assert!(finished.is_complete && config.is_repeatable());
    let expected = results(&scratch.join("one"));
    run(&config, &scratch.join("four"), 4);
    assert!(results(&scratch.join("four")) == expected);
    // A finished match is only summed up again.
    assert_eq!(run(&config, &scratch.join("one"), 3).played, 0);
    assert!(results(&scratch.join("one")) == expected);

    let folder = scratch.join("interrupted");
    let mut runs = 0;
    loop {
        let interrupted = StopToken::default();
        let stop = interrupted.clone();
        let clock = thread::spawn(move || {
            thread::sleep(Duration::from_millis(150 + 50 * runs));
            stop.stop();
        });
        let finished = runner::run(&config, &context(&folder, 2, &interrupted)).unwrap();
        clock.join().unwrap();
        runs += 1;
        if finished.is_complete {
            break;
        }
        assert!(runs < 100, "no run ever gets further");
    }
    assert!(results(&folder) == expected, "after {runs} runs");
    let games = |folder: &Path| {
        let pgn = fs::read_to_string(folder.join("games.pgn")).unwrap();
        pgn.matches("[Result ").count()
    };
    assert_eq!((games(&folder), games(&scratch.join("one"))), (24, 24));
}

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tesla-train"));
    command.arg("match").args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The real thing: the process is killed, not asked.
#[test]
fn kill_nine_loses_nothing() {
    let scratch = Scratch::new("kill");
    let file = scratch.join("match.toml");
    let text = format!("openings = {:?}\n{OWN}", scratch.join("book.epd"));
    fs::write(&file, text).unwrap();
    let folder = scratch.join("killed");
    let arguments = |folder: &Path| {
        let words = ["--config", file.to_str().unwrap(), "--concurrency", "2", "--out"];
        let mut words: Vec<String> = words.map(str::to_owned).to_vec();
        words.push(folder.to_str().unwrap().to_owned());
        words
    };
    let run = |folder: &Path| {
        let words = arguments(folder);
        program(&words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let started = Instant::now();
    assert!(run(&scratch.join("whole")).output().unwrap().status.success());
    let whole = started.elapsed();
    for kill in 0..10 {
        let mut child = run(&folder).spawn().unwrap();
        thread::sleep(whole.mul_f64(f64::from(kill * 7 % 10) / 30.0 + 0.05));
        let _ = child.kill();
        child.wait().unwrap();
    }
    assert!(run(&folder).output().unwrap().status.success());
    assert!(results(&folder) == results(&scratch.join("whole")));
}

/// A network's games are the same whether they share its batches or not.
#[test]
fn games_that_share_a_device_are_the_same() {
    let scratch = Scratch::new("shared");
    let text = r#"
        games = 6
        max_moves = 5
        limit = { nodes = 12 }
        side = [{ name = "A" }, { name = "B", option = { BatchSize = "2" } }]
    "#;
    let config = config(&scratch, text);
    let alone = run(&config, &scratch.join("alone"), 1);
    let together = run(&config, &scratch.join("together"), 6);
    assert!(results(&scratch.join("alone")) == results(&scratch.join("together")));
    let usage = |finished: &Finished| {
        assert_eq!(finished.devices.len(), 1, "one network, one device");
        finished.devices[0].1
    };
    let (alone, together) = (usage(&alone), usage(&together));
    assert_eq!(alone.asked, together.asked);
    assert!(together.mean_batch() > 1.5 * alone.mean_batch(), "{alone:?} {together:?}");
}

#[test]
fn a_test_stops_the_match_at_the_same_game_in_any_order() {
    let scratch = Scratch::new("sprt");
    let text = r#"
        games = 400
        max_moves = 60
        sprt = { elo0 = 0, elo1 = 50 }
        [[side]]
        name = "strong"
        limit = { nodes = 3000 }
        option = { Evaluator = "Classical", Search = "AlphaBeta" }
        [[side]]
        name = "weak"
        limit = { depth = 1 }
        option = { Evaluator = "Classical", Search = "AlphaBeta" }
    "#;
    let config = config(&scratch, text);
    let one = run(&config, &scratch.join("one"), 1);
    let four = run(&config, &scratch.join("four"), 4);
    assert!(one.is_complete && one.tally.games() < 100, "{} games", one.tally.games());
    assert_eq!(one.tally.trial.map(|trial| trial.decision), Some(Decision::AcceptH1));
    assert_eq!(one.tally.games(), four.tally.games());
    assert!(results(&scratch.join("one")) == results(&scratch.join("four")));
    assert!(report::tables(&config, &one, Table::to_markdown).contains("H1 accepted"));
}

/// Each way to fail is told apart, counted and written down, and the match goes on.
#[test]
fn bad_peers_lose_and_nothing_else_happens() {
    let modes = [
        ("garbage", Termination::BadUci),
        ("say bestmove 0000", Termination::BadUci),
        ("say bestmove e3e4", Termination::IllegalMove),
        ("exit", Termination::Crash),
        ("abort", Termination::Crash),
        ("sleep", Termination::Hang),
        ("deaf", Termination::Hang),
    ];
    let scratch = Scratch::new("bad");
    let side = |(mode, _): &(&str, Termination)| {
        format!(
            "[[side]]\nname = {mode:?}\ncmd = {:?}\nargs = {:?}\n",
            env!("CARGO_BIN_EXE_bad_peer"),
            mode.splitn(2, ' ').collect::<Vec<_>>()
        )
    };
    let sides: Vec<String> = modes.iter().map(side).collect();
    let sides = sides.concat();
    let text = format!(
        "games = 2\ntournament = \"gauntlet\"\npatience_s = 2\nlimit = {{ nodes = 20 }}\n\
         [[side]]\nname = \"Tesla\"\noption = {{ Evaluator = \"Classical\" }}\n{sides}"
    );
    let config = config(&scratch, &text);
    let started = Instant::now();
    let finished = run(&config, &scratch.join("out"), 4);
    assert!(started.elapsed() < Duration::from_mins(1));
    assert!(finished.is_complete);
    let tally = &finished.tally;
    assert_eq!(tally.sides[0].half_points, 2 * 2 * modes.len() as u64);
    for ((mode, how), side) in modes.iter().zip(&tally.sides[1..]) {
        let failures: Vec<_> = side.failures.iter().collect();
        assert_eq!(failures, [(how, &2)], "{mode}");
    }
    let transcripts = fs::read_dir(scratch.join("out/transcripts")).unwrap();
    assert_eq!(transcripts.count(), 2 * modes.len());
    let report = report::tables(&config, &finished, Table::to_markdown);
    assert!(report.contains("2 illegal-move") && report.contains("2 hang"), "{report}");
}

#[test]
fn a_clock_is_lost_and_the_match_goes_on() {
    let scratch = Scratch::new("clock");
    let text = format!(
        r#"
        games = 4
        margin_ms = 100
        max_moves = 8
        [[side]]
        name = "slow"
        cmd = {:?}
        args = ["slow", "400"]
        limit = {{ tc = "1+0.01" }}
        [[side]]
        name = "AlphaBeta"
        limit = {{ depth = 1 }}
        option = {{ Evaluator = "Classical", Search = "AlphaBeta" }}
        "#,
        env!("CARGO_BIN_EXE_bad_peer")
    );
    let config = config(&scratch, &text);
    let finished = run(&config, &scratch.join("out"), 4);
    let slow = &finished.tally.sides[0];
    assert_eq!(slow.failures.get(&Termination::TimeForfeit), Some(&4));
    assert!(slow.moves >= 4 && slow.time >= Duration::from_millis(400 * 4));
}

/// More games of the same match may be asked for later, and fewer than there are may not.
#[test]
fn a_match_can_be_extended() {
    let scratch = Scratch::new("extended");
    let few = config(&scratch, &OWN.replace("games = 24", "games = 4"));
    let many = config(&scratch, &OWN.replace("games = 24", "games = 8"));
    let folder = scratch.join("out");
    assert_eq!(run(&few, &folder, 2).played, 4);
    assert_eq!(run(&many, &folder, 2).played, 4);
    run(&many, &scratch.join("whole"), 2);
    assert!(results(&folder) == results(&scratch.join("whole")));
    let error = runner::run(&few, &context(&folder, 1, &StopToken::default())).unwrap_err();
    assert!(error.to_string().contains("holds game 5 and the match has 4"), "{error}");
}

/// Ctrl-C while an engine thinks for ever: nobody waits for it, and it has lost nothing.
#[test]
fn an_interrupt_does_not_wait_for_engines() {
    let scratch = Scratch::new("interrupt");
    let text = format!(
        "games = 2\nlimit = {{ nodes = 5 }}\n[[side]]\nname = \"sleeper\"\ncmd = {:?}\n\
         args = [\"sleep\"]\n[[side]]\nname = \"Tesla\"\n\
         option = {{ Evaluator = \"Classical\" }}\n",
        env!("CARGO_BIN_EXE_bad_peer")
    );
    let config = config(&scratch, &text);
    let interrupted = StopToken::default();
    let stop = interrupted.clone();
    let clock = thread::spawn(move || {
        thread::sleep(Duration::from_secs(1));
        stop.stop();
    });
    let started = Instant::now();
    let finished = runner::run(&config, &context(&scratch.join("out"), 2, &interrupted)).unwrap();
    clock.join().unwrap();
    assert!(started.elapsed() < Duration::from_secs(20), "it waited for the engine's patience");
    assert!(!finished.is_complete && finished.tally.games() == 0);
}

fn complaint(arguments: &[&str]) -> String {
    let Output { status, stderr, .. } = program(arguments).output().unwrap();
    assert_eq!(status.code(), Some(2));
    String::from_utf8(stderr).unwrap()
}

#[test]
fn wrong_matches_get_a_sentence() {
    let scratch = Scratch::new("wrong");
    let out = scratch.join("out");
    let out = out.to_str().unwrap();
    let said = complaint(&["--out", out, "--side", "name=A", "nodes=1"]);
    assert!(said.contains("a match needs two sides"), "{said}");
    let own = "option.Evaluator=Classical";
    let two = ["--out", out, "--nodes", "5", "--side", "name=A", own, "name=B"];
    let with = |more: &[&str]| complaint(&[&two[..], more].concat());
    assert!(with(&["cmd=/no/such/engine"]).contains("cannot run the engine"));
    assert!(with(&[own, "--openings", "/no/such/book"]).contains("opening book: cannot read"));
    assert!(with(&[own, "--sprt", "elo0=5,elo1=0"]).contains("must be less"));
    assert!(with(&[own, "--draw", "movecount"]).contains("key=value"));
    assert!(with(&["option.WeightsFile=/no/such/net", "--games", "2"]).contains("/no/such/net"));
    let peer = format!("cmd={}", env!("CARGO_BIN_EXE_bad_peer"));
    assert!(with(&[&peer, "option.Style=wild"]).contains("does not offer"));
    assert!(with(&[own, "--games", "0"]).contains("games must be"));
    let start = [own, "--openings", "startpos", "--games", "4"];
    assert!(with(&start).contains("the match needs 2 openings and has 1 that"));
    // Another match in the same folder.
    let small = [own, "--games", "2", "--max-moves", "2"];
    let played = program(&[&two[..], &small].concat()).output().unwrap();
    assert!(played.status.success());
    let said = with(&[own, "--games", "2", "--max-moves", "3"]);
    assert!(said.contains("max_moves is 2 there and 3 here (match.config.max_moves)"), "{said}");
}

/// Mates, best moves and points; the third is beyond two moves and rests on the mate told.
const SUITE: &str = "\
6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - bm Rd8#; id \"back rank\";
6k1/8/8/8/8/8/R7/1R5K w - - dm 2; id \"ladder\";
rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - c7 \"e4 d4 a3\"; c8 \"10 10 1\"; id \"start\";
";

#[test]
fn suites_are_asked_once_and_bad_peers_give_no_move() {
    let scratch = Scratch::new("suite");
    let file = scratch.join("few.epd");
    fs::write(&file, SUITE).unwrap();
    let out = scratch.join("out");
    let run = |more: &[&str]| {
        let base = ["suite", file.to_str().unwrap(), "--out", out.to_str().unwrap()];
        let mut command = Command::new(env!("CARGO_BIN_EXE_tesla-train"));
        let output = command.args(base).args(more).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let peer = format!("cmd={}", env!("CARGO_BIN_EXE_bad_peer"));
    let sides = ["--nodes", "300", "--concurrency", "2", "--side", "name=Tesla"];
    let sides =
        [&sides[..], &["option.Evaluator=Classical", "name=bad", &peer, "arg=exit"]].concat();
    let (code, first) = run(&sides);
    assert_eq!(code, Some(0), "{first}");
    assert!(first.contains("few: 3 items") && first.contains("only by Tesla"), "{first}");
    let answers = |side: &str| fs::read_to_string(out.join(format!("few-{side}.jsonl"))).unwrap();
    let (ours, theirs) = (answers("Tesla"), answers("bad"));
    assert!(
        ours.contains("\"best\":\"d1d8\"") && ours.contains("\"score\":{\"mate\":1}"),
        "{ours}"
    );
    assert!(theirs.matches("no_move").count() == 3, "{theirs}");
    assert!(theirs.matches("\"failure\":\"crash: ").count() == 3, "{theirs}");
    assert!(first.contains("Failed: 3 crash"), "{first}");
    // The answers are there: nobody is asked again, and a torn one alone is replaced.
    assert_eq!(run(&sides), (Some(0), first.clone()));
    assert_eq!(answers("Tesla"), ours);
    fs::write(out.join("few-Tesla.jsonl"), &ours[..ours.len() - 5]).unwrap();
    assert_eq!(run(&sides).0, Some(0));
    assert_eq!(answers("Tesla").lines().count(), 4);
    // What comes 50 ms after the time, or later, is too late, and is told.
    let slow = ["--movetime", "0.01", "--side", "name=slow", &peer, "arg=slow", "arg=150"];
    let (_, late) = run(&slow);
    assert!(late.contains("Failed: 3 time-forfeit"), "{late}");
    assert!(answers("slow").contains(" s of 0.010 s"), "{}", answers("slow"));
    // Other questions in the same folder are refused.
    assert_eq!(run(&[&sides[..], &["--first", "2"]].concat()).0, Some(2));
    let clock = ["--side", "name=Tesla", "tc=1+1"];
    assert_eq!(run(&clock).0, Some(2));
}
