//! The search tree: an arena under a hard cap of memory.
//!
//! An evaluated position has a [`Branch`]; each of its legal moves has an [`Edge`], two bytes with what
//! the evaluator said of it. Only a move that was looked at has a [`Node`] as well: it was *promoted*.
//! The nodes of one position lie side by side in a block that is exchanged for a larger one as they
//! become more. Branches and edges only ever grow at the end, so a branch always lies behind its
//! parent; dropping subtrees slides the rest down in place ([`Tree::retain`]) and keeps that order.

use std::ops::Range;

use shakmaty::{Move, Square};

use crate::edge::Edge;
use crate::node::{BranchId, KNOWN, NONE, Node, NodeId, ROOT, Spot, Verdict};

/// Legal moves of one position that memory is reckoned for, and nodes.
const USUAL_MOVES: usize = 40;
const USUAL_NODES: usize = 2;
// A position may cost 200 bytes, its moves that were never looked at included.
const _: () = assert!(Tree::BYTES_EACH <= 200);
/// Smallest tree, positions: the root's nodes alone may be 218.
const FEWEST: usize = 512;
/// Sizes of a block of nodes.
const BLOCKS: [u16; 16] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256];
/// [`Branch::best`] where no move that was looked at is the best.
const NO_PLACE: u8 = u8::MAX;
/// Marks the first node of a block while the tree is compacted; its branch's name is here then, and
/// its own branch is where the branch keeps the block.
const HEAD: u8 = 1 << 7;

/// What an evaluated position has besides its node.
#[derive(Clone, Copy, Debug)]
pub struct Branch {
    /// Key of the position.
    pub key: u64,
    /// Where its node is.
    parent: BranchId,
    place: u8,
    /// How many of its moves have nodes, the first of them, and which size of block they are in.
    count: u8,
    block: u8,
    /// Place of the best among the nodes, or [`NO_PLACE`].
    best: u8,
    first: NodeId,
    /// The first of its edges, and how many legal moves there are.
    edges: u32,
    moves: u8,
    /// Depth at which the value last went into the table, whole plies.
    pub stored_depth: u8,
    /// Moves from the root.
    pub ply: u8,
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
    /// The branch of a node: nothing known but the evaluator's own value.
    pub fn new(key: u64, node: Spot, static_value: f32) -> Self {
        Self {
            key,
            parent: node.parent,
            place: node.place,
            count: 0,
            block: 0,
            best: NO_PLACE,
            first: NONE,
            edges: 0,
            moves: 0,
            stored_depth: 0,
            ply: 0,
            is_dirty: false,
            handle: 0,
            static_value,
            known_value: 0.0,
            known_depth: -1.0,
        }
    }

    /// The branch its node belongs to; [`NONE`] at the root.
    pub fn parent(&self) -> BranchId {
        self.parent
    }

    /// Where its node is.
    pub fn spot(&self) -> Spot {
        Spot { parent: self.parent, place: self.place }
    }

    /// The nodes below it.
    pub fn children(&self) -> Range<NodeId> {
        if self.count == 0 { 0..0 } else { self.first..self.first + NodeId::from(self.count) }
    }

    /// The best child, if it was looked at.
    pub fn best_child(&self) -> Option<NodeId> {
        (self.best < self.count).then(|| self.first + NodeId::from(self.best))
    }

    /// Says which child is the best, by its place; `None` = one that was never looked at.
    pub fn set_best(&mut self, place: Option<u8>) {
        self.best = place.unwrap_or(NO_PLACE);
    }
}

/// The arena.
#[derive(Debug)]
pub struct Tree {
    nodes: Vec<Node>,
    branches: Vec<Branch>,
    edges: Vec<Edge>,
    /// By size of block: the first free one; each says where the next is.
    free: [NodeId; BLOCKS.len()],
    /// Positions that fit.
    cap: usize,
}

impl Tree {
    /// An empty tree that never takes more than about `bytes`; memory is touched only when used.
    /// Where the system refuses it, the tree is smaller.
    pub fn new(bytes: usize) -> Self {
        let mut cap = (bytes / Self::BYTES_EACH).clamp(FEWEST, NONE as usize / (2 * USUAL_MOVES));
        let (mut nodes, mut branches, mut edges) = (Vec::new(), Vec::new(), Vec::new());
        while nodes.try_reserve_exact(cap * USUAL_NODES).is_err()
            || branches.try_reserve_exact(cap).is_err()
            || edges.try_reserve_exact(cap * USUAL_MOVES).is_err()
        {
            (nodes, branches, edges) = (Vec::new(), Vec::new(), Vec::new());
            cap /= 2;
        }
        let mut tree = Self { nodes, branches, edges, free: [NONE; BLOCKS.len()], cap };
        tree.clear();
        tree
    }

    /// Memory that is reckoned for an evaluated position and all that belongs to it, bytes.
    pub const BYTES_EACH: usize =
        USUAL_NODES * size_of::<Node>() + USUAL_MOVES * size_of::<Edge>() + size_of::<Branch>();

    /// Leaves only an unevaluated root.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.branches.clear();
        self.edges.clear();
        self.free = [NONE; BLOCKS.len()];
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

    /// The node in this spot.
    pub fn at(&self, spot: Spot) -> NodeId {
        if spot.is_root() {
            ROOT
        } else {
            self.branches[spot.parent as usize].first + NodeId::from(spot.place)
        }
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

    /// A branch's node.
    pub fn node_of(&self, branch: &Branch) -> NodeId {
        self.at(branch.spot())
    }

    /// The children of a branch that were looked at, in the order in which they were.
    pub fn children(&self, branch: &Branch) -> &[Node] {
        let Range { start, end } = branch.children();
        &self.nodes[start as usize..end as usize]
    }

    /// The legal moves of a branch; [`Edge::is_taken`] says which are among [`Self::children`].
    pub fn edges(&self, branch: &Branch) -> &[Edge] {
        &self.edges[branch.edges as usize..][..usize::from(branch.moves)]
    }

    /// Whether some move of a branch was never looked at.
    pub fn has_edges_left(branch: &Branch) -> bool {
        branch.count < branch.moves
    }

    /// A branch and those above it, up to the root's.
    pub fn upwards(&self, id: BranchId) -> impl Iterator<Item = BranchId> {
        let known = |id: BranchId| (id != NONE).then_some(id);
        std::iter::successors(known(id), move |&id| known(self.branch(id).parent))
    }

    /// Every node, the root first, then by branch.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        let below = self.branches.iter().flat_map(|branch| self.children(branch));
        std::iter::once(&self.nodes[ROOT as usize]).chain(below)
    }

    /// Changes every node.
    pub fn for_each_node(&mut self, mut change: impl FnMut(&mut Node)) {
        change(&mut self.nodes[ROOT as usize]);
        for branch in &self.branches {
            let Range { start, end } = branch.children();
            self.nodes[start as usize..end as usize].iter_mut().for_each(&mut change);
        }
    }

    /// Whether not even the root was evaluated.
    pub fn is_empty(&self) -> bool {
        self.branches.is_empty()
    }

    /// Evaluated positions in the tree.
    pub fn branch_count(&self) -> usize {
        self.branches.len()
    }

    /// Memory in use, bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self.nodes.as_slice())
            + size_of_val(self.branches.as_slice())
            + size_of_val(self.edges.as_slice())
    }

    /// Memory the tree may use, bytes.
    pub fn capacity_bytes(&self) -> usize {
        self.cap * Self::BYTES_EACH
    }

    /// Share in use, permille, of whichever part is fullest.
    pub fn permille(&self) -> u32 {
        let cap = self.cap.max(1);
        let nodes = self.nodes.len() * 1000 / (cap * USUAL_NODES);
        let branches = self.branches.len() * 1000 / cap;
        let edges = self.edges.len() * 1000 / (cap * USUAL_MOVES);
        nodes.max(branches).max(edges).min(1000) as u32
    }

    /// Whether this many more positions with this many legal moves in all find room.
    pub fn has_room(&self, positions: usize, moves: usize) -> bool {
        self.branches.len() + positions <= self.cap
            && self.edges.len() + moves <= self.cap * USUAL_MOVES
    }

    /// Gives the node of `branch` its moves; fills in what places them. Ask [`Tree::has_room`]
    /// before.
    pub fn expand(&mut self, mut branch: Branch, edges: &[Edge]) -> BranchId {
        let id = self.branches.len() as BranchId;
        branch.edges = self.edges.len() as u32;
        // No position of chess has more than 218 legal moves.
        branch.moves = edges.len().min(usize::from(u8::MAX)) as u8;
        let above = self.branches.get(branch.parent as usize);
        branch.ply = above.map_or(0, |above| above.ply.saturating_add(1));
        self.edges.extend_from_slice(&edges[..usize::from(branch.moves)]);
        let node = self.node_of(&branch);
        self.node_mut(node).branch = id;
        self.branches.push(branch);
        id
    }

    /// Gives a move of a branch, by its place among the legal ones, a node of its own; answers with
    /// the node's place, or nothing where there is no room. The ids of the branch's nodes may change.
    pub fn promote(&mut self, id: BranchId, edge: usize, played: Move) -> Option<u8> {
        let branch = *self.branch(id);
        let spread = self.node(self.node_of(&branch)).spread;
        let number = branch.edges as usize + edge;
        let said = self.edges[number];
        let (value, policy) = (1.0 - said.action_value(), said.policy());
        let node = Node { edge: edge as u8, ..Node::bare(played, value, policy, spread) };
        let block = usize::from(branch.block);
        let first = match branch.first {
            NONE => self.grow(id, 0)?,
            _ if u16::from(branch.count) == BLOCKS[block] => self.grow(id, block + 1)?,
            first => first,
        };
        self.edges[number] = said.taken();
        self.nodes[first as usize + usize::from(branch.count)] = node;
        self.branch_mut(id).count += 1;
        Some(branch.count)
    }

    /// Makes room for nodes of all moves of a branch at once, if there is any.
    pub fn reserve(&mut self, id: BranchId) -> bool {
        let branch = *self.branch(id);
        let block = block_of(usize::from(branch.moves));
        let is_there = branch.first != NONE && usize::from(branch.block) >= block;
        is_there || self.grow(id, block).is_some()
    }

    /// Gives all moves of a branch nodes; says whether there was room. `moves` = the legal ones.
    pub fn promote_all(&mut self, id: BranchId, moves: &[Move]) -> bool {
        self.reserve(id)
            && moves.iter().enumerate().all(|(edge, &played)| {
                let edges = self.edges(self.branch(id));
                let is_taken = edges.get(edge).is_none_or(|edge| edge.is_taken());
                is_taken || self.promote(id, edge, played).is_some()
            })
    }

    /// Moves a branch's nodes to a larger block; answers where that is.
    fn grow(&mut self, id: BranchId, block: usize) -> Option<NodeId> {
        let branch = *self.branch(id);
        let first = self.take_block(block)?;
        let Range { start, end } = branch.children();
        self.nodes.copy_within(start as usize..end as usize, first as usize);
        if branch.first != NONE {
            let next = &mut self.free[usize::from(branch.block)];
            self.nodes[branch.first as usize].branch = *next;
            *next = branch.first;
        }
        let branch = self.branch_mut(id);
        (branch.first, branch.block) = (first, block as u8);
        Some(first)
    }

    fn take_block(&mut self, block: usize) -> Option<NodeId> {
        let head = self.free[block];
        if head != NONE {
            self.free[block] = self.node(head).branch;
            return Some(head);
        }
        let (first, size) = (self.nodes.len(), usize::from(BLOCKS[block]));
        if first + size > self.cap * USUAL_NODES {
            return None;
        }
        let filler = self.nodes[ROOT as usize];
        self.nodes.resize(first + size, filler);
        Some(first as NodeId)
    }

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

    /// The same number for the same tree: moves, values, work, proofs.
    pub fn signature(&self) -> u64 {
        // FNV-1a, whose definition will not change under us.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut mix = |word: u32| {
            for byte in word.to_le_bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        for node in self.nodes() {
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

/// The smallest size of block that holds so many nodes.
fn block_of(count: usize) -> usize {
    BLOCKS.iter().take_while(|&&size| usize::from(size) < count).count()
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn some_move(number: usize) -> Move {
        Move::EnPassant { from: Square::new(number as u32 % 64), to: Square::A1 }
    }

    /// Expands the node in this spot to so many moves.
    fn expand(tree: &mut Tree, spot: Spot, moves: usize) -> BranchId {
        let edges: Vec<Edge> =
            (0..moves).map(|n| Edge::new(0.9 / (n + 1) as f32, 0.002 * n as f32)).collect();
        tree.expand(Branch::new(7, spot, 0.5), &edges)
    }

    fn promote(tree: &mut Tree, parent: BranchId, edge: usize) -> Spot {
        Spot { parent, place: tree.promote(parent, edge, some_move(edge)).unwrap() }
    }

    /// Root with three moves, the second and third expanded, and one grandchild expanded.
    fn small_tree() -> Tree {
        let mut tree = Tree::new(1 << 20);
        let top = expand(&mut tree, Spot::ROOT, 3);
        let second = promote(&mut tree, top, 1);
        let below = expand(&mut tree, second, 2);
        let third = promote(&mut tree, top, 2);
        expand(&mut tree, third, 4);
        let grandchild = promote(&mut tree, below, 1);
        expand(&mut tree, grandchild, 5);
        tree
    }

    fn assert_sound(tree: &Tree) {
        let mut owned = std::collections::HashSet::from([ROOT]);
        for id in 0..tree.branch_count() as BranchId {
            let here = tree.branch(id);
            assert_eq!(tree.node(tree.node_of(here)).branch, id);
            if here.parent == NONE {
                assert_eq!((id, here.ply), (0, 0));
            } else {
                assert!(here.parent < id);
                assert!(here.place < tree.branch(here.parent).count);
                assert_eq!(here.ply, tree.branch(here.parent).ply + 1);
            }
            for child in here.children() {
                assert!(owned.insert(child), "two positions share a node");
                assert!(!tree.node(child).has(HEAD));
            }
            let taken: Vec<usize> = (0..tree.edges(here).len())
                .filter(|&edge| tree.edges(here)[edge].is_taken())
                .collect();
            let mut promoted: Vec<usize> =
                tree.children(here).iter().map(|child| usize::from(child.edge)).collect();
            promoted.sort_unstable();
            assert_eq!(taken, promoted);
            for child in tree.children(here) {
                assert_eq!(child.played, some_move(usize::from(child.edge)));
            }
        }
        assert!(tree.bytes() <= tree.capacity_bytes());
    }

    #[test]
    fn keeps_a_subtree() {
        let mut tree = small_tree();
        assert_sound(&tree);
        assert_eq!((tree.nodes().count(), tree.branch_count()), (4, 4));
        tree.retain(tree.at(Spot { parent: 0, place: 0 }), |_, _| true);
        assert_sound(&tree);
        assert_eq!((tree.nodes().count(), tree.branch_count()), (2, 2));
    }

    #[test]
    fn folds_a_subtree() {
        let mut tree = small_tree();
        tree.retain(ROOT, |_, here| here.ply < 2 && here.moves != 4);
        assert_sound(&tree);
        assert_eq!((tree.nodes().count(), tree.branch_count()), (4, 2));
        let third = tree.node(tree.at(Spot { parent: 0, place: 1 }));
        assert!(third.has(KNOWN) && !third.is_expanded());
    }

    #[test]
    fn a_leaf_can_become_the_root() {
        let mut tree = small_tree();
        let leaf = promote(&mut tree, 0, 0);
        tree.retain(tree.at(leaf), |_, _| true);
        assert_eq!((tree.nodes().count(), tree.branch_count()), (1, 0));
        assert_eq!(tree.node(ROOT).played, some_move(0));
    }

    /// A root may have more moves than any block but the largest holds; and what is reserved is used.
    #[test]
    fn the_root_has_room_for_all_its_moves() {
        let mut tree = Tree::new(0);
        let moves: Vec<Move> = (0..218).map(some_move).collect();
        let id = expand(&mut tree, Spot::ROOT, moves.len());
        assert!(tree.reserve(id));
        let before = tree.bytes();
        assert!(tree.promote_all(id, &moves));
        assert_eq!((tree.bytes(), tree.children(tree.branch(id)).len()), (before, 218));
        assert_sound(&tree);
        tree.retain(ROOT, |_, _| true);
        assert_sound(&tree);
        assert_eq!(tree.children(tree.branch(id)).len(), 218);
    }

    #[test]
    fn stays_below_its_cap() {
        let mut tree = Tree::new(1 << 16);
        assert!(tree.capacity_bytes() <= 1 << 17);
        let mut spot = Spot::ROOT;
        while tree.has_room(1, 30) {
            let id = expand(&mut tree, spot, 30);
            let Some(place) = tree.promote(id, 0, some_move(0)) else { break };
            spot = Spot { parent: id, place };
        }
        assert!(tree.bytes() <= tree.capacity_bytes());
        assert!(tree.permille() > 700);
    }

    proptest! {
        /// Whatever is looked at, expanded, folded and made the root: nodes belong to one position
        /// each, and keep what they know.
        #[test]
        fn stays_sound(steps in prop::collection::vec((0..100_u8, any::<u16>(), any::<u16>()), 1..200)) {
            let mut tree = Tree::new(1 << 20);
            expand(&mut tree, Spot::ROOT, 20);
            for (kind, first, second) in steps {
                let branches = tree.branch_count();
                if branches == 0 {
                    expand(&mut tree, Spot::ROOT, 20);
                    continue;
                }
                let id = (usize::from(first) % branches) as BranchId;
                let branch = *tree.branch(id);
                match kind {
                    0..70 => {
                        let edge = usize::from(second) % usize::from(branch.moves);
                        if !tree.edges(&branch)[edge].is_taken() {
                            let said = tree.edges(&branch)[edge];
                            let spot = promote(&mut tree, id, edge);
                            let node = *tree.node(tree.at(spot));
                            prop_assert!((node.value + said.action_value() - 1.0).abs() < 1e-6);
                            if kind < 40 {
                                expand(&mut tree, spot, 1 + usize::from(second) % 40);
                            }
                        }
                    }
                    70..95 => tree.retain(ROOT, |other, here| other != id && here.ply < 9),
                    _ => tree.retain(tree.node_of(&branch), |_, _| true),
                }
                assert_sound(&tree);
            }
        }
    }
}
