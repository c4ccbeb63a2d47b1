//! The command lines of `tesla-train`, one file each.

pub mod datagen;
pub mod evaluate;
pub mod export;
pub mod import;
pub mod inspect;
pub mod matches;
pub mod merge;
pub mod report;
pub mod suite;
pub mod train;
pub mod tune;
