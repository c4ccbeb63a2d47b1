//! Reading whole files: no more of them than the caller can use.

use std::io::{self, Read as _};
use std::path::Path;

use super::{FileCause, FileError, open_bounded};

/// Most bytes of a file that is read whole and has no smaller bound of its own: 4 GiB.
pub const LARGEST: u64 = 1 << 32;

/// Whether two paths lead to one file, there or not.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let found = (one.canonicalize(), other.canonicalize());
    one == other || matches!(found, (Ok(one), Ok(other)) if one == other)
}

/// The content of a regular file of at most `limit` bytes.
///
/// # Errors
/// When the file does not exist, is not a regular file, is larger or does not fit into memory.
pub fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let file = open_bounded(path, limit)?;
    let mut bytes = Vec::new();
    let read = || {
        let length = file.metadata()?.len().min(limit) as usize;
        bytes
            .try_reserve_exact(length.saturating_add(1))
            .map_err(|_| io::ErrorKind::OutOfMemory)?;
        // The length may have grown, and some systems' own files state none.
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes)
    };
    let count = read().map_err(FileError::at("read", path))?;
    if count as u64 > limit {
        return Err(FileError::new("read", path, FileCause::TooLarge { limit }));
    }
    Ok(bytes)
}

/// The content of a text file of at most `limit` bytes.
///
/// # Errors
/// As [`read_bounded`], and when the content is not UTF-8.
pub fn read_text(path: &Path, limit: u64) -> Result<String, FileError> {
    String::from_utf8(read_bounded(path, limit)?)
        .map_err(|_| FileError::new("read", path, FileCause::NotText))
}
