//! Files that grow block by block and know when they are damaged.
//!
//! A file begins with a header of 24 bytes: `TESLAENU`, version, kind, part, generation (each a
//! little-endian u32). Blocks follow: their length (u32), twelve bytes of a SHA-256 over the
//! header, the block's place in the file and its contents, and the contents. So a block that was
//! changed, cut, moved or is of another file is noticed.
//!
//! How long a file is counts for what the *state* says ([`super::folder`]), not for what the disk
//! has: what a run wrote after its last checkpoint is cut off when the next one writes there.

use std::io::{self, BufReader, Read, Seek, SeekFrom, Write as _};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use tesla_nn::files;

use super::error::EnumerateError;

const MAGIC: &[u8; 8] = b"TESLAENU";
/// Of the layout of all files; raised by any change of it.
pub(super) const VERSION: u32 = 1;
const HEADER: usize = 24;
const CHECKSUM: usize = 12;
/// Length and checksum.
const BLOCK_HEADER: usize = 4 + CHECKSUM;

/// Longest contents of a block, bytes. A multiple of the records' sizes: 16, 24, 32.
pub(super) const BLOCK: usize = 96 << 12;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Kind {
    /// The positions of a bucket.
    Positions,
    /// Positions on their way to a bucket.
    Inbox,
    /// Packed positions that are not deduplicated yet.
    Packed,
    /// The edges from a bucket's positions.
    Edges,
    /// The roots of a hive.
    Hive,
    /// Roots of spaces that are not closed yet.
    Pile,
}

impl Kind {
    const ALL: [Self; 6] =
        [Self::Positions, Self::Inbox, Self::Packed, Self::Edges, Self::Hive, Self::Pile];

    fn name(self) -> &'static str {
        match self {
            Self::Positions => "positions",
            Self::Inbox => "inbox",
            Self::Packed => "packed",
            Self::Edges => "edges",
            Self::Hive => "hive",
            Self::Pile => "pile",
        }
    }
}

/// A file of a run's folder, as long as the run has checked it in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Log {
    kind: Kind,
    part: u32,
    /// Which of the files of this kind and part, one after another.
    generation: u32,
    /// Bytes that count; 0 = the file need not exist.
    length: u64,
    /// Written to since it was last made safe.
    #[serde(skip)]
    is_unsafe: bool,
    /// Made since the last checkpoint, so that no state speaks of it.
    #[serde(skip)]
    is_young: bool,
}

impl Log {
    /// An empty file, which is made when something is appended.
    pub(super) fn new(kind: Kind, part: u32, generation: u32) -> Self {
        Self { kind, part, generation, length: 0, is_unsafe: false, is_young: false }
    }

    /// The file that takes this one's place, empty.
    pub(super) fn successor(&self) -> Self {
        Self::new(self.kind, self.part, self.generation.wrapping_add(1))
    }

    /// Its number among the files of its kind.
    pub(super) fn part(&self) -> u32 {
        self.part
    }

    /// Bytes on disk.
    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Its name in the folder.
    pub(super) fn name(&self) -> String {
        format!("{}-{:03}.{}", self.kind.name(), self.part, self.generation)
    }

    /// Whether a file of this name is one of these files.
    pub(super) fn is_name(name: &str) -> bool {
        let is_number = |text: &str| text.parse::<u32>().is_ok();
        let Some((kind, numbers)) = name.split_once('-') else { return false };
        let Some((part, generation)) = numbers.split_once('.') else { return false };
        Kind::ALL.iter().any(|known| known.name() == kind)
            && is_number(part)
            && is_number(generation)
    }

    fn header(&self) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(MAGIC);
        let numbers = [VERSION, self.kind as u32, self.part, self.generation];
        for (place, number) in header[8..].chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        header
    }

    fn checksum(&self, offset: u64, contents: &[u8]) -> [u8; CHECKSUM] {
        let mut hash = Sha256::new();
        hash.update(self.header());
        hash.update(offset.to_le_bytes());
        hash.update(contents);
        let mut checksum = [0; CHECKSUM];
        checksum.copy_from_slice(&hash.finalize()[..CHECKSUM]);
        checksum
    }

    /// Writes `contents` at the end, in blocks. The disk may still lose it: see [`Log::sync`].
    ///
    /// # Errors
    /// When the disk refuses; the file then counts as long as before.
    pub(super) fn append(&mut self, folder: &Path, contents: &[u8]) -> Result<(), EnumerateError> {
        let path = folder.join(self.name());
        let mut bytes = Vec::with_capacity(contents.len() + HEADER + BLOCK_HEADER);
        if self.length == 0 {
            bytes.extend_from_slice(&self.header());
        }
        for block in contents.chunks(BLOCK) {
            let offset = self.length + bytes.len() as u64;
            bytes.extend_from_slice(&(block.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&self.checksum(offset, block));
            bytes.extend_from_slice(block);
        }
        let write = || -> io::Result<()> {
            let mut file = files::edit_or_make(&path)?;
            file.set_len(self.length)?;
            file.seek(SeekFrom::Start(self.length))?;
            file.write_all(&bytes)
        };
        write().map_err(EnumerateError::io(&path))?;
        self.is_young |= self.length == 0;
        self.length += bytes.len() as u64;
        self.is_unsafe = true;
        Ok(())
    }

    /// Waits until the disk has what was appended: a checkpoint is about to speak of it.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn sync(&mut self, folder: &Path) -> Result<(), EnumerateError> {
        if self.is_unsafe {
            let path = folder.join(self.name());
            // Windows wants a handle for writing.
            let sync = || files::edit(&path)?.sync_all();
            sync().map_err(EnumerateError::io(&path))?;
        }
        (self.is_unsafe, self.is_young) = (false, false);
        Ok(())
    }

    /// Deletes a file that another has followed, unless the last checkpoint's state speaks of it:
    /// then the next checkpoint does it.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn discard(self, folder: &Path) -> Result<(), EnumerateError> {
        if !self.is_young {
            return Ok(());
        }
        let path = folder.join(self.name());
        std::fs::remove_file(&path).map_err(EnumerateError::io(&path))
    }

    /// Calls `each` with the contents of every block.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged, or what `each` says.
    pub(super) fn read(
        &self,
        folder: &Path,
        each: &mut dyn FnMut(&[u8]) -> Result<(), EnumerateError>,
    ) -> Result<(), EnumerateError> {
        if self.length == 0 {
            return Ok(());
        }
        let path = folder.join(self.name());
        let damaged = |what| EnumerateError::Damaged { path: path.clone(), what };
        let file = files::open(&path).map_err(EnumerateError::file)?;
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let mut fill = |bytes: &mut [u8]| {
            reader.read_exact(bytes).map_err(|source| match source.kind() {
                io::ErrorKind::UnexpectedEof => damaged("it is shorter than it was"),
                _ => EnumerateError::Io { path: path.clone(), source },
            })
        };
        let mut header = [0; HEADER];
        fill(&mut header)?;
        if header != self.header() {
            return Err(damaged("its header does not match its name and version"));
        }
        let mut contents = Vec::new();
        let mut offset = HEADER as u64;
        while offset < self.length {
            let mut head = [0; BLOCK_HEADER];
            fill(&mut head)?;
            let (length, checksum) = head.split_at(4);
            let length = u32::from_le_bytes(length.try_into().unwrap_or_default()) as usize;
            if length > BLOCK {
                return Err(damaged("a block claims to be longer than any block can be"));
            }
            contents.resize(length, 0);
            fill(&mut contents)?;
            if self.checksum(offset, &contents) != checksum {
                return Err(damaged("a block's contents do not match its checksum"));
            }
            each(&contents)?;
            offset += (BLOCK_HEADER + length) as u64;
        }
        Ok(())
    }

    /// What is wrong with a file whose checksums are right and whose contents are not.
    pub(super) fn damaged(&self, folder: &Path, what: &'static str) -> EnumerateError {
        EnumerateError::Damaged { path: folder.join(self.name()), what }
    }
}

/// Files of one kind, by part, that several threads write.
#[derive(Debug)]
pub(super) struct LogFiles(Vec<Mutex<Log>>);

impl LogFiles {
    /// Empty files of so many parts.
    pub(super) fn empty(kind: Kind, parts: usize) -> Vec<Log> {
        (0..parts).map(|part| Log::new(kind, part as u32, 0)).collect()
    }

    /// Files to go on with.
    pub(super) fn new(logs: Vec<Log>) -> Self {
        Self(logs.into_iter().map(Mutex::new).collect())
    }

    fn log(&self, part: usize) -> MutexGuard<'_, Log> {
        self.0[part].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// As [`Log::append`].
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn append(
        &self,
        part: usize,
        folder: &Path,
        contents: &[u8],
    ) -> Result<(), EnumerateError> {
        self.log(part).append(folder, contents)
    }

    /// As [`Log::sync`].
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn sync(&self, part: usize, folder: &Path) -> Result<(), EnumerateError> {
        self.log(part).sync(folder)
    }

    /// The files.
    pub(super) fn logs(&self) -> Vec<Log> {
        (0..self.0.len()).map(|part| self.log(part).clone()).collect()
    }
}

#[cfg(test)]
mod tests;
