//! Slots: what later queries need of one token, and the attention that it has received.
//!
//! Slots are counted by the nodes that hold them; one that nobody holds any more is free and will
//! be filled again.

use std::sync::{Mutex, PoisonError};

use super::node::Tokens;

/// A slot as it was at some time: what is stored in it later is another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    slot: u32,
    version: u32,
}

#[derive(Debug, Default)]
struct Slot<T> {
    data: T,
    nodes: u32,
    /// How often it has become free.
    version: u32,
    /// Running average of the attention received, in the weight of its session's present.
    attention: f64,
}

/// All sessions' slots; each holds a `T`.
#[derive(Debug)]
pub(super) struct Slots<T> {
    all: Vec<Slot<T>>,
    free: Vec<u32>,
    /// What free slots held, for the threads that fill it again.
    spare: Mutex<Vec<T>>,
}

impl<T: Default> Slots<T> {
    /// None yet: they are made as they are filled.
    pub(super) fn new() -> Self {
        Self { all: Vec::new(), free: Vec::new(), spare: Mutex::default() }
    }

    /// Slots that are not free.
    pub(super) fn used(&self) -> usize {
        self.all.len() - self.free.len()
    }

    /// What a free slot held, if there is one; its content is not cleared.
    pub(super) fn spare(&self) -> Option<T> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Keeps contents that found no slot, to be filled again.
    pub(super) fn recycle(&mut self, blocks: impl IntoIterator<Item = T>) {
        self.spare.get_mut().unwrap_or_else(PoisonError::into_inner).extend(blocks);
    }

    /// The content of a slot that a node holds.
    pub(super) fn data(&self, slot: u32) -> &T {
        &self.all[slot as usize].data
    }

    /// The slot as it is now.
    pub(super) fn seen(&self, slot: u32) -> Seen {
        Seen { slot, version: self.all[slot as usize].version }
    }

    /// The slot that was seen, unless it has become free since.
    pub(super) fn unchanged(&self, seen: Seen) -> Option<u32> {
        let slot = self.all.get(seen.slot as usize)?;
        (slot.version == seen.version).then_some(seen.slot)
    }

    /// Attention that the slot has received.
    pub(super) fn attention(&self, slot: u32) -> f64 {
        self.all[slot as usize].attention
    }

    /// The same, to be counted up or scaled down.
    pub(super) fn attention_mut(&mut self, slot: u32) -> &mut f64 {
        &mut self.all[slot as usize].attention
    }

    /// Stores `data` in a slot that nobody holds yet.
    pub(super) fn fill(&mut self, data: T) -> u32 {
        let slot = Slot { data, nodes: 0, version: 0, attention: 0.0 };
        if let Some(index) = self.free.pop() {
            let old = &mut self.all[index as usize];
            *old = Slot { version: old.version, ..slot };
            return index;
        }
        self.all.push(slot);
        self.all.len() as u32 - 1
    }

    /// One node more holds these.
    pub(super) fn hold(&mut self, tokens: &Tokens) {
        for slot in tokens.slots() {
            self.all[slot as usize].nodes += 1;
        }
    }

    /// One node fewer does; answers how many became free.
    pub(super) fn let_go(&mut self, tokens: &Tokens) -> usize {
        let mut freed = 0;
        for index in tokens.slots() {
            let slot = &mut self.all[index as usize];
            slot.nodes -= 1;
            if slot.nodes == 0 {
                slot.version = slot.version.wrapping_add(1);
                let data = std::mem::take(&mut slot.data);
                self.recycle([data]);
                self.free.push(index);
                freed += 1;
            }
        }
        freed
    }
}
