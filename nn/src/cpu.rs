//! The transformer on the CPU: whole encodes, and children that run only their new tokens.
//!
//! What is kept for children is `crate::incremental`'s business. In reading order:
//!
//! * `engine` — batches on all cores;
//! * `forward` — the network over the plans of one chunk;
//! * `attention`, `gemm`, `vectors` — the arithmetic, on the widest vectors the machine has;
//! * `packed` — the weights file, rearranged for it.
//!
//! A request's answer never depends on its company in the batch, bit by bit: a row is one chain of
//! operations, whatever rows are beside it.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined below the dispatch is compiled for the oldest processor"
)]

pub(crate) mod attention;
mod engine;
mod forward;
pub(crate) mod gemm;
mod packed;
pub(crate) mod vectors;

pub use self::engine::{Engine, Options};
pub(crate) use self::vectors::LINE;
