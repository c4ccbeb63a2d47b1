//! The files of edges: for every position its moves, and so where they lead.
//!
//! The seed keeps two flat files: for `p` the moves and each `p'`, and for `p'` the moves and each
//! `p`. Here one is enough: a position and a move make the next one, and whoever asks what leads to
//! `p'` takes moves back from it and looks the positions before it up ([`super::retract`]). The
//! records are described at [`super::expand`]; those of a bucket's positions are in that bucket's
//! file.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::buckets::{BUCKETS, bucket_of};
use super::error::EnumerateError;
use super::expand::INDEX_BYTES;
use super::folder::Folder;
use super::log::{Kind, Log};

/// The files while they are written.
#[derive(Debug)]
pub(super) struct EdgeFiles(Vec<Mutex<Log>>);

impl EdgeFiles {
    /// Files to come.
    pub(super) fn no_logs() -> Vec<Log> {
        (0..BUCKETS).map(|bucket| Log::new(Kind::Edges, bucket as u32, 0)).collect()
    }

    /// Files to go on with.
    pub(super) fn new(logs: Vec<Log>) -> Self {
        Self(logs.into_iter().map(Mutex::new).collect())
    }

    fn log(&self, bucket: usize) -> MutexGuard<'_, Log> {
        self.0[bucket].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds whole records of a bucket, no more than a block's length of them: no record goes over
    /// the end of a block.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn add(
        &self,
        bucket: usize,
        records: &[u8],
        folder: &Folder,
    ) -> Result<(), EnumerateError> {
        self.log(bucket).append(folder.path(), records)
    }

    /// Waits until the disk has a bucket's edges.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn sync(&self, bucket: usize, folder: &Folder) -> Result<(), EnumerateError> {
        self.log(bucket).sync(folder.path())
    }

    /// The files.
    pub(super) fn logs(&self) -> Vec<Log> {
        (0..BUCKETS).map(|bucket| self.log(bucket).clone()).collect()
    }
}

/// What is done with a record: its index and moves.
type Each<'a> = dyn FnMut(u128, &[u16]) -> Result<(), EnumerateError> + 'a;

/// Calls `each` with every record of a file.
///
/// # Errors
/// When the file cannot be read or is damaged, or what `each` says.
pub(super) fn read(log: &Log, folder: &Path, each: &mut Each<'_>) -> Result<(), EnumerateError> {
    let mut moves = Vec::new();
    log.read(folder, &mut |mut bytes| {
        while !bytes.is_empty() {
            let cut = || log.damaged(folder, "a block ends within a position's edges");
            let (index, rest) = bytes.split_first_chunk::<INDEX_BYTES>().ok_or_else(cut)?;
            let (&count, rest) = rest.split_first().ok_or_else(cut)?;
            let (packed, rest) = rest.split_at_checked(usize::from(count) * 2).ok_or_else(cut)?;
            moves.clear();
            moves.extend(packed.as_chunks().0.iter().map(|&two| u16::from_le_bytes(two)));
            each(u128::from_le_bytes(*index), &moves)?;
            bytes = rest;
        }
        Ok(())
    })
}

/// The moves of those of these positions that the files know.
///
/// # Errors
/// When a file cannot be read or is damaged.
pub(super) fn find(
    logs: &[Log],
    folder: &Path,
    indices: &HashSet<u128>,
) -> Result<BTreeMap<u128, Vec<u16>>, EnumerateError> {
    let buckets: HashSet<usize> = indices.iter().map(|&index| bucket_of(index)).collect();
    let mut found = BTreeMap::new();
    for log in buckets.into_iter().filter_map(|bucket| logs.get(bucket)) {
        read(log, folder, &mut |index, moves| {
            if indices.contains(&index) {
                found.insert(index, moves.to_vec());
            }
            Ok(())
        })?;
    }
    Ok(found)
}
