//! Values inside alpha-beta: centipawns, with mates beyond every estimate.

use crate::chess::score::{Score, TABLE_PLIES};
use crate::search::table::{Entry, PackedMove};

/// Longest line in plies.
pub(super) const MAX_PLY: usize = 128;
/// Beyond every value.
pub(super) const INFINITE: i32 = 31_000;
/// Mate now; a mate in `n` plies is worth `MATE - n`.
pub(super) const MATE: i32 = 30_000;
/// Values from here on are mates.
pub(super) const MATE_BOUND: i32 = MATE - 1_000;
/// A table's win now; one in `n` plies is worth `TABLE_WIN - n`.
pub(super) const TABLE_WIN: i32 = 20_000;
/// Values from here on are proven.
pub(super) const PROVEN_BOUND: i32 = TABLE_WIN - 1_000;
pub(super) const DRAW: i32 = 0;
/// Estimates stay within this, so that they fit the table's 14 bits.
const LARGEST_ESTIMATE: i32 = 8_000;
/// Stands for "no static value" in the table's 14 bits.
const NO_STATIC: i32 = -8_192;

/// An estimate kept within the range that the table can hold.
pub(super) fn clamp_estimate(centipawns: i32) -> i32 {
    centipawns.clamp(-LARGEST_ESTIMATE, LARGEST_ESTIMATE)
}

/// A value as the rest of the engine speaks of it.
pub(super) fn to_score(value: i32) -> Score {
    if value >= MATE_BOUND {
        Score::Win((MATE - value) as u16)
    } else if value <= -MATE_BOUND {
        Score::Loss((MATE + value) as u16)
    } else if value >= PROVEN_BOUND {
        Score::Win(TABLE_PLIES + (TABLE_WIN - value).max(0) as u16)
    } else if value <= -PROVEN_BOUND {
        Score::Loss(TABLE_PLIES + (TABLE_WIN + value).max(0) as u16)
    } else {
        Score::Centipawns(value)
    }
}

/// What a stored value says of the true one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bound {
    Lower,
    Upper,
    Exact,
}

/// What alpha-beta keeps of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    /// Mates count from this position, not from the root.
    pub(super) value: i32,
    pub(super) bound: Bound,
    /// `None` in check.
    pub(super) static_value: Option<i32>,
}

impl Known {
    /// 16 bits value, 2 bits bound, 14 bits static value.
    pub(super) fn pack(self) -> u32 {
        let bound = match self.bound {
            Bound::Lower => 1,
            Bound::Upper => 2,
            Bound::Exact => 3,
        };
        let static_value = self.static_value.map_or(NO_STATIC, clamp_estimate);
        u32::from(self.value as i16 as u16) | bound << 16 | (static_value as u32) << 18
    }

    /// `None` where another search wrote the payload in a way that cannot be ours.
    pub(super) fn unpack(payload: u32) -> Option<Self> {
        let bound = match payload >> 16 & 3 {
            1 => Bound::Lower,
            2 => Bound::Upper,
            3 => Bound::Exact,
            _ => return None,
        };
        let static_value = payload as i32 >> 18;
        Some(Self {
            value: i32::from(payload as u16 as i16),
            bound,
            static_value: (static_value != NO_STATIC).then_some(static_value),
        })
    }

    /// Whether the value decides a node with this window.
    pub(super) fn decides(self, alpha: i32, beta: i32) -> bool {
        match self.bound {
            Bound::Exact => true,
            Bound::Lower => self.value >= beta,
            Bound::Upper => self.value <= alpha,
        }
    }

    /// Whether the value is a better estimate than this static one.
    pub(super) fn sharpens(self, estimate: i32) -> bool {
        match self.bound {
            Bound::Exact => true,
            Bound::Lower => self.value > estimate,
            Bound::Upper => self.value < estimate,
        }
    }
}

/// A value at `ply` made independent of the root: mates count from here.
pub(super) fn from_root(value: i32, ply: usize) -> i32 {
    shift_proof(value, ply as i32)
}

/// The opposite of [`from_root`].
pub(super) fn to_root(value: i32, ply: usize) -> i32 {
    shift_proof(value, -(ply as i32))
}

fn shift_proof(value: i32, plies: i32) -> i32 {
    if value >= PROVEN_BOUND {
        value + plies
    } else if value <= -PROVEN_BOUND {
        value - plies
    } else {
        value
    }
}

/// A table entry of alpha-beta, taken apart; its value counts from the root again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Remembered {
    pub(super) known: Known,
    pub(super) best: Option<PackedMove>,
    pub(super) depth: i32,
}

impl Remembered {
    pub(super) fn new(entry: Entry, ply: usize) -> Option<Self> {
        let mut known = Known::unpack(entry.payload)?;
        known.value = to_root(known.value, ply);
        Some(Self { known, best: entry.best, depth: i32::from(entry.depth) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_come_back() {
        for value in [0, -1, 1, MATE - 1, -MATE, 8_000, -8_000] {
            for bound in [Bound::Lower, Bound::Upper, Bound::Exact] {
                for static_value in [None, Some(0), Some(-1), Some(8_000), Some(-8_000)] {
                    let known = Known { value, bound, static_value };
                    assert_eq!(Known::unpack(known.pack()), Some(known));
                }
            }
        }
        assert_eq!(Known::unpack(0), None);
    }

    #[test]
    fn mates_count_plies() {
        assert_eq!(to_score(MATE - 3), Score::Win(3));
        assert_eq!(to_score(-MATE + 2), Score::Loss(2));
        assert_eq!(to_root(from_root(MATE - 7, 4), 4), MATE - 7);
        assert_eq!(from_root(MATE - 7, 4), MATE - 3);
        assert_eq!(to_score(TABLE_WIN - 3), Score::Win(TABLE_PLIES + 3));
        assert_eq!(to_score(-TABLE_WIN + 2), Score::Loss(TABLE_PLIES + 2));
        assert_eq!(to_root(from_root(-TABLE_WIN + 7, 4), 4), -TABLE_WIN + 7);
    }
}
