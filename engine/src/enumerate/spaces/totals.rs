//! What was counted over all spaces, and the table of it.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use shakmaty::ByColor;

use crate::enumerate::clock::Times;
use crate::enumerate::tally::{Hive, Tally, grouped};

use super::key::hive;

/// Sums over the spaces that are closed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Totals {
    pub(super) spaces: u64,
    /// Spaces that another run had closed.
    pub(super) reused: u64,
    pub(super) tally: Tally,
    /// By the number of the hive.
    pub(super) hives: BTreeMap<u32, Roots>,
    /// Spaces that roots lead into.
    pub(super) entered: u64,
    /// Most roots that lead into one space.
    pub(super) widest: u64,
    /// Comparisons by which a binary search among the roots of one space finds each root.
    pub(super) comparisons: u64,
}

/// Roots of a hive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roots {
    /// Different ones.
    pub distinct: u64,
    /// How often spaces led to them, each space counting once: what is more than `distinct` was
    /// known from another space.
    pub found: u64,
}

impl Totals {
    /// Counts a root of this hive, to which so many spaces lead.
    pub(super) fn count(&mut self, hive: u32, found: u64) {
        let roots = self.hives.entry(hive).or_default();
        roots.distinct += 1;
        roots.found += found;
    }

    /// Counts the roots that lead into one space.
    pub(super) fn count_space(&mut self, distinct: u64, found: u64) {
        self.entered += u64::from(distinct > 0);
        self.widest = self.widest.max(distinct);
        self.comparisons += comparisons(distinct, found);
    }
}

/// Comparisons by which a binary search finds `found` roots among `distinct`.
fn comparisons(distinct: u64, found: u64) -> u64 {
    found * u64::from(distinct.checked_ilog2().map_or(0, |bits| bits + 1))
}

/// What spaces have in common, as far as they are enumerated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpacesFound {
    /// Spaces closed.
    pub spaces: u64,
    /// Of them, those that another run had closed.
    pub reused: u64,
    /// Distinct positions in them, by the side to move.
    pub positions: ByColor<u64>,
    /// Moves within them.
    pub quiet: u64,
    /// Moves from them to roots.
    pub zeroing: u64,
    /// Most and fewest legal moves in a position.
    pub moves: (u32, u32),
    /// The roots by hive, those of spaces that are not closed too.
    pub hives: Vec<(Hive, Roots)>,
    /// Roots whose spaces are not closed.
    pub waiting: u64,
    /// Spaces that roots lead into.
    pub entered: u64,
    /// Most roots that lead into one space.
    pub widest: u64,
    /// Comparisons of a binary search for each root, among the roots of its space.
    pub comparisons: u64,
    /// What it took, over all runs.
    pub times: Times,
}

impl SpacesFound {
    /// From sums over closed spaces (`totals`) and over all (`all`).
    pub(super) fn new(totals: &Totals, all: &Totals, waiting: u64, times: Times) -> Self {
        let Tally { positions, quiet, zeroing, most, fewest, .. } = &totals.tally;
        Self {
            spaces: totals.spaces,
            reused: totals.reused,
            positions: ByColor { white: positions[0], black: positions[1] },
            quiet: quiet.iter().sum(),
            zeroing: zeroing.iter().sum(),
            moves: (*most, fewest.unwrap_or(0)),
            hives: all.hives.iter().map(|(&number, &roots)| (hive(number), roots)).collect(),
            waiting,
            entered: all.entered,
            widest: all.widest,
            comparisons: all.comparisons,
            times,
        }
    }

    /// All roots together.
    pub fn roots(&self) -> Roots {
        self.sum(|_| true)
    }

    fn sum(&self, is_counted: impl Fn(&Hive) -> bool) -> Roots {
        let hives = self.hives.iter().filter(|(hive, _)| is_counted(hive));
        hives.fold(Roots::default(), |sum, (_, roots)| Roots {
            distinct: sum.distinct + roots.distinct,
            found: sum.found + roots.found,
        })
    }

    /// Roots by the number of all pieces and the side to move: the seed's pools.
    fn pools(&self) -> BTreeMap<(usize, bool), Roots> {
        let pool = |hive: &Hive| (hive.white + hive.black, hive.turn.is_white());
        let pools = self.hives.iter().map(|(hive, _)| pool(hive));
        pools.map(|this| (this, self.sum(|hive| pool(hive) == this))).collect()
    }

    /// The tables.
    pub fn text(&self) -> String {
        let roots = self.roots();
        let rows = [
            ("Spaces closed", self.spaces),
            ("of them by an earlier run", self.reused),
            ("Positions", self.positions.white + self.positions.black),
            ("White to move", self.positions.white),
            ("Black to move", self.positions.black),
            ("Legal moves", self.quiet + self.zeroing),
            ("of them to roots", self.zeroing),
            ("Maximum moves in a position", u64::from(self.moves.0)),
            ("Minimum", u64::from(self.moves.1)),
            ("Roots", roots.distinct),
            ("found in another space again", roots.found - roots.distinct),
            ("whose spaces are not closed", self.waiting),
        ];
        // Writing to a String cannot fail.
        let mut text = "Stat | Metric |\n---|---|\n".to_owned();
        for (name, count) in rows {
            let _ = writeln!(text, "{name} | {} |", grouped(count));
        }
        let _ = writeln!(text, "\nRunning time:\n{}\n", self.times);
        text.push_str("Hive (white, black, to move) | Roots | Found in another space again |\n");
        text.push_str("---|---|---|\n");
        for (hive, roots) in &self.hives {
            let (distinct, again) = (roots.distinct, roots.found - roots.distinct);
            let _ = writeln!(text, "{hive} | {} | {} |", grouped(distinct), grouped(again));
        }
        text + "\n" + &self.sets_text()
    }

    /// Hives, pools and spaces as sets to look roots up in.
    fn sets_text(&self) -> String {
        let pools = self.pools();
        let hives: Vec<Roots> = self.hives.iter().map(|&(_, roots)| roots).collect();
        let row = |name: &str, sets: &mut dyn Iterator<Item = Roots>| {
            let (mut count, mut largest, mut looked) = (0_u64, 0, 0);
            for Roots { distinct, found } in sets {
                count += 1;
                largest = largest.max(distinct);
                looked += comparisons(distinct, found);
            }
            let [count, largest, looked] = [count, largest, looked].map(grouped);
            format!("{name} | {count} | {largest} | {looked} |\n")
        };
        let mut text =
            "Roots kept apart by | Sets | Roots of the largest | Comparisons |\n".to_owned();
        text.push_str("---|---|---|---|\n");
        text += &row("all pieces, side to move (pool)", &mut pools.into_values());
        text += &row("pieces of each side, side to move (hive)", &mut hives.into_iter());
        let [entered, widest, looked] = [self.entered, self.widest, self.comparisons].map(grouped);
        let _ = write!(text, "pawns, kinds of pieces (space) | {entered} | {widest} | {looked} |");
        text
    }
}
