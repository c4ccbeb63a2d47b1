//! What people say to a command and see of it: options and tables.

pub(crate) mod options;
pub(crate) mod pairs;
pub mod table;
