//! The arithmetic of the CPU, on the widest vectors the machine has.
//!
//! * `vectors` — which those are, and memory that is aligned for them;
//! * `integers` — vectors that multiply 16-bit integers, where the machine has them;
//! * `gemm` — matrix products;
//! * `short` — matrix products in such integers;
//! * `product` — one or the other;
//! * `attention` — one token over gathered keys and values; normalisation;
//! * `short_attention` — keys and values as 16-bit integers.
//!
//! A row of a result is one chain of operations, whatever rows are beside it: no answer depends on
//! what else is in its batch, bit by bit.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined below the dispatch is compiled for the oldest processor"
)]

pub(crate) mod attention;
pub(crate) mod gemm;
pub(crate) mod integers;
pub(crate) mod product;
pub(crate) mod short;
pub(crate) mod short_attention;
pub(crate) mod vectors;
