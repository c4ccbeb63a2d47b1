//! Files of runs: journals that survive a crash, config files, and the weights that they leave.

pub mod journal;
pub mod network;
pub mod toml;
