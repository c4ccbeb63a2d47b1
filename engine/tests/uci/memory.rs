//! Memory that cannot be had: it is said once, and the search is smaller.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// What the program says under `ulimit -v`, so many kB, while it searches for `time`.
fn said_under(limit_kb: u32, options: &[&str], time: Duration) -> String {
    let line = format!("ulimit -v {limit_kb} && exec {}", env!("CARGO_BIN_EXE_tesla"));
    let mut child = Command::new("sh")
        .args(["-c", &line])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    for option in options {
        writeln!(stdin, "setoption name {option}").unwrap();
    }
    writeln!(stdin, "isready\nposition startpos moves e2e4\ngo infinite").unwrap();
    let writer = thread::spawn(move || {
        thread::sleep(time);
        // A process that has ended is told by its exit code.
        let _ = writeln!(stdin, "stop\nisready\nquit");
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    let [said, errors] = [output.stdout, output.stderr].map(|o| String::from_utf8(o).unwrap());
    assert!(output.status.success(), "{:?} {errors} {said}", output.status);
    said
}

/// The sentences on memory.
fn refusals(said: &str) -> Vec<&str> {
    said.lines().filter(|line| line.contains("is more than this machine has free")).collect()
}

#[test]
fn a_search_under_a_limit_of_memory_is_smaller_and_goes_on() {
    for search in ["Tesla", "AlphaBeta"] {
        let options =
            ["Evaluator value Classical", &format!("Search value {search}"), "Hash value 1048576"];
        let said = said_under(1 << 20, &options, Duration::from_secs(3));
        assert_eq!(refusals(&said).len(), 1, "{search}: {said}");
        assert!(said.contains("\nbestmove "), "{search}: {said}");
    }
}

#[cfg(feature = "net")]
#[test]
fn the_cache_of_the_network_is_smaller_too() {
    for [hash, cache, sentences] in [["64", "4000", "1"], ["1048576", "1048576", "2"]] {
        let options =
            ["Device value cpu", &format!("Hash value {hash}"), &format!("KVCache value {cache}")];
        let said = said_under(1 << 21, &options, Duration::from_secs(6));
        assert_eq!(refusals(&said).len().to_string(), sentences, "{said}");
        assert!(said.contains("\nbestmove "), "{said}");
    }
}
