//! What the user chooses, and how it becomes a search that runs.
//!
//! * [`options`] — the register of UCI options;
//! * [`roster`] — searches and evaluators by name;
//! * `network` — the embedded network and its device (feature `net`).

#[cfg(feature = "net")]
pub mod network;
pub mod options;
pub mod roster;
