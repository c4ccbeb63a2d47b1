//! The end of the recursion over a network: the static value, unless the network itself promises
//! more of a capture. Only such captures are followed, so it is asked little.

use std::cmp::Reverse;

use shakmaty::{Chess, Move, Position};
use tesla_nn::classical::exchange::nets_at_least;

use crate::chess::verdicts::mating_move;

use super::leaf::NetworkAnswer;
use super::ordering::is_tactical;
use super::value::{DRAW, MATE, MAX_PLY};
use super::worker::{Node, Worker, play};

/// Captures followed at one node, at most.
const WIDTH: usize = 2;
/// Plies of captures, at most.
const PLIES: i32 = 4;

impl Worker<'_> {
    /// What the rules decide below the root: the end of the game, or a mate in one, for which the
    /// network need not be asked.
    pub(super) fn decided(&mut self, position: &Chess, node: &Node, legal: &[Move]) -> Option<i32> {
        if node.ply == 0 {
            return None;
        }
        if legal.is_empty() {
            return Some(if position.is_check() { -MATE + node.ply as i32 } else { DRAW });
        }
        self.lines[node.ply].push(mating_move(position, legal)?);
        Some(MATE - node.ply as i32 - 1)
    }

    /// The value of a node whose depth is used up.
    pub(super) fn calm(&mut self, position: &Chess, node: &Node) -> i32 {
        if !self.enter() {
            return DRAW;
        }
        self.lines[node.ply].clear();
        self.selective_depth = self.selective_depth.max(node.ply);
        let legal = position.legal_moves();
        if let Some(value) = self.decided(position, node, &legal) {
            return value;
        }
        let Some(answer) = self.answer(position, node.key) else { return DRAW };
        if answer.value >= node.beta || node.depth <= -PLIES || node.ply >= MAX_PLY {
            return answer.value;
        }
        let mut here = Node { alpha: node.alpha.max(answer.value), ..*node };
        let mut best = answer.value;
        for played in promising(position, &legal, &answer, here.alpha) {
            let (key, child) = play(position, node.key, played);
            self.descend(node.key, played);
            let value = -self.calm(&child, &here.after(played, key));
            self.leave();
            if self.stopped {
                break;
            }
            best = best.max(value);
            here.alpha = here.alpha.max(value);
            if value >= here.beta {
                break;
            }
        }
        best
    }
}

/// The captures and promotions of which the network promises more than `alpha` and that lose
/// nothing on their square, the best first.
fn promising(position: &Chess, legal: &[Move], answer: &NetworkAnswer, alpha: i32) -> Vec<Move> {
    let promised = legal.iter().zip(&*answer.promises);
    let mut moves: Vec<(i16, Move)> = promised
        .filter(|&(&played, &promise)| {
            is_tactical(played) && i32::from(promise) > alpha && nets_at_least(position, played, 0)
        })
        .map(|(&played, &promise)| (promise, played))
        .collect();
    moves.sort_by_key(|&(promise, _)| Reverse(promise));
    moves.truncate(WIDTH);
    moves.into_iter().map(|(_, played)| played).collect()
}
