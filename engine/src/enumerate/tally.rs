//! What is counted, and the table of it.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use shakmaty::{ByColor, Color};

use super::clock::Times;

/// The kind of a root by who moved and whether that was a capture: all roots of a closure are in
/// four hives, one for each class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Class {
    pub(super) mover: Color,
    pub(super) is_capture: bool,
}

impl Class {
    /// Every class, by its number.
    pub(super) const ALL: [Self; 4] = [
        Self { mover: Color::White, is_capture: false },
        Self { mover: Color::White, is_capture: true },
        Self { mover: Color::Black, is_capture: false },
        Self { mover: Color::Black, is_capture: true },
    ];

    /// Its number.
    pub(super) fn number(self) -> usize {
        self.mover.fold_wb(0, 2) + usize::from(self.is_capture)
    }
}

/// What was counted so far, by colours: index 0 is White.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Tally {
    /// Positions that were expanded, by the side to move.
    pub(super) positions: [u64; 2],
    /// Moves within the closure, by the side that moves.
    pub(super) quiet: [u64; 2],
    /// Moves to roots, by the side that moves.
    pub(super) zeroing: [u64; 2],
    /// Most legal moves in a position.
    pub(super) most: u32,
    /// Fewest; `None` before the first position.
    pub(super) fewest: Option<u32>,
    /// Roots that can be reached by no second move, by class.
    pub(super) certain: [u64; 4],
}

impl Tally {
    /// Counts a position with so many legal moves.
    pub(super) fn count_position(&mut self, turn: Color, moves: u32) {
        self.positions[usize::from(turn.is_black())] += 1;
        self.most = self.most.max(moves);
        self.fewest = Some(self.fewest.map_or(moves, |fewest| fewest.min(moves)));
    }

    /// Adds what another thread counted.
    pub(super) fn add(&mut self, other: &Self) {
        let sum = |ours: &mut [u64], theirs: &[u64]| {
            ours.iter_mut().zip(theirs).for_each(|(ours, theirs)| *ours += theirs);
        };
        sum(&mut self.positions, &other.positions);
        sum(&mut self.quiet, &other.quiet);
        sum(&mut self.zeroing, &other.zeroing);
        sum(&mut self.certain, &other.certain);
        self.most = self.most.max(other.most);
        self.fewest = self.fewest.into_iter().chain(other.fewest).min();
    }
}

/// Positions with the same numbers of pieces and the same side to move: roots of different hives
/// are different.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hive {
    /// White's pieces, pawns and king included.
    pub white: usize,
    /// Black's.
    pub black: usize,
    /// The side to move.
    pub turn: Color,
}

impl std::fmt::Display for Hive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}-{}", self.white, self.black, self.turn.char())
    }
}

impl Hive {
    /// The hive of a class's roots, where the closure has so many pieces.
    pub(super) fn of(class: Class, pieces: ByColor<usize>) -> Self {
        let mut left = pieces;
        *left.get_mut(!class.mover) -= usize::from(class.is_capture);
        Self { white: left.white, black: left.black, turn: !class.mover }
    }
}

/// What a whole enumeration found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// FEN of the first position.
    pub fen: String,
    /// The first position's side to move.
    pub turn: Color,
    /// Most legal moves in a position.
    pub most_moves: u32,
    /// Fewest.
    pub fewest_moves: u32,
    /// Moves within the closure, by the side that moves.
    pub quiet: ByColor<u64>,
    /// Captures and pawn moves, by the side that moves.
    pub zeroing: ByColor<u64>,
    /// Distinct positions, the first one included, by the side to move.
    pub positions: ByColor<u64>,
    /// Distinct roots by hive; no hive is there twice.
    pub hives: Vec<(Hive, u64)>,
    /// What it took, over all runs.
    pub times: Times,
}

impl Found {
    /// Legal moves in all positions together.
    pub fn legal_moves(&self) -> u64 {
        [self.quiet, self.zeroing].iter().map(|moves| moves.white + moves.black).sum()
    }

    /// Distinct roots.
    pub fn roots(&self) -> u64 {
        self.hives.iter().map(|(_, roots)| roots).sum()
    }

    /// Zeroing moves of this side to a root that another such move had led to before.
    pub fn root_collisions(&self, mover: Color) -> u64 {
        let roots = self.hives.iter().filter(|(hive, _)| hive.turn == !mover);
        self.zeroing.get(mover) - roots.map(|(_, roots)| roots).sum::<u64>()
    }

    /// Moves of this side within the closure to a position that was there before.
    pub fn domain_collisions(&self, mover: Color) -> u64 {
        // No move is needed for the first position.
        let found = self.positions.get(!mover) - u64::from(self.turn == !mover);
        self.quiet.get(mover) - found
    }

    /// Positions other than the first one.
    pub fn new_positions(&self) -> u64 {
        self.positions.white + self.positions.black - 1
    }

    /// The table of the seed, row by row, and what it leaves out.
    pub fn text(&self) -> String {
        let rows = [
            ("Maximum Moves in a position", u64::from(self.most_moves)),
            ("Minimum", u64::from(self.fewest_moves)),
            ("Legal moves in this position", self.legal_moves()),
            ("Number of white root collisions", self.root_collisions(Color::White)),
            ("Number of white domain collisions", self.domain_collisions(Color::White)),
            ("Number of black root collisions", self.root_collisions(Color::Black)),
            ("Number of black domain collisions", self.domain_collisions(Color::Black)),
            ("Number of new roots", self.roots()),
            ("Number of new positions", self.new_positions()),
        ];
        let mut text = format!("FEN: \"{}\"\n\nStat | Metric |\n---|---|\n", self.fen);
        // Writing to a String cannot fail.
        for (name, count) in rows {
            let _ = writeln!(text, "{name} | {} |", grouped(count));
        }
        let _ = write!(text, "\nRunning time:\n{}\n\n", self.times);
        let _ = write!(
            text,
            "Positions with the first one: {}, {} White to move, {} Black",
            grouped(self.positions.white + self.positions.black),
            grouped(self.positions.white),
            grouped(self.positions.black)
        );
        if !self.hives.is_empty() {
            text.push_str("\n\nHive (white, black, to move) | Roots |\n---|---|");
        }
        for (hive, roots) in &self.hives {
            let _ = write!(text, "\n{hive} | {} |", grouped(*roots));
        }
        text
    }
}

/// A number with an apostrophe before every third digit from the right, as the seed writes them.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push('\'');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped() {
        let texts = [0, 7, 999, 1_000, 85_622_011, 145_937_007].map(grouped);
        assert_eq!(texts, ["0", "7", "999", "1'000", "85'622'011", "145'937'007"]);
    }

    #[test]
    fn classes_are_numbered() {
        for (number, class) in Class::ALL.into_iter().enumerate() {
            assert_eq!(class.number(), number);
        }
        let pieces = ByColor { white: 16, black: 15 };
        let hives = Class::ALL.map(|class| Hive::of(class, pieces).to_string());
        assert_eq!(hives, ["16-15-b", "16-14-b", "16-15-w", "15-15-w"]);
    }
}
