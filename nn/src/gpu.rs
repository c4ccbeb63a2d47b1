//! The transformer on a GPU: whole encodes, and children that run only their new tokens.
//!
//! What the CPU does with kernels of its own ([`crate::cpu`]) is done here with one kernel for the
//! whole network (`kernels`); burn's tensors are the reference. What is kept, and
//! for how long, is `crate::incremental`'s business on all of them. In reading order:
//!
//! * `engine` — batches: planned and queued at once, answered later;
//! * `passes` — what it hands to those who do the arithmetic, and what it gets back;
//! * `kernels` — those on a GPU: a batch in one launch;
//! * `tensors` — their reference;
//! * `reading` — answers on their way back;
//! * `pending` — attention on its way back.
//!
//! **Nothing depends on when an answer is read.** Everything is decided when a batch is queued:
//! which slots are filled, which positions are rebuilt, which are evicted. Only the attention, by
//! which the evicted are chosen, comes later: a batch's counts for its session when the session's
//! second-next batch is queued, no sooner and no later, and until then its positions are not
//! evicted. The device works in the order in which it is given its batches, so a row may be given
//! away as soon as everything that reads it is queued.
//!
//! **Nothing depends on the rest of a batch**, bit by bit: a position's numbers are added up in the
//! same order wherever it is. (With tensors only the last bits do.)
//!
//! **Memory.** The bound is for all sessions together, and allocated at once: the rows, the spare
//! rows for what is not kept, the host's nodes. Each session has an equal part, so that nobody's
//! answers depend on how much another keeps. One session more than there are parts is encoded
//! whole.

mod engine;
#[cfg(feature = "wgpu")]
mod kernels;
mod passes;
mod pending;
mod reading;
mod tensors;
#[cfg(test)]
mod tests;

pub use self::engine::{DeviceEngine, DeviceOptions, LoadError};
#[cfg(feature = "wgpu")]
pub use self::kernels::Adapter;
pub use self::passes::Traffic;
pub(crate) use self::pending::IN_FLIGHT;
use crate::model::ModelConfig;
use crate::weights::Source;

/// How weights and cache are stored on a GPU. All sums are 32-bit floats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Storage {
    /// 16-bit floats where the GPU has them, else 32-bit ones.
    #[default]
    Auto,
    /// 32-bit floats.
    F32,
    /// 16-bit floats: half of the memory, half of what is loaded.
    F16,
}

impl Storage {
    /// The one of this name: `auto`, `f32` or `f16`.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Auto),
            "f32" => Some(Self::F32),
            "f16" => Some(Self::F16),
            _ => None,
        }
    }

    /// What it comes to on this adapter: never `Auto`, and 16-bit floats only where it has them.
    #[must_use]
    pub fn on(self, adapter: &Adapter) -> Self {
        if self != Self::F32 && adapter.has_f16() { Self::F16 } else { Self::F32 }
    }
}

/// There is none in a program without the feature `wgpu`.
#[cfg(not(feature = "wgpu"))]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Adapter {}

#[cfg(not(feature = "wgpu"))]
impl std::fmt::Display for Adapter {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {}
    }
}

#[cfg(not(feature = "wgpu"))]
impl Adapter {
    /// Whether it calculates with 16-bit floats.
    pub fn has_f16(&self) -> bool {
        match *self {}
    }
}

#[cfg(feature = "wgpu")]
fn kernels(
    source: &Source<'_>,
    config: &ModelConfig,
    adapter: &Adapter,
    options: DeviceOptions,
) -> Result<Box<dyn passes::Passes>, LoadError> {
    kernels::load(source, config, adapter, options).map_err(LoadError::Device)
}

#[cfg(not(feature = "wgpu"))]
fn kernels(
    _: &Source<'_>,
    _: &ModelConfig,
    adapter: &Adapter,
    _: DeviceOptions,
) -> Result<Box<dyn passes::Passes>, LoadError> {
    match *adapter {}
}
