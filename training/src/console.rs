//! The user's side of a command: options, tables, the machine in words.

pub mod machine;
pub(crate) mod options;
pub(crate) mod pairs;
pub mod table;
