//! A closure as anybody would write it: sets of whole positions, nothing clever.

use std::collections::{HashMap, HashSet};

use shakmaty::{ByColor, Chess, Color, Move, Position as _};
use tesla_engine::enumerate::{Found, Hive, Times};

/// All that a closure holds.
pub(crate) struct Naive {
    pub(crate) positions: HashSet<Chess>,
    pub(crate) hives: HashMap<Hive, HashSet<Chess>>,
    quiet: ByColor<u64>,
    zeroing: ByColor<u64>,
    most: u32,
    fewest: u32,
    start: Chess,
}

pub(crate) fn after(position: &Chess, played: Move) -> Chess {
    let mut next = position.clone();
    next.play_unchecked(played);
    next
}

pub(crate) fn hive_of(position: &Chess) -> Hive {
    let board = position.board();
    let (white, black) = (board.white().count(), board.black().count());
    Hive { white, black, turn: position.turn() }
}

impl Naive {
    /// The closure; `None` when it has more than `limit` positions.
    pub(crate) fn new(start: &Chess, limit: usize) -> Option<Self> {
        let mut naive = Self {
            positions: HashSet::from([start.clone()]),
            hives: HashMap::new(),
            quiet: ByColor::default(),
            zeroing: ByColor::default(),
            most: 0,
            fewest: u32::MAX,
            start: start.clone(),
        };
        let mut work = vec![start.clone()];
        while let Some(position) = work.pop() {
            let moves = position.legal_moves();
            naive.most = naive.most.max(moves.len() as u32);
            naive.fewest = naive.fewest.min(moves.len() as u32);
            for &played in &moves {
                let next = after(&position, played);
                if played.is_zeroing() {
                    *naive.zeroing.get_mut(position.turn()) += 1;
                    naive.hives.entry(hive_of(&next)).or_default().insert(next);
                } else {
                    *naive.quiet.get_mut(position.turn()) += 1;
                    if naive.positions.insert(next.clone()) {
                        work.push(next);
                    }
                }
            }
            if naive.positions.len() > limit {
                return None;
            }
        }
        Some(naive)
    }

    /// What the enumerator should say.
    pub(crate) fn found(&self, fen: &str) -> Found {
        let count = |turn: Color| {
            self.positions.iter().filter(|position| position.turn() == turn).count() as u64
        };
        let mut hives: Vec<(Hive, u64)> =
            self.hives.iter().map(|(&hive, roots)| (hive, roots.len() as u64)).collect();
        // White's moves first, and those that capture nothing.
        hives.sort_by_key(|(hive, _)| {
            (hive.turn == Color::White, std::cmp::Reverse(hive.white + hive.black))
        });
        Found {
            fen: fen.to_owned(),
            turn: self.start.turn(),
            most_moves: self.most,
            fewest_moves: self.fewest,
            quiet: self.quiet,
            zeroing: self.zeroing,
            positions: ByColor { white: count(Color::White), black: count(Color::Black) },
            hives,
            times: Times::default(),
        }
    }
}
