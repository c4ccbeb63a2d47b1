//! The live line of an enumeration, on standard error.

use std::fmt::Write as _;

use super::tally::grouped;
use crate::console::terminal::LiveLine;
use crate::search::clock::Stopwatch;

/// What the progress line shows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Status {
    /// What is counted, for example `positions`.
    pub(super) what: &'static str,
    /// How many so far.
    pub(super) count: u64,
    /// How many of them wait to be expanded; 0 = not shown.
    pub(super) waiting: u64,
    /// Memory of the sets, bytes.
    pub(super) bytes: u64,
    /// Spaces closed; 0 = not shown.
    pub(super) spaces: u64,
}

/// The line, and what it needs to compute the speed.
#[derive(Debug)]
pub(super) struct Progress {
    line: LiveLine,
    started: Stopwatch,
    /// The count when this run began.
    first: Option<u64>,
}

impl Progress {
    /// Starts the line.
    pub(super) fn new() -> Self {
        Self { line: LiveLine::default(), started: Stopwatch::start(), first: None }
    }

    /// Shows the progress.
    pub(super) fn show(&mut self, status: &Status) {
        let first = *self.first.get_or_insert(status.count);
        let Status { what, count, waiting, bytes, spaces } = *status;
        let seconds = self.started.elapsed().as_secs_f64().max(0.001);
        let pace = (count.saturating_sub(first) as f64 / seconds) as u64;
        let mut text = format!("{} {what}, {} a second", grouped(count), grouped(pace));
        // Writing to a String cannot fail.
        if waiting > 0 {
            let _ = write!(text, ", {} waiting", grouped(waiting));
        }
        if spaces > 0 {
            let _ = write!(text, " in {} spaces", grouped(spaces));
        }
        let _ = write!(text, ", {} MiB", bytes >> 20);
        self.line.show(text);
    }

    /// Removes the line.
    pub(super) fn end(&self) {
        self.line.bar.finish_and_clear();
    }
}
