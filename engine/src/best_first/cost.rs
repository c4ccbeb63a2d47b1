//! The cost of one more ply below a child; the law behind it is [`crate::tree::effort`].

use crate::best_first::error_model::Model;
use crate::tree::node::{KNOWN, Node};

/// Evaluations that one more ply below this child costs.
pub fn cost(child: &Node, model: &Model) -> f32 {
    let visits = child.visits as f32;
    let known = if child.has(KNOWN) { model.effort.visits(child.depth) } else { 0.0 };
    model.effort.cost(visits.max(known))
}
