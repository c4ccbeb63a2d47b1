//! A batch as one launch: the network as one kernel of our own, through CubeCL.
//!
//! In reading order:
//!
//! * `adapter` — the GPU and what it can do;
//! * `arrange` — which positions share a workgroup, and which workgroups a launch;
//! * `records` — a batch as words;
//! * `sizes` — sizes of the kernel for a network on an adapter;
//! * `weights` — the weights file as the kernel reads it;
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
mod attention;
mod embedding;
mod heads;
mod pass;
mod product;
mod records;
mod runner;
mod sizes;
mod weights;

pub use self::adapter::Adapter;
pub(super) use self::runner::Kernels;
