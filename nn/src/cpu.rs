//! The transformer on the CPU: whole encodes, and children that run only their new tokens.
//!
//! One token's keys and values go into a slot of the cache; a child names its parent and costs the
//! moved piece's token and a readout, two rows where a whole board takes thirty. In reading order:
//!
//! * [`engine`] — batches on all cores; which positions are kept, anchored anew, dropped;
//! * [`cache`] — slots, nodes and who is least attended;
//! * [`plan`] — a request as rows of the network's tables and a list of visible tokens;
//! * [`forward`] — the network over the plans of one chunk;
//! * [`attention`], [`gemm`], [`vectors`] — the arithmetic, on the widest vectors the machine has;
//! * [`packed`] — the weights file, rearranged for it.
//!
//! A request's answer never depends on its company in the batch, bit by bit: a row is one chain of
//! operations, whatever rows are beside it.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined below the dispatch is compiled for the oldest processor"
)]

mod attention;
mod cache;
mod engine;
mod forward;
mod gemm;
mod packed;
mod plan;
mod vectors;

pub use self::engine::{Engine, Options};
pub(crate) use self::vectors::LINE;
