//! The search tree: an arena under a hard cap of memory.
//!
//! An evaluated position has an [`Expansion`]; each of its legal moves has an [`Edge`], two bytes
//! with its policy and action value. Only a move that was selected has a [`Node`] as well: the node
//! is created at the first selection. The nodes of one position lie side by side in a block that is
//! replaced by a larger one as their number grows. Expansions and edges only ever grow at the end,
//! so an expansion always comes after its parent; dropping subtrees slides the rest down in place
//! ([`Tree::retain`]) and keeps that order.

mod compact;

use std::ops::Range;

use shakmaty::{Move, Square};

use crate::chess::score::Verdict;
use crate::tree::edge::Edge;
use crate::tree::expansion::Expansion;
use crate::tree::node::{ExpansionId, Goal, NONE, Node, NodeId, ROOT, Slot};

/// Legal moves and nodes per position that the memory estimate assumes.
const USUAL_MOVES: usize = 40;
const USUAL_NODES: usize = 2;
// A position may take 200 bytes, its moves without nodes included.
const _: () = assert!(Tree::BYTES_EACH <= 200);
/// Smallest tree, positions: the root's nodes alone may be 218.
const FEWEST: usize = 512;
/// Sizes of a block of nodes.
const BLOCKS: [u16; 16] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256];

/// The arena.
#[derive(Debug)]
pub struct Tree {
    nodes: Vec<Node>,
    expansions: Vec<Expansion>,
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
        let (mut nodes, mut expansions, mut edges) = (Vec::new(), Vec::new(), Vec::new());
        while nodes.try_reserve_exact(cap * USUAL_NODES).is_err()
            || expansions.try_reserve_exact(cap).is_err()
            || edges.try_reserve_exact(cap * USUAL_MOVES).is_err()
        {
            (nodes, expansions, edges) = (Vec::new(), Vec::new(), Vec::new());
            cap /= 2;
        }
        let mut tree =
            Self { nodes, expansions, edges, free: [NONE; BLOCKS.len()], cap, goal: Goal::Result };
        tree.clear();
        tree
    }

    /// Estimated memory of an evaluated position with its moves and nodes, bytes.
    pub const BYTES_EACH: usize =
        USUAL_NODES * size_of::<Node>() + USUAL_MOVES * size_of::<Edge>() + size_of::<Expansion>();

    /// Clears the tree to an unevaluated root.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.expansions.clear();
        self.edges.clear();
        self.free = [NONE; BLOCKS.len()];
        let nothing = Move::EnPassant { from: Square::A1, to: Square::A1 };
        self.nodes.push(Node::unevaluated(nothing, 0.5, 1.0, 1.0));
    }

    /// Clears the tree to an unevaluated root, and sets its goal.
    pub fn clear_for(&mut self, goal: Goal) {
        self.clear();
        self.goal = goal;
    }

    /// The goal of the tree.
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

    /// The node in this slot.
    pub fn at(&self, slot: Slot) -> NodeId {
        if slot.is_root() {
            ROOT
        } else {
            self.expansions[slot.parent as usize].first + NodeId::from(slot.index)
        }
    }

    /// The expansion.
    pub fn expansion(&self, id: ExpansionId) -> &Expansion {
        &self.expansions[id as usize]
    }

    /// The expansion, to be changed.
    pub fn expansion_mut(&mut self, id: ExpansionId) -> &mut Expansion {
        &mut self.expansions[id as usize]
    }

    /// The node's expansion, if it is expanded.
    pub fn expansion_of(&self, id: NodeId) -> Option<&Expansion> {
        self.expansions.get(self.node(id).expansion as usize)
    }

    /// An expansion's node.
    pub fn node_of(&self, expansion: &Expansion) -> NodeId {
        self.at(expansion.slot())
    }

    /// The children of an expansion that have nodes, in the order of their creation.
    pub fn children(&self, expansion: &Expansion) -> &[Node] {
        let Range { start, end } = expansion.children();
        &self.nodes[start as usize..end as usize]
    }

    /// The legal moves of an expansion; [`Edge::is_taken`] says which are among [`Self::children`].
    pub fn edges(&self, expansion: &Expansion) -> &[Edge] {
        &self.edges[expansion.edges as usize..][..usize::from(expansion.moves)]
    }

    /// An expansion and those above it, up to the root's.
    pub fn upwards(&self, id: ExpansionId) -> impl Iterator<Item = ExpansionId> {
        let known = |id: ExpansionId| (id != NONE).then_some(id);
        std::iter::successors(known(id), move |&id| known(self.expansion(id).parent))
    }

    /// Index of the root move that leads to a slot; nothing at the root.
    pub fn root_move(&self, slot: Slot) -> Option<usize> {
        let above = self.upwards(slot.parent).map(|id| self.expansion(id).slot());
        let path = std::iter::once(slot).chain(above).take_while(|slot| !slot.is_root());
        path.last().map(|slot| usize::from(slot.index))
    }

    /// The expansions along the best line, the root's first.
    pub fn principal_variation(&self) -> Vec<ExpansionId> {
        let mut ids = Vec::new();
        let mut node = ROOT;
        while let Some(expansion) = self.expansion_of(node) {
            ids.push(self.node(node).expansion);
            let Some(best) = expansion.best_child() else { break };
            node = best;
        }
        ids
    }

    /// Every node, the root first, then by expansion.
    pub fn nodes(&self) -> impl Iterator<Item = &Node> {
        let below = self.expansions.iter().flat_map(|expansion| self.children(expansion));
        std::iter::once(&self.nodes[ROOT as usize]).chain(below)
    }

    /// Whether not even the root was evaluated.
    pub fn is_empty(&self) -> bool {
        self.expansions.is_empty()
    }

    /// Evaluated positions in the tree.
    pub fn expansion_count(&self) -> usize {
        self.expansions.len()
    }

    /// Memory in use, bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(self.nodes.as_slice())
            + size_of_val(self.expansions.as_slice())
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
        let expansions = self.expansions.len() * 1000 / cap;
        let edges = self.edges.len() * 1000 / (cap * USUAL_MOVES);
        nodes.max(expansions).max(edges).min(1000) as u32
    }

    /// Whether this many more positions with this many legal moves in all find room.
    pub fn has_room(&self, positions: usize, moves: usize) -> bool {
        self.expansions.len() + positions <= self.cap
            && self.edges.len() + moves <= self.cap * USUAL_MOVES
    }

    /// Gives the node of `expansion` its moves; fills in what places them. Ask [`Tree::has_room`]
    /// before.
    pub fn expand(
        &mut self,
        mut expansion: Expansion,
        edges: impl ExactSizeIterator<Item = Edge>,
    ) -> ExpansionId {
        let id = self.expansions.len() as ExpansionId;
        expansion.edges = self.edges.len() as u32;
        // No game has a position with more than 218 legal moves. Where one is made up that has, the
        // moves behind these are left out.
        expansion.moves = edges.len().min(usize::from(u8::MAX)) as u8;
        let above = self.expansions.get(expansion.parent as usize);
        expansion.ply = above.map_or(0, |above| above.ply.saturating_add(1));
        self.edges.extend(edges.take(usize::from(expansion.moves)));
        let node = self.node_of(&expansion);
        self.node_mut(node).expansion = id;
        self.expansions.push(expansion);
        id
    }

    /// Gives a move of an expansion, by its index among the legal ones, a node of its own; returns
    /// the node's index, or `None` where there is no room or no such move. The ids of the
    /// expansion's nodes may change.
    pub fn create_child(&mut self, id: ExpansionId, edge: usize, played: Move) -> Option<u8> {
        let expansion = *self.expansion(id);
        if edge >= usize::from(expansion.moves) {
            return None;
        }
        let spread = self.node(self.node_of(&expansion)).spread;
        let number = expansion.edges as usize + edge;
        let said = self.edges[number];
        let (value, policy) = (1.0 - said.action_value(), said.policy());
        let node = Node { edge: edge as u8, ..Node::unevaluated(played, value, policy, spread) };
        let block = usize::from(expansion.block);
        let first = match expansion.first {
            NONE => self.grow(id, 0)?,
            _ if u16::from(expansion.count) == BLOCKS[block] => self.grow(id, block + 1)?,
            first => first,
        };
        self.edges[number] = said.taken();
        self.nodes[first as usize + usize::from(expansion.count)] = node;
        self.expansion_mut(id).count += 1;
        Some(expansion.count)
    }

    /// Makes room for nodes of all moves of an expansion at once, if there is any.
    pub fn reserve(&mut self, id: ExpansionId) -> bool {
        let expansion = *self.expansion(id);
        let block = block_of(usize::from(expansion.moves));
        let is_there = expansion.first != NONE && usize::from(expansion.block) >= block;
        is_there || self.grow(id, block).is_some()
    }

    /// Gives all moves of an expansion nodes; returns whether there was room. `moves` = the legal
    /// ones.
    pub fn create_children(&mut self, id: ExpansionId, moves: &[Move]) -> bool {
        self.reserve(id)
            && moves.iter().enumerate().all(|(edge, &played)| {
                let edges = self.edges(self.expansion(id));
                let is_taken = edges.get(edge).is_none_or(|edge| edge.is_taken());
                is_taken || self.create_child(id, edge, played).is_some()
            })
    }

    /// Moves an expansion's nodes to a larger block; answers where that is.
    fn grow(&mut self, id: ExpansionId, block: usize) -> Option<NodeId> {
        let expansion = *self.expansion(id);
        let first = self.take_block(block)?;
        let Range { start, end } = expansion.children();
        self.nodes.copy_within(start as usize..end as usize, first as usize);
        if expansion.first != NONE {
            let next = &mut self.free[usize::from(expansion.block)];
            self.nodes[expansion.first as usize].expansion = *next;
            *next = expansion.first;
        }
        let expansion = self.expansion_mut(id);
        (expansion.first, expansion.block) = (first, block as u8);
        Some(first)
    }

    fn take_block(&mut self, block: usize) -> Option<NodeId> {
        let head = self.free[block];
        if head != NONE {
            self.free[block] = self.node(head).expansion;
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

    /// A hash of the tree: moves, values, visits, proofs.
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
            mix(node.visits);
            mix(node.expansion);
            mix(kind << 16 | u32::from(plies));
            mix(u32::from(node.played.to()) << 8 | u32::from(node.flags));
        }
        hash
    }
}

/// The smallest block size that holds this many nodes.
fn block_of(count: usize) -> usize {
    BLOCKS.iter().take_while(|&&size| usize::from(size) < count).count()
}

#[cfg(test)]
mod tests;
