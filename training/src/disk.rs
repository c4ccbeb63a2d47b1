//! Files of runs: journals that survive a crash, config files, days, and the weights that runs
//! leave.

pub mod day;
pub mod journal;
pub mod network;
pub mod toml;
