//! The transformer on any of burn's devices: whole encodes, and children that run only their new
//! tokens.
//!
//! What the CPU does with kernels of its own ([`crate::cpu`]) is done here with tensors, for GPUs;
//! what is kept, and for how long, is `crate::incremental`'s business on both. In reading order:
//!
//! * `engine` — batches: planned and queued at once, answered later;
//! * `pack` — the plans of a pass as index lists of a fixed shape;
//! * `store` — the cache's rows on the device;
//! * `pass` — the network over a pack;
//! * `reading` — answers on their way back.
//!
//! **A batch** is two kinds of passes: first the whole encodes, anchors that begin anew among them,
//! then the children. A child has three new tokens (two pieces, of which one mostly is padding, and
//! its readout). Layer by layer their keys and values go into the cache, and then all that the child
//! sees is gathered from there. The device works in the order in which it is told, so a row may be
//! given away as soon as everything that reads it is queued.
//!
//! **Nothing depends on when an answer is read.** All books are kept when a batch is queued: who has
//! which slots, who is anchored anew, who goes. Only the attention, by which who goes is chosen,
//! comes later: a session's batch is heard of when the session's second-next is queued, no sooner
//! and no later, and until then its positions are not evicted.
//!
//! **Memory.** The bound is for all sessions together, and taken at once: the tables, the spare rows
//! for what is not kept, the host's nodes. Each session has an equal part, so that nobody's answers
//! depend on how much another keeps. One session more than there are parts is encoded whole. What a
//! pass needs for a moment comes on top, at most some hundred megabytes for the largest batches.

mod engine;
mod pack;
mod pass;
mod reading;
mod store;
#[cfg(test)]
mod tests;

pub use self::engine::{DeviceEngine, DeviceOptions, Padding};
