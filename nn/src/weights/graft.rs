//! Starting a network from another one, which may be of another shape.

use burn::tensor::Device;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensorError, SafeTensors};

use super::{
    RULES, SITUATIONS, WeightsError, assemble, check_finite, grown, load_bytes, older_rows,
    to_exact_bytes,
};
use crate::model::{Model, ModelConfig};

/// A fresh network of shape `config` that takes from the weights file `bytes` every tensor whose
/// name and shape it shares; also how many tensors it took, and of how many.
///
/// A network with more layers takes all layers of the old one and repeats some of them, spread
/// evenly. What a repeated layer adds to its input is zero at first, so the deeper network answers
/// as the old one does. So does one whose file has the shorter tables of an older version.
///
/// The file may be of another shape and of an older [`FORMAT`](super::FORMAT): this is how a run
/// starts from an earlier network after a part of the network changed.
///
/// # Errors
/// When the bytes are damaged.
pub fn graft(
    bytes: &[u8],
    config: &ModelConfig,
    device: &Device,
) -> Result<(Model, usize, usize), WeightsError> {
    let damaged = |error: SafeTensorError| WeightsError::Damaged(error.to_string());
    let old = SafeTensors::deserialize(bytes).map_err(damaged)?;
    check_finite(&old)?;
    let old_layers = layers(&old);
    let fresh = to_exact_bytes(&config.init(device), config)?;
    let fresh = SafeTensors::deserialize(&fresh).map_err(damaged)?;
    let largest = fresh.tensors().iter().map(|(_, tensor)| tensor.data().len()).max();
    let zeros = vec![0; largest.unwrap_or(0)];
    let tables = [RULES, SITUATIONS].map(|name| (name, padded(&old, name)));
    let mut taken = 0;
    let mut views: Vec<(String, TensorView<'_>)> = Vec::new();
    for (name, own) in fresh.tensors() {
        let donor = donor(&name, old_layers, config.layers);
        let other = match tables.iter().find(|(table, _)| *table == name) {
            Some((_, Some(padded))) => padded.view().ok(),
            _ => old.tensor(&donor.name).ok(),
        };
        let other = other.filter(|other| other.shape() == own.shape());
        taken += usize::from(other.is_some());
        let view = match other {
            Some(_) if donor.is_silent => {
                let zeros = &zeros[..own.data().len()];
                TensorView::new(own.dtype(), own.shape().to_vec(), zeros).map_err(damaged)?
            }
            Some(other) => other,
            None => own,
        };
        views.push((name, view));
    }
    let total = views.len();
    let merged = assemble(views, config)?;
    Ok((load_bytes(&merged, device)?.model, taken, total))
}

/// A tensor with bytes of its own.
struct Padded {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Padded {
    fn view(&self) -> Result<TensorView<'_>, SafeTensorError> {
        TensorView::new(self.dtype, self.shape.clone(), &self.bytes)
    }
}

/// The table `name` with the rows that it lacks, if it lacks any.
fn padded(old: &SafeTensors<'_>, name: &str) -> Option<Padded> {
    let rows = older_rows(old, name)?;
    let table = old.tensor(name).ok()?;
    let row_bytes = table.data().len() / rows;
    let bytes = grown(name, table.data(), rows);
    let shape = [&[bytes.len() / row_bytes], &table.shape()[1..]].concat();
    Some(Padded { dtype: table.dtype(), shape, bytes })
}

/// The layer that a block's tensor belongs to, and its name within the block.
fn layer_of(name: &str) -> Option<(usize, &str)> {
    let (layer, rest) = name.strip_prefix("blocks.")?.split_once('.')?;
    Some((layer.parse().ok()?, rest))
}

/// Number of layers of a network.
pub(super) fn layers(tensors: &SafeTensors<'_>) -> usize {
    let layers = tensors.names().into_iter().filter_map(|name| layer_of(name));
    layers.map(|(layer, _)| layer.saturating_add(1)).max().unwrap_or(0)
}

/// Where a tensor of the new network comes from.
struct Donor {
    /// The tensor of the old network.
    name: String,
    /// Whether it is zero instead: the output of a repeated layer.
    is_silent: bool,
}

/// The donor of the tensor `name` when a network of `old` layers becomes one of `new` layers.
fn donor(name: &str, old: usize, new: usize) -> Donor {
    let Some((layer, part)) = layer_of(name).filter(|_| new > old) else {
        return Donor { name: name.to_owned(), is_silent: false };
    };
    let source = |layer: usize| layer * old / new;
    let repeats = layer > 0 && source(layer) == source(layer - 1);
    let is_output = part.starts_with("out.") || part.starts_with("down.");
    Donor { name: format!("blocks.{}.{part}", source(layer)), is_silent: repeats && is_output }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deeper_network_has_every_layer_of_the_old_one_and_repeats_some() {
        let from = |layer: usize, old, new| {
            let donor = donor(&format!("blocks.{layer}.down.weight"), old, new);
            (donor.name, donor.is_silent)
        };
        let name = |layer: usize| format!("blocks.{layer}.down.weight");
        let six_to_ten: Vec<_> = (0..10).map(|layer| from(layer, 6, 10)).collect();
        let expected = [0, 0, 1, 1, 2, 3, 3, 4, 4, 5].map(name);
        assert!(six_to_ten.iter().map(|(name, _)| name).eq(&expected));
        let silent: Vec<_> = (0..10).filter(|&layer| six_to_ten[layer].1).collect();
        assert_eq!(silent, [1, 3, 6, 8]);
        assert_eq!(from(3, 6, 6), (name(3), false));
        assert_eq!(from(1, 6, 2), (name(1), false));
        let key = donor("blocks.1.key.weight", 6, 10);
        assert_eq!((key.name.as_str(), key.is_silent), ("blocks.0.key.weight", false));
    }
}
