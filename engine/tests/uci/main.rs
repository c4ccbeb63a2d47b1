//! The protocol as a GUI sees it: the real program, its stdin and its stdout.

#![expect(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod compliance;
mod crowded;
mod drills;
mod experience;
#[cfg(unix)]
mod files;
mod garbage;
mod log;
#[cfg(target_os = "linux")]
mod memory;
mod play;
mod process;
mod transcripts;

use std::process::Command;
use std::time::{Duration, Instant};

use process::Engine;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tesla_engine::setup::mode::SearchMode;

/// Every search keeps the protocol.
const SEARCHES: &[&str] = SearchMode::NAMES;

/// How soon `stop` must be answered.
const PROMPT: Duration =
    if cfg!(debug_assertions) { Duration::from_secs(1) } else { Duration::from_millis(100) };

#[test]
fn stop_is_answered_at_once_at_any_moment() {
    for &search in SEARCHES {
        // The small one is soon full, and then folded again and again.
        for hash_mb in [256, 2] {
            let mut engine = Engine::alone(search);
            engine.send(&format!("setoption name Hash value {hash_mb}"));
            engine.ready();
            stop_is_answered_at_once_at_any_moment_with(engine);
        }
    }
}

fn stop_is_answered_at_once_at_any_moment_with(mut engine: Engine) {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut late = 0;
    let modes = ["infinite", "wtime 600000 btime 600000", "depth 100", "ponder wtime 60000", ""];
    for round in 0..40 {
        engine.send("position startpos moves e2e4 e7e5 g1f3");
        engine.send(&format!("go {}", modes[round % modes.len()]));
        std::thread::sleep(Duration::from_micros(random.random_range(0..60_000)));
        let asked = Instant::now();
        engine.send("stop");
        engine.read_to("bestmove");
        let waited = asked.elapsed();
        assert!(waited < 5 * PROMPT, "round {round}: {waited:?}");
        late += u32::from(waited >= PROMPT);
    }
    // A machine with other things to do may wake us late now and then.
    assert!(late <= 2, "{late} of 40 stops were answered later than {PROMPT:?}");
    // One bestmove per go: nothing is left over.
    assert!(engine.ready().is_empty());
}

#[test]
fn quit_ends_a_search() {
    for mode in ["infinite", "ponder", "depth 100", "perft 9"] {
        let mut engine = Engine::start();
        engine.send(&format!("go {mode}"));
        std::thread::sleep(Duration::from_millis(20));
        let asked = Instant::now();
        engine.send("quit");
        assert!(engine.exit().success());
        assert!(asked.elapsed() < Duration::from_millis(1500), "{mode}: {:?}", asked.elapsed());
    }
}

#[test]
fn quit_does_not_overtake_isready() {
    for _ in 0..3 {
        let mut engine = Engine::start();
        // The network, where there is one, is still to be loaded.
        engine.send("setoption name Evaluator value Transformer\nisready\nquit");
        engine.read_to("readyok");
        assert!(engine.exit().success());
    }
}

#[test]
fn the_end_of_stdin_is_the_end() {
    for mode in ["", "go infinite", "go ponder", "go nodes 100000000", "perft 2", "isready"] {
        let mut engine = Engine::start();
        engine.send(mode);
        engine.close_stdin();
        assert!(engine.exit().success(), "{mode}");
    }
    let mut engine = Engine::start();
    engine.send("perft 3");
    engine.close_stdin();
    engine.read_to("Nodes searched: 8902");
}

/// Lines on the command line are all done, but for what never ends.
#[test]
fn lines_of_the_command_line_are_finished() {
    let end = |line: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tesla"));
        let output = command.args(["setoption name Evaluator value Classical", line, "quit"]);
        String::from_utf8(output.output().unwrap().stdout).unwrap()
    };
    let finished = end("go nodes 700");
    assert!(finished.contains(" nodes 700 ") && finished.contains("\nbestmove "), "{finished}");
    let stopped = end("go infinite");
    assert_eq!(stopped.matches("bestmove ").count(), 1, "{stopped}");
}

#[test]
fn infinite_and_ponder_wait_although_the_search_has_ended() {
    for &search in SEARCHES {
        infinite_and_ponder_wait_although_the_search_has_ended_with(Engine::with_search(search));
    }
}

fn infinite_and_ponder_wait_although_the_search_has_ended_with(mut engine: Engine) {
    for go in ["go infinite depth 1", "go ponder depth 1"] {
        for end in ["stop", "ponderhit"] {
            if go.contains("infinite") && end == "ponderhit" {
                continue;
            }
            engine.send("position startpos");
            engine.send(go);
            std::thread::sleep(Duration::from_millis(100));
            assert!(engine.ready().iter().all(|line| line.starts_with("info")));
            assert!(engine.is_silent_for(Duration::from_millis(50)));
            engine.send(end);
            engine.read_to("bestmove");
        }
    }
}

#[test]
fn a_clock_runs_from_ponderhit() {
    for &search in SEARCHES {
        a_clock_runs_from_ponderhit_with(Engine::alone(search));
    }
}

fn a_clock_runs_from_ponderhit_with(mut engine: Engine) {
    engine.send("go ponder wtime 1000 btime 1000");
    std::thread::sleep(Duration::from_millis(300));
    assert!(engine.ready().iter().all(|line| line.starts_with("info")));
    let hit = Instant::now();
    engine.send("ponderhit");
    engine.read_to("bestmove");
    assert!(hit.elapsed() < Duration::from_millis(900), "{:?}", hit.elapsed());
}

#[test]
fn the_clock_is_kept() {
    for &search in SEARCHES {
        the_clock_is_kept_with(Engine::alone(search));
    }
}

fn the_clock_is_kept_with(mut engine: Engine) {
    for (go, most_ms) in [
        ("wtime 1000 winc 20", 400),
        ("wtime 200", 150),
        ("wtime 0", 100),
        ("wtime -100 btime 5", 100),
        ("movetime 100", 100),
        ("winc 500", 500),
        ("wtime 400 movestogo 1", 400),
        ("btime 100", 100),
    ] {
        engine.send("position startpos");
        let slack = if cfg!(debug_assertions) { 400 } else { 30 };
        let most = Duration::from_millis(most_ms + slack);
        // A machine with other things to do may wake us late now and then.
        let kept = (0..3).any(|_| {
            let asked = Instant::now();
            engine.send(&format!("go {go}"));
            engine.read_to("bestmove");
            asked.elapsed() < most
        });
        assert!(kept, "go {go} took longer than {most:?} three times");
    }
}

#[test]
fn the_version_is_one_line_or_all_that_decides_play() {
    let asked = |word: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_tesla")).arg(word).output().unwrap();
        assert!(output.status.success(), "{word}");
        String::from_utf8(output.stdout).unwrap()
    };
    let (short, long) = (asked("-V"), asked("--version"));
    assert!(short.starts_with("tesla ") && short.lines().count() == 1, "{short}");
    let rest = long.strip_prefix(&short).unwrap();
    for (line, head) in rest.lines().zip(["network ", "features ", "device "]) {
        assert!(line.starts_with(head), "{long}");
    }
    assert_eq!(rest.lines().count(), 3, "{long}");
}

#[test]
fn bench_is_repeatable() {
    let mut engine = Engine::start();
    let mut signature = || {
        engine.send("bench 100");
        let read = engine.read_to("Nodes/second");
        read[read.len() - 3..read.len() - 1].to_vec()
    };
    let first = signature();
    assert!(first[0].starts_with("Signature       : "), "{first:?}");
    assert!(first[1].starts_with("Nodes searched  : "), "{first:?}");
    assert_eq!(first, signature());
}

/// `debug on` tells what the network's evaluations took, and nothing else does.
#[cfg(feature = "net")]
#[test]
fn what_the_network_did_is_told_where_it_is_asked_for() {
    let mut engine = Engine::start();
    engine.send("setoption name Evaluator value Transformer");
    engine.send("setoption name Device value cpu");
    for debug in ["off", "on"] {
        engine.send(&format!("debug {debug}"));
        engine.send("go nodes 20");
        let told = engine.read_to("bestmove");
        let is_told = told.iter().any(|line| line.contains(" tokens per evaluation: "));
        assert_eq!(is_told, debug == "on", "{told:?}");
    }
}

/// What cannot be done, and what cannot be said, is exit code 2 and a sentence on standard error.
#[test]
fn commands_that_fail_say_so() {
    let fails = |command: &mut Command| {
        let output = command.output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(!said.contains("panicked"), "{said}");
        said
    };
    let tesla = || Command::new(env!("CARGO_BIN_EXE_tesla"));
    assert!(fails(tesla().args(["perft", "3", "--fen", "bad"])).contains("eight ranks"));
    assert!(fails(tesla().args(["--weights", "x", "bench", "1"])).contains("cannot be used with"));
    let gone = ["experience", "learn", "x.exp", "--games", "1", "--csv", "no/such/a.csv"];
    assert!(fails(tesla().args(gone)).contains("there is no folder no/such"));
    assert!(!std::path::Path::new("x.exp").exists());
    assert!(fails(tesla().args(["doctor", "--weights", "no/such/file"])).contains("checks failed"));
    #[cfg(target_os = "linux")]
    {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt as _;
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        assert!(fails(tesla().args(["perft", "2"]).stdout(full)).contains("could not be written"));
        assert!(fails(tesla().arg(OsStr::from_bytes(b"\xff"))).contains("subcommand"));
    }
}
