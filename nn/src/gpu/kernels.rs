//! A batch as one launch: the network as one kernel of our own, through `CubeCL`.
//!
//! In reading order:
//!
//! * `adapter` — the GPU and what it can do;
//! * `arrange` — which positions share a workgroup, and which workgroups a launch;
//! * `records` — a batch as words;
//! * `sizes` — sizes of the kernel for a network on an adapter;
//! * `weights` — the weights file as the kernel reads it;
//! * `chunk` — the rows that a workgroup has at once;
//! * `pass` — the kernel; `embedding`, `attention`, `heads` and `product` are its parts;
//! * `runner` — buffers and launches.
//!
//! Why it is as it is: `docs/gpu.md`.

#![allow(
    clippy::too_many_arguments,
    clippy::borrow_deref_ref,
    clippy::explicit_auto_deref,
    reason = "kernels take their buffers one by one, and CubeCL turns no `&mut` into `&` by itself"
)]

mod adapter;
mod arrange;
#[expect(clippy::manual_is_multiple_of, reason = "kernels have no such method")]
mod attention;
mod chunk;
mod embedding;
mod heads;
#[expect(
    clippy::assign_op_pattern,
    clippy::too_many_lines,
    reason = "kernels assign to shared memory so, and are one function with their barriers"
)]
mod pass;
mod product;
mod records;
mod runner;
mod sizes;
mod weights;

pub use self::adapter::Adapter;
pub(super) use self::runner::load;
