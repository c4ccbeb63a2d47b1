//! What the program reads, writes to and locks: input and output, the terminal, files.
//!
//! * [`lines`] — what comes on standard input;
//! * [`output`] — the one place that prints, and the log file;
//! * [`terminal`] — a progress bar and Ctrl-C for long commands;
//! * `time_left` — how long they still take;
//! * [`lock`] — files that one program writes at a time.

pub mod lines;
pub mod lock;
pub mod output;
pub mod terminal;
mod time_left;
