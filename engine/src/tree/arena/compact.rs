//! Dropping subtrees: what stays slides down in place, in one pass each over nodes and expansions.

use super::{BLOCKS, Expansion, Tree, block_of};
use crate::tree::node::{ExpansionId, KNOWN, NONE, Node, NodeId, ROOT};

/// Marks the first node of a block while the tree is compacted; its expansion's name is here then,
/// and its own expansion is where the expansion keeps the block.
pub(super) const HEAD: u8 = 1 << 7;

impl Tree {
    /// Makes `root` the root and keeps, of what lies below it, the expansions for which `keep`
    /// holds and whose ancestors are kept. A node that loses its expansion keeps value and depth.
    /// Nothing may be pending. Returns the evaluator's cache ids of what is gone.
    pub fn retain(
        &mut self,
        root: NodeId,
        mut keep: impl FnMut(ExpansionId, &Expansion) -> bool,
    ) -> Vec<u32> {
        let top = self.node(root).expansion;
        let mut new_ids = vec![NONE; self.expansions.len()];
        let (mut kept, mut gone): (ExpansionId, _) = (0, Vec::new());
        for (id, expansion) in self.expansions.iter().enumerate() {
            let id = id as ExpansionId;
            let is_above = new_ids.get(expansion.parent as usize).is_some_and(|&new| new != NONE);
            if id == top || is_above && keep(id, expansion) {
                new_ids[id as usize] = kept;
                kept += 1;
            } else {
                gone.push(expansion.cache_id);
            }
        }
        let base_ply = self.expansion_of(root).map_or(0, |expansion| expansion.ply);
        let mut node = self.nodes[root as usize];
        adopt(&mut node, &new_ids);
        self.nodes[ROOT as usize] = node;
        self.slide_nodes(&new_ids);
        self.slide_branches(&new_ids, base_ply);
        self.expansions.truncate(kept as usize);
        if let Some(expansion) = self.expansions.first_mut() {
            (expansion.parent, expansion.index) = (NONE, 0);
        }
        gone
    }

    /// Slides the nodes of the expansions that stay down, in the smallest blocks that hold them.
    fn slide_nodes(&mut self, new_ids: &[ExpansionId]) {
        for (id, expansion) in self.expansions.iter_mut().enumerate() {
            if new_ids[id] != NONE && expansion.count > 0 {
                let head = &mut self.nodes[expansion.first as usize];
                expansion.first = std::mem::replace(&mut head.expansion, id as ExpansionId);
                head.mark(HEAD, true);
            }
        }
        self.free = [NONE; BLOCKS.len()];
        let (mut from, mut to) = (ROOT as usize + 1, ROOT as usize + 1);
        while from < self.nodes.len() {
            if !self.nodes[from].has(HEAD) {
                from += 1;
                continue;
            }
            let expansion = &mut self.expansions[self.nodes[from].expansion as usize];
            let head = &mut self.nodes[from];
            head.mark(HEAD, false);
            head.expansion = expansion.first;
            let count = usize::from(expansion.count);
            let old_size = usize::from(BLOCKS[usize::from(expansion.block)]);
            let block = block_of(count);
            (expansion.first, expansion.block) = (to as NodeId, block as u8);
            self.nodes.copy_within(from..from + count, to);
            for node in &mut self.nodes[to..to + count] {
                adopt(node, new_ids);
            }
            from += old_size;
            to += usize::from(BLOCKS[block]);
        }
        self.nodes.truncate(to);
    }

    /// Slides the expansions that stay down, and their edges.
    fn slide_branches(&mut self, new_ids: &[ExpansionId], base_ply: u8) {
        let mut next_edge = 0;
        for (id, &new_id) in new_ids.iter().enumerate() {
            if new_id == NONE {
                continue;
            }
            let mut expansion = self.expansions[id];
            if expansion.count == 0 {
                expansion.first = NONE;
            }
            let edges =
                expansion.edges as usize..expansion.edges as usize + usize::from(expansion.moves);
            self.edges.copy_within(edges, next_edge);
            expansion.edges = next_edge as u32;
            next_edge += usize::from(expansion.moves);
            expansion.parent = new_ids.get(expansion.parent as usize).copied().unwrap_or(NONE);
            expansion.ply -= base_ply;
            self.expansions[new_id as usize] = expansion;
        }
        self.edges.truncate(next_edge);
    }
}

/// Points a node at its expansion's new name; one that loses its expansion keeps what it knows.
fn adopt(node: &mut Node, new_ids: &[ExpansionId]) {
    if node.expansion == NONE {
        return;
    }
    node.expansion = new_ids[node.expansion as usize];
    if node.expansion == NONE {
        node.mark(KNOWN, true);
    }
}
