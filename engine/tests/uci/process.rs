//! The real program behind two pipes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than any answer takes, also on a busy machine in a debug build.
const PATIENCE: Duration = Duration::from_secs(30);

/// Tests that measure time run alone, the others side by side.
static MACHINE: RwLock<()> = RwLock::new(());

#[expect(dead_code, reason = "held, not read")]
enum Share {
    Some(RwLockReadGuard<'static, ()>),
    All(RwLockWriteGuard<'static, ()>),
}

pub(crate) struct Engine {
    /// None beside an engine that has one: two in one thread would wait for each other.
    _share: Option<Share>,
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Engine {
    /// Starts the engine on the evaluator that every build has, and waits until it is ready.
    pub(crate) fn start() -> Self {
        Self::spawn(Some(Share::Some(MACHINE.read().unwrap_or_else(PoisonError::into_inner))))
    }

    /// Another search, and no other test beside it: time is measured.
    pub(crate) fn alone(search: &str) -> Self {
        let all = MACHINE.write().unwrap_or_else(PoisonError::into_inner);
        Self::spawn(Some(Share::All(all))).choose(search)
    }

    /// Another one, for as long as the first one lives.
    pub(crate) fn beside(_first: &Self) -> Self {
        Self::spawn(None)
    }

    fn spawn(share: Option<Share>) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tesla"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().unwrap();
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                if sender.send(line.unwrap()).is_err() {
                    break;
                }
            }
        });
        let mut engine = Self { _share: share, stdin: child.stdin.take(), child, lines };
        engine.send("setoption name Evaluator value Classical");
        engine.send("setoption name Hash value 16");
        engine.ready();
        engine
    }

    /// The same with another search.
    pub(crate) fn with_search(name: &str) -> Self {
        Self::start().choose(name)
    }

    fn choose(mut self, search: &str) -> Self {
        self.send(&format!("setoption name Search value {search}"));
        self.ready();
        self
    }

    pub(crate) fn send(&mut self, line: &str) {
        self.send_bytes(line.as_bytes());
        self.send_bytes(b"\n");
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().unwrap();
        stdin.write_all(bytes).unwrap();
        stdin.flush().unwrap();
    }

    pub(crate) fn next_line(&mut self) -> String {
        self.lines.recv_timeout(PATIENCE).expect("the engine is silent")
    }

    /// Nothing is said for a while.
    pub(crate) fn is_silent_for(&mut self, time: Duration) -> bool {
        self.lines.recv_timeout(time) == Err(RecvTimeoutError::Timeout)
    }

    /// Reads to the line that contains `text`; answers with all that was read.
    pub(crate) fn read_to(&mut self, text: &str) -> Vec<String> {
        let mut read = Vec::new();
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => read.push(line),
                Err(error) => panic!("'{text}' did not come ({error}) but {read:#?}"),
            }
            if read.last().unwrap().contains(text) {
                return read;
            }
        }
        panic!("'{text}' did not come but {read:#?}");
    }

    /// All lines before `readyok`.
    pub(crate) fn ready(&mut self) -> Vec<String> {
        self.send("isready");
        let mut read = self.read_to("readyok");
        read.pop();
        read
    }

    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Waits for the end of the process.
    pub(crate) fn exit(&mut self) -> ExitStatus {
        let end = Instant::now() + PATIENCE;
        while Instant::now() < end {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            thread::sleep(Duration::from_millis(5));
        }
        panic!("the engine did not end");
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where no desktop has set `XDG_RUNTIME_DIR`, Mesa's layer for Vulkan would complain. (Without the
/// GPU stack nobody loads it.)
#[test]
fn standard_error_is_quiet_without_a_desktop() {
    let tesla = || Command::new(env!("CARGO_BIN_EXE_tesla"));
    let output = tesla().arg("--version").env_remove("XDG_RUNTIME_DIR").output().unwrap();
    assert!(output.status.success() && output.stdout.starts_with(b"tesla "));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("XDG_RUNTIME_DIR"), "{said}");
}
