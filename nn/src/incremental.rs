//! Evaluated positions whose tokens' keys and values are kept for their children.
//!
//! A child names its parent and costs the moved piece's token and a readout, two rows where a whole
//! board takes thirty. This module holds what does not depend on where the arithmetic is done;
//! [`crate::cpu`] and [`crate::gpu`] do it. From the lowest:
//!
//! * [`node`] — a kept position and the slots of its tokens;
//! * [`slots`] — what is kept of a token, for as long as any position needs it;
//! * [`session`] — one search's positions;
//! * [`eviction`] — the order in which they lose their tokens;
//! * [`cache`] — the positions of all searches, within a bound;
//! * [`plan`] — a request as rows of the network's tables and a list of visible tokens;
//! * [`rebuild`] — which positions get new tokens before a batch;
//! * [`manager`] — what is kept of a batch, and what makes room for it.

pub(crate) mod cache;
mod eviction;
pub(crate) mod manager;
mod node;
pub(crate) mod plan;
pub(crate) mod rebuild;
mod session;
pub(crate) mod slots;
mod standing;

pub use rebuild::AnchorPolicy;
