//! What people say to a command and see of it: options, tables and progress.

pub(crate) mod options;
pub(crate) mod pairs;
pub(crate) mod progress;
pub mod table;
