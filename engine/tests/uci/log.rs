//! The log file.

use std::fs;

use crate::process::Engine;

#[test]
fn everything_said_and_heard_is_logged() {
    let path = std::env::temp_dir().join(format!("tesla-log-{}", std::process::id()));
    let mut engine = Engine::start();
    engine.send(&format!("setoption name LogFile value {}", path.display()));
    engine.send("position startpos");
    engine.send("go depth 1");
    engine.read_to("bestmove");
    engine.send("setoption name LogFile value <empty>");
    engine.send("d");
    engine.ready();
    let text = fs::read_to_string(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].ends_with(" > position startpos"), "{text}");
    assert!(lines[1].ends_with(" > go depth 1"), "{text}");
    assert!(text.contains(" < info depth 1 ") && text.contains(" < bestmove "), "{text}");
    assert!(lines.iter().all(|line| line.starts_with(|first: char| first.is_ascii_digit())));
    assert!(!text.contains("> d\n"), "{text}");
}

/// Some file's name that was given by mistake.
#[test]
fn a_log_is_not_written_behind_something_else() {
    let path = std::env::temp_dir().join(format!("tesla-no-log-{}", std::process::id()));
    let log = format!("setoption name LogFile value {}", path.display());
    for held in ["[Event \"?\"]\n", "\u{0}\u{1}", "1.5", "0.001 > uci\n", ""] {
        fs::write(&path, held).unwrap();
        let mut engine = Engine::start();
        engine.send(&log);
        let is_log = held.is_empty() || held.contains(" > ");
        if !is_log {
            let sentence = engine.read_to("info string the log").join("\n");
            assert!(sentence.contains("it holds something else than a log"), "{sentence}");
        }
        engine.ready();
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.starts_with(held) && (text.len() > held.len()) == is_log, "{text}");
    }
    fs::remove_file(&path).unwrap();
}

#[test]
fn a_log_that_cannot_be_written_gets_a_sentence() {
    let mut engine = Engine::start();
    engine.send("setoption name LogFile value /no/such/folder/log");
    engine.read_to("info string the log /no/such/folder/log cannot be written");
    assert!(engine.ready().is_empty());
    // Linux' disk that is always full.
    if fs::exists("/dev/full").unwrap() {
        engine.send("setoption name LogFile value /dev/full");
        engine.send("go depth 1");
        engine.read_to("info string the log ends here because it cannot be written");
        engine.read_to("bestmove");
        assert!(engine.ready().is_empty());
    }
}
