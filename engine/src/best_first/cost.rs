//! The cost of one more ply, in evaluations: a ply multiplies them by the effective branching
//! factor. What it buys is in [`super::overtake`]; [`super::benefit_cost_ratio`] divides the two.

use crate::best_first::error_model::Model;
use crate::tree::node::{KNOWN, Node};

/// Evaluations that one more ply below this child costs.
pub fn cost(child: &Node, model: &Model) -> f32 {
    cost_at(work(child, model), model)
}

/// [`cost`] at the root or below it. A first look at a root move takes one evaluation, however deep
/// the value is that it starts from: otherwise what an earlier search thought of it stood for ever.
pub fn cost_here(child: &Node, is_root: bool, model: &Model) -> f32 {
    if is_root && child.visits == 0 { 1.0 } else { cost(child, model) }
}

/// Evaluations behind this child's value: those below it here, or what its depth comes to where the
/// value was known before.
pub fn work(child: &Node, model: &Model) -> f32 {
    let known = if child.has(KNOWN) { model.branching.visits(child.depth) } else { 0.0 };
    known.max(child.visits as f32)
}

/// Evaluations that one more ply costs below a node with this many visits.
pub fn cost_at(visits: f32, model: &Model) -> f32 {
    ((model.branching.factor() - 1.0) * visits).max(1.0)
}
