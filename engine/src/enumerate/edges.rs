//! The files of edges: for every position its moves, and so where they lead.
//!
//! The seed keeps two flat files: for `p` the moves and each `p'`, and for `p'` the moves and each
//! `p`. Here one is enough: a position and a move make the next one, and whoever asks what leads to
//! `p'` takes moves back from it and looks the positions before it up ([`super::retract`]). The
//! records are described at [`super::expand`]; those of a bucket's positions are in that bucket's
//! file, and none goes over the end of a block.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use super::buckets::bucket_of;
use super::error::EnumerateError;
use super::expand::INDEX_BYTES;
use super::log::Log;

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
