//! One bucket of positions: what it has in memory and what in files.
//!
//! A bucket is *loaded* when all its positions are in memory. Otherwise its positions are in a
//! file, and memory and a second file, the inbox, hold additions: positions that may be in the
//! first file or not. They are deduplicated when the bucket is loaded, which is before any of
//! them is expanded. So each position is expanded once, whatever is where.
//!
//! Files are never changed but only followed by others, so that the last checkpoint's stay as they
//! are until the next one.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::EnumerateError;
use super::folder::Folder;
use super::log::{BLOCK, Kind, Log};
use super::pages::{NEWS_BYTES, PAGE_BYTES, Pages};

/// What is wrong with a file whose contents were not written by us.
pub(super) const NO_POSITION: &str = "it contains something that is not a position";

/// The files of a bucket.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Files {
    positions: Log,
    /// Some of the file's positions are not done.
    is_waiting: bool,
    inbox: Log,
}

impl Files {
    /// None yet.
    pub(super) fn new(bucket: usize) -> Self {
        let log = |kind| Log::new(kind, bucket as u32, 0);
        Self { positions: log(Kind::Positions), is_waiting: false, inbox: log(Kind::Inbox) }
    }

    fn are_empty(&self) -> bool {
        self.logs().iter().all(|log| log.length() == 0)
    }

    /// Both.
    pub(super) fn logs(&self) -> [&Log; 2] {
        [&self.positions, &self.inbox]
    }
}

/// Positions that share a bucket.
#[derive(Debug)]
pub(super) struct Bucket {
    pages: Pages,
    is_loaded: bool,
    /// Differs from its file.
    is_changed: bool,
    files: Files,
}

impl Bucket {
    /// The bucket as its files have it.
    pub(super) fn new(files: Files) -> Self {
        let is_loaded = files.are_empty();
        Self { pages: Pages::default(), is_loaded, is_changed: false, files }
    }

    /// Memory in use.
    pub(super) fn bytes(&self) -> u64 {
        self.pages.bytes()
    }

    /// Positions in memory that are not taken yet, or may be that.
    pub(super) fn waiting(&self) -> u64 {
        self.pages.left()
    }

    /// Whether a position waits to be taken, or news does that may be one.
    pub(super) fn has_work(&self) -> bool {
        if self.is_loaded {
            self.pages.left() > 0
        } else {
            self.files.is_waiting || self.files.inbox.length() > 0 || !self.pages.is_empty()
        }
    }

    /// Adds a position, or news of one.
    pub(super) fn add(&mut self, index: u128) {
        self.is_changed |= self.pages.add(index);
    }

    /// Takes about `limit` positions that were never taken before. Loads the bucket if there may be
    /// any; numbers from `size` on are no positions.
    ///
    /// # Errors
    /// When a file cannot be read or is damaged.
    pub(super) fn take(
        &mut self,
        folder: Option<&Folder>,
        size: u128,
        limit: usize,
        out: &mut Vec<u128>,
    ) -> Result<(), EnumerateError> {
        if !self.has_work() {
            return Ok(());
        }
        if let Some(folder) = folder.filter(|_| !self.is_loaded) {
            self.load(folder, size)?;
        }
        self.pages.take(limit, out);
        self.is_changed = true;
        Ok(())
    }

    /// Loads all positions into memory.
    fn load(&mut self, folder: &Folder, size: u128) -> Result<(), EnumerateError> {
        let Self { pages, files, .. } = self;
        let Files { positions, inbox, .. } = files;
        // A table that doubles on its way would take twice the memory.
        pages.expect(positions.length() as usize / PAGE_BYTES);
        for (log, record) in [(&*positions, PAGE_BYTES), (&*inbox, NEWS_BYTES)] {
            log.read(folder.path(), &mut |bytes| {
                for record in bytes.chunks(record) {
                    let (page, seen, done) = page_from(record, size)
                        .ok_or_else(|| log.damaged(folder.path(), NO_POSITION))?;
                    pages.add_bits(page, seen, done);
                }
                Ok(())
            })?;
        }
        let next = inbox.successor();
        std::mem::replace(inbox, next).discard(folder.path())?;
        (self.is_loaded, self.is_changed) = (true, true);
        Ok(())
    }

    /// Writes what differs from the files.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn save(&mut self, folder: &Folder) -> Result<(), EnumerateError> {
        if self.is_loaded && self.is_changed {
            let mut log = self.files.positions.successor();
            write(&mut log, folder, &self.pages, true)?;
            std::mem::replace(&mut self.files.positions, log).discard(folder.path())?;
            self.files.is_waiting = self.pages.left() > 0;
            self.is_changed = false;
        } else if !self.is_loaded && !self.pages.is_empty() {
            write(&mut self.files.inbox, folder, &self.pages, false)?;
            self.pages = Pages::default();
        }
        Ok(())
    }

    /// Waits until the disk has the files.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn sync(&mut self, folder: &Folder) -> Result<(), EnumerateError> {
        self.files.positions.sync(folder.path())?;
        self.files.inbox.sync(folder.path())
    }

    /// Moves everything to the files.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn spill(&mut self, folder: &Folder) -> Result<(), EnumerateError> {
        self.save(folder)?;
        if !self.files.are_empty() {
            self.pages = Pages::default();
            self.is_loaded = false;
        }
        Ok(())
    }

    /// The files.
    pub(super) fn files(&self) -> &Files {
        &self.files
    }

    /// What is wrong when the bucket gave out what is no position; only a file can have brought it.
    pub(super) fn damaged(&self, folder: Option<&Folder>) -> EnumerateError {
        let path = folder.map_or(Path::new(""), Folder::path);
        self.files.positions.damaged(path, NO_POSITION)
    }
}

/// A page's number and bits, those that are done last, if they are there; `None` when numbers below
/// `size` have no such page.
fn page_from(record: &[u8], size: u128) -> Option<(u128, u64, u64)> {
    let (page, bits) = record.split_first_chunk()?;
    let (seen, done) = bits.split_first_chunk()?;
    let (page, seen) = (u128::from_le_bytes(*page), u64::from_le_bytes(*seen));
    let done = match done {
        [] => 0,
        done => u64::from_le_bytes(done.try_into().ok()?),
    };
    let last = page << 6 | u128::from(seen.checked_ilog2()?);
    (page < size && last < size && done & !seen == 0).then_some((page, seen, done))
}

fn write(
    log: &mut Log,
    folder: &Folder,
    pages: &Pages,
    with_done: bool,
) -> Result<(), EnumerateError> {
    let mut block = Vec::with_capacity(BLOCK);
    for (page, seen, done) in pages.iter() {
        block.extend_from_slice(&page.to_le_bytes());
        block.extend_from_slice(&seen.to_le_bytes());
        if with_done {
            block.extend_from_slice(&done.to_le_bytes());
        }
        if block.len() + PAGE_BYTES > BLOCK {
            log.append(folder.path(), &block)?;
            block.clear();
        }
    }
    if block.is_empty() { Ok(()) } else { log.append(folder.path(), &block) }
}
