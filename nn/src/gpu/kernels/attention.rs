//! Attention of a chunk's rows to what their positions see, all of it in the cache.

use cubecl::prelude::*;

use super::chunk::Chunk;
use super::product::{Four, load, sum, together};
use super::records;
use super::sizes::Sizes;
use crate::encode::{PLACES, READOUT_SQUARE};
use crate::incremental::plan::MAX_SOURCES;

/// The logit of what a token does not see.
const HIDDEN: f32 = -1e4;
/// Rows of a position that look at a key together.
const TOGETHER: usize = 3;
/// Keys whose values are loaded together.
const KEYS: usize = 4;

const _: () = assert!(MAX_SOURCES.is_multiple_of(KEYS));

/// What the rows of a position in a chunk see.
#[derive(CubeType, Clone, Copy)]
struct Sight {
    /// Its rows in the chunk, the first and one past the last.
    begin: usize,
    end: usize,
    /// Tokens that its pieces see, and that its readout sees: these and those after them.
    pieces: usize,
    sources: usize,
    /// Where they are listed.
    entries: usize,
}

#[cube]
fn sight(ints: &[u32], chunk: &Chunk, place: usize) -> Sight {
    let positions_at = ints[records::POSITIONS_AT] as usize;
    let at = positions_at + (chunk.position + place) * records::POSITION;
    let head = ints[at] as usize;
    let first = ints[at + 1] as usize;
    let last = first + ints[at + 2] as usize;
    Sight {
        begin: max(first, chunk.row) - chunk.row,
        end: min(last, chunk.row + chunk.rows) - chunk.row,
        pieces: head % 256,
        sources: head / 256,
        entries: at + records::ENTRIES,
    }
}

/// A logit with its bias, or what hides the key.
#[cube]
fn with_bias<W: Float>(
    logit: f32,
    bias: &[W],
    token: usize,
    key: usize,
    seen: usize,
    h: usize,
    layer: usize,
    #[comptime] sizes: Sizes,
) -> f32 {
    let mut place = token % 64;
    if token >= records::READOUT {
        place = comptime!(READOUT_SQUARE as usize);
    }
    let at = layer * comptime!(sizes.biases()) + (place * PLACES + key) * sizes.heads + h;
    let mut answer = logit + f32::cast_from(bias[at]);
    // 1: only the readout sees it.
    if seen == 1 && token < records::READOUT {
        answer = HIDDEN;
    }
    answer
}

/// Logits `a` `[rows, heads, keys]` of queries `q`.
#[cube]
pub(super) fn logits<W: Float>(
    q: &Shared<[Four]>,
    a: &mut Shared<[f32]>,
    bias: &[W],
    ints: &[u32],
    keys: &[Vector<W, Const<4>>],
    chunk: &Chunk,
    layer: usize,
    #[comptime] sizes: Sizes,
) {
    let heads = sizes.heads;
    let rows_at = ints[records::ROWS_AT] as usize;
    let mut item = UNIT_POS as usize;
    while item < chunk.positions * comptime!(MAX_SOURCES * sizes.heads) {
        let h = item % heads;
        let j = item / heads % MAX_SOURCES;
        let sight = sight(ints, chunk, item / comptime!(MAX_SOURCES * sizes.heads));
        let entry = ints[sight.entries + j] as usize;
        let at = entry / records::PLACES_OF_ROW * comptime!(sizes.row4())
            + layer * sizes.width4
            + h * sizes.head4;
        let mut seen = 2usize;
        if j >= sight.pieces {
            seen = 1usize;
        }
        let mut row = sight.begin;
        while row < sight.end {
            let last = sight.end - 1;
            let (r1, r2) = (min(row + 1, last), min(row + 2, last));
            let mut s0 = Four::new(0.0f32);
            let mut s1 = Four::new(0.0f32);
            let mut s2 = Four::new(0.0f32);
            if j < sight.sources {
                let from = h * sizes.head4;
                let together = comptime!(together(sizes.head4));
                for group in 0..comptime!(sizes.head4 / together) {
                    #[unroll]
                    for k in 0..together {
                        let i = group * together + k;
                        let key = load::<W>(keys, at + i);
                        s0 += q[row * sizes.width4 + from + i] * key;
                        s1 += q[r1 * sizes.width4 + from + i] * key;
                        s2 += q[r2 * sizes.width4 + from + i] * key;
                    }
                }
            }
            let key = entry % records::PLACES_OF_ROW;
            let tokens = rows_at + chunk.row * records::ROW;
            let t0 = ints[tokens + row * records::ROW] as usize;
            let t1 = ints[tokens + r1 * records::ROW] as usize;
            let t2 = ints[tokens + r2 * records::ROW] as usize;
            let mut l0 = with_bias::<W>(sum(s0), bias, t0, key, seen, h, layer, sizes);
            let mut l1 = with_bias::<W>(sum(s1), bias, t1, key, seen, h, layer, sizes);
            let mut l2 = with_bias::<W>(sum(s2), bias, t2, key, seen, h, layer, sizes);
            if j >= sight.sources {
                l0 = HIDDEN;
                l1 = HIDDEN;
                l2 = HIDDEN;
            }
            a[(row * heads + h) * MAX_SOURCES + j] = l0;
            a[(r1 * heads + h) * MAX_SOURCES + j] = l1;
            a[(r2 * heads + h) * MAX_SOURCES + j] = l2;
            row += TOGETHER;
        }
        item += sizes.units;
    }
}

/// The largest logit of each row and head.
#[cube]
pub(super) fn maxima(a: &Shared<[f32]>, most: &mut Shared<[f32]>, #[comptime] sizes: Sizes) {
    let mut item = UNIT_POS as usize;
    while item < comptime!(sizes.rows * sizes.heads) {
        let at = item * MAX_SOURCES;
        let mut largest = a[at];
        #[unroll]
        for j in 1..MAX_SOURCES {
            largest = max(largest, a[at + j]);
        }
        most[item] = largest;
        item += sizes.units;
    }
}

/// Logits to attention weights that are not normalised yet.
#[cube]
pub(super) fn exponentials(a: &mut Shared<[f32]>, most: &Shared<[f32]>, #[comptime] sizes: Sizes) {
    let mut item = UNIT_POS as usize;
    while item < comptime!(sizes.weights()) {
        a[item] = (a[item] - most[item / MAX_SOURCES]).exp();
        item += sizes.units;
    }
}

/// What the rows take from the values; `sums` gets what the weights are to be multiplied with.
#[cube]
pub(super) fn mix<W: Float>(
    a: &Shared<[f32]>,
    to: &mut Shared<[Four]>,
    sums: &mut Shared<[f32]>,
    ints: &[u32],
    values: &[Vector<W, Const<4>>],
    chunk: &Chunk,
    layer: usize,
    #[comptime] sizes: Sizes,
) {
    let d = sizes.width4;
    let heads = sizes.heads;
    let mut item = UNIT_POS as usize;
    while item < chunk.positions * d {
        let i = item % d;
        let h = i / sizes.head4;
        let sight = sight(ints, chunk, item / d);
        let from = layer * d + i;
        let mut row = sight.begin;
        while row < sight.end {
            let last = sight.end - 1;
            let (r1, r2) = (min(row + 1, last), min(row + 2, last));
            let mut m0 = Four::new(0.0f32);
            let mut m1 = Four::new(0.0f32);
            let mut m2 = Four::new(0.0f32);
            let mut s0 = 0.0f32;
            let mut s1 = 0.0f32;
            let mut s2 = 0.0f32;
            // What is not seen has the weight 0.
            for group in 0..sight.sources.div_ceil(KEYS) {
                #[unroll]
                for k in 0..KEYS {
                    let j = group * KEYS + k;
                    let slot = ints[sight.entries + j] as usize / records::PLACES_OF_ROW;
                    let v = load::<W>(values, slot * comptime!(sizes.row4()) + from);
                    let e0 = a[(row * heads + h) * MAX_SOURCES + j];
                    let e1 = a[(r1 * heads + h) * MAX_SOURCES + j];
                    let e2 = a[(r2 * heads + h) * MAX_SOURCES + j];
                    m0 += Four::new(e0) * v;
                    m1 += Four::new(e1) * v;
                    m2 += Four::new(e2) * v;
                    s0 += e0;
                    s1 += e1;
                    s2 += e2;
                }
            }
            to[row * d + i] = m0 / Four::new(s0);
            to[r1 * d + i] = m1 / Four::new(s1);
            to[r2 * d + i] = m2 / Four::new(s2);
            if i % sizes.head4 == 0 {
                sums[row * heads + h] = 1.0f32 / s0;
                sums[r1 * heads + h] = 1.0f32 / s1;
                sums[r2 * heads + h] = 1.0f32 / s2;
            }
            row += TOGETHER;
        }
        item += sizes.units;
    }
}

/// Adds what each key received of the chunk's rows, on average over the heads. A key's sum is one
/// unit's in all layers.
#[cube]
pub(super) fn receive(
    a: &Shared<[f32]>,
    sums: &Shared<[f32]>,
    ints: &[u32],
    out: &mut [f32],
    chunk: &Chunk,
    #[comptime] sizes: Sizes,
) {
    let heads = sizes.heads;
    let at = ints[records::ATTENTION_AT] as usize + chunk.position * MAX_SOURCES;
    let mut item = UNIT_POS as usize;
    while item < chunk.positions * MAX_SOURCES {
        let j = item % MAX_SOURCES;
        let sight = sight(ints, chunk, item / MAX_SOURCES);
        let mut got = 0.0f32;
        for row in sight.begin..sight.end {
            for h in 0..heads {
                got += a[(row * heads + h) * MAX_SOURCES + j] * sums[row * heads + h];
            }
        }
        out[at + item] += got / comptime!(sizes.heads as f32);
        item += sizes.units;
    }
}
