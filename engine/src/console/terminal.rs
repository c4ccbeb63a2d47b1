//! What the long commands of the program share: progress on standard error, an end by Ctrl-C, and
//! sentences for people.

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};

use super::time_left::TimeLeft;
use crate::search::StopToken;
use crate::search::clock::Stopwatch;

/// Exit code of a program that was interrupted, as shells have it.
pub const INTERRUPTED: u8 = 130;

/// Exit code of a command that could not be done.
const FAULT: u8 = 2;

/// How often a line of progress is printed where it cannot be drawn.
const QUIET: Duration = Duration::from_secs(10);

/// Wide enough for all that is said of any work.
const PLAIN_WIDTH: u16 = 240;

/// Progress on standard error, for so many of `what`: a bar on a terminal, elsewhere a plain line
/// now and then.
pub fn bar(length: u64, what: &str) -> ProgressBar {
    resumed(length, 0, what)
}

/// The same for work of which so much was done before: that says nothing about today's pace.
pub fn resumed(length: u64, done: u64, what: &str) -> ProgressBar {
    let counts =
        format!("{{pos}}/{{len}} {what}, {{elapsed}} elapsed, {{left}} left  {{wide_msg}}");
    shown(Some(length), done, "{bar:20} ", &counts)
}

/// Progress with this template, before which a terminal shows `drawn`.
fn shown(length: Option<u64>, done: u64, drawn: &str, template: &str) -> ProgressBar {
    let (drawn, target) = if std::io::stderr().is_terminal() {
        (drawn, ProgressDrawTarget::stderr())
    } else {
        ("", ProgressDrawTarget::term_like_with_hz(Box::new(PlainLines::default()), 1))
    };
    let style = ProgressStyle::with_template(&format!("{drawn}{template}"));
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    let style = style.with_key("left", TimeLeft::new(done));
    ProgressBar::with_draw_target(length, target).with_position(done).with_style(style)
}

/// What bars are drawn on that are not on a terminal.
#[derive(Debug, Default)]
struct PlainLines(Mutex<PlainLine>);

#[derive(Debug)]
struct PlainLine {
    /// Since a line was printed.
    printed: Stopwatch,
    text: String,
}

impl Default for PlainLine {
    fn default() -> Self {
        Self { printed: Stopwatch::start(), text: String::new() }
    }
}

impl PlainLines {
    fn line(&self) -> MutexGuard<'_, PlainLine> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TermLike for PlainLines {
    fn width(&self) -> u16 {
        PLAIN_WIDTH
    }

    fn move_cursor_up(&self, _: usize) -> std::io::Result<()> {
        Ok(())
    }

    fn move_cursor_down(&self, _: usize) -> std::io::Result<()> {
        Ok(())
    }

    fn move_cursor_right(&self, _: usize) -> std::io::Result<()> {
        Ok(())
    }

    fn move_cursor_left(&self, _: usize) -> std::io::Result<()> {
        Ok(())
    }

    fn write_line(&self, text: &str) -> std::io::Result<()> {
        self.write_str(text)
    }

    fn write_str(&self, text: &str) -> std::io::Result<()> {
        self.line().text.push_str(text);
        Ok(())
    }

    fn clear_line(&self) -> std::io::Result<()> {
        self.line().text.clear();
        Ok(())
    }

    #[expect(clippy::print_stderr, reason = "progress where no line can be drawn")]
    fn flush(&self) -> std::io::Result<()> {
        let mut line = self.line();
        let text = std::mem::take(&mut line.text);
        let text = text.trim();
        if !text.is_empty() && line.printed.elapsed() >= QUIET {
            line.printed = Stopwatch::start();
            eprintln!("{text}");
        }
        Ok(())
    }
}

/// A bar, or a spinner for work whose end nobody knows, with a text that changes.
#[derive(Debug)]
pub struct LiveLine {
    /// What is drawn.
    pub bar: ProgressBar,
}

impl Default for LiveLine {
    fn default() -> Self {
        Self::new(shown(None, 0, "{spinner} ", "{elapsed}  {wide_msg}"))
    }
}

impl LiveLine {
    /// A line that begins with this bar.
    pub fn new(bar: ProgressBar) -> Self {
        Self { bar }
    }

    /// Shows this text from now on.
    pub fn show(&mut self, text: String) {
        self.bar.set_message(text);
    }

    /// Shows that work goes on.
    pub fn tick(&mut self) {
        self.bar.tick();
    }
}

/// A token that Ctrl-C and SIGTERM set; the second Ctrl-C ends the program at once. An error is a
/// sentence.
///
/// # Errors
/// When the system does not let us.
pub fn interruptible() -> Result<StopToken, String> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        let code = i32::from(INTERRUPTED);
        signal_hook::flag::register_conditional_shutdown(signal, code, Arc::clone(&flag))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
            .map_err(|error| format!("signals cannot be caught ({error})"))?;
    }
    Ok(StopToken::from(flag))
}

/// Says something to people, where results do not go.
#[expect(clippy::print_stderr, reason = "the one place where sentences of commands reach people")]
pub fn complain(sentence: &str) {
    eprintln!("tesla: {sentence}");
}

/// How the program ends after a command: a fault is said to people.
pub fn finish(result: Result<ExitCode, String>) -> ExitCode {
    result.unwrap_or_else(|sentence| {
        complain(&sentence);
        ExitCode::from(FAULT)
    })
}

/// Ends the program without the destructors of C libraries, for a thread may still work with those.
/// All that was said has been written.
pub fn end_at_once() -> ! {
    signal_hook::low_level::exit(0)
}
