//! Attention and move heads in floats.

use pulp::{Simd, WithSimd};

use super::attention::{MAX_KEYS, Seen, attend};
use super::chunk::{Chunk, Scratch, row};
use super::packed::Block;
use super::vectors::LINE;
use crate::encode::{PLACES, READOUT_SQUARE};
use crate::incremental::plan::Source;
use crate::model::ModelConfig;

pub(super) struct Attend<'a, 'b> {
    pub(super) chunk: &'a Chunk<'b>,
    pub(super) block: &'a Block,
    pub(super) layer: usize,
    pub(super) scratch: &'a mut Scratch,
}

impl WithSimd for Attend<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { chunk, block, layer, scratch } = self;
        let (d, heads) = (chunk.network.config.width, chunk.network.config.heads);
        let projected = scratch.projected[layer].get();
        let mixed = scratch.mixed.get_mut();
        let nothing: &[f32] = &[];
        let mut list = [nothing; MAX_KEYS];
        for (index, plan) in chunk.plans.iter().enumerate() {
            let readout = chunk.pieces + index;
            for (to, &source) in list.iter_mut().zip(&plan.sources) {
                let new = |row: usize| &projected[row * 3 * d + d..(row + 1) * 3 * d];
                *to = match source {
                    Source::Cached(slot) => row(chunk.cache.data(slot).get(), layer, 2 * d),
                    Source::New(token) => new(chunk.first[index] + usize::from(token)),
                    Source::Readout => new(readout),
                };
            }
            let own = plan.sources[..plan.pieces].iter().zip(&plan.squares);
            let tokens = own.filter_map(|(&source, &square)| match source {
                Source::New(token) => {
                    Some((chunk.first[index] + usize::from(token), square, plan.pieces))
                }
                _ => None,
            });
            let all = (readout, READOUT_SQUARE, plan.sources.len());
            for (place, square, sees) in tokens.chain([all]) {
                let seen = Seen {
                    entries: &list[..sees],
                    squares: &plan.squares[..sees],
                    bias: row(block.bias.get(), usize::from(square), PLACES * LINE),
                    heads,
                };
                let query = &projected[place * 3 * d..][..d];
                let to = &mut mixed[place * d..][..d];
                attend(simd, query, seen, &mut scratch.weights, to);
                if chunk.watch {
                    let attention = &mut scratch.attention[index * MAX_KEYS..][..sees];
                    for (key, attention) in attention.iter_mut().enumerate() {
                        *attention += scratch.weights.of_key(key, heads);
                    }
                }
            }
        }
    }
}

pub(super) struct Moves<'a, 'b> {
    pub(super) chunk: &'a Chunk<'b>,
    pub(super) scratch: &'a mut Scratch,
}

impl WithSimd for Moves<'_, '_> {
    type Output = ();

    /// Hidden layer of the move heads: what the network knows of the moving piece, the captured
    /// piece and the position, gated by the destination.
    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { chunk, scratch } = self;
        let network = chunk.network;
        let (d, width) = (network.config.width, network.config.move_hidden);
        let heads = 2 * d * network.config.layers;
        let tokens = scratch.tokens.get();
        let nothing = [0.0; ModelConfig::MOST_MOVE_HIDDEN];
        let mut rows = scratch.moves.get_mut().chunks_exact_mut(width);
        for (index, plan) in chunk.plans.iter().enumerate() {
            let readout = row(scratch.readouts.get(), index, width);
            let part = |source: u8, part: usize| match plan.sources[usize::from(source)] {
                Source::Cached(slot) => row(&chunk.cache.data(slot).get()[heads..], part, width),
                Source::New(token) => {
                    row(tokens, 2 * (chunk.first[index] + usize::from(token)) + part, width)
                }
                Source::Readout => &nothing[..width],
            };
            for (m, to) in plan.moves.iter().zip(&mut rows) {
                let piece = part(m.piece, 0);
                let captured = m.captured.map_or(&nothing[..width], |source| part(source, 1));
                let gate = row(network.target_gate.get(), usize::from(m.target), width);
                let target = row(network.target.get(), usize::from(m.target), width);
                let feature = row(network.move_feature.get(), usize::from(m.feature), width);
                let situation = row(network.move_situation.get(), usize::from(m.situation), width);
                for i in 0..width {
                    let y = (piece[i] + captured[i] + readout[i]) * gate[i]
                        + target[i]
                        + feature[i]
                        + situation[i];
                    to[i] = if y <= 0.0 { 0.0 } else { y };
                }
            }
        }
    }
}
