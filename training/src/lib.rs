//! Training and measuring Tesla's evaluator. Each folder knows only those above it:
//!
//! * [`console`], [`disk`], [`statistics`] — options and tables; files that survive a crash; Elo,
//!   error bars and SPRT;
//! * [`game`] — one game by the rules;
//! * [`labelled`] — labelled games on disk;
//! * [`players`] — who plays;
//! * [`mod@matches`] — games between configurations and UCI engines; [`suite`] — test positions;
//! * [`train`] — batches of games, and the training loop; [`evaluate`] — held-out figures and
//!   puzzles;
//! * [`datagen`] — making, importing, merging and inspecting labelled games;
//! * [`tune`] — the search's tunables from its own trees and by games;
//! * [`report`] — all measurements on one page;
//! * [`commands`] — the command line of each.

pub mod commands;
pub mod console;
pub mod datagen;
pub mod disk;
pub mod evaluate;
pub mod game;
pub mod labelled;
pub mod matches;
pub mod players;
pub mod report;
pub mod statistics;
pub mod suite;
pub mod train;
pub mod tune;
