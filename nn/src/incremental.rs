//! Evaluated positions whose tokens are kept for their children: the books that every device keeps.
//!
//! One token's keys and values go into a slot of the cache; a child names its parent and costs the
//! moved piece's token and a readout, two rows where a whole board takes thirty. Here is what does
//! not depend on where the arithmetic is done; [`crate::cpu`] and [`crate::gpu`] do it. In reading
//! order:
//!
//! * [`books`] — which positions are kept, anchored anew, dropped;
//! * [`cache`] — the positions of all searches, within a bound;
//! * [`session`] — one search's positions;
//! * [`node`] — a position and the slots of its tokens;
//! * [`slots`] — what is kept of a token, for as long as any position needs it;
//! * [`eviction`] — who is least attended;
//! * [`plan`] — a request as rows of the network's tables and a list of visible tokens.

pub(crate) mod books;
pub(crate) mod cache;
mod eviction;
mod node;
pub(crate) mod plan;
mod session;
pub(crate) mod slots;

pub use books::AnchorPolicy;
