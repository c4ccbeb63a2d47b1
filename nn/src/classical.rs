//! A hand-made evaluation and an [`Evaluator`](crate::evaluator::Evaluator) made of it.
//!
//! It needs no network and no device, gives the same answer everywhere and knows enough chess to
//! drive a search: the tests, the bench signature, research on the search and the leaves of the
//! alpha-beta baseline rest on it.
//!
//! * [`centipawns`] — the static value: material, squares, mobility, pawns, king safety;
//! * [`exchange`] — what a capture wins or loses on its square;
//! * [`ClassicalEvaluator`] — value, error, policy and action values of it, captures resolved.

mod evaluate;
mod evaluator;
pub mod exchange;
mod quiet;
mod tables;

pub use evaluate::centipawns;
pub(crate) use evaluate::{for_white, seen_by};
pub use evaluator::ClassicalEvaluator;
pub use quiet::quiet_centipawns;
pub(crate) use quiet::quiet_from;
