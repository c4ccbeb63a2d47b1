//! The network over a chunk of jobs, layer by layer, on one thread.

use pulp::{Simd, WithSimd};

use super::attention::normalise;
use super::chunk::{Chunk, Scratch, row};
use super::gemm::Then;
use super::packed::{Block, Network};
use super::product::Step;
use super::vectors::{Aligned, dispatch};
use super::{floats, short};
use crate::decode::decode;
use crate::evaluator::Evaluation;
use crate::incremental::cache::Cache;
use crate::incremental::plan::Plan;
use crate::model::VALUE_BINS;

/// Evaluates `plans`; afterwards [`blocks`] may be called on the same scratch. With `watch`, the
/// attention that every source receives is summed into [`Scratch::attention`].
pub(super) fn run(
    network: &Network,
    cache: &Cache<Aligned>,
    plans: &[Plan],
    watch: bool,
    scratch: &mut Scratch,
) -> Vec<Evaluation> {
    let chunk = Chunk::new(network, cache, plans, watch);
    chunk.reserve(scratch);
    dispatch(Whole { chunk: &chunk, scratch });
    chunk.decode(scratch)
}

/// Copies what the cache keeps of the tokens of job `index`: its pieces, then its readout.
pub(super) fn blocks(
    network: &Network,
    cache: &Cache<Aligned>,
    plans: &[Plan],
    index: usize,
    scratch: &Scratch,
) -> Vec<Aligned> {
    let (d, hidden) = (network.config.width, network.config.move_hidden);
    let pieces: usize = plans.iter().map(|plan| plan.tokens.len()).sum();
    let first: usize = plans[..index].iter().map(|plan| plan.tokens.len()).sum();
    let own = first..first + plans[index].tokens.len();
    own.chain([pieces + index])
        .map(|row| {
            let mut block = cache.spare().unwrap_or_else(|| Aligned::zeros(network.entry_floats()));
            if network.short.is_some() {
                short::copy(network, scratch, (row, row < pieces), &mut block);
                return block;
            }
            let (layers, heads) = block.get_mut().split_at_mut(2 * d * network.config.layers);
            for (to, from) in layers.chunks_exact_mut(2 * d).zip(&scratch.projected) {
                to.copy_from_slice(&from.get()[row * 3 * d + d..(row + 1) * 3 * d]);
            }
            if row < pieces {
                let from = &scratch.tokens.get()[row * 2 * hidden..(row + 1) * 2 * hidden];
                heads.copy_from_slice(from);
            }
            block
        })
        .collect()
}

struct Whole<'a, 'b> {
    chunk: &'a Chunk<'b>,
    scratch: &'a mut Scratch,
}

impl WithSimd for Whole<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { chunk, scratch } = self;
        simd.vectorize(Embed { chunk, scratch });
        for (layer, block) in chunk.network.blocks.iter().enumerate() {
            chunk.block(simd, block, layer, scratch);
        }
        chunk.heads(simd, scratch);
    }
}

struct Embed<'a, 'b> {
    chunk: &'a Chunk<'b>,
    scratch: &'a mut Scratch,
}

impl WithSimd for Embed<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { chunk, scratch } = self;
        let network = chunk.network;
        let d = network.config.width;
        let x = &mut scratch.x.get_mut()[..chunk.rows * d];
        let (pieces, readouts) = x.split_at_mut(chunk.pieces * d);
        let tokens = chunk.plans.iter().flat_map(|plan| &plan.tokens);
        for (to, &(square, state)) in pieces.chunks_exact_mut(d).zip(tokens) {
            let square = row(network.piece_square.get(), usize::from(square), d);
            let state = row(network.piece_state.get(), usize::from(state), d);
            for ((to, a), b) in to.iter_mut().zip(square).zip(state) {
                *to = a + b;
            }
        }
        for (to, plan) in readouts.chunks_exact_mut(d).zip(chunk.plans) {
            to.fill(0.0);
            let board = plan.board.iter().map(|&r| row(network.board.get(), usize::from(r), d));
            let rules = plan.rules.iter().map(|&r| row(network.rules.get(), usize::from(r), d));
            for from in board.chain(rules) {
                for (to, from) in to.iter_mut().zip(from) {
                    *to += from;
                }
            }
        }
    }
}

impl Chunk<'_> {
    #[inline(always)]
    fn block<S: Simd>(&self, simd: S, block: &Block, layer: usize, scratch: &mut Scratch) {
        let (rows, d) = (self.rows, self.network.config.width);
        let hidden = rows * block.hidden;
        simd.vectorize(Normalise(scratch.x.get(), scratch.normed.get_mut(), rows, d));
        let short = self.network.short.as_ref();
        let kept = if short.is_some() { 0 } else { layer };
        let to = &mut scratch.projected[kept].get_mut()[..rows * 3 * d];
        let step = Step { from: &scratch.normed.get()[..rows * d], to, then: Then::Store };
        block.query_key_value.run(simd, step, &mut scratch.rounded);
        match short {
            Some(short) => short.unit.run(short::Attend { chunk: self, short, layer, scratch }),
            None => simd.vectorize(floats::Attend { chunk: self, block, layer, scratch }),
        }
        let to = &mut scratch.x.get_mut()[..rows * d];
        let step = Step { from: &scratch.mixed.get()[..rows * d], to, then: Then::Add };
        block.out.run(simd, step, &mut scratch.rounded);
        simd.vectorize(Normalise(scratch.x.get(), scratch.normed.get_mut(), rows, d));
        let to = &mut scratch.hidden.get_mut()[..hidden];
        let step = Step { from: &scratch.normed.get()[..rows * d], to, then: Then::SquaredRelu };
        block.up.run(simd, step, &mut scratch.rounded);
        let to = &mut scratch.x.get_mut()[..rows * d];
        let step = Step { from: &scratch.hidden.get()[..hidden], to, then: Then::Add };
        block.down.run(simd, step, &mut scratch.rounded);
    }

    #[inline(always)]
    fn heads<S: Simd>(&self, simd: S, scratch: &mut Scratch) {
        let (network, d, n) = (self.network, self.network.config.width, self.plans.len());
        let config = &network.config;
        simd.vectorize(Normalise(scratch.x.get(), scratch.normed.get_mut(), self.rows, d));
        let (pieces, readouts) = scratch.normed.get()[..self.rows * d].split_at(self.pieces * d);
        let rounded = &mut scratch.rounded;
        let to = &mut scratch.tokens.get_mut()[..self.pieces * 2 * config.move_hidden];
        network.move_tokens.run(simd, Step { from: pieces, to, then: Then::Store }, rounded);
        let to = &mut scratch.readouts.get_mut()[..n * config.move_hidden];
        network.move_readout.run(simd, Step { from: readouts, to, then: Then::Store }, rounded);
        let to = &mut scratch.hidden.get_mut()[..n * config.value_hidden];
        network.value_hidden.run(simd, Step { from: readouts, to, then: Then::Relu }, rounded);
        let from = &scratch.hidden.get()[..n * config.value_hidden];
        let to = &mut scratch.values.get_mut()[..n * (VALUE_BINS + 1)];
        network.value_error.run(simd, Step { from, to, then: Then::Store }, rounded);
        match &network.short {
            Some(short) => short.unit.run(short::Moves { chunk: self, short, scratch }),
            None => simd.vectorize(floats::Moves { chunk: self, scratch }),
        }
        let rounded = &mut scratch.rounded;
        let from = &scratch.moves.get()[..self.moves * config.move_hidden];
        let to = &mut scratch.mixes.get_mut()[..self.moves * config.move_mix()];
        network.move_mix.run(simd, Step { from, to, then: Then::Relu }, rounded);
        let from = &scratch.mixes.get()[..self.moves * config.move_mix()];
        let to = &mut scratch.estimates.get_mut()[..self.moves * 2];
        network.move_out.run(simd, Step { from, to, then: Then::Store }, rounded);
    }

    fn decode(&self, scratch: &Scratch) -> Vec<Evaluation> {
        let mut estimates = scratch.estimates.get().as_chunks::<2>().0;
        let values = scratch.values.get().as_chunks::<{ VALUE_BINS + 1 }>().0;
        let answers = self.plans.iter().zip(values).map(|(plan, values)| {
            let (own, rest) = estimates.split_at(plan.moves.len());
            estimates = rest;
            decode(&values[..VALUE_BINS], values[VALUE_BINS], own.iter().copied())
        });
        answers.collect()
    }
}

struct Normalise<'a>(&'a [f32], &'a mut [f32], usize, usize);

impl WithSimd for Normalise<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self(x, to, rows, d) = self;
        normalise(simd, &x[..rows * d], &mut to[..rows * d], d);
    }
}
