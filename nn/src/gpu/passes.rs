//! What the engine hands to those who do the arithmetic, and what it gets back.

use std::fmt;

use super::reading::Reading;
use crate::evaluator::Handle;
use crate::incremental::plan::Plan;
use crate::incremental::slots::Seen;

/// A position of a batch.
#[derive(Debug)]
pub(super) struct Item {
    /// Place in the batch; none for a node that is remade.
    pub(super) place: Option<usize>,
    pub(super) handle: Handle,
    pub(super) session: u32,
    pub(super) plan: Plan,
    /// Slots of its tokens.
    pub(super) own: Option<Vec<u32>>,
    /// What it sees, by place among its sources, where the attention is wanted.
    pub(super) seen: Vec<(usize, Seen)>,
    /// The item before it from which it is made, if its parent is remade in the same batch.
    pub(super) after: Option<usize>,
}

/// Where the answer to an item is among a batch's floats.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Place {
    /// Logits of the value bins.
    pub(super) bins: usize,
    /// The error's logarithm.
    pub(super) error: usize,
    /// Policy logit and action delta of each move.
    pub(super) estimates: usize,
    /// Attention that each source received.
    pub(super) attention: usize,
    /// Where that of its readout is, seen from there.
    pub(super) readout: usize,
}

/// A batch that is queued.
#[derive(Debug)]
pub(super) struct Flight {
    /// By item.
    pub(super) places: Vec<Place>,
    pub(super) reading: Reading,
}

/// What a device was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Kernels launched; 0 where tensors decide.
    pub launches: u64,
    /// Buffers sent to it.
    pub uploads: u64,
    /// Buffers read back.
    pub downloads: u64,
}

/// Who does the arithmetic: kernels on a GPU, or burn's tensors as their reference.
pub(super) trait Passes: fmt::Debug + Send {
    /// Slots of the cache; 0 where nothing is kept.
    fn slots(&self) -> usize;

    /// Queues a batch. What an item is made from comes before it.
    fn begin(&mut self, items: &[Item]) -> Flight;

    /// What the device was asked for so far; nothing where that is not counted.
    fn traffic(&self) -> Traffic {
        Traffic::default()
    }

    /// Gives the cache's memory back; nothing is kept from now on.
    fn close_cache(&mut self);
}
