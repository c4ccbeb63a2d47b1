//! Roots in files, one for each pile or hive, and a buffer before each.

use std::collections::BTreeMap;
use std::path::Path;

use crate::enumerate::error::EnumerateError;
use crate::enumerate::hives;
use crate::enumerate::log::{BLOCK, Kind, Log};
use crate::enumerate::packed::{PACKED_BYTES, Packed};

/// Positions that all buffers hold together before they are written: 24 MiB.
const BUFFERED: usize = 1 << 20;

/// The files, by number.
#[derive(Debug)]
pub(super) struct Piles {
    kind: Kind,
    logs: BTreeMap<u32, Log>,
    buffers: BTreeMap<u32, Vec<Packed>>,
    buffered: usize,
}

impl Piles {
    /// As the files have them.
    pub(super) fn new(kind: Kind, logs: Vec<Log>) -> Self {
        let logs = logs.into_iter().map(|log| (log.part(), log)).collect();
        Self { kind, logs, buffers: BTreeMap::new(), buffered: 0 }
    }

    /// Adds roots, each to the file of its number.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn add(
        &mut self,
        roots: impl IntoIterator<Item = (u32, Packed)>,
        folder: &Path,
    ) -> Result<(), EnumerateError> {
        for (number, root) in roots {
            self.buffers.entry(number).or_default().push(root);
            self.buffered += 1;
        }
        if self.buffered >= BUFFERED { self.flush(folder) } else { Ok(()) }
    }

    /// Writes the buffers to the files.
    fn flush(&mut self, folder: &Path) -> Result<(), EnumerateError> {
        for (number, roots) in std::mem::take(&mut self.buffers) {
            let fresh = || Log::new(self.kind, number, 0);
            let log = self.logs.entry(number).or_insert_with(fresh);
            for some in roots.chunks(BLOCK / PACKED_BYTES) {
                let bytes: Vec<u8> = some.iter().flat_map(|root| root.to_bytes()).collect();
                log.append(folder, &bytes)?;
            }
        }
        self.buffered = 0;
        Ok(())
    }

    /// Writes everything and waits until the disk has it; the files, for a checkpoint.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn save(&mut self, folder: &Path) -> Result<Vec<Log>, EnumerateError> {
        self.flush(folder)?;
        self.logs.values_mut().try_for_each(|log| log.sync(folder))?;
        Ok(self.logs.values().cloned().collect())
    }

    /// The numbers with roots.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> {
        self.logs.keys().chain(self.buffers.keys()).copied()
    }

    /// Roots under a number, each as often as it came.
    pub(super) fn len(&self, number: u32) -> u64 {
        let written = self.logs.get(&number).map_or(0, Log::length) / PACKED_BYTES as u64;
        written + self.buffers.get(&number).map_or(0, |roots| roots.len() as u64)
    }

    /// Calls `each` with the roots of a number, each as often as it came.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged, or what `each` says.
    pub(super) fn read(
        &self,
        number: u32,
        folder: &Path,
        each: &mut dyn FnMut(Packed) -> Result<(), EnumerateError>,
    ) -> Result<(), EnumerateError> {
        if let Some(log) = self.logs.get(&number) {
            hives::read(log, folder, each)?;
        }
        self.buffers.get(&number).into_iter().flatten().copied().try_for_each(each)
    }

    /// What is wrong when a root of this number is no position.
    pub(super) fn damaged(&self, number: u32, folder: &Path, what: &'static str) -> EnumerateError {
        let log = self.logs.get(&number).cloned();
        log.unwrap_or_else(|| Log::new(self.kind, number, 0)).damaged(folder, what)
    }

    /// Lets go of a number's roots. The file goes with the next checkpoint.
    pub(super) fn remove(&mut self, number: u32) {
        self.logs.remove(&number);
        if let Some(roots) = self.buffers.remove(&number) {
            self.buffered -= roots.len();
        }
    }
}
