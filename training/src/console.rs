//! The user's side of a command: options and tables.

pub(crate) mod options;
pub(crate) mod pairs;
pub mod table;
