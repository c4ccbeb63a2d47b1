//! The peer's process, and the three threads that keep its pipes moving.
//!
//! The caller only ever waits on the [`Inbox`], with a deadline; what could block for ever (a read,
//! a write) is done by threads that end when the pipes close.
//!
//! Reads the clock: every wait has an end.

use std::io::{self, ErrorKind};
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

#[cfg(windows)]
use process_wrap::std::JobObject;
#[cfg(unix)]
use process_wrap::std::ProcessGroup;
use process_wrap::std::{ChildWrapper, CommandWrap};
use tesla_engine::search::StopToken;

use super::super::programs;
use super::PeerConfig;
use super::inbox::{BadLine, Inbox, Shared};
use super::pipes::{self, Starts, WriteJob};

/// How long a peer may take to end after `quit`.
const QUIT_TIME: Duration = Duration::from_secs(1);
/// How long the system may take to clear a dead or killed process away.
const REAP_TIME: Duration = Duration::from_secs(2);
/// How long pipes may stay open after their process is gone.
const PIPE_TIME: Duration = Duration::from_millis(200);
/// How often we look whether the process still lives. Its closed output tells sooner, unless a
/// child of its own holds that open.
const LOOK: Duration = Duration::from_millis(50);

/// Why waiting for the peer came to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    Bad(BadLine),
    /// It ended, or closed one of its pipes.
    Ended,
    TimedOut,
    /// The caller wants to stop.
    Interrupted,
}

/// A running peer. Dropping it ends and reaps the process.
#[derive(Debug)]
pub(super) struct Process {
    /// Killing it kills its group, on Windows its job: also what it has started.
    child: Box<dyn ChildWrapper>,
    status: Option<ExitStatus>,
    /// It is gone, with or without a known status.
    gone: bool,
    shared: Arc<Shared>,
    jobs: Option<Sender<WriteJob>>,
    last_job: u64,
    threads: Vec<JoinHandle<()>>,
    stop: StopToken,
}

impl Process {
    /// Runs the program and its threads.
    ///
    /// # Errors
    /// A sentence.
    pub(super) fn spawn(config: &PeerConfig, stop: StopToken) -> Result<Self, String> {
        let mut child = grouped(command(config)?).spawn().map_err(|error| match error.kind() {
            ErrorKind::NotFound => {
                "there is no such program, in PATH or the usual folders; give its \
                                    path"
                    .to_owned()
            }
            ErrorKind::PermissionDenied => {
                "it may not be run; is it a program, and marked as executable?".to_owned()
            }
            _ => error.to_string(),
        })?;
        let pipes = (child.stdin().take(), child.stdout().take(), child.stderr().take());
        let (jobs, orders) = channel();
        // From here on dropping `process` cleans up.
        let mut process = Self {
            child,
            status: None,
            gone: false,
            shared: Arc::new(Shared::new()),
            jobs: Some(jobs),
            last_job: 0,
            threads: Vec::new(),
            stop,
        };
        let (Some(input), Some(output), Some(errors)) = pipes else {
            return Err("the system gave it no pipes".to_owned());
        };
        process
            .start_threads(input, orders, output, errors)
            .map_err(|error| format!("no thread can be started: {error}"))?;
        Ok(process)
    }

    fn start_threads(
        &mut self,
        input: ChildStdin,
        orders: Receiver<WriteJob>,
        output: impl io::Read + Send + 'static,
        errors: impl io::Read + Send + 'static,
    ) -> io::Result<()> {
        let shared = || Arc::clone(&self.shared);
        let (writer, reader, drain) = (shared(), shared(), shared());
        let mut start = |name: &str, work: Box<dyn FnOnce() + Send>| -> io::Result<()> {
            self.threads.push(Builder::new().name(name.to_owned()).spawn(work)?);
            Ok(())
        };
        start("peer-stdin", Box::new(move || pipes::write(input, &orders, &writer)))?;
        start("peer-stdout", Box::new(move || pipes::read(output, &reader)))?;
        start("peer-stderr", Box::new(move || pipes::drain(errors, &drain)))
    }

    /// The inbox, locked; hold it only for a moment.
    pub(super) fn inbox(&self) -> std::sync::MutexGuard<'_, Inbox> {
        self.shared.lock()
    }

    /// Writes `text`, which ends with a newline. Returns when it was flushed.
    ///
    /// # Errors
    /// When that is not done within `limit`, or what [`Process::wait`] says.
    pub(super) fn send(
        &mut self,
        text: String,
        starts: Starts,
        limit: Duration,
    ) -> Result<Instant, Trouble> {
        self.last_job += 1;
        let number = self.last_job;
        let Some(jobs) = &self.jobs else { return Err(Trouble::Ended) };
        // A failed write ends the writer thread; waiting tells what became of the peer.
        let _ = jobs.send(WriteJob { number, text, starts });
        let deadline = Instant::now().checked_add(limit);
        self.wait(deadline, |inbox| {
            inbox.written.filter(|(written, _)| *written == number).map(|(_, at)| at)
        })
    }

    /// Waits until `ready` finds something in the inbox; `None` waits without limit.
    ///
    /// # Errors
    /// When it found nothing before the deadline, a bad line or the peer's end.
    pub(super) fn wait<T>(
        &mut self,
        deadline: Option<Instant>,
        mut ready: impl FnMut(&mut Inbox) -> Option<T>,
    ) -> Result<T, Trouble> {
        let shared = Arc::clone(&self.shared);
        let mut inbox = shared.lock();
        let mut gone_at = None;
        loop {
            if let Some(found) = ready(&mut inbox) {
                return Ok(found);
            }
            if let Some(bad) = &inbox.bad {
                return Err(Trouble::Bad(bad.clone()));
            }
            if inbox.output_closed {
                return Err(Trouble::Ended);
            }
            if self.stop.is_stopped() {
                return Err(Trouble::Interrupted);
            }
            let now = Instant::now();
            if deadline.is_some_and(|deadline| now >= deadline) {
                return Err(Trouble::TimedOut);
            }
            // Its last lines may still be in the pipe.
            if inbox.input_closed || self.is_gone() {
                let since = *gone_at.get_or_insert(now);
                if now.saturating_duration_since(since) >= PIPE_TIME {
                    return Err(Trouble::Ended);
                }
            }
            let left = deadline.map_or(LOOK, |deadline| deadline.saturating_duration_since(now));
            inbox = shared.wait(inbox, left.min(LOOK));
        }
    }

    /// How a peer ended of which [`Trouble::Ended`] was said, in words.
    pub(super) fn how_it_ended(&mut self) -> String {
        let gone = poll(QUIT_TIME, || self.is_gone());
        // The reason is often on stderr.
        poll(PIPE_TIME, || self.threads.iter().skip(1).all(JoinHandle::is_finished));
        match self.status {
            Some(status) => status.to_string(),
            None if gone => "exit status unknown".to_owned(),
            None if self.inbox().output_closed => "it runs on but closed its output".to_owned(),
            None => "it runs on but closed its input".to_owned(),
        }
    }

    /// Ends the process: kindly with `quit` and a second of time, or at once. Reaps it.
    pub(super) fn end(&mut self, kindly: bool) {
        if let Some(jobs) = self.jobs.take()
            && kindly
        {
            let (number, text) = (self.last_job + 1, "quit\n".to_owned());
            let _ = jobs.send(WriteJob { number, text, starts: Starts::Nothing });
        }
        // The sender is dropped: the writer closes the peer's input, which asks it to end too.
        if kindly {
            poll(QUIT_TIME, || self.is_gone());
        }
        // Also when the process ended by itself: what it started, such as the engine of a wrapper
        // script, may run on. A group's number is not given to a new process while the group has
        // members, and an empty one's only after all others were: not in these milliseconds.
        let _ = self.child.start_kill();
        poll(REAP_TIME, || self.is_gone());
        let finished = |threads: &[JoinHandle<()>]| threads.iter().all(JoinHandle::is_finished);
        poll(PIPE_TIME, || finished(&self.threads));
        // A thread can only be left when the peer's own child fled its group with a pipe; that
        // thread ends with that process.
        for thread in self.threads.drain(..).filter(JoinHandle::is_finished) {
            let _ = thread.join();
        }
    }

    fn is_gone(&mut self) -> bool {
        if !self.gone {
            match self.child.try_wait() {
                Ok(None) => {}
                Ok(status) => (self.gone, self.status) = (true, status),
                // Somebody else reaped it.
                Err(_) => self.gone = true,
            }
        }
        self.gone
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.jobs.is_some() {
            self.end(true);
        }
    }
}

fn command(config: &PeerConfig) -> Result<Command, String> {
    // Where a relative path starts when the folder changes differs between systems: it shall
    // start at our own folder.
    let program = match programs::find(&config.command) {
        Some(path) => std::path::absolute(path).map_err(|error| error.to_string())?,
        None => config.command.clone(),
    };
    let mut command = Command::new(program);
    command.args(&config.args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    if let Some(directory) = &config.directory {
        if !directory.is_dir() {
            return Err(format!("its folder {} does not exist", directory.display()));
        }
        command.current_dir(directory);
    }
    Ok(command)
}

/// In a group of its own: Ctrl-C in the terminal must not end it before us.
fn grouped(command: Command) -> CommandWrap {
    let mut command = CommandWrap::from(command);
    #[cfg(unix)]
    command.wrap(ProcessGroup::leader());
    #[cfg(windows)]
    command.wrap(JobObject);
    command
}

/// Whether `done` became true within `limit`.
fn poll(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    let mut nap = Duration::from_micros(200);
    loop {
        if done() {
            return true;
        }
        if start.elapsed() >= limit {
            return false;
        }
        std::thread::sleep(nap);
        nap = (nap * 2).min(Duration::from_millis(10));
    }
}
