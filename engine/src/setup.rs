//! The user's settings, and the construction of a search from them.
//!
//! * [`mode`] — the search modes and evaluators by name: two enums;
//! * [`settings`] — the values of all options; [`opponent`] — `UCI_Opponent`;
//! * [`options`] — the register of UCI options;
//! * [`machine`] — the settings that decide which search and evaluator run;
//! * [`factory`] — builds the search of a mode, its evaluator and its fallbacks;
//! * `network` — the embedded network and its device (feature `net`).

pub mod factory;
pub mod machine;
pub mod mode;
#[cfg(feature = "net")]
pub mod network;
pub mod opponent;
pub mod options;
pub mod settings;
