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

/// How often a [`Line`] is said where it cannot be drawn.
const QUIET: Duration = Duration::from_mins(1);

/// A bar on standard error; it is drawn on a terminal only.
pub fn bar(length: usize, what: &str) -> ProgressBar {
    let template = format!(
        "{{bar:20}} {{pos}}/{{len}} {what}, {{elapsed}} elapsed, {{eta}} left  {{wide_msg}}"
    );
    let style = ProgressStyle::with_template(&template);
    let bar = ProgressBar::new(length as u64);
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// The live line, on standard error, of work whose end nobody knows. Without a terminal it is said
/// now and then.
#[derive(Debug)]
pub struct Line {
    spinner: ProgressBar,
    /// Where there is no terminal: when it was said last.
    said: Option<Stopwatch>,
}

impl Default for Line {
    fn default() -> Self {
        let style = ProgressStyle::with_template("{spinner} {elapsed}  {wide_msg}");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
        let said = (!std::io::stderr().is_terminal()).then(Stopwatch::start);
        Self { spinner: ProgressBar::new_spinner().with_style(style), said }
    }
}

impl Line {
    /// Tells how it stands.
    #[expect(clippy::print_stderr, reason = "progress where no line can be drawn")]
    pub fn show(&mut self, text: String) {
        match &mut self.said {
            None => {
                self.spinner.set_message(text);
                self.spinner.tick();
            }
            Some(said) if said.elapsed() >= QUIET => {
                *said = Stopwatch::start();
                eprintln!("{text}");
            }
            Some(_) => {}
        }
    }

    /// Takes the line away.
    pub fn end(&self) {
        self.spinner.finish_and_clear();
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
