//! The transformer on the CPU: whole encodes, and children that run only their new tokens.
//!
//! What is kept for children is `crate::incremental`'s business, the arithmetic is
//! `crate::kernels`'. In reading order:
//!
//! * `engine` — batches on all cores;
//! * `forward` — the network over the plans of one chunk;
//! * `floats`, `short` — attention and move heads in floats, and in 16-bit integers;
//! * `chunk` — a chunk and the memory that it runs in;
//! * `packed` — the weights file, rearranged for the kernels; `loaded` — the last one, kept.
//!
//! The network runs in 16-bit integers where the processor multiplies them in pairs and the shape
//! allows, else in floats, which is the reference: see [`Arithmetic`].
//!
//! A request's answer never depends on what else is in its batch, bit by bit.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined below the dispatch is compiled for the oldest processor"
)]

mod chunk;
mod engine;
mod floats;
mod forward;
mod loaded;
mod packed;
mod short;

pub use self::engine::{Arithmetic, Engine, Options};
use crate::kernels::short as short_product;
use crate::kernels::{attention, gemm, integers, product, short_attention, vectors};
