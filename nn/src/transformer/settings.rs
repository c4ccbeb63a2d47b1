//! How the network is to run, and what of it the machine has memory for.

use std::thread;

use crate::device::{Chosen, DeviceChoice};
use crate::gpu::{Adapter, DeviceOptions, Storage};
use crate::incremental::AnchorPolicy;
use crate::memory;

/// A search's cache on a CPU that holds all of 4,000 evaluations of `small`, bytes.
const AMPLE: usize = 64 << 20;
/// CPU threads at most.
const MOST_THREADS: usize = 64;
/// What a network takes beside its cache, MiB: 90 on two cores, and more batches on more.
const NETWORK_MB: usize = 128;
/// Searches for which a shared GPU has room in its cache at least, in equal parts: how many there
/// are changes nothing, then.
const SHARES: usize = 32;

/// How to run the network.
#[derive(Clone, Copy, Debug)]
pub struct TransformerSettings {
    /// Device to use.
    pub device: DeviceChoice,
    /// CPU threads of a batch; 0 = one per core.
    pub threads: usize,
    /// Positions per batch; 0 = the device's choice.
    pub batch_size: usize,
    /// Searches that share the device at once, at most; `None` = it is one search's own. What
    /// one is answered never depends on the others.
    pub shared_by: Option<usize>,
    /// Memory for keys and values of evaluated positions on a CPU, bytes, for each search,
    /// allocated on demand; 0 = every position is encoded whole.
    pub cache_bytes: usize,
    /// The same on a GPU: in total, allocated at the start, within what two buffers may be, split
    /// evenly among the searches that share it, among 32 if they are fewer.
    pub gpu_cache_bytes: usize,
    /// How a GPU stores weights and cache.
    pub storage: Storage,
    /// When a kept position becomes an anchor.
    pub anchors: AnchorPolicy,
}

impl TransformerSettings {
    /// CPU threads of a batch.
    pub(super) fn cpu_threads(&self) -> usize {
        let wanted = match self.threads {
            0 => thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        wanted.min(MOST_THREADS)
    }

    /// Bytes of each search's cache on a CPU, and a sentence where that is less than asked for: all
    /// together must have room. Hardly any search fills the part that it has by default, so that
    /// nothing is said where enough is left of that.
    pub(super) fn cpu_cache(&self) -> (usize, Option<String>) {
        match self.shared_by {
            Some(searches @ 2..) => {
                let name = format!("KVCache for {searches} searches,");
                let (all, less) = affordable(&name, self.cache_bytes.saturating_mul(searches));
                let each = all / searches;
                (
                    each,
                    less.filter(|_| each < AMPLE || self.cache_bytes >> 20 > memory::KV_CACHE_MB),
                )
            }
            _ => affordable("KVCache", self.cache_bytes),
        }
    }

    /// Positions per batch, where this many are the device's choice.
    pub(super) fn batch_size_or(&self, default: usize) -> usize {
        if self.batch_size == 0 { default } else { self.batch_size }
    }

    /// How this GPU is to run; sentences where that is not as asked for.
    pub(super) fn on_gpu(&self, gpu: &Chosen, adapter: &Adapter) -> (DeviceOptions, Vec<String>) {
        let (cache_bytes, remark) = if gpu.shares_memory {
            affordable("GPUKVCache", self.gpu_cache_bytes)
        } else {
            (self.gpu_cache_bytes, None)
        };
        let storage = self.storage.on(adapter);
        let is_refused = self.storage == Storage::F16 && storage != self.storage;
        let refused = "it has no 16-bit floats; 32-bit ones are used";
        let refused = is_refused.then(|| refused.to_owned());
        let options = DeviceOptions {
            cache_bytes,
            sessions: self.shared_by.map_or(1, |searches| searches.max(SHARES)),
            anchors: self.anchors,
            storage,
        };
        let remarks = refused.into_iter().chain(remark);
        (options, remarks.map(|remark| format!("{}: {remark}", gpu.name)).collect())
    }
}

/// How much of a cache the machine has memory for, bytes, and a sentence where that is less.
fn affordable(option: &str, bytes: usize) -> (usize, Option<String>) {
    let (megabytes, remark) = memory::affordable(option, bytes >> 20, NETWORK_MB);
    (bytes.min(megabytes << 20), remark)
}
