//! What a shallow search says: two plies and the captures after them, by material alone.
//!
//! Much of what a network of a few layers gets wrong is a fork, an overloaded piece or a mate by a
//! reply (`models/README.md`). Two rows of the rule table tell what the search gains, and how much
//! more or less that is than captures alone promise; each move is told whether it is the best one,
//! as good as that for all the search knows, worse, or much worse.
//!
//! Null move: where passing already keeps a move from gaining more than the best one so far, its
//! replies are not searched; an idle move, after which no exchange would gain anything then, is not
//! even played. Below the root, castling, taking en passant and promotions to anything
//! but a queen are left out, and a stalemate counts as what stands on the board.

mod node;

use shakmaty::{Bitboard, Chess, Move, Position, Role, Square};

use self::node::{Node, Step};
use super::aftermath::{before_promotion, reached};
use crate::classical::exchange::{
    DEAREST_FIRST, all_attackers, attacked, best_capture, immediate_gain, role_value,
};

/// Value of being mated.
const MATED: i32 = -20_000;
/// Plies of captures searched.
const CAPTURE_PLIES: u8 = 8;
/// Plies of these at which a check is answered by all evasions.
const EVASION_PLIES: u8 = 2;
/// Positions searched behind one reply.
const POSITIONS: u32 = 64;

/// Lower bounds of the classes of what the search gains, in centipawns.
const GAINS: [i32; 12] = [-10_000, -700, -400, -250, -150, -50, 50, 150, 250, 400, 700, 10_000];
/// Lower bounds of the classes of how much more that is than captures alone gain.
const SURPRISES: [i32; 10] = [-700, -400, -250, -150, -50, 50, 150, 250, 400, 700];
/// Rows of both.
pub(super) const ROWS: usize = GAINS.len() + 1 + SURPRISES.len() + 1;
/// Rows of a position in which nothing happens.
pub(super) const QUIET: [u8; 2] = [6, GAINS.len() as u8 + 1 + 5];

/// How a move compares with the best one, the first found of equals: it is this one, may be as
/// good, is worse or much worse.
pub(super) const CLASSES: usize = WORSE.len() + 2;
/// By so many centipawns at least.
const WORSE: [i32; 2] = [50, 250];

/// What the search found out about a position.
pub(super) struct Shallow {
    /// What the best move gains, in centipawns.
    gain: i32,
    /// What captures alone gain or, in check, all evasions.
    by_captures: i32,
    best: usize,
    /// What the moves gain at most, but for what the search leaves out: exchanges that lose, a
    /// pruned capture's promotion or check, and what lies behind its bounds.
    gains: Vec<i32>,
}

/// What is known of a move beforehand.
#[derive(Clone, Copy, Default)]
pub(super) struct Hint {
    /// What it seems to gain, in centipawns.
    pub(super) promise: i32,
    /// Whether it gives no check, leaves no pawn on the seventh rank, and no exchange would gain
    /// anything if the opponent passed.
    pub(super) is_idle: bool,
}

impl Shallow {
    /// Searches `position` with these `legal` moves, those first that promise most: the sooner a
    /// good one comes, the less there is to search.
    pub(super) fn search(position: &Chess, legal: &[Move], hint: impl Fn(usize) -> Hint) -> Self {
        Self::search_within(POSITIONS, position, legal, hint)
    }

    /// The same with another bound on the positions behind a reply.
    fn search_within(
        positions: u32,
        position: &Chess,
        legal: &[Move],
        hint: impl Fn(usize) -> Hint,
    ) -> Self {
        let mut search = Search { positions, left: 0, refutation: None };
        let mut found = Self { gain: MATED, by_captures: 0, best: 0, gains: vec![0; legal.len()] };
        for (place, (index, is_idle)) in in_order(position, legal, hint).enumerate() {
            let played = legal[index];
            let gained = immediate_gain(played);
            if is_idle && gained <= found.gain {
                // Passing refutes it, and nothing can be taken then.
                found.gains[index] = gained;
                continue;
            }
            let mut after = position.clone();
            after.play_unchecked(played);
            let gain = -search.replies(&Node::of(&after), Bounds::of(-gained, MATED, -found.gain));
            found.gains[index] = gain;
            if gain > found.gain || place == 0 {
                (found.gain, found.best) = (gain, index);
            }
        }
        found.by_captures = search.captures(&Node::of(position), Bounds::of(0, MATED, -MATED));
        found
    }

    /// The rows of the position, counted from the first of them.
    pub(super) fn rows(&self) -> [u8; 2] {
        if self.gains.is_empty() {
            return QUIET; // the game is over, and the evaluation of no interest
        }
        let surprise = reached(&SURPRISES, self.gain - self.by_captures);
        [reached(&GAINS, self.gain) as u8, (GAINS.len() + 1 + surprise) as u8]
    }

    /// The class of the legal move `index`.
    pub(super) fn class(&self, index: usize) -> usize {
        if index == self.best {
            return 0;
        }
        1 + reached(&WORSE, self.gain - self.gains[index])
    }
}

/// The moves, those first that promise most, and whether each is idle. Equals are in an order that
/// is the same for both sides.
fn in_order(
    position: &Chess,
    legal: &[Move],
    hint: impl Fn(usize) -> Hint,
) -> impl Iterator<Item = (usize, bool)> {
    let flip = position.turn().fold_wb(0, 56);
    let seen = |square: Option<Square>| square.map_or(0, u8::from) ^ flip;
    let of = |(index, played): (usize, &Move)| {
        let Hint { promise, is_idle } = hint(index);
        (-promise, seen(played.from()), seen(Some(played.to())), index, is_idle)
    };
    let mut moves: Vec<_> = legal.iter().enumerate().map(of).collect();
    moves.sort_unstable();
    moves.into_iter().map(|(.., index, is_idle)| (index, is_idle))
}

/// The window of a position, and what was found there so far; all for its side to move.
#[derive(Clone, Copy)]
struct Bounds {
    /// Material gained on the way here.
    standing: i32,
    alpha: i32,
    beta: i32,
    best: Option<i32>,
}

impl Bounds {
    fn of(standing: i32, alpha: i32, beta: i32) -> Self {
        Self { standing, alpha, beta, best: None }
    }

    /// The bounds after a move that gains so much at once.
    fn after(&self, gain: i32) -> Self {
        Self::of(-self.standing - gain, -self.beta, -self.alpha)
    }

    /// Takes in the value of a move or of passing; whether no more are needed.
    fn raise(&mut self, value: i32) -> bool {
        self.best = self.best.max(Some(value));
        self.alpha = self.alpha.max(value);
        self.alpha >= self.beta
    }
}

struct Search {
    /// Positions that may be searched behind a reply.
    positions: u32,
    /// How many still may.
    left: u32,
    /// The reply that refuted a move last: often it refutes the next one.
    refutation: Option<Step>,
}

impl Search {
    /// The value of a position behind one ply.
    fn replies(&mut self, node: &Node, mut bounds: Bounds) -> i32 {
        let checkers = node.checkers();
        if checkers.is_empty() && bounds.beta < -MATED {
            // Null move, once a best move is known: zugzwang is rare.
            let without = Bounds::of(-bounds.standing, -bounds.beta, 1 - bounds.beta);
            let value = -self.captures(&node.passed(), without);
            if value >= bounds.beta {
                return value;
            }
        }
        let mut ended = false;
        if let Some(step) = self.refutation.filter(|&step| node.can(step)) {
            ended = self.reply(node, step, &mut bounds);
        }
        let targets = node.answers(checkers);
        let victims = node.board.by_color(!node.turn) & targets;
        for role in DEAREST_FIRST {
            let victims = victims & node.board.by_role(role);
            ended = ended || node.any(victims, |step| self.reply(node, step, &mut bounds));
        }
        let empty = targets & !node.board.occupied();
        ended = ended || node.any(empty, |step| self.reply(node, step, &mut bounds));
        if !ended && checkers.any() {
            node.any_of_king(|step| self.reply(node, step, &mut bounds));
        }
        let over = if checkers.any() { MATED } else { bounds.standing };
        bounds.best.unwrap_or(over)
    }

    /// Tries a reply; whether it refutes the move.
    fn reply(&mut self, node: &Node, step: Step, bounds: &mut Bounds) -> bool {
        let Some((after, gain)) = node.after(step) else { return false };
        let refutes = bounds.raise(-self.captures(&after, bounds.after(gain)));
        if refutes {
            self.refutation = Some(step);
        }
        refutes
    }

    /// Quiescence: the value of a position when both sides may go on taking.
    fn captures(&mut self, node: &Node, bounds: Bounds) -> i32 {
        self.left = self.positions;
        self.resolve(node, bounds, 0)
    }

    fn resolve(&mut self, node: &Node, mut bounds: Bounds, ply: u8) -> i32 {
        self.left = self.left.saturating_sub(1);
        let checkers = if ply < EVASION_PLIES { node.checkers() } else { Bitboard::EMPTY };
        if checkers.any() {
            let targets = node.answers(checkers);
            let _ = node.any(targets, |step| self.step(node, step, &mut bounds, ply))
                || node.any_of_king(|step| self.step(node, step, &mut bounds, ply));
            return bounds.best.unwrap_or(MATED);
        }
        let standing = bounds.standing;
        if bounds.raise(standing) || ply >= CAPTURE_PLIES || self.left == 0 {
            return standing;
        }
        let _ = self.promote(node, &mut bounds, ply) || self.take(node, &mut bounds, ply);
        bounds.best.unwrap_or(standing)
    }

    /// Tries a capture or an evasion; whether no more are needed.
    fn step(&mut self, node: &Node, step: Step, bounds: &mut Bounds, ply: u8) -> bool {
        let Some((after, gain)) = node.after(step) else { return false };
        bounds.raise(-self.resolve(&after, bounds.after(gain), ply + 1)) || self.left == 0
    }

    /// Tries the promotions that take nothing.
    fn promote(&mut self, node: &Node, bounds: &mut Bounds, ply: u8) -> bool {
        before_promotion(&node.board, node.turn).into_iter().any(|from| {
            let pushes = node.pushes(from).into_iter();
            let mut steps = pushes.map(|to| Step { from, to, role: Role::Pawn });
            steps.any(|step| self.step(node, step, bounds, ply))
        })
    }

    /// Tries the captures that may reach the window (delta pruning) and do not lose material.
    fn take(&mut self, node: &Node, bounds: &mut Bounds, ply: u8) -> bool {
        let (board, us) = (&node.board, node.turn);
        let threatened = board.by_color(!us) & attacked(board, us);
        for victim in DEAREST_FIRST {
            let victims = threatened & board.by_role(victim);
            let most = bounds.standing + role_value(victim);
            if most <= bounds.alpha && victims.any() {
                bounds.best = bounds.best.max(Some(most));
                break;
            }
            for to in victims {
                if best_capture(board, to, us) <= 0 {
                    continue;
                }
                let attackers = all_attackers(board, to, board.occupied()) & board.by_color(us);
                for role in Role::ALL {
                    for from in attackers & board.by_role(role) {
                        let step = Step { from, to, role };
                        if node.keeps(step, victim) && self.step(node, step, bounds, ply) {
                            return true;
                        }
                    }
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests;
