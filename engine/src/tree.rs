//! The search tree: an arena of nodes under a hard cap of memory.
//!
//! Every legal move of an expanded position has a [`Node`]; the nodes of one position lie side by
//! side. What only an expanded position has is its [`Branch`]. Both arenas only ever grow at the
//! end, so a branch always lies behind its parent; dropping subtrees slides the rest down in one
//! pass ([`Tree::retain`]) and keeps that order.

use shakmaty::{Move, Square};

use crate::node::{BranchId, KNOWN, NONE, Node, NodeId, ROOT, Verdict};

/// Legal moves of one branch that memory is reckoned for.
const USUAL_MOVES: usize = 24;

/// What an expanded position has besides its node.
#[derive(Clone, Copy, Debug)]
pub struct Branch {
    /// Key of the position.
    pub key: u64,
    /// Its node.
    pub node: NodeId,
    /// The branch its node belongs to; [`NONE`] at the root.
    pub parent: BranchId,
    /// The first of its children.
    pub first: NodeId,
    /// How many children there are.
    pub count: u16,
    /// Moves from the root.
    pub ply: u16,
    /// Place of the best child among the children.
    pub best: u16,
    /// Depth at which the value last went into the table, whole plies.
    pub stored_depth: u8,
    /// Set while the branch waits in a sweep.
    pub is_dirty: bool,
    /// The evaluator's name for the position.
    pub handle: u32,
    /// The evaluator's own value.
    pub static_value: f32,
    /// Value known before expansion, from the table or a folded subtree.
    pub known_value: f32,
    /// Depth of that value; -1 for none.
    pub known_depth: f32,
}

impl Branch {
    /// The branch of `node`, which lies below `parent`: nothing known but the evaluator's own value.
    pub fn new(key: u64, [node, parent]: [u32; 2], static_value: f32) -> Self {
        Self {
            key,
            node,
            parent,
            first: 0,
            count: 0,
            ply: 0,
            best: 0,
            stored_depth: 0,
            is_dirty: false,
            handle: 0,
            static_value,
            known_value: 0.0,
            known_depth: -1.0,
        }
    }

    /// The children's indices.
    pub fn children(&self) -> std::ops::Range<NodeId> {
        self.first..self.first + NodeId::from(self.count)
    }

    /// The best child.
    pub fn best_child(&self) -> NodeId {
        self.first + NodeId::from(self.best)
    }
}

/// The arena.
#[derive(Debug)]
pub struct Tree {
    nodes: Vec<Node>,
    branches: Vec<Branch>,
    node_cap: usize,
    branch_cap: usize,
}

impl Tree {
    /// An empty tree that never takes more than about `bytes`; memory is touched only when used.
    /// Where the system refuses it, the tree is smaller.
    pub fn new(bytes: usize) -> Self {
        let share = USUAL_MOVES * size_of::<Node>() + size_of::<Branch>();
        let mut branch_cap = (bytes / share).clamp(64, NONE as usize / (2 * USUAL_MOVES));
        let (mut nodes, mut branches) = (Vec::new(), Vec::new());
        while nodes.try_reserve_exact(branch_cap * USUAL_MOVES).is_err()
            || branches.try_reserve_exact(branch_cap).is_err()
        {
            (nodes, branches) = (Vec::new(), Vec::new());
            branch_cap /= 2;
        }
        let mut tree = Self { nodes, branches, node_cap: branch_cap * USUAL_MOVES, branch_cap };
        tree.clear();
        tree
    }

    /// Leaves only an unevaluated root.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.branches.clear();
        let nothing = Move::EnPassant { from: Square::A1, to: Square::A1 };
        self.nodes.push(Node::bare(nothing, 0.5, 1.0, 1.0));
    }

    /// The node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id as usize]
    }

    /// The node, to be changed.
    pub fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id as usize]
    }

    /// The branch.
    pub fn branch(&self, id: BranchId) -> &Branch {
        &self.branches[id as usize]
    }

    /// The branch, to be changed.
    pub fn branch_mut(&mut self, id: BranchId) -> &mut Branch {
        &mut self.branches[id as usize]
    }

    /// The node's branch, if it is expanded.
    pub fn branch_of(&self, id: NodeId) -> Option<&Branch> {
        self.branches.get(self.node(id).branch as usize)
    }

    /// The children of a branch.
    pub fn children(&self, branch: &Branch) -> &[Node] {
        &self.nodes[branch.first as usize..][..usize::from(branch.count)]
    }

    /// Nodes in the tree.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether not even the root was evaluated.
    pub fn is_empty(&self) -> bool {
        self.branches.is_empty()
    }

    /// Expanded positions in the tree.
    pub fn branch_count(&self) -> usize {
        self.branches.len()
    }

    /// Memory in use, bytes.
    pub fn bytes(&self) -> usize {
        self.nodes.len() * size_of::<Node>() + self.branches.len() * size_of::<Branch>()
    }

    /// Memory the tree may use, bytes.
    pub fn capacity_bytes(&self) -> usize {
        self.node_cap * size_of::<Node>() + self.branch_cap * size_of::<Branch>()
    }

    /// Share in use, permille, of whichever arena is fuller.
    pub fn permille(&self) -> u32 {
        let nodes = self.nodes.len() * 1000 / self.node_cap.max(1);
        let branches = self.branches.len() * 1000 / self.branch_cap.max(1);
        nodes.max(branches).min(1000) as u32
    }

    /// Whether this many more positions with this many legal moves in all find room.
    pub fn has_room(&self, positions: usize, moves: usize) -> bool {
        self.branches.len() + positions <= self.branch_cap
            && self.nodes.len() + moves <= self.node_cap
    }

    /// Gives `branch.node` its children; fills in `first`, `count` and `ply`. Ask
    /// [`Tree::has_room`] before.
    pub fn expand(&mut self, mut branch: Branch, children: &[Node]) -> BranchId {
        let id = self.branches.len() as BranchId;
        branch.first = self.nodes.len() as NodeId;
        branch.count = children.len() as u16;
        branch.ply = self.branches.get(branch.parent as usize).map_or(0, |above| above.ply + 1);
        self.nodes.extend_from_slice(children);
        self.node_mut(branch.node).branch = id;
        self.branches.push(branch);
        id
    }

    /// Makes `root` the root and keeps, of what lies below it, the branches for which `keep` holds
    /// and whose ancestors are kept. A node that loses its branch keeps value and depth. Nothing
    /// may be pending.
    pub fn retain(&mut self, root: NodeId, mut keep: impl FnMut(BranchId, &Branch) -> bool) {
        let mut new_ids = vec![NONE; self.branches.len()];
        let mut kept: BranchId = 0;
        for (id, branch) in self.branches.iter().enumerate() {
            let parent_kept =
                new_ids.get(branch.parent as usize).is_some_and(|&parent| parent != NONE);
            if branch.node == root || parent_kept && keep(id as BranchId, branch) {
                new_ids[id] = kept;
                kept += 1;
            }
        }
        let mut top = self.nodes[root as usize];
        let base_ply = self.branch_of(root).map_or(0, |branch| branch.ply);
        self.adopt(&mut top, &new_ids, ROOT);
        self.nodes[ROOT as usize] = top;
        let mut next_node: NodeId = 1;
        for id in 0..new_ids.len() {
            let new_id = new_ids[id];
            if new_id == NONE {
                continue;
            }
            let mut branch = self.branches[id];
            let first = next_node;
            for child in branch.children() {
                let mut node = self.nodes[child as usize];
                self.adopt(&mut node, &new_ids, next_node);
                self.nodes[next_node as usize] = node;
                next_node += 1;
            }
            let is_root = branch.node == ROOT;
            branch.parent = if is_root { NONE } else { new_ids[branch.parent as usize] };
            branch.first = first;
            branch.ply -= base_ply;
            self.branches[new_id as usize] = branch;
        }
        self.nodes.truncate(next_node as usize);
        self.branches.truncate(kept as usize);
    }

    /// Points a node that moves to `place` and its branch at each other again.
    fn adopt(&mut self, node: &mut Node, new_ids: &[BranchId], place: NodeId) {
        if node.branch == NONE {
            return;
        }
        let new_id = new_ids[node.branch as usize];
        if new_id == NONE {
            node.mark(KNOWN, true);
        } else {
            self.branches[node.branch as usize].node = place;
        }
        node.branch = new_id;
    }

    /// The same number for the same tree: moves, values, work, proofs.
    pub fn signature(&self) -> u64 {
        // FNV-1a, whose definition will not change under us.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut mix = |word: u32| {
            for byte in word.to_le_bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        for node in &self.nodes {
            let (kind, plies) = match node.verdict {
                Verdict::Open => (0, 0),
                Verdict::Win(plies) => (1, plies),
                Verdict::Loss(plies) => (2, plies),
                Verdict::Draw => (3, 0),
            };
            mix(node.value.to_bits());
            mix(node.work);
            mix(node.branch);
            mix(kind << 16 | u32::from(plies));
            mix(u32::from(node.played.to()) << 8 | u32::from(node.flags));
        }
        hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some_move(number: u32) -> Move {
        Move::EnPassant { from: Square::new(number % 64), to: Square::A1 }
    }

    fn branch(node: NodeId, parent: BranchId) -> Branch {
        Branch::new(7, [node, parent], 0.5)
    }

    fn family(count: u32) -> Vec<Node> {
        (0..count).map(|number| Node::bare(some_move(number), 0.5, 0.1, 1.0)).collect()
    }

    /// Root with three moves, the second and third expanded, and one grandchild expanded.
    fn small_tree() -> Tree {
        let mut tree = Tree::new(1 << 20);
        let top = tree.expand(branch(ROOT, NONE), &family(3));
        let second = tree.expand(branch(2, top), &family(2));
        tree.expand(branch(3, top), &family(4));
        let below_second = tree.branch(second).first + 1;
        tree.expand(branch(below_second, second), &family(5));
        tree
    }

    fn assert_sound(tree: &Tree) {
        for id in 0..tree.branch_count() as BranchId {
            let here = tree.branch(id);
            assert_eq!(tree.node(here.node).branch, id);
            if here.parent == NONE {
                assert_eq!((here.node, here.ply), (ROOT, 0));
            } else {
                assert!(tree.branch(here.parent).children().contains(&here.node));
                assert_eq!(here.ply, tree.branch(here.parent).ply + 1);
            }
        }
    }

    #[test]
    fn keeps_a_subtree() {
        let mut tree = small_tree();
        assert_sound(&tree);
        assert_eq!((tree.len(), tree.branch_count()), (15, 4));
        tree.retain(2, |_, _| true);
        assert_sound(&tree);
        assert_eq!((tree.len(), tree.branch_count()), (1 + 2 + 5, 2));
    }

    #[test]
    fn folds_a_subtree() {
        let mut tree = small_tree();
        tree.retain(ROOT, |_, here| here.ply < 2 && here.count != 4);
        assert_sound(&tree);
        assert_eq!((tree.len(), tree.branch_count()), (1 + 3 + 2, 2));
        assert!(tree.node(3).has(KNOWN) && !tree.node(3).is_expanded());
    }

    #[test]
    fn a_leaf_can_become_the_root() {
        let mut tree = small_tree();
        tree.retain(1, |_, _| true);
        assert_eq!((tree.len(), tree.branch_count()), (1, 0));
    }

    #[test]
    fn stays_below_its_cap() {
        let mut tree = Tree::new(1 << 16);
        assert!(tree.capacity_bytes() <= 1 << 17);
        let mut parent = NONE;
        while tree.has_room(1, 30) {
            let node = if parent == NONE { ROOT } else { tree.branch(parent).first };
            parent = tree.expand(branch(node, parent), &family(30));
        }
        assert!(tree.bytes() <= tree.capacity_bytes());
        assert!(tree.permille() > 900);
    }
}
