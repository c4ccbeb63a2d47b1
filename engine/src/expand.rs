//! An answer becomes a branch: the leaf's value and one child per legal move.
//!
//! What the rules decide about a child (mate, bare kings, repetition, fifty moves) is found here,
//! so that mates in one need no evaluation; what the table knows of a child is taken over.

use shakmaty::zobrist::Zobrist64;
use shakmaty::{Chess, EnPassantMode, Move, Position};
use tesla_nn::evaluator::Evaluation;

use crate::backup::recall;
use crate::estimate::Model;
use crate::history::position_key;
use crate::leaf::Leaf;
use crate::node::{BARE, BranchId, KNOWN, NONE, Node, PATH, PENDING, Verdict};
use crate::rules::repetitions;
use crate::table::{Entry, Table};
use crate::tree::{Branch, Tree};

/// Plies that a principal variation from the table is walked down before it is believed.
const WALK: usize = 8;

/// Keys of the positions before `parent`'s children: the game's, then the path's down to `parent`.
/// Returns where the path begins.
pub fn path_keys(tree: &Tree, parent: BranchId, earlier: &[u64], keys: &mut Vec<u64>) -> usize {
    keys.clear();
    keys.extend_from_slice(earlier);
    let mut id = parent;
    while id != NONE {
        let branch = tree.branch(id);
        keys.push(branch.key);
        id = branch.parent;
    }
    keys[earlier.len()..].reverse();
    earlier.len()
}

/// What an expansion draws on besides the tree.
#[derive(Clone, Copy, Debug)]
pub struct Knowledge<'a> {
    /// The error model.
    pub model: &'a Model,
    /// Values of positions seen elsewhere.
    pub table: &'a Table,
    /// Policy from which a child is looked up in the table.
    pub table_policy: f32,
    /// Of the policy: 1 = as the evaluator gives it, larger = flatter.
    pub temperature: f32,
    /// Keys of the game's earlier positions.
    pub earlier: &'a [u64],
}

impl Knowledge<'_> {
    /// Puts the answer to `leaf` into the tree and returns the new branch. `keys` is scratch space.
    pub fn expand(
        self,
        tree: &mut Tree,
        leaf: &Leaf,
        answer: &Evaluation,
        keys: &mut Vec<u64>,
    ) -> BranchId {
        let path_start = path_keys(tree, leaf.parent, self.earlier, keys);
        keys.push(leaf.key);
        let spread = self.model.spread(answer.error);
        let estimates = leaf.moves.iter().zip(&answer.moves);
        let (power, total) = self.flattening(answer);
        let children: Vec<Node> = estimates
            .map(|(&played, estimate)| {
                let value = (1.0 - estimate.action_value).clamp(0.0, 1.0);
                let policy = estimate.policy.powf(power) / total;
                let child = Node::bare(played, value, policy, spread);
                self.judge(child, leaf, keys, path_start)
            })
            .collect();
        let node = tree.node_mut(leaf.node);
        let mut branch =
            Branch::new(leaf.key, [leaf.node, leaf.parent], answer.value.clamp(0.0, 1.0));
        branch.best = most_likely(&children);
        branch.handle = answer.handle.0;
        if node.has(KNOWN) {
            (branch.known_value, branch.known_depth) = (node.value, node.depth);
        }
        node.spread = spread;
        node.mark(PENDING | BARE, false);
        tree.expand(branch, &children)
    }

    /// Power of each policy, and by what all are divided then.
    fn flattening(self, answer: &Evaluation) -> (f32, f32) {
        let power = 1.0 / self.temperature;
        if power.total_cmp(&1.0).is_eq() {
            return (1.0, 1.0);
        }
        let total: f32 = answer.moves.iter().map(|estimate| estimate.policy.powf(power)).sum();
        (power, total.max(f32::MIN_POSITIVE))
    }

    /// A new child as the rules and the table see it. `keys` ends with its parent's.
    fn judge(self, mut child: Node, leaf: &Leaf, keys: &[u64], path_start: usize) -> Node {
        let mut position = leaf.position.clone();
        let key = key_after(&position, leaf.key, child.played);
        position.play_unchecked(child.played);
        let key = key.unwrap_or_else(|| position_key(&position));
        let visits = repetitions(keys, path_start, key, position.halfmoves());
        if position.is_checkmate() {
            child.verdict = Verdict::Loss(0);
        } else if position.is_insufficient_material() {
            child.verdict = Verdict::Draw;
        } else if position.halfmoves() >= 100 || visits.is_draw() {
            child.verdict = Verdict::Draw;
            child.mark(PATH, true);
        } else if child.policy >= self.table_policy {
            take_over(&mut child, self.table, key, &position);
        }
        child
    }
}

/// The child with the highest policy: the best guess while nothing below was looked at.
fn most_likely(children: &[Node]) -> u16 {
    let mut best = 0;
    for (place, child) in children.iter().enumerate() {
        if child.policy > children[best].policy {
            best = place;
        }
    }
    best as u16
}

/// The key after `played`, where shakmaty can update it cheaply.
fn key_after(position: &Chess, key: u64, played: Move) -> Option<u64> {
    position
        .update_zobrist_hash(Zobrist64(key), played, EnPassantMode::Legal)
        .map(|Zobrist64(key)| key)
}

/// Starts a bare node from what the table knows of its position, if anything, and says whether it
/// did.
pub fn take_over(child: &mut Node, table: &Table, key: u64, position: &Chess) -> bool {
    let Some(entry) = table.probe(key) else { return false };
    let Some((value, verdict, depth)) = recall(&entry) else { return false };
    if entry.is_pv && !line_is_legal(table, &entry, position) {
        return false;
    }
    if let Verdict::Win(plies) | Verdict::Loss(plies) = verdict
        && position.halfmoves() + u32::from(plies) >= 100
    {
        return false; // the fifty-move rule may come first
    }
    child.value = value;
    child.verdict = verdict;
    child.depth = depth;
    child.mark(BARE, false);
    child.mark(KNOWN, true);
    true
}

/// Walks the line that the table gives for a position on a principal variation: a move that is not
/// legal there betrays a key that two positions share.
fn line_is_legal(table: &Table, entry: &Entry, position: &Chess) -> bool {
    let mut position = position.clone();
    let mut entry = *entry;
    for _ in 0..WALK {
        let Some(best) = entry.best else { return true };
        let Some(played) = best.find(&position.legal_moves()) else { return false };
        position.play_unchecked(played);
        let Some(next) = table.probe(position_key(&position)) else { return true };
        entry = next;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::PackedMove;

    fn entry(best: Move, is_pv: bool) -> Entry {
        Entry { payload: 0.7_f32.to_bits(), best: Some(PackedMove::pack(best)), depth: 24, is_pv }
    }

    #[test]
    fn a_colliding_principal_variation_is_not_believed() {
        let mut table = Table::new(1);
        let start = Chess::new();
        let played = start.legal_moves()[3];
        let mut after = start.clone();
        after.play_unchecked(played);
        let mut child = Node::bare(played, 0.5, 0.1, 1.0);
        // White's move is not legal for Black: the entry belongs to another position.
        let key = position_key(&after);
        table.store(key, entry(played, true));
        assert!(!take_over(&mut child, &table, key, &after));
        assert!(child.has(BARE) && !child.has(KNOWN));
        table.store(key, entry(after.legal_moves()[0], true));
        assert!(take_over(&mut child, &table, key, &after));
        assert!(child.has(KNOWN) && (child.value - 0.7).abs() < 1e-6);
        assert!((child.depth - 3.0).abs() < 1e-6);
    }

    #[test]
    fn keys_agree_with_recomputation() {
        let mut position = Chess::new();
        for step in 0..120_usize {
            let moves = position.legal_moves();
            let Some(&played) = moves.get(step * 7 % moves.len().max(1)) else { break };
            let quick = key_after(&position, position_key(&position), played);
            position.play_unchecked(played);
            assert!(quick.is_none_or(|key| key == position_key(&position)));
        }
    }
}
