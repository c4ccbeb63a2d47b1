//! An answer becomes an expansion: the leaf's value and one child per legal move.
//!
//! What the rules decide about a child (mate, bare kings, repetition, fifty moves) is found here,
//! so that mates in one need no evaluation; what the table knows of a child is taken over.

use shakmaty::{Chess, Move, Position};
use tesla_nn::evaluator::{Evaluation, MoveEstimate};

use crate::chess::game::key_after;
use crate::chess::score::Verdict;
use crate::chess::verdicts::{Visits, repetitions};
use crate::search::table::{Entry, Table};
use crate::tree::arena::Tree;
use crate::tree::edge::Edge;
use crate::tree::expansion::Expansion;
use crate::tree::leaf::Leaf;
use crate::tree::node::{ExpansionId, KNOWN, Node, PATH, PENDING, Slot, UNEVALUATED};
use crate::tree::remember::{is_proof, start_from};

/// Keys of the positions before `parent`'s children: the game's, then the path's down to `parent`.
/// Returns where the path begins.
pub fn path_keys(tree: &Tree, parent: ExpansionId, earlier: &[u64], keys: &mut Vec<u64>) -> usize {
    keys.clear();
    keys.extend_from_slice(earlier);
    keys.extend(tree.upwards(parent).map(|id| tree.expansion(id).key));
    keys[earlier.len()..].reverse();
    earlier.len()
}

/// What an expansion draws on besides the tree.
#[derive(Clone, Copy, Debug)]
pub struct Knowledge<'a> {
    /// Factor on the error scales of the children.
    pub spread: f32,
    /// Values of positions seen elsewhere.
    pub table: &'a Table,
    /// Policy from which a child is looked up in the table.
    pub table_policy: f32,
    /// Keys of the game's earlier positions.
    pub earlier: &'a [u64],
}

/// Space for an expansion, kept between them.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Keys of the game and the path.
    keys: Vec<u64>,
    /// Children that may need a node at once.
    wanted: Vec<Wanted>,
}

#[derive(Debug)]
struct Wanted {
    edge: usize,
    played: Move,
    key: u64,
    /// What the table knows.
    entry: Option<Entry>,
}

impl Knowledge<'_> {
    /// Puts the answer to `leaf` into the tree and returns the new expansion.
    pub fn expand(
        self,
        tree: &mut Tree,
        leaf: &Leaf,
        answer: &Evaluation,
        scratch: &mut Scratch,
    ) -> ExpansionId {
        let Scratch { keys, wanted } = scratch;
        let scope = Scope::of(leaf);
        let mut path_start = 0;
        keys.clear();
        if scope.is_long {
            path_start = path_keys(tree, leaf.slot.parent, self.earlier, keys);
            keys.push(leaf.key);
        }
        let spread = self.spread;
        let mut expansion = Expansion::new(leaf.key, leaf.slot, answer.value.clamp(0.0, 1.0));
        expansion.cache_id = answer.handle.0;
        let id = tree.at(leaf.slot);
        let node = tree.node_mut(id);
        if node.has(KNOWN) {
            (expansion.known_value, expansion.known_depth) = (node.value, node.depth);
            expansion.known_rests_on_path = node.has(PATH);
        }
        node.spread = spread;
        node.mark(PENDING | UNEVALUATED, false);
        let said = |estimate: &MoveEstimate| Edge::new(estimate.policy, estimate.action_value);
        let id = tree.expand(expansion, answer.moves.iter().map(said));
        if scope.is_root {
            tree.reserve(id);
        }
        let likely = |estimate: &MoveEstimate| estimate.policy >= self.table_policy;
        wanted.clear();
        for (edge, (&played, said)) in leaf.moves.iter().zip(&answer.moves).enumerate() {
            if likely(said) || scope.may_end(played) {
                let key = key_after(&leaf.position, leaf.key, played);
                wanted.push(Wanted { edge, played, key, entry: None });
            }
        }
        // All look-ups together: each is a cache miss, and they can be waited for at once.
        for Wanted { edge, key, entry, .. } in wanted.iter_mut() {
            *entry = likely(&answer.moves[*edge]).then(|| self.table.probe(*key)).flatten();
        }
        for Wanted { edge, played, key, entry } in wanted.drain(..) {
            let said = answer.moves[edge];
            let value = (1.0 - said.action_value).clamp(0.0, 1.0);
            let mut child = Node::unevaluated(played, value, said.policy, spread);
            let halfmoves = scope.halfmoves_after(played);
            let visits = repetitions(keys, path_start, key, halfmoves);
            let entry = entry.filter(|entry| visits.is_new() || is_proof(entry));
            let is_settled = scope.may_end(played) && scope.settle(&mut child, visits)
                || entry.is_some_and(|entry| {
                    let after = || scope.after(played);
                    start_from(&mut child, self.table, &entry, halfmoves, after)
                });
            // Where there is no room, that shows when the move is selected.
            if (is_settled || scope.is_root)
                && let Some(index) = tree.create_child(id, edge, played)
            {
                let to = tree.at(Slot { parent: id, index });
                *tree.node_mut(to) = Node { edge: edge as u8, ..child };
            }
        }
        id
    }
}

/// Which rules may decide a child of this leaf. Most rules can be excluded for most leaves.
#[derive(Clone, Copy, Debug)]
struct Scope<'a> {
    leaf: &'a Leaf,
    /// A child may be mate: below the root no position with a mating move is expanded.
    is_root: bool,
    /// A child may lack the material to mate.
    is_bare: bool,
    /// A child may repeat a position or be drawn by the fifty-move rule.
    is_long: bool,
}

impl<'a> Scope<'a> {
    fn of(leaf: &'a Leaf) -> Self {
        let board = leaf.position.board();
        let mating = board.pawns() | board.rooks() | board.queens();
        Self {
            leaf,
            is_root: leaf.slot.is_root(),
            // One of them may be captured while another becomes a knight.
            is_bare: mating.count() <= 2,
            is_long: leaf.position.halfmoves() >= 3,
        }
    }

    /// Whether the rules may end the game with this move.
    fn may_end(&self, played: Move) -> bool {
        self.is_root || self.is_bare || self.is_long && !played.is_zeroing()
    }

    fn after(&self, played: Move) -> Chess {
        let mut position = self.leaf.position.clone();
        position.play_unchecked(played);
        position
    }

    /// Halfmoves since the last irreversible one, after `played`.
    fn halfmoves_after(&self, played: Move) -> u32 {
        if played.is_zeroing() { 0 } else { self.leaf.position.halfmoves().saturating_add(1) }
    }

    /// Gives a new child, which was there so often before, the rules' verdict, if they have one.
    fn settle(&self, child: &mut Node, visits: Visits) -> bool {
        let halfmoves = self.halfmoves_after(child.played);
        if self.is_root && self.after(child.played).is_checkmate() {
            child.verdict = Verdict::Loss(0);
        } else if self.is_bare && self.after(child.played).is_insufficient_material() {
            child.verdict = Verdict::Draw;
        } else if halfmoves >= 100 || visits.is_draw() {
            child.verdict = Verdict::Draw;
            child.mark(PATH, true);
        }
        child.is_proven()
    }
}
