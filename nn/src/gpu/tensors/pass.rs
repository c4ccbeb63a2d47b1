//! One pass through the network: whole encodes, or children that see the cache.

use burn::tensor::{Device, Tensor, TensorData};

use super::pack::Pack;
use super::store::{Store, Table};
use crate::model::{AttentionShape, Model, VALUE_BINS, indices};

/// Queues a pass. What it found, end to end: value logits, error scales, policy logit and action
/// delta of each move, and the attention that each key received, if `watch`.
///
/// With a store, new tokens go into their rows of it before any of the pass is seen.
pub(super) fn run(
    model: &Model,
    mut store: Option<&mut Store>,
    pack: &Pack,
    watch: bool,
    device: &Device,
) -> Vec<Tensor<1>> {
    let (n, q, t) = (pack.shape.positions, pack.shape.queries, pack.shape.keys);
    let shape = AttentionShape { batch: n, queries: q, keys: t, heads: model.heads() };
    let pairs = indices(&pack.pairs, device);
    let rows = indices(&pack.rows, device);
    let entries = (!pack.is_whole).then(|| indices(&pack.entries, device));
    let mut attention: Option<Tensor<4>> = None;
    let mut x = model.embed(&pack.inputs, [n, q - 1, 1], device); // [n * q, d]
    for (layer, block) in model.blocks().iter().enumerate() {
        let [query, mut key, mut value] = block.project(x.clone());
        if let Some(store) = &mut store {
            for (table, new) in [(Table::Key(layer), &mut key), (Table::Value(layer), &mut value)] {
                store.write(table, &rows, new.clone());
                if let Some(entries) = &entries {
                    *new = store.table(table).select(0, entries.clone()); // [n * t, d]
                }
            }
        }
        let (mixed, weights) = block.attend([query, key, value], pairs.clone(), shape);
        if watch {
            attention = Some(match attention {
                Some(sum) => sum + weights, // [n, h, q, t]
                None => weights,
            });
        }
        x = block.absorb(x, mixed);
    }
    let x = model.finish(x);
    let d = x.dims()[1];
    let readouts = x.clone().reshape([n, q, d]).slice([0..n, q - 1..q]).reshape([n, d]);
    let [moving, captured] = model.move_parts(x);
    if let Some(store) = &mut store {
        store.write(Table::Moving, &rows, moving.clone());
        store.write(Table::Captured, &rows, captured.clone());
    }
    let parts = match store {
        Some(store) if !pack.is_whole => [Table::Moving, Table::Captured].map(|t| store.table(t)),
        _ => {
            let nothing = Tensor::zeros([1, captured.dims()[1]], device);
            [moving, Tensor::cat(vec![captured, nothing], 0)]
        }
    };
    let output = model.answer(readouts, parts, &pack.moves, device);
    let mut found = vec![
        output.value_logits.reshape([n * VALUE_BINS]),
        output.log_error,
        Tensor::stack::<2>(vec![output.policy_logits, output.action_delta], 1)
            .reshape([2 * pack.moves.piece.len()]),
    ];
    found.extend(attention.map(|sum| received(sum, pack, device)));
    found
}

/// The attention that each key received, from the layers' sum: of all tokens, and on average over
/// the heads.
fn received(sum: Tensor<4>, pack: &Pack, device: &Device) -> Tensor<1> {
    let (n, q, t) = (pack.shape.positions, pack.shape.queries, pack.shape.keys);
    let active = TensorData::new(pack.active.clone(), [n, 1, q, 1]);
    let received = sum * Tensor::from_data(active, device); // [n, h, q, t]
    received.sum_dim(2).mean_dim(1).reshape([n * t])
}
