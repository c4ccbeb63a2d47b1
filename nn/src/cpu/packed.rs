//! The weights file, rearranged for the kernels.

use half::f16;
use safetensors::{Dtype, SafeTensors};

use super::attention::head_column;
use super::gemm::Packed;
use super::vectors::{Aligned, LINE};
use crate::encode::{
    ATTACK_STATES, BOARD_FEATURES, MOVE_FEATURES, MOVE_SITUATIONS, PIECE_SQUARES, PLACES,
    RULE_ROWS, TARGETS,
};
use crate::model::{ModelConfig, VALUE_BINS};
use crate::weights::{self, WeightsError};

/// Linear layers whose sum with another layer has that one's bias.
const WITHOUT_BIAS: [&str; 2] = ["move_captured", "move_readout"];

/// One block.
#[derive(Debug)]
pub(super) struct Block {
    /// `[d, 3 d]`: query (scaled), key, value; the norm's scale is in it.
    pub(super) query_key_value: Packed,
    /// `[d, d]`.
    pub(super) out: Packed,
    /// `[65][65][16]`: bias by query square and key square; the heads repeat.
    pub(super) bias: Aligned,
    /// `[d, feed_forward]`, the norm's scale in it.
    pub(super) up: Packed,
    /// `[feed_forward, d]`.
    pub(super) down: Packed,
}

/// The network, ready to run.
#[derive(Debug)]
pub(super) struct Network {
    pub(super) config: ModelConfig,
    pub(super) piece_square: Aligned,
    pub(super) piece_state: Aligned,
    pub(super) rules: Aligned,
    pub(super) board: Aligned,
    pub(super) blocks: Vec<Block>,
    pub(super) value_hidden: Packed,
    /// Value bins, then the error's logarithm.
    pub(super) value_error: Packed,
    /// Moving piece, then captured piece.
    pub(super) move_tokens: Packed,
    pub(super) move_readout: Packed,
    pub(super) target_gate: Aligned,
    pub(super) target: Aligned,
    pub(super) move_feature: Aligned,
    pub(super) move_situation: Aligned,
    pub(super) move_mix: Packed,
    pub(super) move_out: Packed,
}

struct Source<'a>(SafeTensors<'a>);

impl Source<'_> {
    fn read(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, WeightsError> {
        let missing = |error: safetensors::SafeTensorError| WeightsError::Misfit(error.to_string());
        let tensor = self.0.tensor(name).map_err(missing)?;
        if tensor.shape() != shape {
            let actual = tensor.shape();
            return Err(WeightsError::Misfit(format!("{name} is {actual:?}, wanted {shape:?}")));
        }
        match tensor.dtype() {
            Dtype::F16 => {
                let halves = tensor.data().as_chunks::<2>().0.iter();
                Ok(halves.map(|&bytes| f16::from_le_bytes(bytes).to_f32()).collect())
            }
            Dtype::F32 => {
                let words = tensor.data().as_chunks::<4>().0.iter();
                Ok(words.map(|&bytes| f32::from_le_bytes(bytes)).collect())
            }
            other => Err(WeightsError::Foreign(format!("{name} holds {other:?}"))),
        }
    }

    fn table(&self, name: &str, rows: usize, width: usize) -> Result<Aligned, WeightsError> {
        Ok(Aligned::of(&self.read(name, &[rows, width])?))
    }

    /// Weights `[k, m]` and bias of a linear layer after a norm's `scale` (empty: none).
    fn linear(
        &self,
        name: &str,
        k: usize,
        m: usize,
        scale: &[f32],
    ) -> Result<Linear, WeightsError> {
        let mut weights = self.read(&format!("{name}.weight"), &[k, m])?;
        for (row, scale) in weights.chunks_exact_mut(m).zip(scale) {
            for w in row {
                *w *= scale;
            }
        }
        let bias = if WITHOUT_BIAS.contains(&name) {
            vec![0.0; m]
        } else {
            self.read(&format!("{name}.bias"), &[m])?
        };
        Ok(Linear { weights, bias, k, m })
    }
}

struct Linear {
    weights: Vec<f32>,
    bias: Vec<f32>,
    k: usize,
    m: usize,
}

impl Linear {
    fn packed(&self) -> Packed {
        Packed::new(&self.weights, &self.bias, self.k, self.m)
    }

    /// Moves column `c` to `place(c)` and multiplies everything with `factor`.
    fn arranged(mut self, place: impl Fn(usize) -> usize, factor: f32) -> Self {
        let arrange = |row: &mut [f32]| {
            let old = row.to_vec();
            for (column, value) in old.into_iter().enumerate() {
                row[place(column)] = value * factor;
            }
        };
        self.weights.chunks_exact_mut(self.m).for_each(arrange);
        arrange(&mut self.bias);
        self
    }

    /// The layers side by side.
    fn beside(parts: &[Self]) -> Packed {
        let (k, m) = (parts[0].k, parts.iter().map(|part| part.m).sum());
        let rows = (0..k).flat_map(|row| {
            parts.iter().flat_map(move |part| &part.weights[row * part.m..][..part.m])
        });
        let weights: Vec<f32> = rows.copied().collect();
        let bias: Vec<f32> = parts.iter().flat_map(|part| &part.bias).copied().collect();
        Packed::new(&weights, &bias, k, m)
    }
}

fn block(source: &Source<'_>, config: &ModelConfig, layer: usize) -> Result<Block, WeightsError> {
    let (d, heads) = (config.width, config.heads);
    let named = |name: &str| format!("blocks.{layer}.{name}");
    let before = source.read(&named("attention_norm.scale"), &[d])?;
    let linear = |name: &str| source.linear(&named(name), d, d, &before);
    let place = |column| head_column(column, d, heads);
    let scale = ((d / heads) as f32).sqrt().recip();
    let parts = [
        linear("query")?.arranged(place, scale),
        linear("key")?.arranged(place, 1.0),
        linear("value")?.arranged(place, 1.0),
    ];
    // What attention mixes is arranged by heads, so the rows of the next weights are too.
    let mut out = source.linear(&named("out"), d, d, &[])?;
    let rows = out.weights.clone();
    for (row, from) in rows.chunks_exact(d).enumerate() {
        out.weights[place(row) * d..][..d].copy_from_slice(from);
    }
    let pairs = source.read(&named("bias"), &[PLACES * PLACES, heads])?;
    let mut bias = Aligned::zeros(PLACES * PLACES * LINE);
    for (to, from) in bias.get_mut().chunks_exact_mut(LINE).zip(pairs.chunks_exact(heads)) {
        for (to, from) in to.iter_mut().zip(from.iter().cycle()) {
            *to = *from;
        }
    }
    let feed = source.read(&named("feed_norm.scale"), &[d])?;
    Ok(Block {
        query_key_value: Linear::beside(&parts),
        out: out.packed(),
        bias,
        up: source.linear(&named("up"), d, config.feed_forward, &feed)?.packed(),
        down: source.linear(&named("down"), config.feed_forward, d, &[])?.packed(),
    })
}

impl Network {
    /// Reads the bytes of a weights file.
    ///
    /// # Errors
    /// When the bytes are damaged or no Tesla network of this version.
    pub(super) fn load(bytes: &[u8]) -> Result<Self, WeightsError> {
        let (tensors, config) = weights::open(bytes)?;
        let source = Source(tensors);
        let (d, hidden, mix) = (config.width, config.move_hidden, config.move_mix());
        let norm = source.read("norm.scale", &[d])?;
        let after_norm = |name: &str, m: usize| source.linear(name, d, m, &norm);
        let plain = |name: &str, k: usize, m: usize| source.linear(name, k, m, &[]);
        let value_hidden = config.value_hidden;
        Ok(Self {
            piece_square: source.table("piece_square", PIECE_SQUARES, d)?,
            piece_state: source.table("piece_state", 12 * ATTACK_STATES, d)?,
            rules: source.table("rules", RULE_ROWS, d)?,
            board: source.table("board", BOARD_FEATURES, d)?,
            blocks: (0..config.layers)
                .map(|layer| block(&source, &config, layer))
                .collect::<Result<_, _>>()?,
            value_hidden: after_norm("value_hidden", value_hidden)?.packed(),
            value_error: Linear::beside(&[
                plain("value_out", value_hidden, VALUE_BINS)?,
                plain("error_out", value_hidden, 1)?,
            ]),
            move_tokens: Linear::beside(&[
                after_norm("move_piece", hidden)?,
                after_norm("move_captured", hidden)?,
            ]),
            move_readout: after_norm("move_readout", hidden)?.packed(),
            target_gate: source.table("target_gate", TARGETS, hidden)?,
            target: source.table("target", TARGETS, hidden)?,
            move_feature: source.table("move_feature", MOVE_FEATURES, hidden)?,
            move_situation: source.table("move_situation", MOVE_SITUATIONS, hidden)?,
            move_mix: plain("move_mix", hidden, mix)?.packed(),
            move_out: plain("move_out", mix, 2)?.packed(),
            config,
        })
    }

    /// Floats that the cache keeps of a token: keys and values of all layers, then what the move
    /// heads need of it.
    pub(super) fn entry_floats(&self) -> usize {
        2 * self.config.layers * self.config.width + 2 * self.config.move_hidden
    }
}
