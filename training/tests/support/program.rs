//! The program as a test runs it, and a folder for its files.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A folder that is gone after the test.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tesla-test-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn join(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// `tesla-train` with the words of a line and more.
pub(crate) fn program(line: &str, more: &[&str]) -> Command {
    let mut program = Command::new(env!("CARGO_BIN_EXE_tesla-train"));
    program.args(line.split_whitespace()).args(more);
    program.stdout(Stdio::piped()).stderr(Stdio::piped());
    program
}

/// What it prints where all is well.
pub(crate) fn done(line: &str, more: &[&str]) -> String {
    let Output { status, stdout, stderr } = program(line, more).output().unwrap();
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

/// What it complains of where something is wrong.
pub(crate) fn complaint(line: &str, more: &[&str]) -> String {
    let Output { status, stderr, .. } = program(line, more).output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(2), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    said
}
