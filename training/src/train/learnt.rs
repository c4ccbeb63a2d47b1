//! Which games a run has learnt from, so that no figure on them passes for a held-out one.

use std::path::Path;

use tesla_nn::files::{self, FileError};

use super::dataset::Dataset;
use crate::labelled::unique::hash;

/// The file in a run's folder: hashes of its games, sorted, eight bytes each, little-endian.
const FILE: &str = "games.learnt";
/// Largest such file, bytes: half a billion games.
const LARGEST: u64 = 1 << 32;
/// How many folders above a network its run may lie: `gates/` and `checkpoint/` are in it.
const ABOVE: usize = 2;

/// The first half of a game's hash.
fn key(dataset: &Dataset, game: usize) -> u64 {
    (hash(dataset.game(game)) >> 64) as u64
}

/// Games that a network has learnt from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Learnt(
    /// Keys, sorted.
    Vec<u64>,
);

impl Learnt {
    /// Those of the run that made the network at `weights`, and of the runs it goes back to; `None`
    /// where that is not known.
    ///
    /// # Errors
    /// When the run's file cannot be read.
    pub fn of(weights: &Path) -> Result<Option<Self>, FileError> {
        let mut folders = weights.ancestors().skip(1).take(ABOVE);
        let run = folders.find(|folder| folder.join(FILE).is_file());
        run.map(Self::by_run).transpose()
    }

    /// Those of the run in `folder`, and of the runs it goes back to; none where it has noted none.
    ///
    /// # Errors
    /// When the run's file cannot be read.
    pub fn by_run(folder: &Path) -> Result<Self, FileError> {
        read(&folder.join(FILE)).map(Self)
    }

    /// Whether game `game` of `dataset` is one of them.
    pub fn has(&self, dataset: &Dataset, game: usize) -> bool {
        self.0.binary_search(&key(dataset, game)).is_ok()
    }

    /// How many games of `dataset` are among them.
    pub fn count(&self, dataset: &Dataset) -> usize {
        (0..dataset.games()).filter(|&game| self.has(dataset, game)).count()
    }
}

/// Notes in the run's folder that it learns from these games, beside those that it and what it
/// starts from have learnt from before; all of them.
///
/// # Errors
/// When the file cannot be written.
pub fn note(folder: &Path, dataset: &Dataset, before: Learnt) -> Result<Learnt, FileError> {
    let Learnt(mut known) = before;
    known.extend((0..dataset.games()).map(|game| key(dataset, game)));
    known.sort_unstable();
    known.dedup();
    let bytes: Vec<u8> = known.iter().flat_map(|key| key.to_le_bytes()).collect();
    files::make_folder(folder)?;
    files::replace(&folder.join(FILE), &bytes)?;
    Ok(Learnt(known))
}

/// Sorted; none where there is no file.
fn read(path: &Path) -> Result<Vec<u64>, FileError> {
    match files::read_bounded(path, LARGEST) {
        Ok(bytes) => {
            Ok(bytes.as_chunks::<8>().0.iter().map(|&bytes| u64::from_le_bytes(bytes)).collect())
        }
        Err(error) if error.is_missing() => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
