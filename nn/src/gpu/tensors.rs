//! The same by burn's tensors, as the network is trained: the reference for the kernels, on any of
//! burn's devices. Slow on a GPU, where every operation is a launch; not used in play.
//!
//! In reading order:
//!
//! * `pack` — the plans of a pass as index lists;
//! * `store` — the cache's rows on the device;
//! * `pass` — the network over a pack.
//!
//! A batch is two kinds of passes: first the whole encodes, new anchors among them, then the
//! children, remade ones first. A child has three new tokens (two pieces, of which one mostly is
//! padding, and its readout). Layer by layer their keys and values go into the cache, and then all
//! that the child sees is gathered from there.

mod pack;
mod pass;
mod store;

use burn::tensor::{Device, Tensor};

use self::pack::{Pack, Shape, WHOLE_TOKENS};
use self::store::{Layout, Store};
use super::passes::{Flight, Item, Passes, Place};
use super::reading::Reading;
use crate::incremental::plan::CHILD_ROWS;
use crate::model::{Model, ModelConfig, VALUE_BINS};

/// The network and its cache as tensors.
#[derive(Debug)]
pub(super) struct Tensors {
    model: Model,
    device: Device,
    /// Nothing where nothing is kept.
    store: Option<Store>,
}

impl Tensors {
    /// A network on its device, with a cache within `bytes`.
    pub(super) fn new(model: Model, config: &ModelConfig, device: &Device, bytes: usize) -> Self {
        let layout = Layout::within(bytes, config);
        let store = layout.map(|layout| Store::new(layout, config, device));
        Self { model, device: device.clone(), store }
    }

    fn pack(&self, items: &[&Item], is_whole: bool) -> Pack {
        let longest = items.iter().map(|item| item.plan.sources.len()).max().unwrap_or(0);
        let (queries, keys) =
            if is_whole { (WHOLE_TOKENS, WHOLE_TOKENS) } else { (CHILD_ROWS, longest) };
        let mut pack = Pack::new(Shape { positions: items.len(), queries, keys }, is_whole);
        for (place, Item { plan, own, .. }) in items.iter().enumerate() {
            let rows: Vec<i32> = match (own, &self.store) {
                (Some(own), _) => own.iter().map(|&slot| store::row(slot)).collect(),
                (None, Some(store)) if !is_whole => store.layout.spare(place).collect(),
                (None, _) => Vec::new(),
            };
            pack.push(plan, &rows);
        }
        pack.pad()
    }

    /// Queues a pass; says where the items' answers are among floats that begin at `start`, and how
    /// many there are.
    fn pass(
        &mut self,
        items: &[&Item],
        is_whole: bool,
        start: usize,
    ) -> (Vec<Tensor<1>>, Vec<Place>, usize) {
        let pack = self.pack(items, is_whole);
        let watch = items.iter().any(|item| !item.seen.is_empty());
        let store = self.store.as_mut().filter(|_| pack.is_kept());
        let found = pass::run(&self.model, store, &pack, watch, &self.device);
        let Shape { positions, keys, .. } = pack.shape;
        let errors = start + positions * VALUE_BINS;
        let estimates = errors + positions;
        let attention = estimates + 2 * pack.moves.piece.len();
        let place = |(index, item): (usize, &&Item)| Place {
            bins: start + index * VALUE_BINS,
            error: errors + index,
            estimates: estimates + 2 * pack.offsets[index],
            attention: attention + index * keys,
            readout: pack.key(&item.plan, item.plan.sources.len() - 1),
        };
        let places = items.iter().enumerate().map(place).collect();
        let end = attention + if watch { positions * keys } else { 0 };
        (found, places, end)
    }
}

impl Passes for Tensors {
    fn slots(&self) -> usize {
        self.store.as_ref().map_or(0, |store| store.layout.slots)
    }

    fn begin(&mut self, items: &[Item]) -> Flight {
        // A pass writes a layer's rows before it reads any, so the order of the items is enough.
        debug_assert!((0..).zip(items).all(|(index, item)| item.after.is_none_or(|a| a < index)));
        let mut places = vec![Place::default(); items.len()];
        let (mut found, mut start) = (Vec::new(), 0);
        for is_whole in [true, false] {
            let most = self.store.as_ref().map_or(usize::MAX, |store| store.layout.children);
            let most = if is_whole { usize::MAX } else { most };
            let kind =
                items.iter().enumerate().filter(|(_, item)| item.plan.is_whole() == is_whole);
            let kind: Vec<(usize, &Item)> = kind.collect();
            for chunk in kind.chunks(most.min(kind.len()).max(1)) {
                let (indices, items): (Vec<usize>, Vec<&Item>) = chunk.iter().copied().unzip();
                let (tensors, own, end) = self.pass(&items, is_whole, start);
                for (index, place) in indices.into_iter().zip(own) {
                    places[index] = place;
                }
                found.extend(tensors);
                start = end;
            }
        }
        if found.is_empty() {
            return Flight { places, reading: Reading::Ready(Ok(Vec::new())) };
        }
        let data = Tensor::cat(found, 0).into_data_async();
        let reading = Reading::begin(async move {
            let data = Box::pin(data).await.map_err(|error| format!("{error:?}"))?;
            data.try_to_vec().map_err(|error| format!("{error:?}"))
        });
        Flight { places, reading }
    }

    fn close_cache(&mut self) {
        self.store = None;
    }
}
