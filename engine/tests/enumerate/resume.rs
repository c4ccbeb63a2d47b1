//! Runs that are stopped, killed and gone on with end like undisturbed ones.

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use shakmaty::{Chess, Position as _};
use tesla_engine::enumerate::{Archive, Ended, EnumerateError, enumerate};
use tesla_engine::search::StopToken;

use crate::folder::TestFolder;
use crate::naive::after;
use crate::{MEBIBYTE, complete, kept, position, request, timeless};

/// Some 3,000 positions.
const SMALL: &str = "r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R w KQkq - 0 1";

/// Some 300,000 positions: a second.
const LARGE: &str = "r1bqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w - - 0 1";

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn stopped_anywhere(pauses in prop::collection::vec(0_u64..60, 1..8), spilt: bool) {
        let start = position(LARGE);
        let test = TestFolder::new();
        let mut stopped = kept(&start, test.path());
        stopped.resources.checkpoint = Duration::from_millis(20);
        stopped.resources.memory = if spilt { 6 * MEBIBYTE } else { 256 * MEBIBYTE };
        for pause in pauses {
            let stop = StopToken::default();
            let other = stop.clone();
            let waker = thread::spawn(move || {
                thread::sleep(Duration::from_millis(pause));
                other.stop();
            });
            enumerate(&stopped, &stop).unwrap();
            waker.join().unwrap();
        }
        let whole = TestFolder::new();
        let undisturbed = complete(&kept(&start, whole.path()));
        prop_assert_eq!(timeless(complete(&stopped)), timeless(undisturbed));
        same_edges(test.path(), whole.path(), &start);
    }
}

/// Compares the edges of some positions of two folders.
fn same_edges(one: &Path, other: &Path, start: &Chess) {
    let (one, other) = (Archive::open(one).unwrap(), Archive::open(other).unwrap());
    let mut position = start.clone();
    for step in 0..6 {
        assert_eq!(one.edges_text(&position).unwrap(), other.edges_text(&position).unwrap());
        let mut quiet = position.legal_moves().into_iter().filter(|played| !played.is_zeroing());
        position = after(&position, quiet.nth(step % 3).unwrap());
    }
}

fn command(dir: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tesla"));
    command.args(["enumerate", "--fen", LARGE, "--edges", "--memory", "128", "--threads", "2"]);
    command.args(["--checkpoint", "0.03", "--dir"]).arg(dir);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The table without the times.
pub(crate) fn table(output: &Output) -> String {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    text.lines().filter(|line| !line.starts_with("- ")).collect::<Vec<_>>().join("\n")
}

#[test]
fn killed_at_any_moment() {
    let whole = TestFolder::new();
    let began = Instant::now();
    let expected = table(&command(whole.path()).output().unwrap());
    let time = began.elapsed();
    assert!(expected.contains("Number of new roots | "), "{expected}");
    let test = TestFolder::new();
    for kill in 1..=8 {
        let mut child = command(test.path()).spawn().unwrap();
        thread::sleep(time * kill / 12);
        // Perhaps it was over before.
        let _ = child.kill();
        child.wait().unwrap();
    }
    assert_eq!(table(&command(test.path()).output().unwrap()), expected);
    assert_eq!(table(&command(test.path()).output().unwrap()), expected, "read back");
    same_edges(test.path(), whole.path(), &position(LARGE));
}

#[test]
#[cfg(unix)]
fn interrupted_by_ctrl_c() {
    let whole = TestFolder::new();
    let expected = table(&command(whole.path()).output().unwrap());
    let test = TestFolder::new();
    let child = command(test.path()).spawn().unwrap();
    while test.files("state").is_empty() {
        thread::sleep(Duration::from_millis(5));
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(output.stdout.is_empty() && said.contains("the same command resumes in"), "{said}");
    assert_eq!(table(&command(test.path()).output().unwrap()), expected);
}

#[test]
fn another_command_does_not_go_on() {
    let test = TestFolder::new();
    let start = position(SMALL);
    complete(&kept(&start, test.path()));
    let mut other = kept(&start, test.path());
    other.edges = false;
    let error = enumerate(&other, &StopToken::default()).unwrap_err();
    assert!(error.to_string().contains("--edges is true there and false here"), "{error}");
    let error = enumerate(&kept(&Chess::default(), test.path()), &StopToken::default());
    assert!(matches!(error, Err(EnumerateError::OtherRun { what: "the position", .. })));
}

#[test]
fn memory_without_a_folder_is_a_bound() {
    let mut request = request(&position(LARGE));
    request.resources.memory = 4 * MEBIBYTE;
    let error = enumerate(&request, &StopToken::default()).unwrap_err();
    assert!(matches!(error, EnumerateError::Full(4)), "{error}");
}

#[test]
fn stopped_without_a_folder() {
    let stop = StopToken::default();
    stop.stop();
    assert_eq!(enumerate(&request(&position(SMALL)), &stop).unwrap(), Ended::Stopped);
}
