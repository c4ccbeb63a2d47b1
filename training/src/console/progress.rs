//! Progress bars.
//!
//! Reads the clock: a line is due after a minute.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// How often a line is said where no progress bar can be drawn.
const QUIET: Duration = Duration::from_mins(1);

/// A bar of this length, drawn as [`ProgressStyle::with_template`] reads `template`.
pub(crate) fn bar(length: u64, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template);
    ProgressBar::new(length).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// The live line of a run that plays games. Without a terminal, a line now and then.
pub(crate) struct Live {
    bar: ProgressBar,
    /// Where there is no terminal: when a line was said last.
    said: Option<Instant>,
    text: String,
}

impl Live {
    /// A line for so many games, of which `done` were played before.
    pub(crate) fn new(games: u64, done: u64) -> Self {
        let template = "{bar:20} {pos}/{len} games, {elapsed} gone, {eta} left  {wide_msg}";
        let bar = bar(games, template);
        bar.set_position(done);
        // What was played before says nothing about this run's pace.
        bar.reset_eta();
        let said = (!std::io::stderr().is_terminal()).then(Instant::now);
        Self { bar, said, text: String::new() }
    }

    /// So many games are played now.
    pub(crate) fn news(&mut self, games: u64, text: String) {
        self.bar.set_message(text.clone());
        self.bar.set_position(games);
        self.text = text;
        self.tick();
    }

    /// Shows that we are alive.
    #[expect(clippy::print_stderr, reason = "progress where no bar can be drawn")]
    pub(crate) fn tick(&mut self) {
        match &mut self.said {
            None => self.bar.tick(),
            Some(said) if said.elapsed() >= QUIET => {
                *said = Instant::now();
                eprintln!("{} games: {}", self.bar.position(), self.text);
            }
            Some(_) => {}
        }
    }

    /// Runs `say` while the line is away.
    pub(crate) fn aside(&self, say: impl FnOnce()) {
        self.bar.suspend(say);
    }

    /// Takes the line away.
    pub(crate) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
