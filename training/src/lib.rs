//! Training and measuring Tesla's evaluator.
//!
//! * [`record`] — labelled games on disk;
//! * [`dataset`], [`labels`] — games to batches of windows with their labels;
//! * [`evaluate`], [`evaluate_command`] — held-out figures, and puzzles;
//! * [`loss`], [`adamw`], [`train_config`], [`trainer`], [`train_command`] — the training loop;
//! * [`mod@matches`] — games between configurations and UCI engines;
//! * [`datagen`] — making, importing, merging and inspecting labelled games;
//! * [`tune`] — the search's numbers from its own trees;
//! * [`report`] — what all of these measured, on one page.

pub mod adamw;
pub mod datagen;
pub mod dataset;
pub mod evaluate;
pub mod evaluate_command;
mod hash;
pub mod labels;
pub mod loss;
pub mod matches;
mod paths;
mod progress;
pub mod record;
pub mod report;
pub mod train_command;
pub mod train_config;
pub mod trainer;
pub mod tune;
