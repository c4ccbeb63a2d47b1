//! Training and measuring Tesla's evaluator.
//!
//! * [`record`] — labelled games on disk;
//! * [`dataset`], [`labels`] — games to batches of windows with their labels;
//! * [`loss`], [`adamw`], [`trainer`] — the training loop.

pub mod adamw;
pub mod dataset;
pub mod labels;
pub mod loss;
pub mod record;
pub mod trainer;
