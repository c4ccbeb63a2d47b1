//! The one store of roots: what each space led to, and what begins the next.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use shakmaty::CastlingMode;

use super::key::{Pile, SpaceKey, hive_number};
use super::piles::Piles;
use super::totals::Totals;
use crate::enumerate::bucket::NO_POSITION;
use crate::enumerate::error::EnumerateError;
use crate::enumerate::packed::Packed;
use crate::search::StopToken;

/// Roots between two looks at the stop token, also when they are sorted: a tenth of a second.
pub(super) const BETWEEN: usize = 1 << 18;

/// How far a pile is.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Place {
    pub(super) pile: Pile,
    /// A pile that does not fit memory is gone through several times.
    pub(super) passes: u64,
    pub(super) pass: u64,
    /// Spaces of this pass that are closed.
    pub(super) done: usize,
}

/// A root on a pile.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) key: SpaceKey,
    pub(super) root: Packed,
    /// Spaces that led to it; none to a first position.
    pub(super) found: u64,
}

/// The roots that wait, of all spaces together.
#[derive(Debug)]
pub(super) struct RootStore {
    pub(super) folder: PathBuf,
    pub(super) mode: CastlingMode,
    pub(super) starts: Vec<Packed>,
    pub(super) waiting: Mutex<Piles>,
}

impl RootStore {
    /// The piles.
    pub(super) fn lock(&self) -> MutexGuard<'_, Piles> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts the roots of a space on their piles.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn add(&self, roots: &[Packed]) -> Result<(), EnumerateError> {
        let pile = |root: &Packed| Some((Pile::of(&root.setup()?.board).0, *root));
        self.lock().add(roots.iter().filter_map(pile), &self.folder)
    }

    /// The roots of a pass through a pile, space by space, each once, with the first positions.
    ///
    /// # Errors
    /// When a file cannot be read or is damaged, or a stop is requested.
    pub(super) fn spaces(
        &self,
        place: &Place,
        stop: &StopToken,
    ) -> Result<Vec<Arrival>, EnumerateError> {
        let number = place.pile.0;
        let mut all = Vec::new();
        let mut add = |root: Packed, found| {
            let board = root.setup()?.board;
            let key = SpaceKey::of(&board);
            if Pile::of(&board) == place.pile && key.pass(place.passes) == place.pass {
                all.push(Arrival { key, root, found });
            }
            Some(())
        };
        let waiting = self.lock();
        let mut read = 0_usize;
        waiting.read(number, &self.folder, &mut |root| {
            read += 1;
            if read.is_multiple_of(BETWEEN) && stop.is_stopped() {
                return Err(EnumerateError::Stopped);
            }
            add(root, 1).ok_or_else(|| waiting.damaged(number, &self.folder, NO_POSITION))
        })?;
        drop(waiting);
        self.starts.iter().for_each(|&start| {
            add(start, 0);
        });
        sort(&mut all, stop)?;
        all.dedup_by(|again, first| {
            let is_again = again.root == first.root;
            first.found += if is_again { again.found } else { 0 };
            is_again
        });
        Ok(all)
    }

    /// Counts the roots of a space; returns them by hive, without first positions that are none.
    pub(super) fn count(space: &[Arrival], totals: &mut Totals) -> Vec<(u32, Packed)> {
        let mut hives = Vec::new();
        for arrival in space.iter().filter(|arrival| arrival.found > 0) {
            let Some(setup) = arrival.root.setup() else { continue };
            let number = hive_number(&setup.board, setup.turn);
            totals.count(number, arrival.found);
            hives.push((number, arrival.root));
        }
        let found = space.iter().map(|arrival| arrival.found).sum();
        totals.count_space(hives.len() as u64, found);
        hives
    }
}

/// Sorts arrivals by space and root, in halves as long as they are many.
fn sort(all: &mut [Arrival], stop: &StopToken) -> Result<(), EnumerateError> {
    let order = |arrival: &Arrival| (arrival.key, arrival.root);
    if stop.is_stopped() {
        return Err(EnumerateError::Stopped);
    }
    if all.len() <= BETWEEN {
        all.sort_unstable_by_key(order);
        return Ok(());
    }
    let (low, _, high) = all.select_nth_unstable_by_key(all.len() / 2, order);
    sort(low, stop)?;
    sort(high, stop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrivals(count: u64) -> Vec<Arrival> {
        let key = SpaceKey::of(&shakmaty::Board::new());
        let root = |number: u64| {
            let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            Packed::from_bytes(&[number.to_le_bytes(), mixed.to_le_bytes(), [0; 8]].concat())
        };
        (0..count).rev().map(|number| Arrival { key, root: root(number), found: 1 }).collect()
    }

    #[test]
    fn many_arrivals_are_sorted_until_a_stop() {
        let stop = StopToken::default();
        let mut all = arrivals(3 * BETWEEN as u64 + 7);
        let mut expected: Vec<Packed> = all.iter().map(|arrival| arrival.root).collect();
        expected.sort_unstable();
        sort(&mut all, &stop).unwrap();
        assert!(all.iter().map(|arrival| arrival.root).eq(expected));
        stop.stop();
        assert!(matches!(sort(&mut all, &stop), Err(EnumerateError::Stopped)));
    }

    /// A pile is not read to its end, nor sorted, when a stop is requested.
    #[test]
    fn a_pile_is_left_at_a_stop() {
        let start = shakmaty::Chess::default();
        let mut piles = Piles::new(crate::enumerate::log::Kind::Pile, Vec::new());
        let pile = Pile::of(shakmaty::Position::board(&start));
        let folder = std::env::temp_dir();
        piles.add([(pile.0, Packed::new(&start))], &folder).unwrap();
        let store = RootStore {
            folder,
            mode: CastlingMode::Standard,
            starts: Vec::new(),
            waiting: Mutex::new(piles),
        };
        let place = Place { pile, passes: 1, pass: 0, done: 0 };
        let stop = StopToken::default();
        assert_eq!(store.spaces(&place, &stop).unwrap().len(), 1);
        stop.stop();
        assert!(matches!(store.spaces(&place, &stop), Err(EnumerateError::Stopped)));
    }
}
