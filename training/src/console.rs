//! What people see of a run: tables and progress.

pub(crate) mod progress;
pub mod table;
