//! Tesla's evaluator: a position in; value, error, policy and action values out.
//!
//! Nothing here knows a search: a position's parent is an id in its request, and whatever is cached
//! may be evicted at any time. A clock is read to say how long something took and, in [`shared`],
//! to wait a moment for a fuller batch; never to decide an answer. Files that do so say so at their
//! head.
//!
//! In order, each one built on those above it:
//!
//! * [`files`] — reading and writing files safely, for all crates;
//! * [`memory`] — how much of it this process may take;
//! * [`evaluator`] — the one trait between search and device: submit a batch, collect the answers;
//! * [`fallback`] — another evaluator in the place of one that has failed;
//! * [`classical`] — a deterministic evaluator without a network (tests, the bench signature,
//!   search research, and the alpha-beta baseline's leaves);
//! * [`known_wins`] — wins against a bare king by the textbook's measure, around any evaluator;
//! * [`meter`] — where an evaluator's time goes, batch by batch;
//! * [`guess`] — noise without knowledge, to measure the search's own work;
//! * [`simulated`] — any evaluator behind a fixed latency, so that overlap can be tested anywhere;
//! * [`shared`] — one device for many searches, which fill its batches together.
//!
//! The network (feature `net`):
//!
//! * [`encode`] — positions and moves as tokens and features;
//! * [`mod@batch`] — windows of positions as index lists;
//! * `kernels` — the arithmetic of the CPU;
//! * [`model`] — the transformer on burn, as it is trained;
//! * [`weights`] — its file;
//! * [`decode`] — the network's outputs as an evaluation;
//! * `incremental` — the key-value cache: what is kept of evaluated positions for their children;
//! * [`cpu`] — the transformer on those kernels;
//! * [`gpu`] — the transformer on a GPU, by a kernel of our own; burn's tensors are its reference;
//! * [`device`] — the choice of the device;
//! * [`canary`] — positions on which every device must agree with the CPU;
//! * [`transformer`] — all of that behind the trait.

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
pub mod fallback;
pub mod files;
#[cfg(feature = "net")]
pub mod gpu;
pub mod guess;
#[cfg(feature = "net")]
mod incremental;
#[cfg(feature = "net")]
mod kernels;
pub mod known_wins;
pub mod memory;
pub mod meter;
#[cfg(feature = "net")]
pub mod model;
pub mod shared;
pub mod simulated;
#[cfg(feature = "net")]
pub mod transformer;
#[cfg(feature = "net")]
pub mod weights;
