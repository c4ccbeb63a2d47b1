//! Matches between searches, networks and UCI engines: `tesla-train match` and `suite`.
//!
//! * [`config`], [`side`], [`limit`], [`plan`] — what is to be played;
//! * [`openings`], [`game`], [`adjudicate`], [`ending`] — one game by the rules;
//! * [`player`]: [`own`] sides in this process, [`external`] ones behind [`peer`], [`heads`] that do not
//!   search; [`lineup`] makes sides;
//! * [`arbiter`], [`pool`], [`runner`] — playing them; [`record`], [`journal`], [`files`], [`pgn`] — keeping them;
//! * [`stats`], [`estimate`], [`sprt`], [`rating`], [`bootstrap`] — what they prove;
//! * [`tally`], [`table`], [`report`], [`command`] — counting and telling;
//! * [`suite`], [`examiner`], [`suite_command`] — test positions with known answers.

pub mod adjudicate;
pub mod arbiter;
pub mod bootstrap;
pub mod command;
pub mod config;
pub mod ending;
pub mod estimate;
pub mod examiner;
pub mod external;
pub mod files;
pub mod game;
pub mod heads;
pub mod journal;
pub mod limit;
pub mod lineup;
pub mod openings;
pub mod own;
pub mod peer;
pub mod pgn;
pub mod plan;
pub mod player;
pub mod pool;
pub mod rating;
pub mod record;
pub mod report;
pub mod runner;
pub mod side;
pub mod sprt;
pub mod stats;
pub mod suite;
pub mod suite_command;
pub mod table;
pub mod tally;
