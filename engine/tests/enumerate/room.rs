//! A disk that has no room: a sentence, and nothing is lost.

use std::path::Path;
use std::process::{Command, Output};

use crate::folder::TestFolder;
use crate::resume::table;

/// Some 300,000 positions: a second.
const FEN: &str = "r1bqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w - - 0 1";

/// Runs the program where no file may be longer than `blocks` of 512 bytes (1,024 where sh is
/// bash).
fn run(blocks: &str, dir: &Path) -> Output {
    // Without the trap the system would kill the program.
    let limited = "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", limited, blocks, env!("CARGO_BIN_EXE_tesla"), "enumerate", "--fen", FEN]);
    command.args(["--edges", "--roots", "--memory", "128", "--checkpoint", "0.1", "--dir"]);
    command.arg(dir).output().unwrap()
}

#[test]
#[cfg(unix)]
fn files_that_cannot_grow() {
    let whole = TestFolder::new();
    let expected = table(&run("unlimited", whole.path()));
    let test = TestFolder::new();
    // The state alone has some 160 blocks. What is found between two limits is on the disk, and
    // gone on with.
    for blocks in ["1", "200", "400", "10000"] {
        let output = run(blocks, test.path());
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{blocks}: {text}");
        assert!(
            text.contains("cannot grow") && text.contains("free some disk space"),
            "{blocks}: {text}"
        );
    }
    assert_eq!(table(&run("unlimited", test.path())), expected);
}
