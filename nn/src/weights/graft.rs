//! Starting a network from another one, which may be of another shape.

use burn::tensor::Device;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensorError, SafeTensors};

use super::{Source, WeightsError, assemble, check_finite, load_bytes, to_exact_bytes};
use crate::model::{Model, ModelConfig};

/// A fresh network of shape `config` that takes from the weights file `bytes` every tensor whose
/// name it shares and whose shape fits; also how many tensors it took, and of how many.
///
/// A network with more layers takes all layers of the old one and repeats some of them, spread
/// evenly. What a repeated layer adds to its input is zero at first, so the deeper network answers
/// as the old one does. So does one with more hidden units: the new ones have fresh weights, and
/// what the old ones take from them is zero. So does one of wider tokens with heads of the same
/// width: nothing writes the new channels at first, though everything reads them, so that they are
/// learnt from the first step on. So does one whose file has the shorter tables of an older
/// version. Heads of another width leave only the tensors of the same shape.
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
    let old = Source(SafeTensors::deserialize(bytes).map_err(damaged)?);
    check_finite(&old.0)?;
    let old_layers = layers(&old.0);
    let fresh = to_exact_bytes(&config.init(device), config)?;
    let fresh = Source(SafeTensors::deserialize(&fresh).map_err(damaged)?);
    let old_width = width_with_heads_of(&old, config);
    let mut taken = 0;
    let mut tensors: Vec<(String, Tensor)> = Vec::new();
    for name in fresh.0.names() {
        let mut own = fresh.tensor(name)?;
        let donor = donor(name, old_layers, config.layers);
        let other = old.tensor(&donor.name).ok();
        if let Some(other) = other.filter(|other| own.holds(other, old_width.is_some())) {
            taken += 1;
            if donor.is_silent {
                own.values.fill(0.0);
            } else {
                own.take(&other, Channels::of(name));
            }
            if let Some(old_width) = old_width.filter(|_| name.ends_with("norm.scale")) {
                // The mean square of a token is taken over the new channels too, which are zero.
                let share = (old_width as f32 / config.width as f32).sqrt();
                own.values[..old_width].iter_mut().for_each(|scale| *scale *= share);
            }
        }
        tensors.push((name.to_owned(), own));
    }
    let bytes: Vec<_> = tensors.iter().map(|(_, tensor)| tensor.bytes()).collect();
    let views = tensors.iter().zip(&bytes).map(|((name, tensor), bytes)| {
        let view = TensorView::new(Dtype::F32, tensor.shape.clone(), bytes).map_err(damaged)?;
        Ok((name.clone(), view))
    });
    let merged = assemble(views.collect::<Result<_, WeightsError>>()?, config)?;
    Ok((load_bytes(&merged, device)?.model, taken, tensors.len()))
}

/// The width of the old network's tokens, if it is at most that of `config` and its heads are as
/// wide as those of `config`.
fn width_with_heads_of(old: &Source<'_>, config: &ModelConfig) -> Option<usize> {
    let last = |name: &str| old.0.tensor(name).ok()?.shape().last().copied();
    let (width, heads) = (last("board")?, last("blocks.0.bias")?);
    (width <= config.width && width * config.heads == config.width * heads).then_some(width)
}

/// What a tensor does with the channels of the tokens.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Channels {
    /// They are its rows.
    Read,
    /// They are its columns, and what it gives is added to them.
    Written,
    Untouched,
}

impl Channels {
    fn of(name: &str) -> Self {
        let part = layer_of(name).map_or(name, |(_, part)| part);
        match part.split('.').next() {
            Some("piece_square" | "piece_state" | "rules" | "board" | "out" | "down") => {
                Self::Written
            }
            Some(
                "query" | "key" | "value" | "up" | "value_hidden" | "move_piece" | "move_captured"
                | "move_readout",
            ) => Self::Read,
            _ => Self::Untouched,
        }
    }
}

/// A tensor of a weights file, as floats.
pub(super) struct Tensor {
    pub(super) shape: Vec<usize>,
    pub(super) values: Vec<f32>,
}

impl Tensor {
    /// Whether `other` has the same shape or, if it `may_widen`, a smaller one.
    fn holds(&self, other: &Self, may_widen: bool) -> bool {
        let fits = |(own, other): (&usize, &usize)| own >= other && *other > 0;
        let has_room = self.shape.iter().zip(&other.shape).all(fits);
        self.shape == other.shape || may_widen && has_room && self.shape.len() == other.shape.len()
    }

    /// Takes the weights of `other`, which it holds, as its first rows and columns. Rows are inputs
    /// and columns are outputs: what the old outputs take from new inputs is zero, unless the
    /// inputs are channels of the tokens, which are zero themselves because nothing writes them.
    fn take(&mut self, other: &Self, channels: Channels) {
        let columns = |tensor: &Self| tensor.shape.last().copied().unwrap_or(1);
        let mut rows = other.values.chunks_exact(columns(other));
        let width = columns(self);
        for own in self.values.chunks_exact_mut(width) {
            let (old, new) = own.split_at_mut(columns(other));
            match rows.next() {
                Some(row) => old.copy_from_slice(row),
                None if channels != Channels::Read => old.fill(0.0),
                None => {}
            }
            if channels == Channels::Written {
                new.fill(0.0);
            }
        }
    }

    fn bytes(&self) -> Vec<u8> {
        self.values.iter().flat_map(|value| value.to_le_bytes()).collect()
    }
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
