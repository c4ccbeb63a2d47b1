//! Matches between searches, networks and UCI engines.
//!
//! * [`config`], [`plan`] — what is to be played;
//! * [`arbiter`], [`runner`] — playing it;
//! * [`record`], [`files`], [`pgn`] — keeping it;
//! * [`tally`], [`report`] — counting and telling.

pub mod arbiter;
pub mod config;
pub mod files;
pub mod pgn;
pub mod plan;
pub mod record;
pub mod report;
pub mod runner;
pub mod tally;
