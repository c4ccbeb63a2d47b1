//! Counts distinct positions among very many, in any amount of memory.
//!
//! Positions come in as they are found, as often as they are found, and go to one of many *parts*
//! by their class and hash, so that equal ones meet. A part is a heap in memory and a file; only at
//! the end it is sorted, and equal neighbours count once. A part that is larger than memory is gone
//! through several times, each time for another share of its hashes.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::error::EnumerateError;
use super::folder::Folder;
use super::log::{BLOCK, Kind, Log};
use super::packed::{PACKED_BYTES, Packed};

/// Positions of a piece of a heap: 12 KiB.
const PIECE: usize = 512;

/// Parts in all.
pub(super) const PARTS: usize = 128;

/// Positions that are deduplicated at the end.
#[derive(Debug)]
pub(super) struct Distinct {
    parts: Vec<Mutex<Part>>,
    /// Parts of a class.
    share: usize,
    bytes: AtomicU64,
}

#[derive(Debug)]
struct Part {
    heap: Heap,
    log: Log,
}

/// Positions in pieces of one size: what a list that doubles leaves behind, no other could use.
#[derive(Debug, Default)]
struct Heap(Vec<Vec<Packed>>);

impl Heap {
    fn bytes(&self) -> u64 {
        (self.0.len() * PIECE * PACKED_BYTES) as u64
    }

    fn add(&mut self, mut positions: &[Packed]) {
        while !positions.is_empty() {
            if self.0.last().is_none_or(|piece| piece.len() == PIECE) {
                self.0.push(Vec::with_capacity(PIECE));
            }
            if let Some(piece) = self.0.last_mut() {
                let (some, rest) = positions.split_at(positions.len().min(PIECE - piece.len()));
                piece.extend_from_slice(some);
                positions = rest;
            }
        }
    }

    /// All positions, sorted and deduplicated; they stay.
    fn sorted(&self) -> Vec<Packed> {
        let mut all = Vec::with_capacity(self.0.iter().map(Vec::len).sum());
        self.0.iter().for_each(|piece| all.extend_from_slice(piece));
        all.sort_unstable();
        all.dedup();
        all
    }

    /// The same; none stay.
    fn take(&mut self) -> Vec<Packed> {
        let all = self.sorted();
        self.0 = Vec::new();
        all
    }

    /// Each position once, in the same pieces: memory that was given back could not be had again at
    /// once.
    fn compact(&mut self) {
        let all = self.sorted();
        let mut rest = &all[..];
        for piece in &mut self.0 {
            let (some, more) = rest.split_at(rest.len().min(PIECE));
            piece.clear();
            piece.extend_from_slice(some);
            rest = more;
        }
        self.0.retain(|piece| !piece.is_empty());
    }
}

/// Bits of a hash that choose the part within a class; others choose the pass.
fn high(hash: u64) -> usize {
    (hash >> 48) as usize
}

impl Distinct {
    /// Nothing yet. Positions of different classes, a power of two in number, are different;
    /// `generation` names the files.
    pub(super) fn new(classes: usize, generation: u32) -> Self {
        let log = |part| Log::new(Kind::Packed, part as u32, generation);
        Self::with_logs((0..PARTS).map(log).collect(), classes)
    }

    /// What an earlier run has put in these files.
    pub(super) fn with_logs(logs: Vec<Log>, classes: usize) -> Self {
        let part = |log| Mutex::new(Part { heap: Heap::default(), log });
        let parts = logs.into_iter().map(part).collect();
        Self { parts, share: PARTS / classes, bytes: AtomicU64::new(0) }
    }

    fn part(&self, part: usize) -> MutexGuard<'_, Part> {
        self.parts[part].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The parts of a class.
    pub(super) fn parts_of(&self, class: usize) -> std::ops::Range<usize> {
        class * self.share..(class + 1) * self.share
    }

    /// The part for a position.
    pub(super) fn part_of(&self, class: usize, packed: Packed) -> usize {
        class * self.share + high(packed.hash()) % self.share
    }

    /// Locks a part, and keeps the count of memory when it is changed.
    fn with<T>(&self, part: usize, change: impl FnOnce(&mut Part) -> T) -> T {
        let mut part = self.part(part);
        let before = part.heap.bytes();
        let result = change(&mut part);
        // Modulo 2^64, so that less is an addition as well.
        self.bytes.fetch_add(part.heap.bytes().wrapping_sub(before), Ordering::Relaxed);
        result
    }

    /// Adds positions that belong to a part.
    pub(super) fn add(&self, part: usize, positions: &[Packed]) {
        self.with(part, |part| part.heap.add(positions));
    }

    /// Memory in use.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Tells the positions apart that a part has in memory.
    pub(super) fn compact(&self, part: usize) {
        self.with(part, |part| part.heap.compact());
    }

    /// Moves what a part has in memory to its file.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn spill(&self, part: usize, folder: &Folder) -> Result<(), EnumerateError> {
        self.with(part, |part| {
            let mut bytes = Vec::new();
            for some in part.heap.take().chunks(BLOCK / PACKED_BYTES) {
                bytes.clear();
                bytes.extend(some.iter().flat_map(|packed| packed.to_bytes()));
                part.log.append(folder.path(), &bytes)?;
            }
            Ok(())
        })
    }

    /// Waits until the disk has a part's file.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn sync(&self, part: usize, folder: &Folder) -> Result<(), EnumerateError> {
        self.part(part).log.sync(folder.path())
    }

    /// The files.
    pub(super) fn logs(&self) -> Vec<Log> {
        (0..PARTS).map(|part| self.part(part).log.clone()).collect()
    }

    /// Calls `each` with some of a part's positions at a time, sorted, none twice over all calls.
    /// Takes not much more than `memory` bytes beside what the part had in memory, which it gives
    /// up; its file stays. Other parts can be used meanwhile.
    ///
    /// # Errors
    /// When a file cannot be read or is damaged, or what `each` says.
    pub(super) fn drain(
        &self,
        part: usize,
        folder: Option<&Folder>,
        memory: u64,
        each: &mut dyn FnMut(&[Packed]) -> Result<(), EnumerateError>,
    ) -> Result<(), EnumerateError> {
        let (heap, log) = self.with(part, |part| (part.heap.take(), part.log.clone()));
        let bytes = (heap.len() * PACKED_BYTES) as u64;
        match folder.filter(|_| log.length() > 0) {
            None => each(&heap)?,
            Some(folder) => {
                let passes = (log.length() + bytes).div_ceil(memory.max(1)).max(1);
                for pass in 0..passes {
                    each(&share(&heap, &log, folder, (pass, passes))?)?;
                }
            }
        }
        Ok(())
    }
}

/// Those positions of heap and file, sorted and deduplicated, that belong to a pass.
fn share(
    heap: &[Packed],
    log: &Log,
    folder: &Folder,
    (pass, passes): (u64, u64),
) -> Result<Vec<Packed>, EnumerateError> {
    // Not the bits that all positions of a part share.
    let is_ours = |packed: &Packed| u64::from(packed.hash() as u32) % passes == pass;
    let found = (log.length() / PACKED_BYTES as u64) as usize + heap.len();
    // Growing as it fills it would take three times as much for a moment.
    let mut some = Vec::with_capacity(found / passes as usize / 16 * 17 + 64);
    some.extend(heap.iter().copied().filter(is_ours));
    log.read(folder.path(), &mut |bytes| {
        if bytes.len() % PACKED_BYTES != 0 {
            return Err(log.damaged(folder.path(), "a block ends within a position"));
        }
        let positions = bytes.chunks_exact(PACKED_BYTES).map(Packed::from_bytes);
        some.extend(positions.filter(is_ours));
        Ok(())
    })?;
    some.sort_unstable();
    some.dedup();
    Ok(some)
}

#[cfg(test)]
mod tests;
