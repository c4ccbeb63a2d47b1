//! Files of runs: journals that survive a crash, config files, fingerprints.

pub(crate) mod hash;
pub mod journal;
pub mod toml;
