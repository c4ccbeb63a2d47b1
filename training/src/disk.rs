//! Files of runs: journals that survive a crash, config files and whose they are, days, and the
//! weights that runs leave.

pub mod day;
pub mod journal;
pub mod network;
pub mod owner;
pub mod toml;
