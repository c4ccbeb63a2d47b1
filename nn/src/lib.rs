//! Tesla's evaluator: a position in; value, error, policy and action values out.
//!
//! This room knows no trees and no clocks. In reading order:
//!
//! * [`evaluator`] — the one trait between search and device: submit a batch, collect the answers;
//! * [`classical`] — a deterministic evaluator without a network (tests, the bench signature,
//!   search research, and the alpha-beta baseline's leaves);
//! * [`guess`] — answers without knowledge, to measure the search's own work;
//! * [`simulated`] — any evaluator behind a set latency, so that overlap can be tested anywhere;
//! * [`shared`] — one device for many searches, which fill its batches together;
//! * [`files`] — reading and writing files safely, for all crates.

#[cfg(feature = "net")]
pub mod batch;
#[cfg(feature = "net")]
pub mod canary;
pub mod classical;
#[cfg(feature = "net")]
pub mod cpu;
#[cfg(feature = "net")]
pub mod decode;
#[cfg(feature = "net")]
pub mod device;
pub mod encode;
pub mod evaluator;
pub mod files;
#[cfg(feature = "net")]
pub mod gpu;
pub mod guess;
#[cfg(feature = "net")]
mod incremental;
#[cfg(feature = "net")]
mod kernels;
pub mod meter;
#[cfg(feature = "net")]
pub mod model;
pub mod shared;
pub mod simulated;
#[cfg(feature = "net")]
pub mod transformer;
#[cfg(feature = "net")]
pub mod weights;
