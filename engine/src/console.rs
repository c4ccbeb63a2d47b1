//! What the program writes to and locks: the output, the terminal, files.
//!
//! * [`output`] — the one place that prints, and the log file;
//! * [`terminal`] — a progress bar and Ctrl-C for long commands;
//! * [`lock`] — files that one program writes at a time.

pub mod lock;
pub mod output;
pub mod terminal;
