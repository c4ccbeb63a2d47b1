//! Why a file could not be used, in one sentence that names the file and the remedy.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a file could not be used.
///
/// Displays as one sentence: what was tried, the path, what was wrong, and what to do about it.
#[derive(Debug)]
pub struct FileError {
    /// The file or folder.
    pub path: PathBuf,
    /// What was tried, as a verb: `read`, `write`, `delete`, `lock`.
    pub action: &'static str,
    /// What was wrong.
    pub cause: FileCause,
}

/// What was wrong with a file.
#[derive(Debug)]
pub enum FileCause {
    /// The system refused.
    System(io::Error),
    /// Something else than a regular file has the name.
    NotRegular(FileKind),
    /// The path ends in no file name, as `..` does.
    NoName,
    /// More content than this file can sensibly have, in bytes.
    TooLarge {
        /// The most bytes that are read.
        limit: u64,
    },
    /// Text was expected, and the content is not UTF-8.
    NotText,
}

/// What has a file's name without being a regular file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A folder.
    Folder,
    /// A pipe with a name.
    Pipe,
    /// A socket.
    Socket,
    /// A device, such as a terminal or a disk.
    Device,
    /// What this system has besides.
    Other,
}

impl FileError {
    /// Makes the error of a system call on `path`, for `map_err`.
    ///
    /// ```
    /// # use std::path::Path;
    /// # use tesla_nn::files::FileError;
    /// let path = Path::new("no/such/file");
    /// let error = std::fs::remove_file(path).map_err(FileError::at("delete", path)).unwrap_err();
    /// assert!(error.is_missing());
    /// ```
    pub fn at(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self { path, action, cause: FileCause::System(source) }
    }

    pub(super) fn new(action: &'static str, path: &Path, cause: FileCause) -> Self {
        Self { path: path.to_owned(), action, cause }
    }

    /// Whether something has the name of what was to be made.
    pub fn is_there_already(&self) -> bool {
        matches!(&self.cause, FileCause::System(e) if e.kind() == io::ErrorKind::AlreadyExists)
    }

    /// Whether the file, or a folder on the way to it, does not exist.
    pub fn is_missing(&self) -> bool {
        matches!(&self.cause, FileCause::System(e) if e.kind() == io::ErrorKind::NotFound)
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {}: {}", self.action, self.path.display(), self.cause)?;
        self.cause.remedy().map_or(Ok(()), |remedy| write!(f, "; {remedy}"))
    }
}

impl std::error::Error for FileError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            FileCause::System(error) => Some(error),
            _ => None,
        }
    }
}

impl From<FileError> for io::Error {
    fn from(error: FileError) -> Self {
        match error.cause {
            FileCause::System(error) => error,
            cause => Self::other(cause.to_string()),
        }
    }
}

impl fmt::Display for FileCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System(error) => write!(f, "{error}"),
            Self::NotRegular(kind) => write!(f, "it is {kind}, not a regular file"),
            Self::NoName => write!(f, "it names no file"),
            Self::TooLarge { limit } => write!(f, "it holds more than {limit} bytes"),
            Self::NotText => write!(f, "it is not UTF-8 text"),
        }
    }
}

impl FileCause {
    /// What the user can do, where there is something.
    fn remedy(&self) -> Option<&'static str> {
        use io::ErrorKind as Kind;
        match self {
            Self::System(error) => match error.kind() {
                Kind::NotFound => Some("check the path"),
                Kind::PermissionDenied => Some("check the permissions"),
                Kind::StorageFull | Kind::QuotaExceeded => Some("free some space and try again"),
                Kind::ReadOnlyFilesystem => Some("choose another folder"),
                Kind::NotADirectory => Some("a part of the path is a file: choose another path"),
                Kind::IsADirectory => Some("name a file in it"),
                Kind::InvalidFilename => Some("choose another name"),
                Kind::OutOfMemory => Some("free some memory and try again"),
                _ => None,
            },
            Self::NotRegular(FileKind::Folder) => Some("name a file in it"),
            Self::NotRegular(_) => Some("choose another file"),
            Self::NoName => Some("add a file's name"),
            Self::TooLarge { .. } => Some("check that it is the right file"),
            Self::NotText => Some("check that it is the right file, or get it again"),
        }
    }
}

impl fmt::Display for FileKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Folder => "a folder",
            Self::Pipe => "a pipe",
            Self::Socket => "a socket",
            Self::Device => "a device",
            Self::Other => "something else",
        })
    }
}
