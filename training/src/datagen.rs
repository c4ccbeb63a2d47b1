//! Labelled games: the parts of `tesla-train datagen`, `import`, `merge` and `inspect`.
//!
//! * [`config`] — the options; [`span`], [`dice`] — ranges and random numbers;
//! * [`game`] — one game with its labels; [`policy`] — moves as our network would play them;
//!   [`mod@line`] — given lines of moves to label; [`score`] —
//!   the teacher's score as files hold it;
//! * [`store`] — games on disk as they come, and whole shards;
//! * [`runner`] — making them;
//! * [`pgn`], [`binpack`], [`pieces`] — imported games;
//! * [`output`] — games from several places into one;
//! * [`statistics`], [`samples`] — what is in the files;
//! * [`book`] — opening books.

pub mod binpack;
pub mod book;
pub mod config;
pub mod dice;
pub mod game;
pub mod line;
pub mod output;
pub mod pgn;
pub mod pieces;
pub mod policy;
pub mod runner;
pub mod samples;
pub mod score;
pub mod span;
pub mod statistics;
pub mod store;
