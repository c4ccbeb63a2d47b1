//! Files of runs: journals that survive a crash, and config files.

pub mod journal;
pub mod toml;
