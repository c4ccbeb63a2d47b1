//! The search tree: an arena under a hard cap of memory.
//!
//! An evaluated position has a [`Branch`]; each of its legal moves has an [`Edge`], two bytes with what
//! the evaluator said of it. Only a move that was looked at has a [`Node`] as well: it was *promoted*.
//! The nodes of one position lie side by side in a block that is exchanged for a larger one as they
//! become more. Branches and edges only ever grow at the end, so a branch always lies behind its
//! parent; dropping subtrees slides the rest down in place ([`Tree::retain`]) and keeps that order.

mod compact;

use std::ops::Range;

use shakmaty::{Move, Square};

use crate::chess::score::Verdict;
use crate::tree::branch::Branch;
use crate::tree::edge::Edge;
use crate::tree::node::{BranchId, Goal, NONE, Node, NodeId, ROOT, Spot};

/// Legal moves of one position that memory is reckoned for, and nodes.
const USUAL_MOVES: usize = 40;
const USUAL_NODES: usize = 2;
// A position may cost 200 bytes, its moves that were never looked at included.
const _: () = assert!(Tree::BYTES_EACH <= 200);
/// Smallest tree, positions: the root's nodes alone may be 218.
const FEWEST: usize = 512;
/// Sizes of a block of nodes.
const BLOCKS: [u16; 16] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256];

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
    goal: Goal,
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
        let mut tree =
            Self { nodes, branches, edges, free: [NONE; BLOCKS.len()], cap, goal: Goal::Result };
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

    /// Leaves only an unevaluated root, of a tree that is to prove this.
    pub fn clear_for(&mut self, goal: Goal) {
        self.clear();
        self.goal = goal;
    }

    /// What it is to prove.
    pub fn goal(&self) -> Goal {
        self.goal
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

    /// A branch and those above it, up to the root's.
    pub fn upwards(&self, id: BranchId) -> impl Iterator<Item = BranchId> {
        let known = |id: BranchId| (id != NONE).then_some(id);
        std::iter::successors(known(id), move |&id| known(self.branch(id).parent))
    }

    /// The branches along the best line, the root's first.
    pub fn principal_variation(&self) -> Vec<BranchId> {
        let mut ids = Vec::new();
        let mut node = ROOT;
        while let Some(branch) = self.branch_of(node) {
            ids.push(self.node(node).branch);
            let Some(best) = branch.best_child() else { break };
            node = best;
        }
        ids
    }

    /// Every node, the root first, then by branch.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        let below = self.branches.iter().flat_map(|branch| self.children(branch));
        std::iter::once(&self.nodes[ROOT as usize]).chain(below)
    }

    /// Changes every node but the root's, and is told what the evaluator said of the move that leads there.
    pub fn for_each_child(&mut self, mut change: impl FnMut(&mut Node, Edge)) {
        for branch in &self.branches {
            let Range { start, end } = branch.children();
            let edges = &self.edges[branch.edges as usize..];
            for node in &mut self.nodes[start as usize..end as usize] {
                change(node, edges[usize::from(node.edge)]);
            }
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
    pub fn expand(
        &mut self,
        mut branch: Branch,
        edges: impl ExactSizeIterator<Item = Edge>,
    ) -> BranchId {
        let id = self.branches.len() as BranchId;
        branch.edges = self.edges.len() as u32;
        // No position of chess has more than 218 legal moves.
        branch.moves = edges.len().min(usize::from(u8::MAX)) as u8;
        let above = self.branches.get(branch.parent as usize);
        branch.ply = above.map_or(0, |above| above.ply.saturating_add(1));
        self.edges.extend(edges.take(usize::from(branch.moves)));
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

#[cfg(test)]
mod tests;
