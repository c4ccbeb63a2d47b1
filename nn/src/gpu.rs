//! The transformer on any of burn's devices: whole encodes, and children that run only their new
//! tokens.
//!
//! What the CPU does with kernels of its own ([`crate::cpu`]) is done here with tensors, for GPUs;
//! what is kept, and for how long, is `crate::incremental`'s business on both. In reading order:
//!
//! * `engine` — batches: planned and queued at once, answered later;
//! * `padding` — how large their passes are;
//! * `pack` — the plans of a pass as index lists of a fixed shape;
//! * `store` — the cache's rows on the device;
//! * `pass` — the network over a pack;
//! * `reading` — answers on their way back;
//! * `pending` — attention on its way back.
//!
//! **A batch** is two kinds of passes: first the whole encodes, new anchors among them, then the
//! children. A child has three new tokens (two pieces, of which one mostly is padding, and its
//! readout). Layer by layer their keys and values go into the cache, and then all that the child
//! sees is gathered from there. The device works in the order in which it is given its passes, so
//! a row may be given away as soon as everything that reads it is queued.
//!
//! **Nothing depends on when an answer is read.** Everything is decided when a batch is queued:
//! which slots are filled, which positions are rebuilt, which are evicted. Only the attention, by
//! which the evicted are chosen, comes later: a batch's counts for its session when the session's
//! second-next batch is queued, no sooner and no later, and until then its positions are not
//! evicted.
//!
//! **Memory.** The bound is for all sessions together, and allocated at once: the tables, the spare
//! rows for what is not kept, the host's nodes. Each session has an equal part, so that nobody's
//! answers depend on how much another keeps. One session more than there are parts is encoded
//! whole. What a pass needs for a moment comes on top, at most some hundred megabytes for the
//! largest batches.

mod engine;
mod pack;
mod padding;
mod pass;
mod pending;
mod reading;
mod store;
#[cfg(test)]
mod tests;

pub use self::engine::{DeviceEngine, DeviceOptions};
pub use self::padding::Padding;
