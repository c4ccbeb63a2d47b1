//! Training and measuring Tesla's evaluator.
//!
//! * [`record`] — labelled games on disk;
//! * [`dataset`], [`labels`] — games to batches of windows with their labels;
//! * [`evaluate`] — held-out figures;
//! * [`loss`], [`adamw`], [`train_config`], [`trainer`] — the training loop;
//! * [`mod@matches`] — games between configurations and UCI engines;
//! * [`datagen`] — making, importing, merging and inspecting labelled games;
//! * [`tune`] — the search's numbers from its own trees.

pub mod adamw;
pub mod datagen;
pub mod dataset;
pub mod evaluate;
pub mod labels;
pub mod loss;
pub mod matches;
mod progress;
pub mod record;
pub mod train_config;
pub mod trainer;
pub mod tune;
