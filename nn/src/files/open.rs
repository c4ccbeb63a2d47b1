//! Opening: regular files only, and nobody is waited for.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io;
use std::path::Path;

use super::{FileCause, FileError, FileKind};

/// Opens a regular file for reading. Never waits: a pipe is refused, not opened until somebody
/// writes to it.
///
/// # Errors
/// When the file does not exist, is not a regular file or may not be read.
pub fn open(path: &Path) -> Result<File, FileError> {
    open_as("read", path, File::options().read(true), kind)
}

/// Opens a regular file of at most `limit` bytes for reading, for those that keep what they read.
///
/// # Errors
/// As [`open`], and when the file is larger.
pub fn open_bounded(path: &Path, limit: u64) -> Result<File, FileError> {
    let file = open(path)?;
    let length = file.metadata().map_err(FileError::at("read", path))?.len();
    if length > limit {
        return Err(FileError::new("read", path, FileCause::TooLarge { limit }));
    }
    Ok(file)
}

/// Opens a regular file for reading and writing in its place.
///
/// # Errors
/// When the file does not exist, is not a regular file or may not be written.
pub fn edit(path: &Path) -> Result<File, FileError> {
    open_as("use", path, File::options().read(true).write(true), kind)
}

/// The same; makes the file where there is none.
///
/// # Errors
/// When it is not a regular file or may not be written.
pub fn edit_or_make(path: &Path) -> Result<File, FileError> {
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    open_as("use", path, &mut options, kind)
}

/// Makes a file where nothing has that name.
///
/// # Errors
/// When something has, or the system refuses.
pub fn make(path: &Path) -> Result<File, FileError> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    options.open(path).map_err(FileError::at("write", path))
}

/// Opens a regular file to write behind its end; makes it where there is none.
///
/// # Errors
/// When it is not a regular file or may not be written.
pub fn append(path: &Path) -> Result<File, FileError> {
    open_as("write", path, File::options().append(true).create(true), kind)
}

/// The same for a log, which may also go to a device that takes letters, such as a terminal. To
/// write never waits: a device that takes nothing now is an error then.
///
/// # Errors
/// When it is something else or may not be written.
pub fn append_log(path: &Path) -> Result<File, FileError> {
    let refused = |file_type| kind(file_type).filter(|_| !takes_letters(file_type));
    open_as("write", path, File::options().append(true).create(true), refused)
}

/// Whether this is the system's null device, by whatever name: what goes there is not kept.
#[cfg(unix)]
pub fn is_null(path: &Path) -> bool {
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};

    let device = |path: &Path| {
        let metadata = std::fs::metadata(path).ok()?;
        metadata.file_type().is_char_device().then(|| metadata.rdev())
    };
    device(path).is_some_and(|number| device(Path::new("/dev/null")) == Some(number))
}

/// Whether this is the system's null device, which Windows has in every folder.
#[cfg(not(unix))]
pub fn is_null(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("NUL"))
}

/// Opens a file that `refused` says nothing against.
fn open_as(
    action: &'static str,
    path: &Path,
    options: &mut OpenOptions,
    refused: impl Fn(FileType) -> Option<FileKind>,
) -> Result<File, FileError> {
    let check = |metadata: &Metadata| match refused(metadata.file_type()) {
        Some(kind) => Err(FileError::new(action, path, FileCause::NotRegular(kind))),
        None => Ok(()),
    };
    // Before opening, because to open a device may do something and to open a socket fails.
    match std::fs::metadata(path) {
        // The options know whether one is made.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        found => check(&found.map_err(FileError::at(action, path))?)?,
    }
    let file = open_at_once(path, options).map_err(FileError::at(action, path))?;
    // After opening, because something else may have got the name in between.
    check(&file.metadata().map_err(FileError::at(action, path))?)?;
    Ok(file)
}

/// Opens a file without waiting for anybody.
#[cfg(unix)]
pub(super) fn open_at_once(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt as _;

    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    options.custom_flags(flags.bits().cast_signed()).open(path)
}

#[cfg(not(unix))]
pub(super) fn open_at_once(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.open(path)
}

#[cfg(unix)]
fn takes_letters(file_type: FileType) -> bool {
    std::os::unix::fs::FileTypeExt::is_char_device(&file_type)
}

#[cfg(not(unix))]
fn takes_letters(_: FileType) -> bool {
    false
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
