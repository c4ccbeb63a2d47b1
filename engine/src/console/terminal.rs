//! What the long commands of the program share: progress on standard error, an end by Ctrl-C, and
//! sentences for people.

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::search::StopToken;
use crate::search::clock::Stopwatch;

/// Exit code of a program that was interrupted, as shells have it.
pub const INTERRUPTED: u8 = 130;

/// Exit code of a command that could not be done.
const FAULT: u8 = 2;

/// How often a [`LiveLine`] is printed where it cannot be drawn.
const QUIET: Duration = Duration::from_mins(1);

/// A bar on standard error for so many of `what`; it is drawn on a terminal only.
pub fn bar(length: u64, what: &str) -> ProgressBar {
    let template = format!(
        "{{bar:20}} {{pos}}/{{len}} {what}, {{elapsed}} elapsed, {{eta}} left  {{wide_msg}}"
    );
    let style = ProgressStyle::with_template(&template);
    ProgressBar::new(length).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// A bar, or a spinner for work whose end nobody knows, with a text that changes. Without a
/// terminal the text is printed now and then.
#[derive(Debug)]
pub struct LiveLine {
    /// What is drawn.
    pub bar: ProgressBar,
    /// Where there is no terminal: when the text was printed last.
    printed: Option<Stopwatch>,
    text: String,
}

impl Default for LiveLine {
    fn default() -> Self {
        let style = ProgressStyle::with_template("{spinner} {elapsed}  {wide_msg}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
        Self::new(ProgressBar::new_spinner().with_style(style))
    }
}

impl LiveLine {
    /// A line that begins with this bar.
    pub fn new(bar: ProgressBar) -> Self {
        let printed = (!std::io::stderr().is_terminal()).then(Stopwatch::start);
        Self { bar, printed, text: String::new() }
    }

    /// Shows this text from now on.
    pub fn show(&mut self, text: String) {
        self.bar.set_message(text.clone());
        self.text = text;
        self.tick();
    }

    /// Shows that work goes on.
    #[expect(clippy::print_stderr, reason = "progress where no line can be drawn")]
    pub fn tick(&mut self) {
        match &mut self.printed {
            None => self.bar.tick(),
            Some(printed) if printed.elapsed() >= QUIET => {
                *printed = Stopwatch::start();
                match self.bar.length() {
                    Some(length) => eprintln!("{}/{length}: {}", self.bar.position(), self.text),
                    None => eprintln!("{}", self.text),
                }
            }
            Some(_) => {}
        }
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
