//! Buffers and launches.

use std::marker::PhantomData;

use cubecl::bytes::Bytes;
use cubecl::client::Client;
use cubecl::ir::ElemType;
use cubecl::prelude::*;
use cubecl::server::Handle;
use cubecl::std::tensor::TensorHandle;
use half::f16;

use super::adapter::Adapter;
use super::arrange::{Arranged, Launch, Rows, arrange};
use super::pass::pass;
use super::sizes::{Limits, Sizes};
use super::weights::pack;
use crate::gpu::passes::{Flight, Item, Passes, Traffic};
use crate::gpu::reading::Reading;
use crate::gpu::{DeviceOptions, Storage};
use crate::incremental::cache::slots_within;
use crate::model::ModelConfig;
use crate::weights::Source;

/// Memory for what is not kept, where nothing is kept at all, bytes.
const SPARE_BYTES: usize = 32 << 20;
/// Most positions that are not kept in one launch.
const MOST_SPARE: usize = 256;

/// What weights and cache are stored as.
trait Stored: Float {
    fn bytes(floats: Vec<f32>) -> Bytes;
}

impl Stored for f32 {
    fn bytes(floats: Vec<f32>) -> Bytes {
        Bytes::from_elems(floats)
    }
}

impl Stored for f16 {
    fn bytes(floats: Vec<f32>) -> Bytes {
        Bytes::from_elems(floats.into_iter().map(Self::from_f32).collect::<Vec<Self>>())
    }
}

/// A buffer on the device, and how many numbers or vectors it has.
#[derive(Clone, Debug)]
struct Buffer {
    handle: Handle,
    len: usize,
}

/// The rows that are kept, in two buffers: an adapter limits the size of one.
#[derive(Clone, Debug)]
struct Cache {
    keys: Buffer,
    values: Buffer,
}

impl Cache {
    /// Its buffers, of `len` vectors each.
    fn new<W>(client: &Client, len: usize) -> Self {
        Self { keys: fours::<W>(client, len), values: fours::<W>(client, len) }
    }
}

/// The network on this adapter, with a cache within the options' bytes.
///
/// # Errors
/// A sentence, where it does not fit there.
pub(in crate::gpu) fn load(
    source: &Source<'_>,
    config: &ModelConfig,
    adapter: &Adapter,
    options: DeviceOptions,
) -> Result<Box<dyn Passes>, String> {
    let bytes = options.cache_bytes;
    Ok(match options.storage.on(adapter) {
        Storage::F16 => Box::new(Kernels::<f16>::load(source, config, adapter, bytes)?),
        _ => Box::new(Kernels::<f32>::load(source, config, adapter, bytes)?),
    })
}

/// The network on a GPU.
struct Kernels<W> {
    client: Client,
    sizes: Sizes,
    limits: Limits,
    weights: Buffer,
    biases: Buffer,
    rows: Rows,
    cache: Cache,
    /// Where chunks wait.
    aside: Buffer,
    traffic: Traffic,
    stored: PhantomData<W>,
}

impl<W> std::fmt::Debug for Kernels<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kernels")
            .field("sizes", &self.sizes)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

/// Shares a bound of `bytes` out to slots and spare rows, of which each of two buffers takes
/// `half` bytes.
fn shared_out(bytes: usize, half: usize, limits: Limits) -> Rows {
    let whole = Sizes::most_rows();
    let (row, most) = (2 * half, limits.buffer / half);
    let rows = slots_within(bytes, row).min(most);
    let spare = (rows / 8).clamp(2 * whole, MOST_SPARE * 3);
    if rows > 2 * spare {
        return Rows { slots: rows - spare, spare };
    }
    let spare = (SPARE_BYTES / row).clamp(2 * whole, MOST_SPARE * whole).min(most);
    Rows { slots: 0, spare }
}

impl<W: Stored> Kernels<W> {
    /// The network of a weights file's tensors on this adapter, with a cache within `bytes`.
    ///
    /// # Errors
    /// A sentence, where it does not fit there.
    fn load(
        source: &Source<'_>,
        config: &ModelConfig,
        adapter: &Adapter,
        bytes: usize,
    ) -> Result<Self, String> {
        let limits = adapter.limits();
        let mut sizes = Sizes::within(config, limits)?;
        let packed = pack(source, config, &sizes).map_err(|error| error.to_string())?;
        sizes.places = packed.places;
        if packed.floats.len() * size_of::<W>() > limits.buffer {
            return Err("its buffers are too small for the network's weights".to_owned());
        }
        let client = adapter.client();
        // What an earlier attempt took; an error here means that it is freed later.
        let _ = client.memory_cleanup();
        let rows = shared_out(bytes, half_row::<W>(&sizes), limits);
        let keep = |floats: Vec<f32>, width: usize| {
            let len = floats.len() / width;
            let put = |floats| client.create(W::bytes(floats));
            Buffer { handle: client.memory_persistent_allocation(floats, put), len }
        };
        let weights = keep(packed.floats, 4);
        let biases = keep(packed.biases, 1);
        let cache = cache::<W>(&client, &sizes, rows);
        let aside = fours::<f32>(&client, 1);
        let (traffic, stored) = (Traffic::default(), PhantomData);
        Ok(Self { client, sizes, limits, weights, biases, rows, cache, aside, traffic, stored })
    }

    fn launch(&mut self, launch: Launch, words: &Buffer, answer: &Buffer, watch: bool) {
        let floats = |buffer: &Buffer| argument(buffer, f32::elem_type_native());
        let stored = |buffer: &Buffer| argument(buffer, W::elem_type_native());
        pass::launch::<W>(
            &self.client,
            CubeCount::Static(launch.groups as u32, 1, 1),
            CubeDim::new_1d(self.sizes.units as u32),
            stored(&self.weights),
            stored(&self.biases),
            argument(words, u32::elem_type_native()),
            stored(&self.cache.keys),
            stored(&self.cache.values),
            floats(&self.aside),
            floats(answer),
            launch.first,
            launch.chunks,
            launch.moves.div_ceil(self.sizes.moves),
            usize::from(watch),
            self.sizes,
        );
        self.traffic.launches += 1;
    }
}

/// Bytes of a token in each of the cache's buffers.
fn half_row<W>(sizes: &Sizes) -> usize {
    4 * sizes.row4() * size_of::<W>()
}

/// Room for so many vectors of four numbers.
fn fours<W>(client: &Client, len: usize) -> Buffer {
    Buffer { handle: client.empty(4 * len * size_of::<W>()), len }
}

fn cache<W>(client: &Client, sizes: &Sizes, rows: Rows) -> Cache {
    let len = (rows.slots + rows.spare) * sizes.row4();
    client.memory_persistent_allocation(len, |len| Cache::new::<W>(client, len))
}

/// A buffer as a kernel's argument.
fn argument(buffer: &Buffer, kind: ElemType) -> BufferArg {
    TensorHandle::new_contiguous([buffer.len], buffer.handle.clone(), kind)
        .binding()
        .into_buffer_arg()
}

impl<W: Stored> Passes for Kernels<W> {
    fn slots(&self) -> usize {
        self.rows.slots
    }

    fn begin(&mut self, items: &[Item]) -> Flight {
        let watch = items.iter().any(|item| !item.seen.is_empty());
        let Arranged { words, launches, places, aside, floats, attention } =
            arrange(items, &self.sizes, self.rows);
        if launches.is_empty() {
            return Flight { places, reading: Reading::Ready(Ok(Vec::new())) };
        }
        let needed = 2 * aside * self.sizes.width4;
        if needed > self.aside.len {
            self.aside = fours::<f32>(&self.client, needed.next_power_of_two());
        }
        let len = words.len();
        let words = Buffer { handle: self.client.create(Bytes::from_elems(words)), len };
        let len = floats + if watch { attention } else { 0 };
        let answer = Buffer { handle: self.client.empty(len * size_of::<f32>()), len };
        for launch in launches {
            self.launch(launch, &words, &answer, watch);
        }
        self.traffic.uploads += 1;
        self.traffic.downloads += 1;
        // Queued by the first poll.
        let client = self.client.clone();
        let reading = Reading::begin(async move {
            let read = client.read_async(vec![answer.handle]);
            let mut bytes = read.await.map_err(|error| format!("{error:?}"))?;
            let bytes = bytes.pop().ok_or("nothing was read")?;
            Ok(f32::from_bytes(&bytes).to_vec())
        });
        Flight { places, reading }
    }

    fn traffic(&self) -> Traffic {
        self.traffic
    }

    fn close_cache(&mut self) {
        self.rows = shared_out(0, half_row::<W>(&self.sizes), self.limits);
        self.cache = Cache::new::<W>(&self.client, 1);
        // Freed by now; an error here means that it is freed later.
        let _ = self.client.memory_cleanup();
        self.cache = cache::<W>(&self.client, &self.sizes, self.rows);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_takes_two_of_an_adapters_largest_buffers() {
        let limits = Limits { shared: 0, units: 0, buffer: 128 << 20, buffers: 7 };
        let rows = |bytes| {
            let Rows { slots, spare } = shared_out(bytes, 4 << 10, limits);
            slots + spare
        };
        assert_eq!(rows(1 << 30), 2 * (128 << 20) / (8 << 10));
        let small = rows(64 << 20) * (8 << 10);
        assert!((48 << 20..=64 << 20).contains(&small), "{small}");
    }
}
