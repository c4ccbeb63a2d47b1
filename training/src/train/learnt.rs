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

/// Notes in the run's folder that it learns from these games, beside those it has learnt from.
///
/// # Errors
/// When the file cannot be read or written.
pub fn note(folder: &Path, dataset: &Dataset) -> Result<(), FileError> {
    let path = folder.join(FILE);
    let mut known = read(&path)?;
    let before = known.len();
    known.extend((0..dataset.games()).map(|game| key(dataset, game)));
    known.sort_unstable();
    known.dedup();
    if known.len() == before {
        return Ok(());
    }
    let bytes: Vec<u8> = known.iter().flat_map(|key| key.to_le_bytes()).collect();
    files::make_folder(folder)?;
    files::replace(&path, &bytes)
}

/// How many games of `dataset` the run has learnt from that made the network at `weights`; `None`
/// where that is not known.
///
/// # Errors
/// When the run's file cannot be read.
pub fn count(weights: &Path, dataset: &Dataset) -> Result<Option<usize>, FileError> {
    let folders = weights.ancestors().skip(1).take(ABOVE);
    let Some(path) = folders.map(|folder| folder.join(FILE)).find(|path| path.is_file()) else {
        return Ok(None);
    };
    let known = read(&path)?;
    let is_known = |&game: &usize| known.binary_search(&key(dataset, game)).is_ok();
    Ok(Some((0..dataset.games()).filter(is_known).count()))
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
