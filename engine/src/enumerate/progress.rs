//! The live line of an enumeration, on standard error.

use std::fmt::Write as _;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use super::tally::grouped;

/// How often a line is said where no live line can be drawn.
const QUIET: Duration = Duration::from_mins(1);

/// What there is to tell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Status {
    /// What is counted, for example `positions`.
    pub(super) what: &'static str,
    /// How many so far.
    pub(super) count: u64,
    /// How many of them wait to be expanded; 0 = not told.
    pub(super) waiting: u64,
    /// Memory of the sets, bytes.
    pub(super) bytes: u64,
}

/// The line.
#[derive(Debug)]
pub(super) struct Progress {
    line: ProgressBar,
    /// Where there is no terminal: when a line was said last.
    said: Option<Instant>,
    started: Instant,
    /// The count when this run began.
    first: Option<u64>,
}

impl Progress {
    /// Starts the line.
    pub(super) fn new() -> Self {
        let style = ProgressStyle::with_template("{spinner} {elapsed}  {wide_msg}");
        let line = ProgressBar::new_spinner()
            .with_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        let now = Instant::now();
        let said = (!std::io::stderr().is_terminal()).then_some(now);
        Self { line, said, started: now, first: None }
    }

    /// Tells how it stands.
    #[expect(clippy::print_stderr, reason = "progress where no line can be drawn")]
    pub(super) fn tell(&mut self, status: &Status) {
        let first = *self.first.get_or_insert(status.count);
        let Status { what, count, waiting, bytes } = *status;
        let seconds = self.started.elapsed().as_secs_f64().max(0.001);
        let pace = (count.saturating_sub(first) as f64 / seconds) as u64;
        let mut text = format!("{} {what}, {} a second", grouped(count), grouped(pace));
        // Writing to a String cannot fail.
        if waiting > 0 {
            let _ = write!(text, ", {} waiting", grouped(waiting));
        }
        let _ = write!(text, ", {} MiB", bytes >> 20);
        match &mut self.said {
            None => {
                self.line.set_message(text);
                self.line.tick();
            }
            Some(said) if said.elapsed() >= QUIET => {
                *said = Instant::now();
                eprintln!("{text}");
            }
            Some(_) => {}
        }
    }

    /// Takes the line away.
    pub(super) fn end(&self) {
        self.line.finish_and_clear();
    }
}
