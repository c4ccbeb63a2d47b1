//! The arithmetic of the CPU, on the widest vectors the machine has.
//!
//! * `vectors` — which those are, and memory that is aligned for them;
//! * `gemm` — matrix products;
//! * `attention` — one token over gathered keys and values; normalisation.
//!
//! A row of a result is one chain of operations, whatever rows are beside it: no answer depends on
//! what else is in its batch, bit by bit.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined below the dispatch is compiled for the oldest processor"
)]

pub(crate) mod attention;
pub(crate) mod gemm;
pub(crate) mod vectors;
