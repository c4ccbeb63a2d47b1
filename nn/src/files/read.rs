//! Reading: regular files only, and no more of them than the caller can use.

use std::fs::{File, FileType, Metadata};
use std::io::{self, Read as _};
use std::path::Path;

use super::{FileCause, FileError, FileKind};

/// Opens a regular file for reading. Never waits: a pipe is refused, not opened until somebody
/// writes to it.
///
/// # Errors
/// When the file does not exist, is not a regular file or may not be read.
pub fn open(path: &Path) -> Result<File, FileError> {
    let system = || FileError::at("read", path);
    let check = |metadata: &Metadata| match kind(metadata.file_type()) {
        Some(kind) => Err(FileError::new("read", path, FileCause::NotRegular(kind))),
        None => Ok(()),
    };
    // Before opening, because to open a device may do something and to open a socket fails.
    check(&std::fs::metadata(path).map_err(system())?)?;
    let file = open_at_once(path).map_err(system())?;
    // After opening, because something else may have got the name in between.
    check(&file.metadata().map_err(system())?)?;
    Ok(file)
}

/// The content of a regular file of at most `limit` bytes.
///
/// # Errors
/// As [`open`], and when the file is larger.
pub fn read_bounded(path: &Path, limit: u64) -> Result<Vec<u8>, FileError> {
    let file = open(path)?;
    let length = file.metadata().map_err(FileError::at("read", path))?.len();
    let too_large = || FileError::new("read", path, FileCause::TooLarge { limit });
    if length > limit {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    let read = || {
        bytes.try_reserve_exact(length as usize + 1).map_err(|_| io::ErrorKind::OutOfMemory)?;
        // The length may have grown, and some systems' own files state none.
        file.take(limit.saturating_add(1)).read_to_end(&mut bytes)
    };
    let count = read().map_err(FileError::at("read", path))?;
    if count as u64 > limit { Err(too_large()) } else { Ok(bytes) }
}

/// The content of a text file of at most `limit` bytes.
///
/// # Errors
/// As [`read_bounded`], and when the content is not UTF-8.
pub fn read_text(path: &Path, limit: u64) -> Result<String, FileError> {
    String::from_utf8(read_bounded(path, limit)?)
        .map_err(|_| FileError::new("read", path, FileCause::NotText))
}

/// Opens a file without waiting for anybody.
#[cfg(unix)]
pub(super) fn open_at_once(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;

    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

#[cfg(not(unix))]
pub(super) fn open_at_once(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// What a file is if it is not a regular one; links are to be followed before.
pub(super) fn kind(file_type: FileType) -> Option<FileKind> {
    if file_type.is_file() {
        return None;
    }
    if file_type.is_dir() {
        return Some(FileKind::Folder);
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;

        if file_type.is_fifo() {
            return Some(FileKind::Pipe);
        }
        if file_type.is_socket() {
            return Some(FileKind::Socket);
        }
        if file_type.is_char_device() || file_type.is_block_device() {
            return Some(FileKind::Device);
        }
    }
    Some(FileKind::Other)
}
