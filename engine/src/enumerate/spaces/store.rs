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
        let pile = |root: &Packed| Some((Pile::of(&root.position(self.mode)?).0, *root));
        self.lock().add(roots.iter().filter_map(pile), &self.folder)
    }

    /// The roots of a pass through a pile, space by space, each once, with the first positions.
    ///
    /// # Errors
    /// When a file cannot be read or is damaged.
    pub(super) fn spaces(&self, place: &Place) -> Result<Vec<Arrival>, EnumerateError> {
        let number = place.pile.0;
        let mut all = Vec::new();
        let mut add = |root: Packed, found| {
            let position = root.position(self.mode)?;
            let key = SpaceKey::of(&position);
            if Pile::of(&position) == place.pile && key.pass(place.passes) == place.pass {
                all.push(Arrival { key, root, found });
            }
            Some(())
        };
        let waiting = self.lock();
        waiting.read(number, &self.folder, &mut |root| {
            add(root, 1).ok_or_else(|| waiting.damaged(number, &self.folder, NO_POSITION))
        })?;
        drop(waiting);
        self.starts.iter().for_each(|&start| {
            add(start, 0);
        });
        all.sort_unstable_by_key(|arrival| (arrival.key, arrival.root));
        all.dedup_by(|again, first| {
            let is_again = again.root == first.root;
            first.found += if is_again { again.found } else { 0 };
            is_again
        });
        Ok(all)
    }

    /// Counts the roots of a space; returns them by hive, without first positions that are none.
    pub(super) fn count(&self, space: &[Arrival], totals: &mut Totals) -> Vec<(u32, Packed)> {
        let mut hives = Vec::new();
        for arrival in space.iter().filter(|arrival| arrival.found > 0) {
            let Some(position) = arrival.root.position(self.mode) else { continue };
            let number = hive_number(&position);
            totals.count(number, arrival.found);
            hives.push((number, arrival.root));
        }
        let found = space.iter().map(|arrival| arrival.found).sum();
        totals.count_space(hives.len() as u64, found);
        hives
    }
}
