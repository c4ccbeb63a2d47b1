//! Matches between searches, networks and UCI engines.
//!
//! * [`config`], [`plan`] — the match and its games;
//! * [`arbiter`], [`runner`] — one game; all games, several at once;
//! * [`record`], [`files`], [`pgn`] — the results on disk;
//! * [`tally`], [`report`] — counts, Elo, tables.

pub mod arbiter;
pub mod config;
pub mod files;
pub mod pgn;
pub mod plan;
pub mod record;
pub mod report;
pub mod runner;
pub mod tally;
