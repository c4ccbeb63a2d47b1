//! Damaged files and wrong commands: a sentence and exit code 2.

use std::path::Path;
use std::process::Command;

use tesla_engine::enumerate::{Ended, enumerate};
use tesla_engine::search::StopToken;

use crate::folder::TestFolder;
use crate::{complete, kept, position};

const FEN: &str = "r3k2r/pppppppp/8/8/8/8/PPPPPPPP/R3K2R w KQkq - 0 1";

/// What the program says to these arguments, which it refuses.
fn refused(arguments: &[&str]) -> String {
    let program = env!("CARGO_BIN_EXE_tesla");
    let output = Command::new(program).arg("enumerate").args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!text.contains("panicked"), "{text}");
    text
}

fn flip(path: &Path, place: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    let place = place % bytes.len();
    bytes[place] ^= 16;
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn wrong_commands() {
    assert!(refused(&["--fen", "8/8/8/8/8/8/8/8 w - - 0 1"]).contains("empty"));
    assert!(refused(&["--edges"]).contains("--dir"));
    assert!(refused(&["--memory", "1"]).contains("128"));
    assert!(refused(&["--threads", "0"]).contains("'0'"));
    assert!(refused(&["--checkpoint", "soon"]).contains("seconds"));
    assert!(refused(&["edges", "--dir", "no/such/folder"]).contains("holds no enumeration"));
    let test = TestFolder::new();
    std::fs::create_dir_all(test.path()).unwrap();
    std::fs::write(test.path().join("letter.txt"), "dear").unwrap();
    let dir = test.path().to_str().unwrap();
    assert!(refused(&["--dir", dir]).contains("name a new or empty folder"));
}

#[test]
fn damaged_checkpoints() {
    let test = TestFolder::new();
    let request = kept(&position(FEN), test.path());
    // Stopped at once: a checkpoint with the first position.
    let stop = StopToken::default();
    stop.stop();
    assert_eq!(enumerate(&request, &stop).unwrap(), Ended::Stopped);
    let dir = test.path().to_str().unwrap();
    let arguments = ["--fen", FEN, "--edges", "--roots", "--dir", dir];
    for kind in ["positions", "state"] {
        let files = test.files(kind);
        assert_eq!(files.len(), 1, "{kind}");
        for place in [0, 9, 13, 30, 41, 60] {
            flip(&files[0], place);
            let text = refused(&arguments);
            assert!(text.contains("is damaged") && text.contains(kind), "{text}");
            flip(&files[0], place);
        }
    }
    let file = &test.files("positions")[0];
    std::fs::remove_file(file).unwrap();
    assert!(refused(&arguments).contains("cannot be used"));
}

#[test]
fn damaged_results() {
    let test = TestFolder::new();
    complete(&kept(&position(FEN), test.path()));
    let dir = test.path().to_str().unwrap();
    for (kind, show) in [("edges", "edges"), ("hive", "roots")] {
        for file in test.files(kind) {
            flip(&file, 77);
        }
        let program = env!("CARGO_BIN_EXE_tesla");
        let output =
            Command::new(program).args(["enumerate", show, "--dir", dir]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains("do not match its checksum"), "{text}");
    }
}
