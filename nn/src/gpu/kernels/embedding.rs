//! Tokens as they enter the first layer.

use cubecl::prelude::*;

use super::chunk::Chunk;
use super::product::{Four, load};
use super::records;
use super::sizes::Sizes;
use crate::encode::RULE_FEATURES;
use crate::incremental::plan::MAX_SOURCES;

/// A readout: the sum of its rule features and of the board's pieces.
#[cube]
fn readout<W: Float>(
    w: &[Vector<W, Const<4>>],
    ints: &[u32],
    position: usize,
    i: usize,
    #[comptime] sizes: Sizes,
) -> Four {
    let at = ints[records::POSITIONS_AT] as usize + position * records::POSITION;
    let pieces = ints[at] as usize % 256;
    let mut sum = Four::new(0.0f32);
    for k in 0..pieces.div_ceil(2usize) {
        let rows = ints[at + records::BOARD + k] as usize;
        sum += load::<W>(w, sizes.places.board + rows % 65536 * sizes.width4 + i);
        sum += load::<W>(w, sizes.places.board + rows / 65536 * sizes.width4 + i);
    }
    #[unroll]
    for k in 0..RULE_FEATURES {
        let rows = ints[at + records::RULES + k / 4] >> (8 * (k % 4) as u32);
        sum += load::<W>(w, sizes.places.rules + (rows % 256) as usize * sizes.width4 + i);
    }
    sum
}

/// The chunk's tokens, and no attention yet for its positions.
#[cube]
pub(super) fn embed<W: Float>(
    x: &mut Shared<[Four]>,
    w: &[Vector<W, Const<4>>],
    ints: &[u32],
    out: &mut [f32],
    chunk: &Chunk,
    watch: usize,
    #[comptime] sizes: Sizes,
) {
    let d = sizes.width4;
    let rows_at = ints[records::ROWS_AT] as usize;
    let mut item = UNIT_POS as usize;
    while item < comptime!(sizes.rows * sizes.width4) {
        let row = item / d;
        let i = item % d;
        let mut sum = Four::new(0.0f32);
        if row < chunk.rows {
            let at = rows_at + (chunk.row + row) * records::ROW;
            let token = ints[at] as usize;
            if token >= records::READOUT {
                sum = readout::<W>(w, ints, ints[at + 2] as usize, i, sizes);
            } else {
                let (square, state) = (token % records::STATES, token / records::STATES);
                sum = load::<W>(w, sizes.places.piece_square + square * d + i)
                    + load::<W>(w, sizes.places.piece_state + state * d + i);
            }
        }
        x[item] = sum;
        item += sizes.units;
    }
    if watch > 0 {
        let attention = ints[records::ATTENTION_AT] as usize + chunk.position * MAX_SOURCES;
        let mut item = UNIT_POS as usize;
        while item < chunk.positions * MAX_SOURCES {
            out[attention + item] = 0.0f32;
            item += sizes.units;
        }
    }
}
