//! The search tree and what fills it; it knows no selection rule. In reading order:
//!
//! * [`node`] — a position in the tree; [`mod@edge`] — a legal move that has no node yet;
//! * [`arena`] — all of them, under a hard cap of memory;
//! * [`batch`] — leaves on their way to the evaluator; [`expand`] — answers into the tree;
//! * [`reuse`] — what survives from one search to the next.

pub mod arena;
pub mod batch;
pub mod edge;
pub mod expand;
pub mod node;
pub mod reuse;
