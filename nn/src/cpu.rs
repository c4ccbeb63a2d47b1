//! The transformer on the CPU: whole encodes, and children that run only their new tokens.
//!
//! What is kept for children is `crate::incremental`'s business, the arithmetic is
//! `crate::kernels`'. In reading order:
//!
//! * `engine` — batches on all cores;
//! * `forward` — the network over the plans of one chunk;
//! * `packed` — the weights file, rearranged for the kernels.
//!
//! A request's answer never depends on what else is in its batch, bit by bit.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined below the dispatch is compiled for the oldest processor"
)]

mod engine;
mod forward;
mod packed;

pub use self::engine::{Engine, Options};
pub(crate) use crate::kernels::{attention, gemm, vectors};
