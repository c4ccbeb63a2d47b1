//! Jobs that run together, and the memory that they run in.

use super::attention::{MAX_KEYS, Weights};
use super::packed::Network;
use super::short_product::Rounded;
use super::vectors::Aligned;
use crate::incremental::cache::Cache;
use crate::incremental::plan::Plan;
use crate::model::VALUE_BINS;

/// What one thread needs to run chunks; grows to the largest chunk.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) x: Aligned,
    pub(super) normed: Aligned,
    /// Queries, keys and values per layer.
    pub(super) projected: Vec<Aligned>,
    pub(super) mixed: Aligned,
    pub(super) hidden: Aligned,
    pub(super) tokens: Aligned,
    pub(super) readouts: Aligned,
    pub(super) values: Aligned,
    pub(super) moves: Aligned,
    pub(super) mixes: Aligned,
    pub(super) estimates: Aligned,
    pub(super) weights: Weights,
    /// Inputs of products in integers.
    pub(super) rounded: Rounded,
    /// In integers: keys and values per layer, what the move heads need of a token, and the same
    /// as floats for the position at hand.
    pub(super) entries: Vec<Aligned>,
    pub(super) token_words: Aligned,
    pub(super) parts: Aligned,
    /// Attention that each job's sources received, `[jobs][MAX_KEYS]`; filled when asked for.
    pub(super) attention: Vec<f32>,
}

/// Jobs that run together, and where their rows lie: all piece tokens first, then all readouts.
pub(super) struct Chunk<'a> {
    pub(super) network: &'a Network,
    pub(super) cache: &'a Cache<Aligned>,
    pub(super) plans: &'a [Plan],
    /// First piece row of each plan.
    pub(super) first: Vec<usize>,
    pub(super) pieces: usize,
    pub(super) rows: usize,
    pub(super) moves: usize,
    pub(super) watch: bool,
}

/// First piece row of each plan.
fn firsts(plans: &[Plan]) -> Vec<usize> {
    let starts = plans.iter().scan(0, |next, plan| {
        let first = *next;
        *next += plan.tokens.len();
        Some(first)
    });
    starts.collect()
}

/// Row `row` of a table.
#[inline(always)]
pub(super) fn row(table: &[f32], row: usize, width: usize) -> &[f32] {
    &table[row * width..][..width]
}

impl<'a> Chunk<'a> {
    /// The jobs of `plans`. With `watch`, the attention that every source receives is summed into
    /// [`Scratch::attention`].
    pub(super) fn new(
        network: &'a Network,
        cache: &'a Cache<Aligned>,
        plans: &'a [Plan],
        watch: bool,
    ) -> Self {
        let first = firsts(plans);
        let pieces = plans.iter().map(|plan| plan.tokens.len()).sum();
        let rows = pieces + plans.len();
        let moves = plans.iter().map(|plan| plan.moves.len()).sum();
        Self { network, cache, plans, first, pieces, rows, moves, watch }
    }

    /// Makes room for the chunk.
    pub(super) fn reserve(&self, scratch: &mut Scratch) {
        let config = &self.network.config;
        let (rows, d) = (self.rows, config.width);
        let kept = if self.network.short.is_some() { 1 } else { config.layers };
        scratch.projected.resize_with(kept, Aligned::default);
        for projected in &mut scratch.projected {
            projected.reserve(rows * 3 * d);
        }
        if self.network.short.is_some() {
            scratch.entries.resize_with(config.layers, Aligned::default);
            for entries in &mut scratch.entries {
                entries.reserve(rows * d);
            }
            scratch.token_words.reserve(self.pieces * config.move_hidden);
            scratch.parts.reserve(2 * MAX_KEYS * config.move_hidden);
        }
        for buffer in [&mut scratch.x, &mut scratch.normed, &mut scratch.mixed] {
            buffer.reserve(rows * d);
        }
        let hidden = self.network.blocks.iter().map(|block| block.hidden).max();
        scratch.hidden.reserve(rows * hidden.unwrap_or(0).max(config.value_hidden));
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
}
