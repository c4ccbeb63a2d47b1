//! Dropping subtrees: what stays slides down in place, in one pass each over nodes and branches.

use super::{BLOCKS, Branch, Tree, block_of};
use crate::tree::node::{BranchId, KNOWN, NONE, Node, NodeId, ROOT};

/// Marks the first node of a block while the tree is compacted; its branch's name is here then, and
/// its own branch is where the branch keeps the block.
pub(super) const HEAD: u8 = 1 << 7;

impl Tree {
    /// Makes `root` the root and keeps, of what lies below it, the branches for which `keep` holds
    /// and whose ancestors are kept. A node that loses its branch keeps value and depth. Nothing
    /// may be pending.
    pub fn retain(&mut self, root: NodeId, mut keep: impl FnMut(BranchId, &Branch) -> bool) {
        let top = self.node(root).branch;
        let mut new_ids = vec![NONE; self.branches.len()];
        let mut kept: BranchId = 0;
        for (id, branch) in self.branches.iter().enumerate() {
            let id = id as BranchId;
            let is_above = new_ids.get(branch.parent as usize).is_some_and(|&new| new != NONE);
            if id == top || is_above && keep(id, branch) {
                new_ids[id as usize] = kept;
                kept += 1;
            }
        }
        let base_ply = self.branch_of(root).map_or(0, |branch| branch.ply);
        let mut node = self.nodes[root as usize];
        adopt(&mut node, &new_ids);
        self.nodes[ROOT as usize] = node;
        self.slide_nodes(&new_ids);
        self.slide_branches(&new_ids, base_ply);
        self.branches.truncate(kept as usize);
        if let Some(branch) = self.branches.first_mut() {
            (branch.parent, branch.place) = (NONE, 0);
        }
    }

    /// Slides the nodes of the branches that stay down, in the smallest blocks that hold them.
    fn slide_nodes(&mut self, new_ids: &[BranchId]) {
        for (id, branch) in self.branches.iter_mut().enumerate() {
            if new_ids[id] != NONE && branch.count > 0 {
                let head = &mut self.nodes[branch.first as usize];
                branch.first = std::mem::replace(&mut head.branch, id as BranchId);
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
            let branch = &mut self.branches[self.nodes[from].branch as usize];
            let head = &mut self.nodes[from];
            head.mark(HEAD, false);
            head.branch = branch.first;
            let count = usize::from(branch.count);
            let old_size = usize::from(BLOCKS[usize::from(branch.block)]);
            let block = block_of(count);
            (branch.first, branch.block) = (to as NodeId, block as u8);
            self.nodes.copy_within(from..from + count, to);
            for node in &mut self.nodes[to..to + count] {
                adopt(node, new_ids);
            }
            from += old_size;
            to += usize::from(BLOCKS[block]);
        }
        self.nodes.truncate(to);
    }

    /// Slides the branches that stay down, and their edges.
    fn slide_branches(&mut self, new_ids: &[BranchId], base_ply: u8) {
        let mut next_edge = 0;
        for (id, &new_id) in new_ids.iter().enumerate() {
            if new_id == NONE {
                continue;
            }
            let mut branch = self.branches[id];
            if branch.count == 0 {
                branch.first = NONE;
            }
            let edges = branch.edges as usize..branch.edges as usize + usize::from(branch.moves);
            self.edges.copy_within(edges, next_edge);
            branch.edges = next_edge as u32;
            next_edge += usize::from(branch.moves);
            branch.parent = new_ids.get(branch.parent as usize).copied().unwrap_or(NONE);
            branch.ply -= base_ply;
            self.branches[new_id as usize] = branch;
        }
        self.edges.truncate(next_edge);
    }
}

/// Points a node at its branch's new name; one that loses its branch keeps what it knows.
fn adopt(node: &mut Node, new_ids: &[BranchId]) {
    if node.branch == NONE {
        return;
    }
    node.branch = new_ids[node.branch as usize];
    if node.branch == NONE {
        node.mark(KNOWN, true);
    }
}
