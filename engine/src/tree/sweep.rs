//! Values on their way up: one bottom-up sweep after each batch.

use crate::search::table::Table;
use crate::tree::arena::Tree;
use crate::tree::node::{ExpansionId, NONE};
use crate::tree::remember::remember_growth;

/// How values come from the children to their parent.
pub trait Backup {
    /// Recomputes the node of an expansion from its children.
    fn recompute(&self, tree: &mut Tree, id: ExpansionId);
}

/// One bottom-up sweep over the unique ancestors of what changed. Keeps its buckets between calls.
#[derive(Debug, Default)]
pub struct Sweep {
    /// Expansions waiting, by ply.
    by_ply: Vec<Vec<ExpansionId>>,
}

impl Sweep {
    /// Marks this expansion for recomputation.
    pub fn add(&mut self, tree: &mut Tree, id: ExpansionId) {
        if id == NONE || tree.expansion(id).is_dirty {
            return;
        }
        let expansion = tree.expansion_mut(id);
        expansion.is_dirty = true;
        let ply = usize::from(expansion.ply);
        if self.by_ply.len() <= ply {
            self.by_ply.resize_with(ply + 1, Vec::new);
        }
        self.by_ply[ply].push(id);
    }

    /// Recomputes everything marked and its ancestors, deepest first, and stores what grew deeper.
    pub fn run(
        &mut self,
        tree: &mut Tree,
        backup: &dyn Backup,
        table: &mut Table,
        table_depth: f32,
    ) {
        for ply in (0..self.by_ply.len()).rev() {
            let mut waiting = std::mem::take(&mut self.by_ply[ply]);
            for id in waiting.drain(..) {
                backup.recompute(tree, id);
                tree.expansion_mut(id).is_dirty = false;
                remember_growth(tree, table, id, table_depth);
                let parent = tree.expansion(id).parent();
                self.add(tree, parent);
            }
            self.by_ply[ply] = waiting;
        }
    }
}

/// Recomputes the whole tree, children before parents.
pub fn recompute_all(tree: &mut Tree, backup: &dyn Backup) {
    for id in (0..tree.expansion_count() as ExpansionId).rev() {
        backup.recompute(tree, id);
    }
}
