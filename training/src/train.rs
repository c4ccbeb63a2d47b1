//! Training: labelled games to batches of windows with their labels, the loss, the optimizer and
//! the loop.

pub mod adamw;
pub mod config;
pub mod dataset;
pub mod labels;
pub mod loss;
mod muon;
pub mod optimizer;
pub mod trainer;
