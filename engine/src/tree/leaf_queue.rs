//! The queue of leaves that becomes a batch: what an evaluator is asked, and what needs none. Which
//! leaves come, the selection rule decides.
//!
//! Leaves that the rules decide (mate, stalemate, repetition, …), that mate in one or in two by a
//! check, or that are mated in two plies whatever is played, are proven on the spot; one that the
//! table knows starts from there. No position is evaluated twice: what is known or in flight is not
//! asked for. Under `go mate` a leaf is also settled where the mate would come too late: as a draw
//! that rests on the path, which holds for this search only.

use std::collections::HashSet;

use shakmaty::{Chess, Position};

use crate::chess::mates;
use crate::chess::score::Verdict;
use crate::chess::tablebase::Tables;
use crate::chess::verdicts::{decide, repetitions};
use crate::search::table::Table;
use crate::tree::arena::Tree;
use crate::tree::effective_branching::EffectiveBranching;
use crate::tree::evaluations::Evaluations;
use crate::tree::leaf::{Leaf, Source};
use crate::tree::node::{ExpansionId, Goal, KNOWN, Node, PATH, PENDING, ROOT, Slot, UNEVALUATED};
use crate::tree::remember::{is_proof, start_from};

/// Longest line in the tree, plies.
pub const MAX_PLY: usize = 240;
/// Leaves that ask for nothing may make a batch larger by one part in this many: their evaluations
/// are known or in flight.
const KNOWN_DIVISOR: u32 = 4;
/// Leaves that a selection settles at most: some 10 ms, and a `stop` waits for them.
const MOST_SETTLED: u32 = 1024;

/// What a batch is selected for, and how large it may be.
#[derive(Clone, Copy, Debug)]
pub struct BatchRequest<'a> {
    /// The root's position.
    pub root: &'a Chess,
    /// Keys of the game's earlier positions.
    pub earlier: &'a [u64],
    /// Positions and legal moves in flight, which need room in the tree too.
    pub pending: (usize, usize),
    /// Evaluations to ask for at most.
    pub size: u32,
    /// Evaluations that the limits still allow, this batch's among them.
    pub remaining: u32,
    /// Visits that an evaluation brings: where positions are reached again, more than one.
    pub visits_each: f32,
    /// Values of positions seen elsewhere; `None` = leaves start from nothing.
    pub table: Option<&'a Table>,
    /// Plies to which a leaf is looked through for mates, without an evaluation.
    pub mate_plies: u16,
    /// Endgame tables.
    pub endings: Option<&'a Tables>,
    /// What was evaluated before.
    pub evaluations: &'a Evaluations,
    /// Keys of the evaluations in flight.
    pub awaited: &'a HashSet<u64>,
}

/// The leaves of a batch, perhaps none.
#[derive(Debug, Default)]
pub struct Selected {
    /// The leaves, in the order of selection.
    pub leaves: Vec<Leaf>,
    /// Leaves whose evaluations are known.
    pub known: Vec<Leaf>,
    /// Positions above the leaves that the selection itself proved: no answer leads to them.
    pub proven: Vec<ExpansionId>,
    /// Whether the tree had no room for more.
    pub is_full: bool,
    /// Whether the batch is small only because many leaves were settled on the way.
    pub is_paused: bool,
}

/// What became of a leaf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picked {
    /// It waits for its evaluation.
    Queued,
    /// It is proven, or the table knows it: its value has changed.
    Settled,
    /// It is pending already, too deep, or there is no room.
    Refused,
}

/// The leaves of a batch in the making.
#[derive(Debug)]
pub struct LeafQueue<'a> {
    request: BatchRequest<'a>,
    /// Keys of the game, then of the path; the present node's ancestors.
    pub keys: Vec<u64>,
    /// Where the path begins among the keys.
    path_start: usize,
    leaves: Vec<Leaf>,
    known: Vec<Leaf>,
    /// Positions that the selection proved.
    pub proven: Vec<ExpansionId>,
    /// Keys of the evaluations that these leaves ask for.
    asked: HashSet<u64>,
    /// Positions and legal moves for which room in the tree is reserved.
    promised: (usize, usize),
    /// Whether a leaf was turned away for want of room.
    pub is_full: bool,
    /// Leaves that may still be settled without an evaluation before the selection pauses.
    free: u32,
}

impl<'a> LeafQueue<'a> {
    /// An empty queue.
    pub fn new(tree: &Tree, request: &BatchRequest<'a>) -> Self {
        // Tables know no distance to mate, and a mate in the transposition table may be too long.
        let is_known = tree.goal() == Goal::Result;
        Self {
            request: BatchRequest {
                table: request.table.filter(|_| is_known),
                endings: request.endings.filter(|_| is_known),
                mate_plies: if is_known { request.mate_plies } else { 1 },
                ..*request
            },
            keys: request.earlier.to_vec(),
            path_start: request.earlier.len(),
            leaves: Vec::new(),
            known: Vec::new(),
            proven: Vec::new(),
            asked: HashSet::new(),
            promised: request.pending,
            is_full: false,
            free: (256 + 16 * request.size).min(MOST_SETTLED),
        }
    }

    /// Visits that the limits still allow after those in this batch.
    pub fn visits_left(&self) -> u32 {
        let evaluations = self.request.remaining.saturating_sub(self.asked.len() as u32);
        (f64::from(evaluations) * f64::from(self.request.visits_each)) as u32
    }

    /// Leaves so far.
    fn picked(&self) -> u32 {
        (self.leaves.len() + self.known.len()) as u32
    }

    /// Leaves that it may still take. Those that ask for nothing take no place of others, up to a
    /// share: the values that all of them were selected by are those before the batch.
    pub fn left(&self) -> u32 {
        let size = self.request.size;
        let places = size.saturating_sub(self.asked.len() as u32);
        places.min((size + size / KNOWN_DIVISOR).saturating_sub(self.picked()))
    }

    /// `false` ends the selection: enough was settled for now, or the tree is full (trying every
    /// other leaf of a full tree would take time in proportion to the tree).
    pub fn may_go_on(&self) -> bool {
        self.free > 0 && !self.is_full
    }

    /// Whether mates beyond one move are looked for.
    pub fn proves_mates(&self) -> bool {
        self.request.mate_plies > 1
    }

    /// Counts something that cost no evaluation.
    pub fn settle(&mut self) {
        self.free = self.free.saturating_sub(1);
    }

    /// Ends the selection for now: what was settled is backed up before more is selected.
    pub fn pause(&mut self) {
        self.free = 0;
    }

    /// The batch.
    pub fn finish(self, tree: &Tree) -> Selected {
        let is_paused = self.free == 0 && !tree.node(ROOT).is_proven();
        let Self { leaves, known, proven, is_full, .. } = self;
        Selected { leaves, known, proven, is_full, is_paused }
    }

    /// Gives a move of an expansion, by its index among the legal ones in `position`, a node;
    /// returns the node's index. Without room the batch is full.
    pub fn create_child(
        &mut self,
        tree: &mut Tree,
        parent: ExpansionId,
        edge: usize,
        position: &Chess,
    ) -> Option<u8> {
        let index = tree.create_child(parent, edge, position.legal_moves()[edge]);
        self.is_full |= index.is_none();
        index
    }

    /// Queues the leaf in this slot, a position with this key, or settles it. `keys` ends with its
    /// parent's.
    pub fn pick(
        &mut self,
        tree: &mut Tree,
        branching: &EffectiveBranching,
        slot: Slot,
        (position, key): (&Chess, u64),
    ) -> Picked {
        let node = tree.at(slot);
        let ply = self.keys.len() - self.path_start;
        if tree.node(node).has(PENDING) || ply >= MAX_PLY {
            return Picked::Refused;
        }
        let moves = position.legal_moves();
        let visits = repetitions(&self.keys, self.path_start, key, position.halfmoves());
        let mate = || Some((mates::look(position, &moves, self.request.mate_plies)?, false));
        let known = || Some((self.request.endings?.verdict(position)?, false));
        // A mate with the last move would have been seen.
        let is_too_late = || match tree.goal() {
            Goal::Mate { plies } if ply + 1 >= plies => Some((Verdict::Draw, true)),
            _ => None,
        };
        let settled =
            || decide(position, &moves, visits).or_else(mate).or_else(known).or_else(is_too_late);
        if node != ROOT
            && let Some((verdict, rests_on_path)) = settled()
        {
            let leaf = tree.node_mut(node);
            leaf.verdict = verdict;
            if rests_on_path {
                leaf.mark(PATH, true);
            }
            self.settle();
            return Picked::Settled;
        }
        // The table's entry changes the value of this leaf; it may still be selected again.
        let leaf = tree.node_mut(node);
        if node != ROOT
            && leaf.has(UNEVALUATED)
            && let Some(table) = self.request.table
            && let Some(entry) = table.probe(key)
            && (visits.is_new() || is_proof(&entry))
            && start_from(leaf, table, &entry, position.halfmoves(), || position.clone())
        {
            self.settle();
            return Picked::Settled;
        }
        if !tree.has_room(self.promised.0 + 1, self.promised.1 + moves.len()) {
            self.is_full = true;
            return Picked::Refused;
        }
        self.promised.0 += 1;
        self.promised.1 += moves.len();
        let leaf = tree.node_mut(node);
        leaf.mark(PENDING, true);
        leaf.visits += 1;
        leaf.depth = leaf.depth.max(branching.depth(leaf.visits));
        let repetitions = visits.in_all.min(2) as u8;
        let (position, moves) = (position.clone(), moves.iter().copied().collect());
        let source = Source::Asked;
        self.queue(Leaf { slot, position, key, moves, repetitions, source });
        Picked::Queued
    }

    /// Queues a leaf where its evaluation will come from.
    fn queue(&mut self, mut leaf: Leaf) {
        let key = leaf.evaluation_key();
        if self.request.evaluations.contains(key, leaf.moves.len()) {
            leaf.source = Source::Known;
            self.known.push(leaf);
            return;
        }
        if self.request.awaited.contains(&key) || !self.asked.insert(key) {
            leaf.source = Source::Awaited;
        }
        self.leaves.push(leaf);
    }
}

/// Takes back the virtual visits of a leaf that will not be answered.
pub fn give_up(tree: &mut Tree, branching: &EffectiveBranching, leaf: &Leaf) {
    let take_back = |node: &mut Node| {
        node.visits = node.visits.saturating_sub(1);
        if !node.has(KNOWN) {
            node.depth = if node.has(UNEVALUATED) { -1.0 } else { branching.depth(node.visits) };
        }
    };
    let node = tree.at(leaf.slot);
    tree.node_mut(node).mark(PENDING, false);
    take_back(tree.node_mut(node));
    let above: Vec<ExpansionId> = tree.upwards(leaf.slot.parent).collect();
    for id in above {
        let node = tree.node_of(tree.expansion(id));
        take_back(tree.node_mut(node));
    }
}
