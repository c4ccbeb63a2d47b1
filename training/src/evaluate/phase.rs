//! Where in a game a position lies: how many pieces are on the board, and how close it is.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::figures::{Measures, Sums};
use crate::console::table::Table;

/// Fewest pieces of each phase.
const PIECES: [u8; 4] = [26, 16, 9, 0];
/// Largest teacher's score of each closeness, centipawns of either side.
const CENTIPAWNS: [i16; 3] = [100, 300, i16::MAX];

/// A phase and a closeness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// Fewest pieces on the board.
    pub pieces: u8,
    /// Largest score, centipawns of either side.
    pub centipawns: i16,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let most = PIECES.iter().rev().find(|&&pieces| pieces > self.pieces);
        match (self.pieces, most) {
            (0, Some(most)) => write!(f, "{} pieces and fewer", most - 1)?,
            (least, Some(most)) => write!(f, "{least} to {}", most - 1)?,
            (least, None) => write!(f, "{least} and more")?,
        }
        let pawns = self.centipawns / 100;
        match CENTIPAWNS.iter().rev().find(|&&centipawns| centipawns < self.centipawns) {
            Some(beyond) if self.centipawns == i16::MAX => {
                write!(f, ", beyond {} pawns", beyond / 100)
            }
            Some(beyond) => write!(f, ", {} to {pawns} pawns", beyond / 100),
            None => write!(f, ", within a pawn"),
        }
    }
}

/// The measures of a phase and a closeness.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PhaseRow {
    /// Which.
    pub phase: Phase,
    /// Of whole encodes.
    #[serde(flatten)]
    pub measures: Measures,
}

/// Sums by phase, then by closeness.
#[derive(Clone, Debug, Default)]
pub(super) struct Phases([[Sums; CENTIPAWNS.len()]; PIECES.len()]);

impl Phases {
    /// The sums of a position with so many pieces, which the teacher gives this score.
    pub(super) fn of(&mut self, pieces: u8, score: i16) -> &mut Sums {
        let phase = PIECES.iter().position(|&least| pieces >= least).unwrap_or(PIECES.len() - 1);
        let most = i16::try_from(score.unsigned_abs()).unwrap_or(i16::MAX);
        let close = CENTIPAWNS.iter().position(|&centipawns| most <= centipawns);
        &mut self.0[phase][close.unwrap_or(CENTIPAWNS.len() - 1)]
    }

    pub(super) fn add(&mut self, other: &Self) {
        for (sums, more) in self.0.as_flattened_mut().iter_mut().zip(other.0.as_flattened()) {
            sums.add(more);
        }
    }

    /// Phase by phase.
    pub(super) fn rows(&self) -> Vec<PhaseRow> {
        let cells = PIECES.iter().flat_map(|&pieces| {
            CENTIPAWNS.iter().map(move |&centipawns| Phase { pieces, centipawns })
        });
        let row = |(phase, sums): (Phase, &Sums)| PhaseRow { phase, measures: sums.measures() };
        cells.zip(self.0.as_flattened()).map(row).collect()
    }
}

/// The rows as a table.
pub(super) fn table(rows: &[PhaseRow]) -> Table {
    let mut table =
        Table::new(&["positions"], &["count", "RMSE, points", "policy top-1", "action accuracy"]);
    for PhaseRow { phase, measures } in rows.iter().filter(|row| row.measures.positions > 0) {
        table.push([
            phase.to_string(),
            measures.positions.to_string(),
            format!("{:.2}", measures.rmse_points),
            format!("{:.3}", measures.policy_top_1),
            format!("{:.3}", measures.action_accuracy),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_position_has_its_place_and_its_name() {
        let mut phases = Phases::default();
        let mut place = |pieces, score| {
            let chosen: *const Sums = phases.of(pieces, score);
            let all = phases.0.as_flattened();
            let at = all.iter().position(|sums| std::ptr::eq(sums, chosen)).unwrap();
            phases.rows()[at].phase.to_string()
        };
        assert_eq!(place(32, -100), "26 and more, within a pawn");
        assert_eq!(place(25, 101), "16 to 25, 1 to 3 pawns");
        assert_eq!(place(9, i16::MIN), "9 to 15, beyond 3 pawns");
        assert_eq!(place(2, 0), "8 pieces and fewer, within a pawn");
    }
}
