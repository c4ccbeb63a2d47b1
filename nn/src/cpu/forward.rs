//! The network over a chunk of jobs, layer by layer, on one thread.

use pulp::{Simd, WithSimd};

use super::attention::{MAX_KEYS, Seen, Weights, attend, normalise};
use super::gemm::Then;
use super::packed::{Block, Network};
use super::vectors::{Aligned, LINE, dispatch};
use crate::decode::decode;
use crate::encode::{PLACES, READOUT_SQUARE};
use crate::evaluator::Evaluation;
use crate::incremental::cache::Cache;
use crate::incremental::plan::{Plan, Source};
use crate::model::{ModelConfig, VALUE_BINS};

/// What one thread needs to run chunks; grows to the largest chunk.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    x: Aligned,
    normed: Aligned,
    /// Queries, keys and values per layer.
    projected: Vec<Aligned>,
    mixed: Aligned,
    hidden: Aligned,
    tokens: Aligned,
    readouts: Aligned,
    values: Aligned,
    moves: Aligned,
    mixes: Aligned,
    estimates: Aligned,
    weights: Weights,
    /// Attention that each job's sources received, `[jobs][MAX_KEYS]`; filled when asked for.
    pub(super) attention: Vec<f32>,
}

/// Jobs that run together, and where their rows lie: all piece tokens first, then all readouts.
struct Chunk<'a> {
    network: &'a Network,
    cache: &'a Cache<Aligned>,
    plans: &'a [Plan],
    /// First piece row of each plan.
    first: Vec<usize>,
    pieces: usize,
    rows: usize,
    moves: usize,
    watch: bool,
}

/// Evaluates `plans`; afterwards [`blocks`] may be called on the same scratch. With `watch`, the
/// attention that every source receives is summed into [`Scratch::attention`].
pub(super) fn run(
    network: &Network,
    cache: &Cache<Aligned>,
    plans: &[Plan],
    watch: bool,
    scratch: &mut Scratch,
) -> Vec<Evaluation> {
    let first = firsts(plans);
    let pieces = plans.iter().map(|plan| plan.tokens.len()).sum();
    let rows = pieces + plans.len();
    let moves = plans.iter().map(|plan| plan.moves.len()).sum();
    let chunk = Chunk { network, cache, plans, first, pieces, rows, moves, watch };
    chunk.reserve(scratch);
    dispatch(Whole { chunk: &chunk, scratch });
    chunk.decode(scratch)
}

fn firsts(plans: &[Plan]) -> Vec<usize> {
    let starts = plans.iter().scan(0, |next, plan| {
        let first = *next;
        *next += plan.tokens.len();
        Some(first)
    });
    starts.collect()
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

#[inline(always)]
fn row(table: &[f32], row: usize, width: usize) -> &[f32] {
    &table[row * width..][..width]
}

impl Chunk<'_> {
    fn reserve(&self, scratch: &mut Scratch) {
        let config = &self.network.config;
        let (rows, d) = (self.rows, config.width);
        scratch.projected.resize_with(config.layers, Aligned::default);
        for projected in &mut scratch.projected {
            projected.reserve(rows * 3 * d);
        }
        for buffer in [&mut scratch.x, &mut scratch.normed, &mut scratch.mixed] {
            buffer.reserve(rows * d);
        }
        scratch.hidden.reserve(rows * config.feed_forward.max(config.value_hidden));
        scratch.tokens.reserve(self.pieces * 2 * config.move_hidden);
        scratch.readouts.reserve(self.plans.len() * config.move_hidden);
        scratch.values.reserve(self.plans.len() * (VALUE_BINS + 1));
        scratch.moves.reserve(self.moves * config.move_hidden);
        scratch.mixes.reserve(self.moves * config.move_mix());
        scratch.estimates.reserve(self.moves * 2);
        scratch.attention.clear();
        if self.watch {
            scratch.attention.resize(self.plans.len() * MAX_KEYS, 0.0);
        }
    }

    #[inline(always)]
    fn block<S: Simd>(&self, simd: S, block: &Block, layer: usize, scratch: &mut Scratch) {
        let (rows, d) = (self.rows, self.network.config.width);
        let hidden = rows * self.network.config.feed_forward;
        simd.vectorize(Normalise(scratch.x.get(), scratch.normed.get_mut(), rows, d));
        let projected = &mut scratch.projected[layer].get_mut()[..rows * 3 * d];
        let normed = &scratch.normed.get()[..rows * d];
        block.query_key_value.run(simd, normed, projected, Then::Store);
        simd.vectorize(Attend { chunk: self, block, layer, scratch });
        let x = &mut scratch.x.get_mut()[..rows * d];
        block.out.run(simd, &scratch.mixed.get()[..rows * d], x, Then::Add);
        simd.vectorize(Normalise(x, scratch.normed.get_mut(), rows, d));
        let fed = &mut scratch.hidden.get_mut()[..hidden];
        block.up.run(simd, &scratch.normed.get()[..rows * d], fed, Then::SquaredRelu);
        block.down.run(simd, fed, x, Then::Add);
    }

    #[inline(always)]
    fn heads<S: Simd>(&self, simd: S, scratch: &mut Scratch) {
        let (network, d, n) = (self.network, self.network.config.width, self.plans.len());
        let config = &network.config;
        simd.vectorize(Normalise(scratch.x.get(), scratch.normed.get_mut(), self.rows, d));
        let (pieces, readouts) = scratch.normed.get()[..self.rows * d].split_at(self.pieces * d);
        let tokens = &mut scratch.tokens.get_mut()[..self.pieces * 2 * config.move_hidden];
        network.move_tokens.run(simd, pieces, tokens, Then::Store);
        let to = &mut scratch.readouts.get_mut()[..n * config.move_hidden];
        network.move_readout.run(simd, readouts, to, Then::Store);
        let hidden = &mut scratch.hidden.get_mut()[..n * config.value_hidden];
        network.value_hidden.run(simd, readouts, hidden, Then::Relu);
        let values = &mut scratch.values.get_mut()[..n * (VALUE_BINS + 1)];
        network.value_error.run(simd, hidden, values, Then::Store);
        simd.vectorize(Moves { chunk: self, scratch });
        let moves = &scratch.moves.get()[..self.moves * config.move_hidden];
        let mixes = &mut scratch.mixes.get_mut()[..self.moves * config.move_mix()];
        network.move_mix.run(simd, moves, mixes, Then::Relu);
        let estimates = &mut scratch.estimates.get_mut()[..self.moves * 2];
        network.move_out.run(simd, mixes, estimates, Then::Store);
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

struct Attend<'a, 'b> {
    chunk: &'a Chunk<'b>,
    block: &'a Block,
    layer: usize,
    scratch: &'a mut Scratch,
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

struct Moves<'a, 'b> {
    chunk: &'a Chunk<'b>,
    scratch: &'a mut Scratch,
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
                    to[i] = if y > 0.0 { y } else { 0.0 };
                }
            }
        }
    }
}
