//! The positions of a closure, in buckets that live in memory as long as there is room.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::bucket::{Bucket, Files};
use super::error::EnumerateError;
use super::folder::Folder;
use super::pages::{page_of, spread};

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

impl Buckets {
    /// The buckets as their files have them; numbers from `size` on are no positions.
    pub(super) fn new(files: Vec<Files>, size: u128) -> Self {
        let all = files.into_iter().map(|files| Mutex::new(Bucket::new(files))).collect();
        Self { all, bytes: AtomicU64::new(0), waiting: AtomicU64::new(0), size }
    }

    /// Locks a bucket, and keeps the count of memory when it is changed.
    fn with<T>(&self, bucket: usize, change: impl FnOnce(&mut Bucket) -> T) -> T {
        let mut bucket: MutexGuard<'_, Bucket> =
            self.all[bucket].lock().unwrap_or_else(PoisonError::into_inner);
        let (bytes, left) = (bucket.bytes(), bucket.waiting());
        let result = change(&mut bucket);
        // Modulo 2^64, so that less is an addition as well.
        let add = |sum: &AtomicU64, now: u64, before: u64| {
            sum.fetch_add(now.wrapping_sub(before), Ordering::Relaxed)
        };
        add(&self.bytes, bucket.bytes(), bytes);
        add(&self.waiting, bucket.waiting(), left);
        result
    }

    /// Adds positions that belong to a bucket.
    pub(super) fn add(&self, bucket: usize, indices: &[u128]) {
        self.with(bucket, |bucket| indices.iter().for_each(|&index| bucket.add(index)));
    }

    /// Takes about `limit` positions of a bucket that were never taken before. Loads it if there
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
        self.with(bucket, |bucket| bucket.take(folder, self.size, limit, out))
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
        self.with(bucket, |bucket| bucket.damaged(folder))
    }

    /// Writes a bucket's news to its files, and waits until the disk has them.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn save(&self, bucket: usize, folder: &Folder) -> Result<(), EnumerateError> {
        self.with(bucket, |bucket| {
            bucket.save(folder)?;
            bucket.sync(folder)
        })
    }

    /// Moves a bucket from memory to its files.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn spill(&self, bucket: usize, folder: &Folder) -> Result<(), EnumerateError> {
        self.with(bucket, |bucket| bucket.spill(folder))
    }

    /// The files of all buckets.
    pub(super) fn files(&self) -> Vec<Files> {
        (0..BUCKETS).map(|bucket| self.with(bucket, |bucket| bucket.files().clone())).collect()
    }
}

#[cfg(test)]
mod tests;
