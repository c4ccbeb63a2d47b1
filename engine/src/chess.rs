//! Chess without a search, in reading order.
//!
//! * [`game`] — the game so far: repetitions and the fifty-move clock;
//! * [`notation`] — positions and moves as text; [`pgn`] — the games of a PGN;
//! * [`score`] — values, mates and draws, and how UCI writes them;
//! * [`verdicts`] — what the rules decide without an evaluator;
//! * [`mates`] — mates in two, by the rules too;
//! * [`tablebase`] — Syzygy tables.

pub mod game;
pub mod mates;
pub mod notation;
pub mod pgn;
pub mod score;
pub mod tablebase;
pub mod verdicts;
