//! `tesla analyse` and `tesla review` as programs use them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Write as _;
use std::process::{Command, Output, Stdio};

const TESLA: &str = env!("CARGO_BIN_EXE_tesla");

/// What `tesla` answers to this input.
fn tesla(arguments: &[&str], input: &[u8]) -> Output {
    let mut child = Command::new(TESLA)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn queries_are_answered_on_standard_output() {
    let input = b"{\"id\": \"1\", \"nodes\": 40}\nnonsense\n{\"id\": \"2\", \"depth\": 0}\n";
    let told = tesla(&["analyse", "--set", "Evaluator=Classical"], input);
    assert!(told.status.success(), "{told:?}");
    let text = String::from_utf8(told.stdout).unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
    for part in ["\"id\":\"1\",\"turn\":0", "this is not JSON", "\"field\":\"depth\""] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

#[test]
fn wrong_options_are_told() {
    for (option, fault) in [
        ("Hash", "NAME=VALUE"),
        ("Hash=much", "Hash"),
        ("Magic=1", "Magic"),
        ("multipv=3", "no effect"),
        ("Search=ThreeState", "ThreeState plays at random"),
    ] {
        let told = tesla(&["analyse", "--set", option], b"");
        assert_eq!(told.status.code(), Some(2));
        let text = String::from_utf8(told.stderr).unwrap();
        assert!(text.contains(fault), "{text}");
    }
    assert_eq!(tesla(&["review", "no such file"], b"").status.code(), Some(2));
}

/// The example of the page, where there is a Python.
#[test]
fn the_example_runs() {
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/analyse/example.py");
    let python = Command::new("python3")
        .args([example, TESLA, "--nodes", "60", "--set", "Evaluator=Classical"])
        .output();
    let Ok(told) = python else {
        println!("skipped: there is no python3 to run {example}");
        return;
    };
    let text = String::from_utf8(told.stdout).unwrap();
    assert!(told.status.success(), "{text}{}", String::from_utf8_lossy(&told.stderr));
    assert_eq!(text.lines().filter(|line| line.contains(" lost ")).count(), 13, "{text}");
}
