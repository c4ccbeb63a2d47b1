//! What was learnt so far: a move and its fate for each position, the games in a few numbers, and
//! the threshold of confidence that they led to.
//!
//! Everything happens by [`Experience::apply`], live and when a file is read, so that both end
//! alike.

use std::collections::{HashMap, VecDeque};

use shakmaty::Color;

use super::packed::Packed;
use super::record::{GameOver, GameResult, MoveMade, PastGame, PositionRecord, Record, Totals};

/// Where the threshold starts, thousandths of a pawn.
const THRESHOLD: i32 = 2_000;
/// How far it is moved at once.
const STEP: i32 = 200;
/// Its bounds: what Part 2 calls too low and too high.
const LOWEST: i32 = 1_000;
const HIGHEST: i32 = 3_000;
/// After how many games with confidence it is judged.
const JUDGED_AFTER: u32 = 20;
/// Share of those games won, in percent: above this the threshold falls, below that it rises.
const TOO_CAUTIOUS: u32 = 85;
const TOO_BOLD: u32 = 75;
/// Games remembered one by one.
const PAST_GAMES: usize = 100_000;

/// See the module.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Experience {
    entries: HashMap<Packed, PositionRecord>,
    past: VecDeque<PastGame>,
    totals: Totals,
    /// Most entries.
    size: usize,
    /// Whether positions were forgotten, which the file still holds.
    has_forgotten: bool,
}

impl Experience {
    /// Nothing yet, and never more than `size` positions.
    pub(super) fn new(size: usize) -> Self {
        let totals = Totals {
            threshold: THRESHOLD,
            games: 0,
            moves: [0; 3],
            confident: 0,
            confident_wins: 0,
        };
        let (entries, past) = (HashMap::new(), VecDeque::new());
        Self { entries, past, totals, size: size.max(1), has_forgotten: false }
    }

    /// What is known of a position.
    pub(crate) fn get(&self, position: Packed) -> Option<PositionRecord> {
        self.entries.get(&position).copied()
    }

    /// All positions, in no order.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (Packed, PositionRecord)> {
        self.entries.iter().map(|(&position, &entry)| (position, entry))
    }

    /// Number of positions.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The last games, oldest first.
    pub(super) fn past(&self) -> impl ExactSizeIterator<Item = &PastGame> {
        self.past.iter()
    }

    /// The sums.
    pub(super) fn totals(&self) -> Totals {
        self.totals
    }

    /// Another bound.
    pub(super) fn set_size(&mut self, size: usize) {
        self.size = size.max(1);
        self.keep_bound();
    }

    /// Whether positions were forgotten to keep the bound.
    pub(super) fn has_forgotten(&self) -> bool {
        self.has_forgotten
    }

    /// Takes in what happened.
    pub(super) fn apply(&mut self, record: &Record) {
        match record {
            Record::Move(made) => self.made(made),
            Record::Game(over) => self.over(over),
            Record::Position(position, entry) => {
                self.entries.insert(*position, *entry);
                self.keep_bound();
            }
            Record::Past(game) => self.remember(*game),
            Record::Totals(totals) => self.totals = *totals,
        }
    }

    fn made(&mut self, made: &MoveMade) {
        let &MoveMade { position, best, state } = made;
        let last = self.totals.games;
        self.totals.moves[state as usize] += 1;
        let fresh = PositionRecord { best, state, seen: 0, wins: 0, draws: 0, losses: 0, last };
        let entry = self.entries.entry(position).or_insert(fresh);
        (entry.best, entry.state, entry.last) = (best, state, last);
        entry.seen = entry.seen.saturating_add(1);
        self.keep_bound();
    }

    fn over(&mut self, over: &GameOver) {
        for position in &over.positions {
            let Some(entry) = self.entries.get_mut(position) else { continue };
            let count = match over.winner {
                None => &mut entry.draws,
                Some(winner) if winner == position.turn() => &mut entry.wins,
                Some(_) => &mut entry.losses,
            };
            *count = count.saturating_add(1);
        }
        let result = match over.winner {
            None => GameResult::Draw,
            Some(winner) if winner == over.our_side() => GameResult::Win,
            Some(_) => GameResult::Loss,
        };
        self.totals.games = self.totals.games.saturating_add(1);
        self.remember(PastGame {
            result,
            is_estimated: over.is_estimated,
            moves: over.moves,
            threshold: self.totals.threshold,
            positions: self.entries.len() as u32,
        });
        self.judge(over);
    }

    fn remember(&mut self, game: PastGame) {
        if self.past.len() == PAST_GAMES {
            self.past.pop_front();
        }
        self.past.push_back(game);
    }

    /// Part 9: the threshold follows the share of games won once we were confident.
    fn judge(&mut self, over: &GameOver) {
        for (side, is_confident) in Color::ALL.into_iter().zip(over.confident) {
            self.totals.confident += u32::from(is_confident);
            self.totals.confident_wins += u32::from(is_confident && over.winner == Some(side));
        }
        let Totals { confident, confident_wins, threshold, .. } = self.totals;
        if confident < JUDGED_AFTER {
            return;
        }
        let percent = 100 * confident_wins;
        let step = if percent > TOO_CAUTIOUS * confident {
            -STEP
        } else if percent < TOO_BOLD * confident {
            STEP
        } else {
            0
        };
        self.totals.threshold = (threshold + step).clamp(LOWEST, HIGHEST);
        (self.totals.confident, self.totals.confident_wins) = (0, 0);
    }

    /// Forgets an eighth of the positions when there are too many: the least seen, of those the
    /// oldest.
    fn keep_bound(&mut self) {
        if self.entries.len() <= self.size {
            return;
        }
        self.has_forgotten = true;
        let keep = self.size - self.size / 8;
        let mut ranked: Vec<(u32, u32, Packed)> = self
            .entries
            .iter()
            .map(|(&position, entry)| (entry.seen, entry.last, position))
            .collect();
        let surplus = ranked.len() - keep;
        if surplus < ranked.len() {
            ranked.select_nth_unstable(surplus);
        }
        for (_, _, position) in &ranked[..surplus] {
            self.entries.remove(position);
        }
    }

    /// The records that make an equal experience.
    pub(super) fn snapshot(&self) -> impl Iterator<Item = Record> {
        let entries =
            self.entries.iter().map(|(&position, &entry)| Record::Position(position, entry));
        std::iter::once(Record::Totals(self.totals))
            .chain(self.past.iter().map(|&game| Record::Past(game)))
            .chain(entries)
    }
}
