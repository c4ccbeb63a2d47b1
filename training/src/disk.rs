//! Files that survive a crash: journals, names and fingerprints.

pub(crate) mod hash;
pub mod journal;
pub(crate) mod paths;
