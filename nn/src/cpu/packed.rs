//! The weights file, rearranged for the kernels.

use super::attention::head_column;
use super::integers::Unit;
use super::product::Product;
use super::short_attention::{Grid, fits};
use super::vectors::{Aligned, LINE};
use crate::encode::{ATTACK_STATES, BOARD_FEATURES, MOVE_FEATURES, PIECE_SQUARES, PLACES, TARGETS};
use crate::model::{ModelConfig, VALUE_BINS};
use crate::weights::{self, Linear, Source, WeightsError};

/// One block.
#[derive(Debug)]
pub(super) struct Block {
    /// `[d, 3 d]`: query (scaled), key, value; the norm's scale is in it.
    pub(super) query_key_value: Product,
    /// `[d, d]`.
    pub(super) out: Product,
    /// `[65][65][16]`: bias by query square and key square; the heads repeat. In integers
    /// `[65][65][heads]`.
    pub(super) bias: Aligned,
    /// Hidden units that run: those of the file that something is taken of, in whole vectors.
    pub(super) hidden: usize,
    /// `[d, hidden]`, the norm's scale in it.
    pub(super) up: Product,
    /// `[hidden, d]`.
    pub(super) down: Product,
}

/// What a network in 16-bit integers has beside its products.
#[derive(Debug)]
pub(super) struct Short {
    pub(super) unit: Unit,
    /// Of each layer's keys and values.
    pub(super) grids: Vec<[Grid; 2]>,
    /// Of what the move heads need of a token.
    pub(super) tokens: Grid,
}

/// The network, ready to run.
#[derive(Debug)]
pub(super) struct Network {
    /// In integers, or nothing: in floats.
    pub(super) short: Option<Short>,
    /// SHA-256 of the weights file, in hexadecimal digits.
    pub(super) hash: String,
    pub(super) config: ModelConfig,
    pub(super) piece_square: Aligned,
    pub(super) piece_state: Aligned,
    pub(super) rules: Aligned,
    pub(super) board: Aligned,
    pub(super) blocks: Vec<Block>,
    pub(super) value_hidden: Product,
    /// Value bins, then the error's logarithm.
    pub(super) value_error: Product,
    /// Moving piece, then captured piece.
    pub(super) move_tokens: Product,
    pub(super) move_readout: Product,
    pub(super) target_gate: Aligned,
    pub(super) target: Aligned,
    pub(super) move_feature: Aligned,
    pub(super) move_situation: Aligned,
    pub(super) move_mix: Product,
    pub(super) move_out: Product,
}

/// A table of the weights file.
fn table(
    source: &Source<'_>,
    name: &str,
    rows: usize,
    width: usize,
) -> Result<Aligned, WeightsError> {
    Ok(Aligned::of(&source.read(name, &[rows, width])?))
}

impl Linear {
    fn packed(&self, unit: Option<Unit>) -> Product {
        Product::new(unit, &self.weights, &self.bias, [self.k, self.m])
    }

    /// No output of a normalised row is larger, nor of its nearly exact products.
    fn bound(&self) -> f32 {
        let column = |c: usize| {
            let squares = self.weights.iter().skip(c).step_by(self.m).map(|w| w * w);
            (squares.sum::<f32>() * self.k as f32).sqrt() + self.bias[c].abs()
        };
        1.01 * (0..self.m).map(column).fold(0.0, f32::max)
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
    fn beside(parts: &[Self], unit: Option<Unit>) -> Product {
        let (k, m) = (parts[0].k, parts.iter().map(|part| part.m).sum());
        let rows = (0..k).flat_map(|row| {
            parts.iter().flat_map(move |part| &part.weights[row * part.m..][..part.m])
        });
        let weights: Vec<f32> = rows.copied().collect();
        let bias: Vec<f32> = parts.iter().flat_map(|part| &part.bias).copied().collect();
        Product::new(unit, &weights, &bias, [k, m])
    }
}

/// The layers `up` and `down` without the hidden units that nothing is taken of, whose rows of
/// `down` are zeros; filled up with zeros to whole vectors of pairs.
fn without_idle(up: &Linear, down: Linear) -> (Linear, Linear) {
    let is_taken = |unit: &usize| down.weights[unit * down.m..][..down.m].iter().any(|w| *w != 0.0);
    let taken: Vec<usize> = (0..up.m).filter(is_taken).collect();
    let hidden = taken.len().max(1).next_multiple_of(2 * LINE);
    let columns = |row: &[f32]| {
        let mut row: Vec<f32> = taken.iter().map(|&unit| row[unit]).collect();
        row.resize(hidden, 0.0);
        row
    };
    let mut rows: Vec<f32> =
        taken.iter().flat_map(|&unit| &down.weights[unit * down.m..][..down.m]).copied().collect();
    rows.resize(hidden * down.m, 0.0);
    let weights = up.weights.chunks_exact(up.m).flat_map(columns).collect();
    let up = Linear { weights, bias: columns(&up.bias), k: up.k, m: hidden };
    (up, Linear { weights: rows, k: hidden, ..down })
}

/// A layer's block, and the grids of its keys and values.
fn block(
    source: &Source<'_>,
    config: &ModelConfig,
    unit: Option<Unit>,
    layer: usize,
) -> Result<(Block, [Grid; 2]), WeightsError> {
    let (d, heads) = (config.width, config.heads);
    let named = |name: &str| format!("blocks.{layer}.{name}");
    let before = source.read(&named("attention_norm.scale"), &[d])?;
    let linear = |name: &str| source.linear(&named(name), d, d, &before);
    let place = |column| head_column(column, d, heads);
    let [key, value] = [linear("key")?, linear("value")?];
    let grids = [&key, &value].map(|linear| Grid::within(linear.bound()));
    let units = if unit.is_some() { grids[0].read } else { 1.0 };
    let scale = units / ((d / heads) as f32).sqrt();
    let query = linear("query")?.arranged(place, scale);
    let parts = [query, key.arranged(place, 1.0), value.arranged(place, 1.0)];
    // What attention mixes is arranged by heads, so the rows of the next weights are too.
    let mut out = source.linear(&named("out"), d, d, &[])?;
    let rows = out.weights.clone();
    for (row, from) in rows.chunks_exact(d).enumerate() {
        out.weights[place(row) * d..][..d].copy_from_slice(from);
    }
    let pairs = source.read(&named("bias"), &[PLACES * PLACES, heads])?;
    let repeated = if unit.is_some() { heads } else { LINE };
    let mut bias = Aligned::zeros(PLACES * PLACES * repeated);
    for (to, from) in bias.get_mut().chunks_exact_mut(repeated).zip(pairs.chunks_exact(heads)) {
        for (to, from) in to.iter_mut().zip(from.iter().cycle()) {
            *to = *from;
        }
    }
    let feed = source.read(&named("feed_norm.scale"), &[d])?;
    let up = source.linear(&named("up"), d, config.feed_forward, &feed)?;
    let down = source.linear(&named("down"), config.feed_forward, d, &[])?;
    let (up, down) = without_idle(&up, down);
    let block = Block {
        query_key_value: Linear::beside(&parts, unit),
        out: out.packed(unit),
        bias,
        hidden: up.m,
        up: up.packed(unit),
        down: down.packed(unit),
    };
    Ok((block, grids))
}

impl Network {
    /// Reads the bytes of a weights file of this hash. With a `unit` it will run in 16-bit
    /// integers, if its shape allows.
    ///
    /// # Errors
    /// When the bytes are damaged or no Tesla network of this version.
    pub(super) fn load(
        bytes: &[u8],
        hash: String,
        unit: Option<Unit>,
    ) -> Result<Self, WeightsError> {
        let (tensors, config) = weights::open(bytes)?;
        let unit = unit.filter(|unit| can_be_short(*unit, &config));
        let source = Source(tensors);
        let (d, hidden, mix) = (config.width, config.move_hidden, config.move_mix());
        let norm = source.read("norm.scale", &[d])?;
        let after_norm = |name: &str, m: usize| source.linear(name, d, m, &norm);
        let plain = |name: &str, k: usize, m: usize| source.linear(name, k, m, &[]);
        let value_hidden = config.value_hidden;
        let layers = (0..config.layers).map(|layer| block(&source, &config, unit, layer));
        let (blocks, grids) = layers.collect::<Result<(Vec<_>, Vec<_>), _>>()?;
        let tokens = [after_norm("move_piece", hidden)?, after_norm("move_captured", hidden)?];
        let largest = tokens.iter().map(Linear::bound).fold(0.0, f32::max);
        let short = unit.map(|unit| Short { unit, grids, tokens: Grid::within(largest) });
        Ok(Self {
            short,
            hash,
            piece_square: table(&source, "piece_square", PIECE_SQUARES, d)?,
            piece_state: table(&source, "piece_state", 12 * ATTACK_STATES, d)?,
            rules: Aligned::of(&source.rules(d)?),
            board: table(&source, "board", BOARD_FEATURES, d)?,
            blocks,
            value_hidden: after_norm("value_hidden", value_hidden)?.packed(unit),
            value_error: Linear::beside(
                &[
                    plain("value_out", value_hidden, VALUE_BINS)?,
                    plain("error_out", value_hidden, 1)?,
                ],
                unit,
            ),
            move_tokens: Linear::beside(&tokens, unit),
            move_readout: after_norm("move_readout", hidden)?.packed(unit),
            target_gate: table(&source, "target_gate", TARGETS, hidden)?,
            target: table(&source, "target", TARGETS, hidden)?,
            move_feature: table(&source, "move_feature", MOVE_FEATURES, hidden)?,
            move_situation: Aligned::of(&source.situations(hidden)?),
            move_mix: plain("move_mix", hidden, mix)?.packed(unit),
            move_out: plain("move_out", mix, 2)?.packed(unit),
            config,
        })
    }

    /// Floats that the cache keeps of a token: keys and values of all layers, then what the move
    /// heads need of it.
    /// In integers two take the place of one.
    pub(super) fn entry_floats(&self) -> usize {
        let count = 2 * self.config.layers * self.config.width + 2 * self.config.move_hidden;
        if self.short.is_some() { count / 2 } else { count }
    }
}

/// Whether there is a path in integers for this shape.
fn can_be_short(unit: Unit, config: &ModelConfig) -> bool {
    let lanes = unit.lanes();
    fits(lanes, config.width, config.heads) && config.move_hidden.is_multiple_of(2 * lanes)
}
