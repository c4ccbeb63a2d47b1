//! The roots on disk, hive by hive.

use std::path::Path;

use super::error::EnumerateError;
use super::log::{BLOCK, Log, LogFiles};
use super::packed::{PACKED_BYTES, Packed};

/// Adds roots of a class to the files of a closure's hives, one for each class.
///
/// # Errors
/// When the disk refuses.
pub(super) fn add(
    hives: &LogFiles,
    class: usize,
    folder: &Path,
    roots: &[Packed],
) -> Result<(), EnumerateError> {
    for some in roots.chunks(BLOCK / PACKED_BYTES) {
        let bytes: Vec<u8> = some.iter().flat_map(|root| root.to_bytes()).collect();
        hives.append(class, folder, &bytes)?;
    }
    Ok(())
}

/// Calls `each` with every root of a hive.
///
/// # Errors
/// When the file cannot be read or is damaged, or what `each` says.
pub(super) fn read(
    log: &Log,
    folder: &Path,
    each: &mut dyn FnMut(Packed) -> Result<(), EnumerateError>,
) -> Result<(), EnumerateError> {
    log.read(folder, &mut |bytes| {
        if bytes.len() % PACKED_BYTES != 0 {
            return Err(log.damaged(folder, "a block ends within a position"));
        }
        bytes.chunks_exact(PACKED_BYTES).map(Packed::from_bytes).try_for_each(&mut *each)
    })
}
