//! The weights file as the kernel reads it: vectors of four columns, row by row.

use super::sizes::{Places, Sizes, VALUES, fours};
use crate::encode::{
    ATTACK_STATES, BOARD_FEATURES, MOVE_FEATURES, MOVE_SITUATIONS, PIECE_SQUARES, PLACES,
    RULE_ROWS, TARGETS,
};
use crate::model::{ModelConfig, VALUE_BINS};
use crate::weights::{Linear, Source, WeightsError};

/// All weights.
pub(super) struct Packed {
    /// Tables and matrices, vectors of four end to end.
    pub(super) floats: Vec<f32>,
    /// `[layers][65 · 65][heads]`: attention biases.
    pub(super) biases: Vec<f32>,
    pub(super) places: Places,
}

impl Packed {
    /// Puts a table of `rows` rows at the end, each filled up with zeros; says where it is.
    fn table(&mut self, table: &[f32], rows: usize) -> usize {
        let at = self.floats.len() / 4;
        for row in table.chunks_exact(table.len() / rows) {
            self.floats.extend_from_slice(row);
            self.floats.resize(self.floats.len().next_multiple_of(4), 0.0);
        }
        at
    }

    /// Puts a matrix and its bias at the end, filled up with zeros to `inputs4` and `outputs4`.
    fn matrix(&mut self, parts: &[Linear], inputs4: usize) -> usize {
        let at = self.floats.len() / 4;
        let mut put = |part: &[f32], width: usize| {
            self.floats.extend_from_slice(part);
            self.floats.resize(self.floats.len() + width.next_multiple_of(4) - part.len(), 0.0);
        };
        for row in 0..4 * inputs4 {
            for Linear { weights, m, .. } in parts {
                // Nothing beyond the last row.
                put(weights.get(row * m..(row + 1) * m).unwrap_or_default(), *m);
            }
        }
        for Linear { bias, m, .. } in parts {
            put(bias, *m);
        }
        at
    }
}

/// Reads the tensors of a weights file of this shape.
///
/// # Errors
/// When a tensor is missing or has another shape.
pub(super) fn pack(
    source: &Source<'_>,
    config: &ModelConfig,
    sizes: &Sizes,
) -> Result<Packed, WeightsError> {
    let mut packed = Packed { floats: Vec::new(), biases: Vec::new(), places: Places::default() };
    let d = config.width;
    let table = |name: &str, rows: usize, width: usize| source.read(name, &[rows, width]);
    packed.places.piece_square =
        packed.table(&table("piece_square", PIECE_SQUARES, d)?, PIECE_SQUARES);
    let states = 12 * ATTACK_STATES;
    packed.places.piece_state = packed.table(&table("piece_state", states, d)?, states);
    packed.places.rules = packed.table(&source.rules(d)?, RULE_ROWS);
    let mut board = table("board", BOARD_FEATURES, d)?;
    // The piece that is not there.
    board.resize(board.len() + d, 0.0);
    packed.places.board = packed.table(&board, BOARD_FEATURES + 1);
    packed.places.blocks = packed.floats.len() / 4;
    for layer in 0..config.layers {
        block(&mut packed, source, config, sizes, layer)?;
    }
    heads(&mut packed, source, config, sizes)?;
    Ok(packed)
}

/// A layer.
fn block(
    packed: &mut Packed,
    source: &Source<'_>,
    config: &ModelConfig,
    sizes: &Sizes,
    layer: usize,
) -> Result<(), WeightsError> {
    let (d, heads) = (config.width, config.heads);
    let named = |name: &str| format!("blocks.{layer}.{name}");
    let before = source.read(&named("attention_norm.scale"), &[d])?;
    let linear = |name: &str| source.linear(&named(name), d, d, &before);
    let mut query = linear("query")?;
    let scale = ((d / heads) as f32).sqrt().recip();
    query.weights.iter_mut().chain(&mut query.bias).for_each(|w| *w *= scale);
    packed.matrix(&[query, linear("key")?, linear("value")?], sizes.width4);
    packed.matrix(&[source.linear(&named("out"), d, d, &[])?], sizes.width4);
    let feed = source.read(&named("feed_norm.scale"), &[d])?;
    let up = source.linear(&named("up"), d, config.feed_forward, &feed)?;
    packed.matrix(&[up], sizes.width4);
    packed.matrix(&[source.linear(&named("down"), config.feed_forward, d, &[])?], sizes.feed4);
    packed.biases.extend(source.read(&named("bias"), &[PLACES * PLACES, heads])?);
    Ok(())
}

/// The heads.
fn heads(
    packed: &mut Packed,
    source: &Source<'_>,
    config: &ModelConfig,
    sizes: &Sizes,
) -> Result<(), WeightsError> {
    let (d, hidden, mix) = (config.width, config.move_hidden, config.move_mix());
    let value = config.value_hidden;
    let norm = source.read("norm.scale", &[d])?;
    let after_norm = |name: &str, m: usize| source.linear(name, d, m, &norm);
    let plain = |name: &str, k: usize, m: usize| source.linear(name, k, m, &[]);
    packed.places.value_hidden = packed.matrix(&[after_norm("value_hidden", value)?], sizes.width4);
    let values = [plain("value_out", value, VALUE_BINS)?, plain("error_out", value, 1)?];
    debug_assert!(VALUE_BINS.is_multiple_of(4) && VALUES == VALUE_BINS + 1);
    packed.places.value_error = packed.matrix(&values, sizes.value4);
    let tokens = [after_norm("move_piece", hidden)?, after_norm("move_captured", hidden)?];
    packed.places.move_tokens = packed.matrix(&tokens, sizes.width4);
    packed.places.move_readout =
        packed.matrix(&[after_norm("move_readout", hidden)?], sizes.width4);
    let mut table = |name: &str, rows: usize| -> Result<usize, WeightsError> {
        Ok(packed.table(&source.read(name, &[rows, hidden])?, rows))
    };
    let gate = table("target_gate", TARGETS)?;
    let target = table("target", TARGETS)?;
    let feature = table("move_feature", MOVE_FEATURES)?;
    let situation = packed.table(&source.situations(hidden)?, MOVE_SITUATIONS);
    let places = Places { gate, target, feature, situation, ..packed.places };
    let move_mix = packed.matrix(&[plain("move_mix", hidden, mix)?], fours(hidden));
    let move_out = packed.matrix(&[plain("move_out", mix, 2)?], fours(mix));
    packed.places = Places { move_mix, move_out, ..places };
    Ok(())
}
