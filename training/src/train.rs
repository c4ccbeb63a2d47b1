//! Training: labelled games to batches of windows with their labels, the loss, the optimizer, the
//! loop, and gating matches.

pub mod adamw;
pub mod config;
pub mod dataset;
pub mod gate;
pub mod labels;
pub mod learnt;
pub mod loss;
mod muon;
pub mod optimizer;
pub mod trainer;
