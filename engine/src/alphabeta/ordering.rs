//! Which move to look at first: the table's, good captures, killers, then by history or, where a
//! network is asked, by its policy.

use shakmaty::{Chess, Color, Move, MoveList, Position, Role};
use tesla_nn::classical::exchange::{immediate_gain, nets_at_least, role_value};

use crate::search::table::PackedMove;

use super::value::MAX_PLY;

const TABLE_MOVE: i32 = 1 << 30;
const GOOD_CAPTURE: i32 = 1 << 26;
const KILLER: i32 = 1 << 24;
const BAD_CAPTURE: i32 = -(1 << 26);
/// A history counter never leaves ± this.
const HISTORY_LIMIT: i32 = 16_384;
/// Largest change of a history counter at once.
const LARGEST_BONUS: i32 = 1_600;
/// What a policy of 1 adds to a move's rank; comparable to the other ranks above.
const POLICY: f32 = (1 << 25) as f32;
/// Role times square, for moves as the ply before remembers them.
const PLACES: usize = 6 * 64;

/// What earlier nodes of the search teach about quiet moves.
#[derive(Debug)]
pub(super) struct History {
    /// By colour, from and to.
    butterfly: Vec<i16>,
    /// By the move before (role, to) and this one (role, to).
    reply: Vec<i16>,
    killers: Vec<[Option<Move>; 2]>,
}

impl History {
    pub(super) fn new() -> Self {
        Self {
            butterfly: vec![0; 2 * 64 * 64],
            reply: vec![0; PLACES * PLACES],
            killers: vec![[None; 2]; MAX_PLY + 1],
        }
    }

    pub(super) fn clear(&mut self) {
        *self = Self::new();
    }

    /// Before another search: killers belong to one tree, counters are halved.
    pub(super) fn new_search(&mut self) {
        self.killers.fill([None; 2]);
        for counter in self.butterfly.iter_mut().chain(&mut self.reply) {
            *counter /= 2;
        }
    }

    /// Rank of a quiet move, within ± twice the counters' limit.
    pub(super) fn quiet(&self, color: Color, before: Option<Move>, played: Move) -> i32 {
        let butterfly = i32::from(self.butterfly[butterfly_index(color, played)]);
        let reply = reply_index(before, played).map_or(0, |index| i32::from(self.reply[index]));
        butterfly + reply
    }

    /// A quiet move refuted the opponent's last one; those tried before it did not.
    pub(super) fn cutoff(
        &mut self,
        (color, before): (Color, Option<Move>),
        ply: usize,
        depth: i32,
        tried: &[Move],
    ) {
        let Some((&best, earlier)) = tried.split_last() else { return };
        let bonus = (32 * depth * depth + 64 * depth).min(LARGEST_BONUS);
        self.add(color, before, best, bonus);
        for &quiet in earlier {
            self.add(color, before, quiet, -bonus);
        }
        let killers = &mut self.killers[ply];
        if killers[0] != Some(best) {
            *killers = [Some(best), killers[0]];
        }
    }

    fn add(&mut self, color: Color, before: Option<Move>, played: Move, bonus: i32) {
        gravitate(&mut self.butterfly[butterfly_index(color, played)], bonus);
        if let Some(index) = reply_index(before, played) {
            gravitate(&mut self.reply[index], bonus);
        }
    }

    pub(super) fn is_killer(&self, ply: usize, played: Move) -> bool {
        self.killers[ply].contains(&Some(played))
    }
}

/// Adds a bonus so that the counter approaches its limit but never passes it.
fn gravitate(counter: &mut i16, bonus: i32) {
    let old = i32::from(*counter);
    *counter = (old + bonus - old * bonus.abs() / HISTORY_LIMIT) as i16;
}

fn butterfly_index(color: Color, played: Move) -> usize {
    let to = played.to();
    let from = played.from().unwrap_or(to);
    (usize::from(color.is_white()) * 64 + usize::from(from)) * 64 + usize::from(to)
}

fn reply_index(before: Option<Move>, played: Move) -> Option<usize> {
    let place = |m: Move| (m.role() as usize - 1) * 64 + usize::from(m.to());
    before.map(|before| place(before) * PLACES + place(played))
}

/// Whether a move changes material at once: a capture or a queen promotion.
pub(super) fn is_tactical(played: Move) -> bool {
    played.is_capture() || played.promotion() == Some(Role::Queen)
}

/// What the ranks are made of.
pub(super) struct Hints<'a> {
    pub(super) history: &'a History,
    pub(super) table: Option<PackedMove>,
    pub(super) before: Option<Move>,
    pub(super) ply: usize,
    /// Per legal move, where a network is asked.
    pub(super) policy: Option<&'a [f32]>,
}

/// Legal moves and their ranks, handed out best first.
#[derive(Debug)]
pub(super) struct Ordered {
    moves: MoveList,
    ranks: Vec<i32>,
    next: usize,
}

impl Ordered {
    pub(super) fn new(position: &Chess, legal: MoveList, hints: &Hints<'_>) -> Self {
        let rank = |(index, &candidate): (usize, &Move)| {
            if hints.table.is_some_and(|best| best.matches(candidate)) {
                TABLE_MOVE
            } else if let Some(policy) = hints.policy {
                let policy = policy.get(index).copied().unwrap_or(0.0);
                (policy * POLICY) as i32 + hints.history.quiet(position.turn(), None, candidate)
            } else if is_tactical(candidate) {
                capture_rank(position, candidate)
            } else if hints.history.is_killer(hints.ply, candidate) {
                KILLER
            } else {
                hints.history.quiet(position.turn(), hints.before, candidate)
            }
        };
        let ranks = legal.iter().enumerate().map(rank).collect();
        Self { moves: legal, ranks, next: 0 }
    }

    /// Sorts what has not been handed out yet and shows it, best first.
    pub(super) fn rest(&mut self) -> &[Move] {
        for start in self.next..self.moves.len() {
            self.bring_best_to(start);
        }
        &self.moves[self.next..]
    }

    fn bring_best_to(&mut self, start: usize) {
        // The first of equals, so that the order is the generator's and repeatable.
        let best = (start..self.moves.len()).max_by_key(|&i| (self.ranks[i], usize::MAX - i));
        if let Some(best) = best {
            self.moves.swap(start, best);
            self.ranks.swap(start, best);
        }
    }
}

impl Iterator for Ordered {
    type Item = Move;

    fn next(&mut self) -> Option<Move> {
        if self.next >= self.moves.len() {
            return None;
        }
        self.bring_best_to(self.next);
        self.next += 1;
        Some(self.moves[self.next - 1])
    }
}

/// Most valuable victim first, least valuable attacker among those; losing captures last.
fn capture_rank(position: &Chess, candidate: Move) -> i32 {
    let base = if nets_at_least(position, candidate, 0) { GOOD_CAPTURE } else { BAD_CAPTURE };
    base + 32 * immediate_gain(candidate) - role_value(candidate.role()).min(2_000) / 4
}

#[cfg(test)]
mod tests {
    use shakmaty::CastlingMode;
    use shakmaty::fen::Fen;

    use super::*;

    #[test]
    fn good_captures_first_bad_ones_last() {
        // The pawn may take a rook, the queen a defended pawn.
        let setup: Fen = "4k3/8/2p1r3/3p1P2/8/3Q4/8/6K1 w - - 0 1".parse().unwrap();
        let position: Chess = setup.into_position(CastlingMode::Standard).unwrap();
        let history = History::new();
        let hints = Hints { history: &history, table: None, before: None, ply: 0, policy: None };
        let legal = position.legal_moves();
        let count = legal.len();
        let all: Vec<Move> = Ordered::new(&position, legal, &hints).collect();
        assert_eq!(all.len(), count);
        assert_eq!(all[0].role(), Role::Pawn);
        assert_eq!(all[0].capture(), Some(Role::Rook));
        assert_eq!(all[count - 1].capture(), Some(Role::Pawn));
    }

    #[test]
    fn counters_stay_in_range() {
        let mut counter = 0;
        for _ in 0..1_000 {
            gravitate(&mut counter, LARGEST_BONUS);
        }
        assert!(i32::from(counter) <= HISTORY_LIMIT);
    }
}
