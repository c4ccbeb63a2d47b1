//! Attention and move heads where keys, values and what the cache keeps are 16-bit integers.

use super::attention::{MAX_KEYS, Seen};
use super::chunk::{Chunk, Scratch, row};
use super::integers::{Pairs, WithPairs};
use super::packed::{Network, Short};
use super::short_attention::{attend, read, round};
use super::vectors::Aligned;
use crate::encode::{PLACES, READOUT_SQUARE};
use crate::incremental::plan::{Plan, Source};

/// Copies what the cache keeps of the token in this row, which is a piece's or not.
pub(super) fn copy(
    network: &Network,
    scratch: &Scratch,
    (row, is_piece): (usize, bool),
    to: &mut Aligned,
) {
    let (d, hidden) = (network.config.width, network.config.move_hidden);
    let (layers, heads) = to.get_mut().split_at_mut(d * network.config.layers);
    for (to, from) in layers.chunks_exact_mut(d).zip(&scratch.entries) {
        to.copy_from_slice(&from.get()[row * d..][..d]);
    }
    if is_piece {
        heads.copy_from_slice(&scratch.token_words.get()[row * hidden..][..hidden]);
    }
}

/// Attention of a layer, after its keys and values are rounded.
pub(super) struct Attend<'a, 'b> {
    pub(super) chunk: &'a Chunk<'b>,
    pub(super) short: &'a Short,
    pub(super) layer: usize,
    pub(super) scratch: &'a mut Scratch,
}

impl WithPairs for Attend<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_pairs<S: Pairs>(self, simd: S) {
        let Self { chunk, short, layer, scratch } = self;
        let d = chunk.network.config.width;
        let projected = &scratch.projected[0].get()[..chunk.rows * 3 * d];
        let entries = scratch.entries[layer].get_mut().chunks_exact_mut(d);
        for (to, from) in entries.zip(projected.chunks_exact(3 * d)) {
            let (keys, values) = to.split_at_mut(d / 2);
            round(simd, &from[d..2 * d], keys, short.grids[layer][0]);
            round(simd, &from[2 * d..], values, short.grids[layer][1]);
        }
        match S::F32_LANES / chunk.network.config.heads {
            1 => self::layer::<S, 1>(simd, chunk, (short, layer), scratch),
            2 => self::layer::<S, 2>(simd, chunk, (short, layer), scratch),
            _ => self::layer::<S, 4>(simd, chunk, (short, layer), scratch),
        }
    }
}

/// Attention of all rows; `N` keys' weights are one vector.
#[inline(always)]
fn layer<S: Pairs, const N: usize>(
    simd: S,
    chunk: &Chunk<'_>,
    (short, layer): (&Short, usize),
    scratch: &mut Scratch,
) {
    let (d, heads) = (chunk.network.config.width, S::F32_LANES / N);
    let projected = scratch.projected[0].get();
    let mixed = scratch.mixed.get_mut();
    let bias = chunk.network.blocks[layer].bias.get();
    let value = short.grids[layer][1];
    let nothing: &[f32] = &[];
    let mut list = [nothing; MAX_KEYS];
    for (index, plan) in chunk.plans.iter().enumerate() {
        let new = |place: usize| row(scratch.entries[layer].get(), place, d);
        for (to, &source) in list.iter_mut().zip(&plan.sources) {
            *to = match source {
                Source::Cached(slot) => row(chunk.cache.data(slot).get(), layer, d),
                Source::New(token) => new(chunk.first[index] + usize::from(token)),
                Source::Readout => new(chunk.pieces + index),
            };
        }
        for (place, square, sees) in queries(chunk, plan, index) {
            let seen = Seen {
                entries: &list[..sees],
                squares: &plan.squares[..sees],
                bias: row(bias, usize::from(square), PLACES * heads),
                heads,
            };
            let query = &projected[place * 3 * d..][..d];
            let to = (&mut mixed[place * d..][..d], value);
            attend::<S, N>(simd, query, seen, &mut scratch.weights, to);
            if chunk.watch {
                let attention = &mut scratch.attention[index * MAX_KEYS..][..sees];
                for (key, attention) in attention.iter_mut().enumerate() {
                    *attention += scratch.weights.of_key(key, heads);
                }
            }
        }
    }
}

/// Row, square and number of visible tokens of each of a job's queries.
#[inline(always)]
fn queries<'a>(
    chunk: &'a Chunk<'_>,
    plan: &'a Plan,
    index: usize,
) -> impl Iterator<Item = (usize, u8, usize)> + 'a {
    let own = plan.sources[..plan.pieces].iter().zip(&plan.squares);
    let tokens = own.filter_map(move |(&source, &square)| match source {
        Source::New(token) => Some((chunk.first[index] + usize::from(token), square, plan.pieces)),
        _ => None,
    });
    tokens.chain([(chunk.pieces + index, READOUT_SQUARE, plan.sources.len())])
}

/// Hidden layer of the move heads.
pub(super) struct Moves<'a, 'b> {
    pub(super) chunk: &'a Chunk<'b>,
    pub(super) short: &'a Short,
    pub(super) scratch: &'a mut Scratch,
}

impl WithPairs for Moves<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_pairs<S: Pairs>(self, simd: S) {
        let Self { chunk, short, scratch } = self;
        let width = chunk.network.config.move_hidden;
        let tokens = &scratch.tokens.get()[..chunk.pieces * 2 * width];
        let words = scratch.token_words.get_mut().chunks_exact_mut(width);
        for (to, from) in words.zip(tokens.chunks_exact(2 * width)) {
            round(simd, from, to, short.tokens);
        }
        let mut first = 0;
        for index in 0..chunk.plans.len() {
            position(simd, (chunk, short), (index, first), scratch);
            first += chunk.plans[index].moves.len();
        }
    }
}

/// The moves of one position, the first of which is in row `first`.
#[inline(always)]
fn position<S: Pairs>(
    simd: S,
    (chunk, short): (&Chunk<'_>, &Short),
    (index, first): (usize, usize),
    scratch: &mut Scratch,
) {
    let (network, plan) = (chunk.network, &chunk.plans[index]);
    let width = network.config.move_hidden;
    let zero = simd.splat_f32s(0.0);
    // A moving piece's part, with the position's, and a captured one's, when a move asks for it
    // first.
    let mut known = [[false; 2]; MAX_KEYS];
    let rows = scratch.moves.get_mut()[first * width..].chunks_exact_mut(width);
    for (m, to) in plan.moves.iter().zip(rows) {
        let readout = row(scratch.readouts.get(), index, width);
        for (part, source) in [Some(m.piece), m.captured].into_iter().enumerate() {
            let Some(source) = source.map(usize::from) else { continue };
            if !std::mem::replace(&mut known[source][part], true)
                && let Some(words) = words(chunk, scratch.token_words.get(), (index, source))
            {
                let to = &mut scratch.parts.get_mut()[(2 * source + part) * width..][..width];
                let with = if part == 0 { Some(readout) } else { None };
                spell(simd, row(words, part, width / 2), (with, short.tokens.read), to);
            }
        }
        let vectors = |table, place| S::as_simd_f32s(row(table, place, width)).0;
        let part = |source: u8, part| vectors(scratch.parts.get(), 2 * usize::from(source) + part);
        let piece = part(m.piece, 0);
        let captured = m.captured.map(|source| part(source, 1));
        let gate = vectors(network.target_gate.get(), usize::from(m.target));
        let target = vectors(network.target.get(), usize::from(m.target));
        let feature = vectors(network.move_feature.get(), usize::from(m.feature));
        let situation = vectors(network.move_situation.get(), usize::from(m.situation));
        for (i, to) in S::as_mut_simd_f32s(to).0.iter_mut().enumerate() {
            let known = captured.map_or(piece[i], |captured| simd.add_f32s(piece[i], captured[i]));
            let rest = simd.add_f32s(simd.add_f32s(target[i], feature[i]), situation[i]);
            *to = simd.max_f32s(zero, simd.mul_add_e_f32s(known, gate[i], rest));
        }
    }
}

/// What the move heads need of a source of position `index`; a readout has nothing.
#[inline(always)]
fn words<'a>(
    chunk: &'a Chunk<'_>,
    new: &'a [f32],
    (index, source): (usize, usize),
) -> Option<&'a [f32]> {
    let config = &chunk.network.config;
    match chunk.plans[index].sources[source] {
        Source::Cached(slot) => Some(&chunk.cache.data(slot).get()[config.width * config.layers..]),
        Source::New(token) => {
            Some(row(new, chunk.first[index] + usize::from(token), config.move_hidden))
        }
        Source::Readout => None,
    }
}

/// Words as floats in these units, and `with` added.
#[inline(always)]
fn spell<S: Pairs>(simd: S, words: &[f32], (with, unit): (Option<&[f32]>, f32), to: &mut [f32]) {
    let unit = simd.splat_f32s(unit);
    let with = with.map(|with| S::as_simd_f32s(with).0);
    let to = S::as_mut_simd_f32s(to).0.as_chunks_mut::<2>().0;
    for (i, (to, &words)) in to.iter_mut().zip(S::as_simd_f32s(words).0).enumerate() {
        let numbers = read(simd, words);
        for v in 0..2 {
            let add = with.map_or(simd.splat_f32s(0.0), |with| with[2 * i + v]);
            to[v] = simd.mul_add_e_f32s(numbers[v], unit, add);
        }
    }
}
