//! What the long commands of the program share: a bar that shows their progress, and an end by Ctrl-C.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use indicatif::{ProgressBar, ProgressStyle};

use crate::search_api::StopToken;

/// Exit code of a program that was interrupted.
const INTERRUPTED: i32 = 130;

/// A bar on standard error; it is drawn on a terminal only.
pub fn bar(length: usize, what: &str) -> ProgressBar {
    let template =
        format!("{{bar:20}} {{pos}}/{{len}} {what}, {{elapsed}} gone, {{eta}} left  {{wide_msg}}");
    let style = ProgressStyle::with_template(&template);
    let bar = ProgressBar::new(length as u64);
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}

/// A token that Ctrl-C and SIGTERM set; the second Ctrl-C ends the program at once. An error is a sentence.
///
/// # Errors
/// When the system does not let us.
pub fn interruptible() -> Result<StopToken, String> {
    let flag = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, INTERRUPTED, Arc::clone(&flag))
            .and_then(|_| signal_hook::flag::register(signal, Arc::clone(&flag)))
            .map_err(|error| format!("signals cannot be caught ({error})"))?;
    }
    Ok(StopToken::from(flag))
}
