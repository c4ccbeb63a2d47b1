//! Test suites: positions with known answers, the judging of an engine's answers, and the tables.
//!
//! Nothing here knows engines. A runner reads a [`Suite`], asks an engine about each [`Item`], has
//! the answer judged by [`judge`] (a puzzle move by move in a [`PuzzleRun`]), writes a [`Record`]
//! per item into a [`Journal`](crate::disk::journal::Journal), and shows the records by
//! [`summarize`] and [`Table`](crate::console::table::Table).
//!
//! Suites are EPD files (operations `bm`, `am`, `dm` and the points of the Strategic Test Suite in
//! `c7` to `c9`; the format is in section 16.2 of the PGN standard of 1994), or CSV files of
//! puzzles in the form of the [Lichess database](https://database.lichess.org/#puzzles).

mod compare;
mod epd;
pub mod examiner;
mod item;
mod judge;
mod mate;
mod notation;
mod puzzle;
mod rating;
mod read;
mod record;
mod solver;
mod summary;
mod tables;
#[cfg(test)]
mod tests;
mod verdict;

pub use compare::{Comparison, compare};
pub use item::{Item, ItemAnswer, JudgeBy, Task};
pub use judge::judge;
pub use mate::{Claim, MateLimits, MateVerdict, MoveCheck, PvCheck};
pub use puzzle::{PuzzleRun, PuzzleState};
pub use rating::{RatingEstimate, estimate_rating, puzzle_results};
pub use read::{Options, Selection, SkippedLine, Suite, read};
pub use record::{AnswerRecord, Record, TaskLabel, remaining};
pub use summary::{Grouping, Mates, Points, Summary, summarize};
pub use verdict::{Detail, Grade};
