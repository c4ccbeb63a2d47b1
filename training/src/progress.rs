//! Progress bars.

use indicatif::{ProgressBar, ProgressStyle};

/// A bar of this length, drawn as [`ProgressStyle::with_template`] reads `template`.
pub(crate) fn bar(length: u64, template: &str) -> ProgressBar {
    let style = ProgressStyle::with_template(template);
    ProgressBar::new(length).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
