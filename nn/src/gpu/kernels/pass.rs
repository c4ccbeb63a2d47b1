//! The kernel: a whole pass through the network.
//!
//! A workgroup takes a *group* of positions through all layers. Their tokens are rows, cut into
//! *chunks* of [`Sizes::rows`]. A group of children is one chunk, which stays in the workgroup's
//! memory from the embedding to the heads. A whole encode takes several, which wait in `spill`
//! while another is worked on; so does a group of positions of which one is made from another: in
//! each layer all rows leave their keys and values in the cache before any looks there.
//!
//! Nothing depends on another workgroup, so there is one launch for all groups of a batch that do
//! not depend on each other. Barriers are only within loops whose bounds are the same for all
//! workgroups (`chunks`, `groups`): some shader compilers accept no others.

use cubecl::prelude::*;

use super::attention::{exponentials, logits, maxima, mix, receive};
use super::chunk::{Chunk, chunk};
use super::embedding::embed;
use super::heads::{move_heads, value_head};
use super::product::{Four, normalise, product};
use super::records;
use super::sizes::{BLOCK, PARTS, Sizes};

/// Puts a chunk's rows aside; `part` 0 are tokens, 1 queries.
#[cube]
fn put_aside(
    spill: &mut [Four],
    from: &Shared<[Four]>,
    chunk: &Chunk,
    #[comptime] part: usize,
    #[comptime] sizes: Sizes,
) {
    let mut item = UNIT_POS as usize;
    while item < chunk.rows * sizes.width4 {
        let at = (chunk.row + item / sizes.width4) * 2 + part;
        spill[at * sizes.width4 + item % sizes.width4] = from[item];
        item += sizes.units;
    }
}

/// Takes them up again.
#[cube]
fn take_up(
    spill: &[Four],
    to: &mut Shared<[Four]>,
    chunk: &Chunk,
    #[comptime] part: usize,
    #[comptime] sizes: Sizes,
) {
    let mut item = UNIT_POS as usize;
    while item < chunk.rows * sizes.width4 {
        let at = (chunk.row + item / sizes.width4) * 2 + part;
        to[item] = spill[at * sizes.width4 + item % sizes.width4];
        item += sizes.units;
    }
}

/// Queries, keys and values of normalised rows `x`: queries to `queries`, the others to the cache.
#[cube]
fn project<W: Float>(
    x: &Shared<[Four]>,
    queries: &mut Shared<[Four]>,
    w: &[Vector<W, Const<4>>],
    ints: &[u32],
    keys: &mut [Vector<W, Const<4>>],
    values: &mut [Vector<W, Const<4>>],
    chunk: &Chunk,
    layer: usize,
    #[comptime] sizes: Sizes,
) {
    let d = sizes.width4;
    let at = sizes.places.blocks + layer * comptime!(sizes.block4());
    let rows_at = ints[records::ROWS_AT] as usize;
    let mut acc = Array::<Four>::new(BLOCK);
    let mut item = UNIT_POS as usize;
    while item < chunk.rows.div_ceil(BLOCK) * comptime!(3 * sizes.width4) {
        let column = item % comptime!(3 * sizes.width4);
        let first = item / comptime!(3 * sizes.width4) * BLOCK;
        product::<W>(x, first * d, w, at, column, &mut acc, d, comptime!(3 * sizes.width4));
        #[unroll]
        for r in 0..BLOCK {
            let row = first + r;
            if row < chunk.rows {
                if column < d {
                    queries[row * d + column] = acc[r];
                } else {
                    let slot = ints[rows_at + (chunk.row + row) * records::ROW + 1] as usize;
                    let to = slot * comptime!(sizes.row4()) + layer * d + column % d;
                    let part = Vector::<W, Const<4>>::cast_from(acc[r]);
                    if column < 2 * d {
                        keys[to] = part;
                    } else {
                        values[to] = part;
                    }
                }
            }
        }
        item += sizes.units;
    }
}

/// Adds a matrix' product with `from` to the rows.
#[cube]
fn add_product<W: Float>(
    x: &mut Shared<[Four]>,
    from: &Shared<[Four]>,
    w: &[Vector<W, Const<4>>],
    at: usize,
    rows: usize,
    #[comptime] inputs4: usize,
    #[comptime] sizes: Sizes,
) {
    let d = sizes.width4;
    let mut acc = Array::<Four>::new(BLOCK);
    let mut item = UNIT_POS as usize;
    while item < rows.div_ceil(BLOCK) * d {
        let column = item % d;
        let first = item / d * BLOCK;
        product::<W>(from, first * inputs4, w, at, column, &mut acc, inputs4, d);
        #[unroll]
        for r in 0..BLOCK {
            let to = (first + r) * d + column;
            x[to] = x[to] + acc[r];
        }
        item += sizes.units;
    }
}

/// The squares of the positive outputs of a layer's first matrix.
#[cube]
fn feed<W: Float>(
    x: &Shared<[Four]>,
    to: &mut Shared<[Four]>,
    w: &[Vector<W, Const<4>>],
    at: usize,
    rows: usize,
    #[comptime] sizes: Sizes,
) {
    let f = sizes.feed4;
    let mut acc = Array::<Four>::new(BLOCK);
    let mut item = UNIT_POS as usize;
    while item < rows.div_ceil(BLOCK) * f {
        let column = item % f;
        let first = item / f * BLOCK;
        product::<W>(x, first * sizes.width4, w, at, column, &mut acc, sizes.width4, f);
        #[unroll]
        for r in 0..BLOCK {
            let positive = max(acc[r], Four::new(0.0f32));
            to[(first + r) * f + column] = positive * positive;
        }
        item += sizes.units;
    }
}

/// A pass for the groups from `group` on. `ints` are the batch as [`records`] writes it, `w` and
/// `bias` the weights, `keys` and `values` the cache. With `watch`, the attention that each key
/// received.
#[cube(launch)]
pub(super) fn pass<W: Float>(
    w: &[Vector<W, Const<4>>],
    bias: &[W],
    ints: &[u32],
    keys: &mut [Vector<W, Const<4>>],
    values: &mut [Vector<W, Const<4>>],
    spill: &mut [Four],
    out: &mut [f32],
    group: usize,
    chunks: usize,
    groups: usize,
    watch: usize,
    #[comptime] sizes: Sizes,
) {
    let d = sizes.width4;
    let at = records::HEAD + (group + CUBE_POS_X as usize) * records::GROUP;
    let first = ints[at] as usize;
    let count = ints[at + 1] as usize;
    let many = chunks > 1;

    let mut x = Shared::<[Four]>::new_slice(comptime!(sizes.tokens4()));
    let mut y = Shared::<[Four]>::new_slice(comptime!(sizes.narrow4()));
    let mut z = Shared::<[Four]>::new_slice(comptime!(sizes.wide4()));
    let mut a = Shared::<[f32]>::new_slice(comptime!(sizes.weights()));
    let mut most = Shared::<[f32]>::new_slice(comptime!(sizes.rows * sizes.heads));
    let mut sums = Shared::<[f32]>::new_slice(comptime!(sizes.rows * sizes.heads));
    let mut parts = Shared::<[f32]>::new_slice(comptime!(sizes.rows * PARTS));

    for index in 0..chunks {
        let chunk = chunk(ints, first, count, index);
        embed::<W>(&mut x, w, ints, out, &chunk, watch, sizes);
        if many {
            put_aside(spill, &x, &chunk, 0usize, sizes);
        }
    }
    for layer in 0..sizes.layers {
        for index in 0..chunks {
            let chunk = chunk(ints, first, count, index);
            if many {
                sync_cube();
                take_up(&*spill, &mut x, &chunk, 0usize, sizes);
            }
            normalise(&x, &mut y, &mut parts, chunk.rows, sizes);
            project::<W>(&y, &mut z, w, ints, keys, values, &chunk, layer, sizes);
            if many {
                sync_cube();
                put_aside(spill, &z, &chunk, 1usize, sizes);
            }
        }
        sync_cube();
        sync_storage();
        for index in 0..chunks {
            let chunk = chunk(ints, first, count, index);
            if many {
                sync_cube();
                take_up(&*spill, &mut x, &chunk, 0usize, sizes);
                take_up(&*spill, &mut z, &chunk, 1usize, sizes);
                sync_cube();
            }
            logits::<W>(&z, &mut a, bias, ints, &*keys, &chunk, layer, sizes);
            sync_cube();
            maxima(&a, &mut most, sizes);
            sync_cube();
            exponentials(&mut a, &most, sizes);
            sync_cube();
            mix::<W>(&a, &mut y, &mut sums, ints, &*values, &chunk, layer, sizes);
            sync_cube();
            if watch > 0 {
                receive(&a, &sums, ints, out, &chunk, sizes);
            }
            let at = sizes.places.blocks
                + layer * comptime!(sizes.block4())
                + comptime!(Sizes::matrix4(sizes.width4, 3 * sizes.width4));
            add_product::<W>(&mut x, &y, w, at, chunk.rows, d, sizes);
            normalise(&x, &mut y, &mut parts, chunk.rows, sizes);
            let at = at + comptime!(Sizes::matrix4(sizes.width4, sizes.width4));
            feed::<W>(&y, &mut z, w, at, chunk.rows, sizes);
            sync_cube();
            let at = at + comptime!(Sizes::matrix4(sizes.width4, sizes.feed4));
            add_product::<W>(&mut x, &z, w, at, chunk.rows, sizes.feed4, sizes);
            if many {
                sync_cube();
                put_aside(spill, &x, &chunk, 0usize, sizes);
            }
        }
    }
    for index in 0..chunks {
        let chunk = chunk(ints, first, count, index);
        if many {
            sync_cube();
            take_up(&*spill, &mut x, &chunk, 0usize, sizes);
        }
        normalise(&x, &mut y, &mut parts, chunk.rows, sizes);
        value_head::<W>(&mut x, &y, &mut z, w, ints, keys, values, out, &chunk, sizes);
    }
    sync_cube();
    sync_storage();
    move_heads::<W>(&mut y, &mut z, w, ints, &*keys, &*values, out, at, groups, sizes);
}
