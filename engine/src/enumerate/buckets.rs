//! The positions of a closure, in buckets that live in memory as long as there is room.
//!
//! A bucket is *at home* when all its positions are in memory. Otherwise its positions are in a file, and
//! what memory and a second file, the inbox, hold of it is news: positions that may be in the first file
//! or not. They are told apart when the bucket comes home, which is before any of them is expanded. So
//! each position is expanded once, whatever is where.
//!
//! Files are never changed but only followed by others, so that the last checkpoint's stay as they are
//! until the next one.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use super::error::EnumerateError;
use super::folder::Folder;
use super::log::{BLOCK, Kind, Log};
use super::pages::{NEWS_BYTES, PAGE_BYTES, Pages, page_of, spread};

/// Buckets in all.
pub(super) const BUCKETS: usize = 128;

/// The bucket of a position.
pub(super) fn bucket_of(index: u128) -> usize {
    // Not the bits that the buckets' own hash tables go by.
    (spread(page_of(index)) >> 40) as usize % BUCKETS
}

/// The set of all positions found.
#[derive(Debug)]
pub(super) struct Buckets {
    all: Vec<Mutex<Bucket>>,
    bytes: AtomicU64,
    /// Positions in memory that are not taken yet, or may be that.
    waiting: AtomicU64,
    /// Numbers from here on are no positions.
    size: u128,
}

#[derive(Debug)]
struct Bucket {
    pages: Pages,
    is_home: bool,
    /// Differs from its file.
    is_changed: bool,
    files: Files,
}

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

impl Bucket {
    fn has_work(&self) -> bool {
        if self.is_home {
            self.pages.left() > 0
        } else {
            self.files.is_waiting || self.files.inbox.length() > 0 || !self.pages.is_empty()
        }
    }

    /// Brings everything into memory.
    fn come_home(&mut self, folder: &Folder, size: u128) -> Result<(), EnumerateError> {
        let Self { pages, files, .. } = self;
        let path = folder.path();
        let is_page = |page: u128, seen: u64| {
            seen != 0 && page < size && page << 6 | u128::from(seen.ilog2()) < size
        };
        // A table that doubles on its way would take twice the memory.
        pages.expect(files.positions.length() as usize / PAGE_BYTES);
        files.positions.read(path, &mut |bytes| {
            for record in records::<PAGE_BYTES>(bytes) {
                let (page, seen, done) = (number(record), word(record, 16), word(record, 24));
                if !is_page(page, seen) || done & !seen != 0 {
                    return Err(files.positions.damaged(path, "it holds what is no position"));
                }
                pages.add_bits(page, seen, done);
            }
            Ok(())
        })?;
        files.inbox.read(path, &mut |bytes| {
            for record in records::<NEWS_BYTES>(bytes) {
                let (page, seen) = (number(record), word(record, 16));
                if !is_page(page, seen) {
                    return Err(files.inbox.damaged(path, "it holds what is no position"));
                }
                pages.add_bits(page, seen, 0);
            }
            Ok(())
        })?;
        let next = files.inbox.successor();
        std::mem::replace(&mut files.inbox, next).discard(path)?;
        self.is_home = true;
        self.is_changed = true;
        Ok(())
    }

    /// Writes what differs from the files.
    fn save(&mut self, folder: &Folder) -> Result<(), EnumerateError> {
        if self.is_home && self.is_changed {
            let mut log = self.files.positions.successor();
            write::<PAGE_BYTES>(
                &mut log,
                folder,
                &mut self.pages.iter().map(|page| {
                    let (number, seen, done) = page;
                    let mut record = [0; PAGE_BYTES];
                    record[..16].copy_from_slice(&number.to_le_bytes());
                    record[16..24].copy_from_slice(&seen.to_le_bytes());
                    record[24..].copy_from_slice(&done.to_le_bytes());
                    record
                }),
            )?;
            std::mem::replace(&mut self.files.positions, log).discard(folder.path())?;
            self.files.is_waiting = self.pages.left() > 0;
            self.is_changed = false;
        } else if !self.is_home && !self.pages.is_empty() {
            write::<NEWS_BYTES>(
                &mut self.files.inbox,
                folder,
                &mut self.pages.iter().map(|page| {
                    let mut record = [0; NEWS_BYTES];
                    record[..16].copy_from_slice(&page.0.to_le_bytes());
                    record[16..].copy_from_slice(&page.1.to_le_bytes());
                    record
                }),
            )?;
            self.pages = Pages::default();
        }
        Ok(())
    }
}

impl Buckets {
    /// The buckets as their files have them; numbers from `size` on are no positions.
    pub(super) fn new(files: Vec<Files>, size: u128) -> Self {
        let bucket = |files: Files| {
            let is_home = files.are_empty();
            Mutex::new(Bucket { pages: Pages::default(), is_home, is_changed: false, files })
        };
        let buckets = files.into_iter().map(bucket).collect();
        Self { all: buckets, bytes: AtomicU64::new(0), waiting: AtomicU64::new(0), size }
    }

    /// Locks a bucket, and keeps the count of memory when it is changed.
    fn with<T>(&self, bucket: usize, change: impl FnOnce(&mut Bucket) -> T) -> T {
        let mut bucket: MutexGuard<'_, Bucket> =
            self.all[bucket].lock().unwrap_or_else(PoisonError::into_inner);
        let (bytes, left) = (bucket.pages.bytes(), bucket.pages.left());
        let result = change(&mut bucket);
        // Modulo 2^64, so that less is an addition as well.
        let add = |sum: &AtomicU64, now: u64, before: u64| {
            sum.fetch_add(now.wrapping_sub(before), Ordering::Relaxed)
        };
        add(&self.bytes, bucket.pages.bytes(), bytes);
        add(&self.waiting, bucket.pages.left(), left);
        result
    }

    /// Adds positions that belong to a bucket.
    pub(super) fn add(&self, bucket: usize, indices: &[u128]) {
        self.with(bucket, |bucket| {
            for &index in indices {
                bucket.is_changed |= bucket.pages.add(index);
            }
        });
    }

    /// Takes about `limit` positions of a bucket that were never taken before. Brings it home if there
    /// may be any.
    ///
    /// # Errors
    /// When a file cannot be read or is damaged.
    pub(super) fn take(
        &self,
        bucket: usize,
        folder: Option<&Folder>,
        limit: usize,
        out: &mut Vec<u128>,
    ) -> Result<(), EnumerateError> {
        self.with(bucket, |bucket| {
            if !bucket.has_work() {
                return Ok(());
            }
            if let Some(folder) = folder.filter(|_| !bucket.is_home) {
                bucket.come_home(folder, self.size)?;
            }
            bucket.pages.take(limit, out);
            bucket.is_changed = true;
            Ok(())
        })
    }

    /// Whether a position waits to be expanded, or news does that may be one.
    pub(super) fn has_work(&self) -> bool {
        (0..BUCKETS).any(|bucket| self.with(bucket, |bucket| bucket.has_work()))
    }

    /// Memory in use.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Positions in memory that are not taken yet, or may be that.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// What is wrong when a bucket gave out what is no position; only a file can have brought it.
    pub(super) fn damaged(&self, bucket: usize, folder: Option<&Folder>) -> EnumerateError {
        let path = folder.map_or(Path::new(""), Folder::path);
        let is_none = "it holds what is no position";
        self.with(bucket, |bucket| bucket.files.positions.damaged(path, is_none))
    }

    /// Writes a bucket's news to its files, and waits until the disk has them.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn save(&self, bucket: usize, folder: &Folder) -> Result<(), EnumerateError> {
        self.with(bucket, |bucket| {
            bucket.save(folder)?;
            bucket.files.positions.sync(folder.path())?;
            bucket.files.inbox.sync(folder.path())
        })
    }

    /// Moves a bucket from memory to its files.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn send_away(&self, bucket: usize, folder: &Folder) -> Result<(), EnumerateError> {
        self.with(bucket, |bucket| {
            bucket.save(folder)?;
            if !bucket.files.are_empty() {
                bucket.pages = Pages::default();
                bucket.is_home = false;
            }
            Ok(())
        })
    }

    /// The files of all buckets.
    pub(super) fn files(&self) -> Vec<Files> {
        (0..BUCKETS).map(|bucket| self.with(bucket, |bucket| bucket.files.clone())).collect()
    }
}

fn records<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = &[u8; N]> {
    bytes.as_chunks::<N>().0.iter()
}

fn number(record: &[u8]) -> u128 {
    u128::from(word(record, 0)) | u128::from(word(record, 8)) << 64
}

fn word(record: &[u8], at: usize) -> u64 {
    let bytes = record.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
    u64::from_le_bytes(bytes.unwrap_or_default())
}

fn write<const N: usize>(
    log: &mut Log,
    folder: &Folder,
    records: &mut dyn Iterator<Item = [u8; N]>,
) -> Result<(), EnumerateError> {
    let mut block = Vec::with_capacity(BLOCK);
    for record in records {
        block.extend_from_slice(&record);
        if block.len() + N > BLOCK {
            log.append(folder.path(), &block)?;
            block.clear();
        }
    }
    if block.is_empty() { Ok(()) } else { log.append(folder.path(), &block) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::enumerate::test_folder::TestFolder;

    const SIZE: u128 = 1_000_000;

    fn new() -> Buckets {
        Buckets::new((0..BUCKETS).map(Files::new).collect(), SIZE)
    }

    fn add(buckets: &Buckets, index: u128) {
        buckets.add(bucket_of(index), &[index]);
    }

    fn take_all(buckets: &Buckets, folder: &Folder) -> Vec<u128> {
        let mut all = Vec::new();
        for bucket in 0..BUCKETS {
            buckets.take(bucket, Some(folder), usize::MAX, &mut all).unwrap();
        }
        all
    }

    #[test]
    fn each_position_is_taken_once_wherever_it_lies() {
        let test = TestFolder::new();
        let folder = Folder::open(test.path()).unwrap();
        let mut buckets = new();
        let mut taken = Vec::new();
        for round in 0..40_u128 {
            // Old and new numbers, in the same pages and in others.
            for step in 0..500 {
                add(&buckets, (round * 97 + step * step) % SIZE);
            }
            match round % 8 {
                1 | 2 => {
                    (0..BUCKETS).for_each(|bucket| buckets.send_away(bucket, &folder).unwrap());
                }
                4 => taken.extend(take_all(&buckets, &folder)),
                5 => buckets.take(7, Some(&folder), 3, &mut taken).unwrap(),
                6 => {
                    // A checkpoint, and a run that goes on from it.
                    (0..BUCKETS).for_each(|bucket| buckets.save(bucket, &folder).unwrap());
                    buckets = Buckets::new(buckets.files(), SIZE);
                }
                _ => {}
            }
        }
        taken.extend(take_all(&buckets, &folder));
        assert!(!buckets.has_work());
        let all: BTreeSet<u128> = (0..40)
            .flat_map(|round| (0..500).map(move |step| (round * 97 + step * step) % SIZE))
            .collect();
        assert_eq!(taken.len(), all.len());
        assert_eq!(taken.into_iter().collect::<BTreeSet<_>>(), all);
    }

    #[test]
    fn memory_is_given_back() {
        let test = TestFolder::new();
        let folder = Folder::open(test.path()).unwrap();
        let buckets = new();
        for index in 0..100_000 {
            add(&buckets, index);
        }
        assert!(buckets.bytes() > 100_000 / 64 * 32);
        (0..BUCKETS).for_each(|bucket| buckets.send_away(bucket, &folder).unwrap());
        assert_eq!(buckets.bytes(), 0);
        assert!(buckets.has_work());
    }

    #[test]
    fn what_is_no_position_is_damage() {
        let test = TestFolder::new();
        let folder = Folder::open(test.path()).unwrap();
        let buckets = new();
        let index = SIZE - 1;
        add(&buckets, index);
        let bucket = bucket_of(index);
        buckets.send_away(bucket, &folder).unwrap();
        let smaller = Buckets::new(buckets.files(), SIZE - 1);
        let taken = smaller.take(bucket, Some(&folder), 1, &mut Vec::new());
        assert!(matches!(taken, Err(EnumerateError::Damaged { .. })));
    }
}
