//! The recursion: principal-variation search with the usual cuts.
//!
//! A node is searched in this order: rules (draws, mate distance), table, static value, cuts that
//! need no move (reverse futility, null move), then its moves, the later ones reduced or skipped.
//! All margins are in centipawns.

use std::sync::Arc;

use shakmaty::{Chess, Move, MoveList, Position};

use super::ask::Parent;
use super::ordering::{Hints, Ordered, is_tactical};
use super::skip::{Situation, is_skippable};
use super::value::{Bound, DRAW, INFINITE, MATE, MAX_PLY, PROVEN_BOUND};
use super::worker::{Node, Worker, pass, play};
use crate::search::table::PackedMove;

/// Reverse futility: deepest node and margin per ply.
const REVERSE_FUTILITY: (i32, i32) = (8, 80);
/// Null-move cuts from this depth on are verified.
const VERIFIED: i32 = 12;
/// The fifty-move clock from which the table no longer decides nodes.
const CLOCK_MATTERS: u32 = 85;
/// A fail-soft result may not carry a proof that a null move found.
const UNPROVEN: i32 = PROVEN_BOUND - 1;

impl Worker<'_> {
    /// The value of a node from its side to move; meaningless once the search is stopped.
    pub(super) fn negamax(&mut self, position: &Chess, mut node: Node) -> i32 {
        let is_pv = node.beta - node.alpha > 1;
        self.lines[node.ply].clear();
        self.selective_depth = self.selective_depth.max(node.ply);
        let checked = position.is_check();
        if node.ply > 0 {
            if self.is_draw(position, node.key) {
                return DRAW;
            }
            if let Some(value) = self.ending(position, node.ply) {
                return value;
            }
            node.alpha = node.alpha.max(-MATE + node.ply as i32);
            node.beta = node.beta.min(MATE - node.ply as i32 - 1);
            if node.alpha >= node.beta {
                return node.alpha;
            }
            if node.ply >= MAX_PLY {
                return if checked { DRAW } else { self.static_value(position, node.key) };
            }
        }
        node.depth += i32::from(checked);
        if node.depth <= 0 {
            return self.frontier(position, &node);
        }
        if !self.enter() {
            return DRAW;
        }
        let remembered = self.remembered(&node);
        if !is_pv
            && position.halfmoves() < CLOCK_MATTERS
            && let Some(earlier) = remembered
            && earlier.depth >= node.depth
            && earlier.known.decides(node.alpha, node.beta)
        {
            return earlier.known.value;
        }
        let mut unknown = Situation { is_pv, checked, remembered, ..Situation::default() };
        if self.is_network() {
            unknown.legal = position.legal_moves().to_vec();
            if let Some(value) = self.decided(position, &node, &unknown.legal) {
                return value;
            }
        }
        let situation = self.assess(position, &node, unknown);
        if let Some(value) = self.cut_without_moves(position, &node, &situation) {
            return value;
        }
        let is_unknown = remembered.is_none_or(|earlier| earlier.best.is_none());
        if is_unknown && node.depth >= 5 && node.ply > 0 && !self.is_network() {
            node.depth -= 1; // internal iterative reduction: ordering will be poor
        }
        let answer = self.answer(position, node.key);
        // At the root the moves are put in order even then, to know which is the likeliest.
        if self.stopped && node.ply > 0 {
            return DRAW;
        }
        self.try_moves(position, node, &Situation { answer, ..situation })
    }

    /// A node without depth, not in check.
    fn frontier(&mut self, position: &Chess, node: &Node) -> i32 {
        if self.is_network() {
            self.calm(position, node)
        } else {
            self.quiescence(position, node.alpha, node.beta, node.ply)
        }
    }

    /// Adds the static value and what follows from it.
    fn assess(&mut self, position: &Chess, node: &Node, now: Situation) -> Situation {
        let known = now.remembered.and_then(|earlier| earlier.known.static_value);
        let value = match known {
            _ if now.checked => None,
            Some(value) => Some(value),
            None => Some(self.static_value(position, node.key)),
        };
        self.statics[node.ply] = value;
        let before = node.ply.checked_sub(2).and_then(|ply| self.statics[ply]);
        let improving = value.zip(before).is_some_and(|(now, before)| now > before);
        let estimate = value.map(|value| match now.remembered.map(|earlier| earlier.known) {
            Some(known) if known.value.abs() < PROVEN_BOUND && known.sharpens(value) => known.value,
            _ => value,
        });
        Situation { estimate, improving, ..now }
    }

    /// Reverse futility and null move: nodes so good that no move need be tried.
    fn cut_without_moves(&mut self, position: &Chess, node: &Node, now: &Situation) -> Option<i32> {
        let estimate = now.estimate?;
        if now.is_pv || node.beta.abs() >= PROVEN_BOUND || self.stopped {
            return None;
        }
        let (deepest, margin) = REVERSE_FUTILITY;
        let plies = node.depth - i32::from(now.improving);
        if node.depth <= deepest && estimate - margin * plies >= node.beta {
            return Some(estimate);
        }
        if node.may_null && node.depth >= 3 && estimate >= node.beta {
            return self.null_move(position, node, estimate);
        }
        None
    }

    /// If passing the move still beats beta, a move will too. With at most one piece that is often
    /// not so (zugzwang) and passing is not tried; deep cuts are confirmed by a search without it.
    fn null_move(&mut self, position: &Chess, node: &Node, estimate: i32) -> Option<i32> {
        let board = position.board();
        let pieces = (position.us() & !(board.pawns() | board.kings())).count();
        if pieces <= 1 {
            return None;
        }
        let passed = pass(position)?;
        let reduction = 3 + node.depth / 4 + ((estimate - node.beta) / 200).min(3);
        let depth = node.depth - 1 - reduction;
        let floor = self.descend_null(node.key);
        let child = Node {
            key: crate::chess::game::position_key(&passed),
            alpha: -node.beta,
            beta: -node.beta + 1,
            depth,
            ply: node.ply + 1,
            before: None,
            may_null: false,
        };
        let value = -self.negamax(&passed, child);
        self.leave_null(floor);
        if self.stopped || value < node.beta {
            return None;
        }
        let value = value.min(UNPROVEN);
        if node.depth < VERIFIED {
            return Some(value);
        }
        let again = Node { alpha: node.beta - 1, depth: depth + 1, may_null: false, ..*node };
        (self.negamax(position, again) >= node.beta && !self.stopped).then_some(value)
    }

    /// The moves in the order in which they are tried; at the root those that are wanted.
    fn order(
        &mut self,
        position: &Chess,
        mut legal: MoveList,
        node: &Node,
        now: &Situation,
    ) -> Ordered {
        let mut policy = now.answer.as_ref().map(|answer| Arc::clone(&answer.policy));
        if node.ply == 0 && self.is_narrowed() {
            let is_wanted = |candidate: &Move| {
                self.root_moves.contains(candidate) && !self.taken.contains(candidate)
            };
            let of_wanted = |policy: Arc<[f32]>| {
                legal.iter().zip(&*policy).filter_map(|(m, &p)| is_wanted(m).then_some(p)).collect()
            };
            policy = policy.map(of_wanted);
            legal.retain(|candidate| is_wanted(candidate));
        }
        let hints = Hints {
            history: self.history,
            table: match self.root_first {
                Some(first) if node.ply == 0 => Some(PackedMove::pack(first)),
                _ => now.remembered.and_then(|earlier| earlier.best),
            },
            before: node.before,
            ply: node.ply,
            policy: policy.as_deref(),
        };
        let mut ordered = Ordered::new(position, legal, &hints);
        if node.ply == 0 && self.likeliest.is_none() {
            self.likeliest = ordered.rest().first().copied();
        }
        ordered
    }

    fn try_moves(&mut self, position: &Chess, mut node: Node, now: &Situation) -> i32 {
        let legal = position.legal_moves();
        if legal.is_empty() {
            return if now.checked { -MATE + node.ply as i32 } else { DRAW };
        }
        let mut ordered = self.order(position, legal, &node, now);
        let (mut best, mut best_move, mut bound) = (-INFINITE, None, Bound::Upper);
        let (mut quiets, mut fetched, mut index) = (MoveList::new(), 0, 0);
        loop {
            if index >= fetched && self.is_network() {
                let left = (ordered.rest(), index, quiets.len());
                fetched += self.fetch(position, &node, now, left);
            }
            let Some(played) = ordered.next() else { break };
            if node.ply == 0 {
                self.looks_at(played, index);
            }
            let (key, child) = play(position, node.key, played);
            let tactical = is_tactical(played);
            let skippable =
                best > -PROVEN_BOUND && is_skippable(position, &node, now, played, quiets.len());
            index += 1;
            if skippable && !child.is_check() {
                continue;
            }
            if !tactical {
                quiets.push(played);
            }
            let nodes = self.nodes;
            let value = self.try_move(&node, now, (&child, key, played), index - 1);
            let is_better = value > node.alpha && !self.stopped;
            if is_better {
                self.extend_line(node.ply, played, value);
            }
            if node.ply == 0 {
                self.note_root_move(played, nodes, (value, is_better));
            }
            if self.stopped {
                break;
            }
            best = best.max(value);
            if is_better {
                (node.alpha, best_move, bound) = (value, Some(played), Bound::Exact);
                if value >= node.beta {
                    bound = Bound::Lower;
                    if !tactical {
                        let replies = (position.turn(), node.before);
                        self.history.cutoff(replies, node.ply, node.depth, &quiets);
                    }
                    break;
                }
            }
        }
        if !self.stopped {
            self.remember(&node, best_move, best, bound);
        }
        best
    }

    /// Has the network evaluate the next of the moves `left` that are worth a look, `done` of the
    /// node's moves and `quiets` of its quiet ones being taken care of; returns how many more are.
    fn fetch(
        &mut self,
        position: &Chess,
        node: &Node,
        now: &Situation,
        (left, done, quiets): (&[Move], usize, usize),
    ) -> usize {
        let is_cut_likely = !now.is_pv && node.depth > 1;
        let parent = Parent { position, key: node.key, is_cut_likely };
        let mut later = quiets;
        let wanted = |index: usize, candidate: Move| {
            let skip = is_skippable(position, node, now, candidate, later);
            later += usize::from(!is_tactical(candidate));
            index == 0 || !skip
        };
        self.prefetch(&parent, left, done, wanted)
    }

    /// Notes a look at a root move, which began at so many nodes; of what is no better than the
    /// best only a bound is known.
    fn note_root_move(&mut self, played: Move, nodes: u64, (value, is_better): (i32, bool)) {
        let line = is_better.then_some(&self.lines[0][..]);
        let found = (!self.stopped).then_some((value, line));
        self.account.note(played, self.nodes - nodes, found);
    }

    /// Searches one child: the first one with the whole window, the others to show that they are
    /// no better, late ones at reduced depth first.
    fn try_move(
        &mut self,
        node: &Node,
        now: &Situation,
        (child, key, played): (&Chess, u64, Move),
        index: usize,
    ) -> i32 {
        let child_node = node.after(played, key);
        self.descend(node.key, played);
        let value = if index == 0 {
            -self.negamax(child, child_node)
        } else {
            let scout = Node { alpha: -node.alpha - 1, ..child_node };
            let reduction = self.reduction(node, now, (child, played), index);
            let mut value =
                -self.negamax(child, Node { depth: child_node.depth - reduction, ..scout });
            if value > node.alpha && reduction > 0 && !self.stopped {
                value = -self.negamax(child, scout);
            }
            if value > node.alpha && now.is_pv && !self.stopped {
                value = -self.negamax(child, child_node);
            }
            value
        };
        self.leave();
        value
    }

    /// Plies taken from a late move.
    fn reduction(
        &self,
        node: &Node,
        now: &Situation,
        (child, played): (&Chess, Move),
        index: usize,
    ) -> i32 {
        if node.depth < 3 || index < 1 + 2 * usize::from(now.is_pv) || now.checked {
            return 0;
        }
        let product = f64::from(node.depth).ln() * (index as f64).ln();
        let mut plies = (0.6 + product / 2.1) as i32;
        if is_tactical(played) {
            plies /= 2;
        } else {
            plies -= self.history.quiet(!child.turn(), node.before, played) / 8_192;
            plies -= i32::from(self.history.is_killer(node.ply, played));
            plies += i32::from(!now.improving);
        }
        plies -= i32::from(now.is_pv) + i32::from(child.is_check());
        plies.clamp(0, node.depth - 2)
    }

    /// `played` and the best line behind it become the best line of its ply.
    fn extend_line(&mut self, ply: usize, played: Move, value: i32) {
        let (head, tail) = self.lines.split_at_mut(ply + 1);
        let line = &mut head[ply];
        line.clear();
        line.push(played);
        line.extend_from_slice(&tail[0]);
        if ply == 0 {
            self.root_value = value;
        }
    }
}
