//! `tesla enumerate spaces`: space after space, with one store of roots for all of them.
//!
//! A closure ends at its roots; each of them begins another. A *space* is everything that was
//! reached with the same pawns and pieces, and what belongs to it is known once all its roots are.
//! No zeroing move leads back, so there is an order in which that is so ([`key`]): spaces with more
//! pieces first, among those the ones whose pawns have more steps to go. Each space is then closed
//! once, from all its roots together, and its own roots go to the piles of the spaces that they
//! begin. That is where roots of different spaces meet, and are told apart or not.
//!
//! In reading order:
//!
//! * [`key`] — which positions share a space, and the order;
//! * [`piles`], [`store`] — roots in files, and where those of all spaces meet;
//! * [`entry`], [`close`] — one space: its roots, its closure;
//! * [`run`] — all of them, with checkpoints;
//! * [`totals`] — the tables.

mod close;
mod entry;
mod key;
mod piles;
mod run;
mod store;
mod totals;

pub use run::{SpacesRequest, enumerate_spaces};
pub(super) use run::{SpacesState, write_roots};
pub use totals::{Roots, SpacesFound};
