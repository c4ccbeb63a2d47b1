//! The roots on disk, hive by hive.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::error::EnumerateError;
use super::folder::Folder;
use super::log::{BLOCK, Kind, Log};
use super::packed::{PACKED_BYTES, Packed};
use super::tally::Class;

/// The files of a closure's hives while they are written, one for each class.
#[derive(Debug)]
pub(super) struct HiveFiles<'a> {
    folder: &'a Folder,
    logs: Vec<Mutex<Log>>,
}

impl<'a> HiveFiles<'a> {
    /// No roots yet. What an earlier run left half written is written over.
    pub(super) fn new(folder: &'a Folder) -> Self {
        let log = |class| Mutex::new(Log::new(Kind::Hive, class as u32, 0));
        Self { folder, logs: (0..Class::ALL.len()).map(log).collect() }
    }

    /// Adds roots of a class.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn add(&self, class: usize, roots: &[Packed]) -> Result<(), EnumerateError> {
        let mut log = self.logs[class].lock().unwrap_or_else(PoisonError::into_inner);
        for some in roots.chunks(BLOCK / PACKED_BYTES) {
            let bytes: Vec<u8> = some.iter().flat_map(|root| root.to_bytes()).collect();
            log.append(self.folder.path(), &bytes)?;
        }
        Ok(())
    }

    /// The files, safe on the disk.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn finish(self) -> Result<Vec<Log>, EnumerateError> {
        let finished = |log: Mutex<Log>| {
            let mut log = log.into_inner().unwrap_or_else(PoisonError::into_inner);
            log.sync(self.folder.path())?;
            Ok(log)
        };
        self.logs.into_iter().map(finished).collect()
    }
}

/// Calls `each` with every root of a hive.
///
/// # Errors
/// When the file cannot be read or is damaged, or what `each` says.
pub(super) fn read(
    log: &Log,
    folder: &Path,
    each: &mut dyn FnMut(Packed) -> Result<(), EnumerateError>,
) -> Result<(), EnumerateError> {
    log.read(folder, &mut |bytes| {
        if bytes.len() % PACKED_BYTES != 0 {
            return Err(log.damaged(folder, "a block ends within a position"));
        }
        bytes.chunks_exact(PACKED_BYTES).map(Packed::from_bytes).try_for_each(&mut *each)
    })
}
