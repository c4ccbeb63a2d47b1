//! The experience on disk: one file, which grows by a record for each move and is rewritten when
//! most of it is outdated.
//!
//! A record is written with one call before the move is answered, so a killed process loses none of
//! a finished move; the end of each game is forced to the disk, so a power cut loses at most the
//! moves of the games that were on. A file is rewritten under another name, synced to disk, and put
//! in its place. Beside it lies a lock, which holds while the file is replaced; the file itself is
//! locked as well, for it may have other names, and the lock beside it may be deleted.

use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use tesla_nn::files;

use super::record::{Ending, HEADER, MAGIC, Record, read_all};
use crate::console::lock;

/// Why an experience file cannot be used. It stays as it is.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refused.
    #[error("the experience file {path} cannot be used ({source}); name another file")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Two processes at once.
    #[error(
        "another process is using the experience file {0}; wait until it ends, or name another file"
    )]
    Locked(PathBuf),
    /// Something else's file.
    #[error("{0} is not an experience file; name another file")]
    NotOurs(PathBuf),
    /// Of a later program.
    #[error("the experience file {path} has version {version}, which this program does not know")]
    Version {
        /// The file.
        path: PathBuf,
        /// What it says.
        version: u32,
    },
    /// The opening book, in a sentence.
    #[error("{0}; name another book")]
    Book(String),
    /// A change that no crash explains.
    #[error(
        "the experience file {path} is damaged at byte {at} and is left as it is; put a copy in \
         its place, or name another file"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where the first bad record begins.
        at: usize,
    },
}

impl FileError {
    fn at(path: &Path) -> impl FnOnce(files::FileError) -> Self {
        |error| Self::Io { path: path.to_owned(), source: error.into() }
    }
}

/// An experience file open for more, locked against other processes.
#[derive(Debug)]
pub(super) struct ExperienceFile {
    path: PathBuf,
    file: File,
    /// Bytes of whole records and the header.
    length: u64,
    /// Records in the file.
    records: usize,
    /// Held for as long as this lives.
    lock: File,
}

/// What a file held when it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Opened {
    /// Bytes of a last record that a crash cut short; they were dropped.
    pub(super) cut_bytes: usize,
    /// Whether there was a file, of no bytes.
    pub(super) was_empty: bool,
}

/// Reads a file's records, which stays as it is; answers with the bytes of its whole part. A file
/// of no bytes is a new one.
///
/// # Errors
/// When it cannot be read, is no experience file, or is damaged elsewhere than by a crash at its
/// very end.
pub(super) fn read(path: &Path, take: impl FnMut(Record)) -> Result<(usize, Opened), FileError> {
    let bytes = files::read_bounded(path, files::LARGEST).map_err(FileError::at(path))?;
    if bytes.is_empty() {
        return Ok((0, Opened { was_empty: true, ..Opened::default() }));
    }
    let Some((header, records)) = bytes.split_first_chunk::<{ HEADER.len() }>() else {
        return Err(FileError::NotOurs(path.to_owned()));
    };
    if header[..MAGIC] != HEADER[..MAGIC] {
        return Err(FileError::NotOurs(path.to_owned()));
    }
    if *header != HEADER {
        let version = [header[8], header[9], header[10], header[11]];
        let version = u32::from_le_bytes(version);
        return Err(FileError::Version { path: path.to_owned(), version });
    }
    let (taken, ending) = read_all(records, take);
    let whole = HEADER.len() + taken;
    match ending {
        Ending::Damaged => Err(FileError::Damaged { path: path.to_owned(), at: whole }),
        Ending::Whole | Ending::CutShort => {
            Ok((whole, Opened { cut_bytes: bytes.len() - whole, was_empty: false }))
        }
    }
}

impl ExperienceFile {
    /// Opens a file, or begins one where there is none, and calls `take` with each of its records.
    /// A record that a crash cut short is dropped.
    ///
    /// # Errors
    /// When it cannot be used; it stays as it is then.
    pub(super) fn open(
        path: &Path,
        mut take: impl FnMut(Record),
    ) -> Result<(Self, Opened), FileError> {
        let refused = |error| match error {
            TryLockError::WouldBlock => FileError::Locked(path.to_owned()),
            TryLockError::Error(source) => FileError::Io { path: path.to_owned(), source },
        };
        // Before anything is made beside it.
        match files::open(path) {
            Ok(file) => check_head(file, path)?,
            Err(error) if error.is_missing() => {}
            Err(error) => return Err(FileError::at(path)(error)),
        }
        let mut beside = path.file_name().unwrap_or_default().to_owned();
        beside.push(".lock");
        let lock = files::append(&path.with_file_name(beside)).map_err(FileError::at(path))?;
        lock::take(&lock).map_err(refused)?;
        files::remove_unfinished(path).map_err(FileError::at(path))?;
        let mut records = 0;
        let found = match read(path, |record| {
            records += 1;
            take(record);
        }) {
            Err(FileError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => None,
            found => Some(found?),
        };
        let (whole, opened) = match found {
            Some((_, opened)) if opened.was_empty => {
                begin_in(path)?;
                (HEADER.len(), opened)
            }
            Some(found) => found,
            None => {
                files::replace(path, &HEADER).map_err(FileError::at(path))?;
                (HEADER.len(), Opened::default())
            }
        };
        let length = whole as u64;
        let file = open_at(path, length).map_err(refused)?;
        Ok((Self { path: path.to_owned(), file, length, records, lock }, opened))
    }

    /// Appends a record with one call.
    ///
    /// # Errors
    /// When the system refuses, because the disk is full for example; nothing of the record stays
    /// then.
    pub(super) fn append(&mut self, record: &Record) -> io::Result<()> {
        let mut bytes = Vec::new();
        record.write(&mut bytes);
        if let Err(error) = self.file.write_all(&bytes) {
            self.file.set_len(self.length)?;
            self.file.seek(SeekFrom::Start(self.length))?;
            return Err(error);
        }
        self.length += bytes.len() as u64;
        self.records += 1;
        Ok(())
    }

    /// Forces what was appended to the disk.
    ///
    /// # Errors
    /// When the system refuses.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Records in the file.
    pub(super) fn records(&self) -> usize {
        self.records
    }

    /// Rewrites the file with these records: at the end it holds all of them or is unchanged.
    ///
    /// # Errors
    /// When the system refuses; the file is closed then.
    pub(super) fn rewrite(self, records: impl Iterator<Item = Record>) -> io::Result<Self> {
        let mut bytes = HEADER.to_vec();
        let mut count = 0;
        for record in records {
            record.write(&mut bytes);
            count += 1;
        }
        let Self { path, file, lock, .. } = self;
        // Windows replaces no file that is open.
        drop(file);
        files::replace(&path, &bytes)?;
        let length = bytes.len() as u64;
        let file = open_at(&path, length)?;
        Ok(Self { path, file, length, records: count, lock })
    }
}

/// Refuses a file that begins as something else.
fn check_head(file: File, path: &Path) -> Result<(), FileError> {
    let mut head = Vec::new();
    let read = file.take(MAGIC as u64).read_to_end(&mut head);
    read.map_err(|source| FileError::Io { path: path.to_owned(), source })?;
    if head.is_empty() || head == HEADER[..MAGIC] {
        return Ok(());
    }
    Err(FileError::NotOurs(path.to_owned()))
}

/// Makes an empty file an experience, and the same file: it may have owners, rights and other names
/// that a file in its place would not have.
fn begin_in(path: &Path) -> Result<(), FileError> {
    let mut file = files::edit(path).map_err(FileError::at(path))?;
    let written = file.write_all(&HEADER).and_then(|()| file.sync_data());
    written.map_err(|source| FileError::Io { path: path.to_owned(), source })
}

/// Opens and locks a file for more behind its first `length` bytes; what follows them is cut off.
fn open_at(path: &Path, length: u64) -> Result<File, TryLockError> {
    // Not for appending: Windows then refuses to cut.
    let mut file = files::edit(path).map_err(|error| TryLockError::Error(error.into()))?;
    // On Windows nobody could look into it then.
    if cfg!(unix) {
        lock::take(&file)?;
    }
    file.set_len(length)
        .and_then(|()| file.seek(SeekFrom::Start(length)))
        .map_err(TryLockError::Error)?;
    Ok(file)
}
