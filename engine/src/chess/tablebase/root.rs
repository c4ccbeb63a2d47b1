//! The moves that the tables recommend at the root.

use std::cmp::Reverse;

use shakmaty::{Chess, Move, Position};
use shakmaty_syzygy::AmbiguousWdl;

use super::{Dtz, MaybeRounded, Tables, Wdl};
use crate::chess::game::{Game, position_key};
use crate::chess::score::{Score, TABLE_PLIES};

/// What the tables say of a root.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The moves that keep the result, and what comes of them; where the game is won, the quickest
    /// to the next capture or pawn move.
    pub moves: Vec<(Move, Score)>,
    /// The result for the side to move, by the best of them.
    pub score: Score,
    /// The other allowed moves, the best first, and what comes of them.
    pub others: Vec<(Move, Score)>,
}

/// What a move is worth, the best greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    result: Wdl,
    /// Whether it does not bring back a position of the game.
    is_new: bool,
    /// Plies saved on the way to a win, or gained on the way to a loss that the clock may spoil; 0
    /// = does not matter.
    haste: i32,
}

impl Rank {
    /// The result as a score, with as many plies as the next capture or pawn move is away.
    fn score(self, plies: i32) -> Score {
        let plies = TABLE_PLIES + plies.unsigned_abs().min(u32::from(TABLE_PLIES)) as u16;
        match self.result {
            Wdl::Win => Score::Win(plies),
            Wdl::Loss => Score::Loss(plies),
            _ => Score::Draw,
        }
    }
}

impl Advice {
    /// A search's score of a line, made certain: a mate is kept, an estimate gives way to what the
    /// tables say of the line's first move.
    pub fn sharpen(&self, found: Score, first: Option<&Move>) -> Score {
        match found {
            Score::Win(plies) | Score::Loss(plies) if plies < TABLE_PLIES => found,
            _ => {
                let known = self.moves.iter().find(|(played, _)| Some(played) == first);
                known.map_or(self.score, |&(_, score)| score)
            }
        }
    }
}

impl Tables {
    /// What the tables recommend among the `allowed` legal moves; `None` where they do not know the
    /// position.
    ///
    /// A won game is played by DTZ alone: each move comes closer to the next capture or pawn move,
    /// so the fifty-move rule cannot take the win away, nor can the position come back. Without DTZ
    /// files the result is kept, without that promise.
    pub fn advise(&self, game: &Game, allowed: &[Move]) -> Option<Advice> {
        if !self.covers(game.position()) {
            return None;
        }
        let by_distance = || allowed.iter().map(|&m| self.rank(game, m)).collect::<Option<_>>();
        let by_result = || allowed.iter().map(|&m| self.rank_by_wdl(game, m)).collect();
        let ranks: Vec<(Rank, i32)> = by_distance().or_else(by_result)?;
        let mut ranked: Vec<(Move, (Rank, i32))> = allowed.iter().copied().zip(ranks).collect();
        // Among equals in the order of the generator.
        ranked.sort_by_key(|&(_, (rank, _))| Reverse(rank));
        let &(_, (best, _)) = ranked.first()?;
        let behind = ranked.iter().position(|&(_, (rank, _))| rank != best);
        let mut others = ranked.split_off(behind.unwrap_or(ranked.len()));
        // Ranks know no distances of moves that lose.
        others.sort_by_key(|&(_, (rank, plies))| Reverse((rank.result, rank.score(plies).rank())));
        let scored = |moves: Vec<(Move, (Rank, i32))>| -> Vec<(Move, Score)> {
            moves.into_iter().map(|(m, (rank, plies))| (m, rank.score(plies))).collect()
        };
        let (moves, others) = (scored(ranked), scored(others));
        let score = moves.iter().map(|&(_, score)| score).max_by_key(|score| score.rank())?;
        Some(Advice { moves, score, others })
    }

    /// A move's rank and its DTZ, seen from the root.
    fn rank(&self, game: &Game, played: Move) -> Option<(Rank, i32)> {
        let clock = game.position().halfmoves();
        let after = After::of(game, played);
        let dtz = match after.decided() {
            Some(Wdl::Loss) => MaybeRounded::Precise(Dtz(1)),
            Some(_) => MaybeRounded::Precise(Dtz(0)),
            None if played.is_zeroing() => {
                MaybeRounded::Precise(Dtz::before_zeroing(-self.wdl(&after.position)?))
            }
            None => (-self.dtz(&after.position)?).add_plies_saturating(1),
        };
        let result = AmbiguousWdl::from_dtz_and_halfmoves(dtz, clock);
        let dtz = dtz.ignore_rounding().0;
        Some((after.rank(self.counted(result.after_zeroing()), dtz), dtz))
    }

    /// The same by result only.
    fn rank_by_wdl(&self, game: &Game, played: Move) -> Option<(Rank, i32)> {
        let after = After::of(game, played);
        let reply = after.decided().map_or_else(|| self.wdl(&after.position), Some)?;
        Some((after.rank(self.counted(-reply), 0), 0))
    }
}

/// The position after a root move.
struct After {
    position: Chess,
    /// How often it was on the board before.
    earlier: usize,
}

impl After {
    fn of(game: &Game, played: Move) -> Self {
        let mut position = game.position().clone();
        position.play_unchecked(played);
        let key = position_key(&position);
        let is_same = |earlier: &&u64| **earlier == key;
        let earlier = if played.is_zeroing() {
            0
        } else {
            game.earlier_keys().iter().filter(is_same).count()
        };
        Self { position, earlier }
    }

    /// What the rules say of it, for its side to move.
    fn decided(&self) -> Option<Wdl> {
        if self.position.is_checkmate() {
            return Some(Wdl::Loss);
        }
        let is_draw = self.earlier >= 2
            || self.position.halfmoves() >= 100
            || self.position.is_stalemate()
            || self.position.is_insufficient_material();
        is_draw.then_some(Wdl::Draw)
    }

    fn rank(&self, result: Wdl, dtz: i32) -> Rank {
        let is_new = self.earlier == 0;
        match result {
            // Nearer is better.
            Wdl::Win | Wdl::CursedWin => Rank { result, is_new, haste: -dtz },
            // The longer it lasts, the likelier the clock runs out.
            Wdl::BlessedLoss => Rank { result, is_new: true, haste: -dtz },
            // The search decides.
            Wdl::Draw | Wdl::Loss => Rank { result, is_new: true, haste: 0 },
        }
    }
}
