//! What the network says of a position, from its rows after the last layer.

use cubecl::prelude::*;

use super::chunk::Chunk;
use super::product::{Four, load, product};
use super::records;
use super::sizes::{BLOCK, Sizes, VALUES};

/// What the move heads take from tokens, into the cache; readouts have no such part.
#[cube]
fn token_parts<W: Float>(
    x: &Shared<[Four]>,
    w: &[Vector<W, Const<4>>],
    ints: &[u32],
    keys: &mut [Vector<W, Const<4>>],
    values: &mut [Vector<W, Const<4>>],
    chunk: &Chunk,
    #[comptime] sizes: Sizes,
) {
    let n = sizes.hidden4;
    let m = comptime!(2 * sizes.hidden4);
    let rows_at = ints[records::ROWS_AT] as usize;
    let mut acc = Array::<Four>::new(BLOCK);
    let mut item = UNIT_POS as usize;
    while item < chunk.rows.div_ceil(BLOCK) * m {
        let column = item % m;
        let first = item / m * BLOCK;
        let at = sizes.places.move_tokens;
        product::<W>(x, first * sizes.width4, w, at, column, &mut acc, sizes.width4, m);
        #[unroll]
        for r in 0..BLOCK {
            let at = rows_at + (chunk.row + first + r) * records::ROW;
            if first + r < chunk.rows && (ints[at] as usize) < records::READOUT {
                let to = ints[at + 1] as usize * comptime!(sizes.row4())
                    + comptime!(sizes.layers * sizes.width4);
                let part = Vector::<W, Const<4>>::cast_from(acc[r]);
                if column < n {
                    keys[to + column] = part;
                } else {
                    values[to + column - n] = part;
                }
            }
        }
        item += sizes.units;
    }
}

/// The chunk's readouts side by side, zeros where there is none.
#[cube]
fn readouts(
    x: &Shared<[Four]>,
    to: &mut Shared<[Four]>,
    ints: &[u32],
    chunk: &Chunk,
    #[comptime] sizes: Sizes,
) {
    let d = sizes.width4;
    let mut item = UNIT_POS as usize;
    while item < comptime!(sizes.readouts() * sizes.width4) {
        let mut v = Four::new(0.0f32);
        let place = item / d;
        if place < chunk.positions {
            let row = readout_row(ints, chunk.position + place);
            if row >= chunk.row && row < chunk.row + chunk.rows {
                v = x[(row - chunk.row) * d + item % d];
            }
        }
        to[item] = v;
        item += sizes.units;
    }
}

/// A position's readout among the batch's rows: its last.
#[cube]
fn readout_row(ints: &[u32], position: usize) -> usize {
    let at = ints[records::POSITIONS_AT] as usize + position * records::POSITION;
    ints[at + 1] as usize + ints[at + 2] as usize - 1
}

/// Whether the chunk holds the readout of its position at this place.
#[cube]
fn is_here(ints: &[u32], chunk: &Chunk, place: usize) -> bool {
    let mut is_here = false;
    if place < chunk.positions {
        let row = readout_row(ints, chunk.position + place);
        is_here = row >= chunk.row && row < chunk.row + chunk.rows;
    }
    is_here
}

/// The hidden layer of the value head into `x`; what the move heads take from readouts `z` into the
/// cache, where pieces have the part of a moving piece.
#[cube]
fn readout_parts<W: Float>(
    x: &mut Shared<[Four]>,
    z: &Shared<[Four]>,
    w: &[Vector<W, Const<4>>],
    ints: &[u32],
    keys: &mut [Vector<W, Const<4>>],
    chunk: &Chunk,
    #[comptime] sizes: Sizes,
) {
    let d = sizes.width4;
    let mut acc = Array::<Four>::new(BLOCK);
    let mut item = UNIT_POS as usize;
    while item < chunk.positions.div_ceil(BLOCK) * sizes.value4 {
        let column = item % sizes.value4;
        let first = item / sizes.value4 * BLOCK;
        let at = sizes.places.value_hidden;
        product::<W>(z, first * d, w, at, column, &mut acc, d, sizes.value4);
        #[unroll]
        for r in 0..BLOCK {
            x[(first + r) * sizes.value4 + column] = max(acc[r], Four::new(0.0f32));
        }
        item += sizes.units;
    }
    let rows_at = ints[records::ROWS_AT] as usize;
    let mut item = UNIT_POS as usize;
    while item < chunk.positions.div_ceil(BLOCK) * sizes.hidden4 {
        let column = item % sizes.hidden4;
        let first = item / sizes.hidden4 * BLOCK;
        let at = sizes.places.move_readout;
        product::<W>(z, first * d, w, at, column, &mut acc, d, sizes.hidden4);
        #[unroll]
        for r in 0..BLOCK {
            if is_here(ints, chunk, first + r) {
                let row = readout_row(ints, chunk.position + first + r);
                let to = ints[rows_at + row * records::ROW + 1] as usize * comptime!(sizes.row4())
                    + comptime!(sizes.layers * sizes.width4)
                    + column;
                keys[to] = Vector::<W, Const<4>>::cast_from(acc[r]);
            }
        }
        item += sizes.units;
    }
}

/// What the chunk's normalised rows `y` say of values, and what its positions' moves need of them.
#[cube]
pub(super) fn value_head<W: Float>(
    x: &mut Shared<[Four]>,
    y: &Shared<[Four]>,
    z: &mut Shared<[Four]>,
    w: &[Vector<W, Const<4>>],
    ints: &[u32],
    keys: &mut [Vector<W, Const<4>>],
    values: &mut [Vector<W, Const<4>>],
    out: &mut [f32],
    chunk: &Chunk,
    #[comptime] sizes: Sizes,
) {
    token_parts::<W>(y, w, ints, keys, values, chunk, sizes);
    readouts(y, z, ints, chunk, sizes);
    sync_cube();
    readout_parts::<W>(x, &*z, w, ints, keys, chunk, sizes);
    sync_cube();
    let m = comptime!(VALUES.div_ceil(4));
    let mut acc = Array::<Four>::new(BLOCK);
    let mut item = UNIT_POS as usize;
    while item < chunk.positions.div_ceil(BLOCK) * m {
        let column = item % m;
        let first = item / m * BLOCK;
        let at = sizes.places.value_error;
        product::<W>(&*x, first * sizes.value4, w, at, column, &mut acc, sizes.value4, m);
        #[unroll]
        for r in 0..BLOCK {
            if is_here(ints, chunk, first + r) {
                let to = (chunk.position + first + r) * VALUES + column * 4;
                #[unroll]
                for k in 0..4usize {
                    if column * 4 + k < VALUES {
                        out[to + k] = acc[r].extract(k);
                    }
                }
            }
        }
        item += sizes.units;
    }
}

/// The first hidden layer of the move heads for the move whose words are at `at`.
#[cube]
fn hidden<W: Float>(
    w: &[Vector<W, Const<4>>],
    ints: &[u32],
    keys: &[Vector<W, Const<4>>],
    values: &[Vector<W, Const<4>>],
    at: usize,
    i: usize,
    #[comptime] sizes: Sizes,
) -> Four {
    let n = sizes.hidden4;
    let row4 = comptime!(sizes.row4());
    let part = comptime!(sizes.layers * sizes.width4);
    let (a, b) = (ints[at] as usize, ints[at + 1] as usize);
    let number = b / records::POSITION_OF + a / records::FULL * records::POSITIONS;
    let position = ints[records::POSITIONS_AT] as usize + number * records::POSITION;
    let entries = position + records::ENTRIES;
    let readout = ints[entries + ints[position] as usize / 256 - 1] as usize;
    let piece = ints[entries + a % 64] as usize;
    let mut sum = load::<W>(keys, piece / records::PLACES_OF_ROW * row4 + part + i)
        + load::<W>(keys, readout / records::PLACES_OF_ROW * row4 + part + i);
    let captured = a / 64 % 64;
    if captured != records::NO_CAPTURE {
        let captured = ints[entries + captured] as usize / records::PLACES_OF_ROW;
        sum += load::<W>(values, captured * row4 + part + i);
    }
    let target = a / 4096 % records::TARGETS * n + i;
    let table = sum * load::<W>(w, sizes.places.gate + target)
        + load::<W>(w, sizes.places.target + target)
        + load::<W>(w, sizes.places.feature + b % 512 * n + i)
        + load::<W>(w, sizes.places.situation + b / 512 % records::SITUATIONS * n + i);
    max(table, Four::new(0.0f32))
}

/// Policy and action value of the group's moves, some at a time; `group` is the group's record.
#[cube]
pub(super) fn move_heads<W: Float>(
    y: &mut Shared<[Four]>,
    z: &mut Shared<[Four]>,
    w: &[Vector<W, Const<4>>],
    ints: &[u32],
    keys: &[Vector<W, Const<4>>],
    values: &[Vector<W, Const<4>>],
    out: &mut [f32],
    group: usize,
    groups: usize,
    #[comptime] sizes: Sizes,
) {
    let n = sizes.hidden4;
    let start = ints[group + 2] as usize;
    let count = ints[group + 3] as usize;
    let moves_at = ints[records::MOVES_AT] as usize;
    let out_at = ints[records::ESTIMATES_AT] as usize;
    let mut acc = Array::<Four>::new(BLOCK);
    for g in 0..groups {
        let first = g * sizes.moves;
        let mut item = UNIT_POS as usize;
        while item < comptime!(sizes.moves * sizes.hidden4) {
            let m = first + item / n;
            let mut v = Four::new(0.0f32);
            if m < count {
                let at = moves_at + (start + m) * records::MOVE;
                v = hidden::<W>(w, ints, keys, values, at, item % n, sizes);
            }
            z[item] = v;
            item += sizes.units;
        }
        sync_cube();
        let mut item = UNIT_POS as usize;
        while item < comptime!(sizes.moves / BLOCK * sizes.mix4) {
            let column = item % sizes.mix4;
            let block = item / sizes.mix4 * BLOCK;
            let at = sizes.places.move_mix;
            product::<W>(&*z, block * n, w, at, column, &mut acc, n, sizes.mix4);
            #[unroll]
            for r in 0..BLOCK {
                y[(block + r) * sizes.mix4 + column] = max(acc[r], Four::new(0.0f32));
            }
            item += sizes.units;
        }
        sync_cube();
        let mut item = UNIT_POS as usize;
        while item < comptime!(sizes.moves / BLOCK) {
            let block = item * BLOCK;
            let at = sizes.places.move_out;
            product::<W>(&*y, block * sizes.mix4, w, at, 0usize, &mut acc, sizes.mix4, 1usize);
            #[unroll]
            for r in 0..BLOCK {
                let m = first + block + r;
                if m < count {
                    out[out_at + (start + m) * 2] = acc[r].extract(0usize);
                    out[out_at + (start + m) * 2 + 1] = acc[r].extract(1usize);
                }
            }
            item += sizes.units;
        }
        sync_cube();
    }
}
