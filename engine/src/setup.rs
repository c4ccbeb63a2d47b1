//! What the user chooses, and how it becomes a search that runs.
//!
//! * [`mode`] — which search modes and evaluators there are, and their names: two enums;
//! * [`settings`] — what the user chose; [`opponent`] — whom we play;
//! * [`options`] — the register of UCI options;
//! * [`machine`] — what of it decides which search and evaluator run;
//! * [`factory`] — where a mode becomes a search: builds it, its evaluator and the evaluators that
//!   replace one that fails; [`memory`] — how much of it is available;
//! * `network` — the embedded network and its device (feature `net`).

pub mod factory;
pub mod machine;
pub mod memory;
pub mod mode;
#[cfg(feature = "net")]
pub mod network;
pub mod opponent;
pub mod options;
pub mod settings;
