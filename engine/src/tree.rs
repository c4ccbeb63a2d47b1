//! The search tree and what fills it; it knows no selection rule. In reading order:
//!
//! * [`node`] — a position in the tree; [`mod@expansion`] — what it has besides once it is
//!   evaluated;
//! * [`mod@edge`] — a legal move that has no node yet;
//! * [`arena`] — all of them, under a hard cap of memory;
//! * [`effective_branching`] — depth in plies from evaluations and back;
//! * [`leaf`], [`leaf_queue`] — what the evaluator is asked, and what needs no evaluator;
//! * [`prove`] — mates in two;
//! * [`evaluations`] — what it answered, so that it is asked once;
//! * [`expand`] — answers into the tree; [`sweep`] — values up to the root;
//! * [`remember`] — values between the tree and the transposition table;
//! * [`reuse`] — what survives from one search to the next.

pub mod arena;
pub mod edge;
pub mod effective_branching;
pub mod evaluations;
pub mod expand;
pub mod expansion;
pub mod leaf;
pub mod leaf_queue;
pub mod node;
pub mod prove;
pub mod remember;
pub mod reuse;
pub mod sweep;
