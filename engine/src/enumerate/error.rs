//! What can go wrong, as sentences for people.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use tesla_nn::files::FileError;

use crate::chess::notation::PositionProblem;

/// Why an enumeration cannot begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum EnumerateError {
    /// The FEN.
    #[error(transparent)]
    Position(#[from] PositionProblem),
    /// A space of more than 2^120 indices.
    #[error(
        "the pieces of this position can stand in more than 2^120 ways, too many to \
         enumerate; choose a position with fewer or less mobile pieces"
    )]
    TooWide,
    /// The memory bound, and no folder to go to.
    #[error(
        "the {0} MiB that --memory leaves for positions and roots are full; raise it, or name a \
         folder for the rest with --dir"
    )]
    Full(u64),
    /// No threads to be had.
    #[error("the system cannot start the threads: {0}; ask for fewer with --threads")]
    Threads(String),
    /// Ctrl-C cannot be caught.
    #[error("{0}")]
    Signals(String),
    /// An option that writes files.
    #[error("{0} writes files; name a folder for them with --dir")]
    NeedsFolder(&'static str),
    /// The system refused.
    #[error("{path} cannot be used: {source}")]
    Io {
        /// File or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The disk, a quota or a limit on files is full.
    #[error(
        "{path} cannot grow: {source}; what was found up to the last checkpoint is safe, so \
         free some disk space and run the same command again"
    )]
    NoRoom {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Two runs at once.
    #[error("another run works in {0}; wait for it, or name another folder")]
    Locked(PathBuf),
    /// Somebody else's files.
    #[error("{0} holds files but no enumeration; name a new or empty folder")]
    Strangers(PathBuf),
    /// Nothing to read.
    #[error(
        "{0} holds no enumeration of a closure; name the folder that a run without --plies was \
         given with --dir"
    )]
    Nothing(PathBuf),
    /// The folder is of another run.
    #[error(
        "{folder} holds another enumeration: {what} is {there} there and {here} here; name another \
         folder, or set {what} as it was"
    )]
    OtherRun {
        /// The folder.
        folder: PathBuf,
        /// What differs.
        what: &'static str,
        /// In the folder.
        there: String,
        /// In this command.
        here: String,
    },
    /// A file that is not as it was written.
    #[error(
        "{path} is damaged: {what}; the enumeration cannot go on with it, so delete the folder and \
         start again"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Files that were not asked for when the enumeration ran.
    #[error("the enumeration in {folder} was made without {option}; make it again with {option}")]
    NotKept {
        /// The folder.
        folder: PathBuf,
        /// The option that would have kept it.
        option: &'static str,
    },
    /// The roots are written last.
    #[error("the enumeration in {0} is not finished; run its command again, then read its roots")]
    NotYet(PathBuf),
    /// Ctrl-C, where what was begun cannot be kept.
    #[error("stopped; what was found up to the last checkpoint is safe")]
    Stopped,
    /// The position is not in the tables.
    #[error("the enumeration in {0} did not reach this position, not even as a root")]
    NotReached(PathBuf),
}

impl EnumerateError {
    /// Whether it only says that a reader has gone away.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == ErrorKind::BrokenPipe)
    }

    /// For `map_err`: why a file could not be opened.
    pub(super) fn file(error: FileError) -> Self {
        Self::io(&error.path.clone())(error.into())
    }

    /// For `map_err`: what the system said of this path.
    pub(super) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self {
        |source| {
            let path = path.to_owned();
            match source.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge => {
                    Self::NoRoom { path, source }
                }
                _ => Self::Io { path, source },
            }
        }
    }
}
