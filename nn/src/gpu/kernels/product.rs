//! Products of a few rows with a matrix, and norms.

use cubecl::prelude::*;

use super::sizes::{BLOCK, PARTS, Sizes};

/// Four floats that are loaded and multiplied together.
pub(super) type Four = Vector<f32, Const<4>>;

/// How many turns of a loop of so many are written out: each saves a comparison and lets loads
/// overlap, and Mesa's software rasteriser ends a kernel's loops after 65,535 turns in all.
pub(super) fn together(turns: usize) -> usize {
    [4, 2].into_iter().find(|&count| turns.is_multiple_of(count)).unwrap_or(1)
}

/// A vector of weights, or of the cache.
#[cube]
pub(super) fn load<W: Float>(from: &[Vector<W, Const<4>>], at: usize) -> Four {
    Four::cast_from(from[at])
}

/// `acc[r] = bias + x[r] · w[.., column]`, for the rows of `x` `[.., inputs4]` that begin at `from`
/// and four columns of the matrix `[4 · inputs4][outputs4]` at `at`, which its bias follows.
#[cube]
pub(super) fn product<W: Float>(
    x: &Shared<[Four]>,
    from: usize,
    w: &[Vector<W, Const<4>>],
    at: usize,
    column: usize,
    acc: &mut Array<Four>,
    #[comptime] inputs4: usize,
    #[comptime] outputs4: usize,
) {
    let bias = load::<W>(w, at + comptime!(4 * inputs4 * outputs4) + column);
    #[unroll]
    for r in 0..BLOCK {
        acc[r] = bias;
    }
    let together = comptime!(together(inputs4));
    for group in 0..comptime!(inputs4 / together) {
        #[unroll]
        for k in 0..together {
            let i = group * together + k;
            let row = at + i * comptime!(4 * outputs4) + column;
            let w0 = load::<W>(w, row);
            let w1 = load::<W>(w, row + outputs4);
            let w2 = load::<W>(w, row + comptime!(2 * outputs4));
            let w3 = load::<W>(w, row + comptime!(3 * outputs4));
            #[unroll]
            for r in 0..BLOCK {
                let v = x[from + r * inputs4 + i];
                let mut sum = acc[r];
                sum += Four::new(v.extract(0usize)) * w0;
                sum += Four::new(v.extract(1usize)) * w1;
                sum += Four::new(v.extract(2usize)) * w2;
                sum += Four::new(v.extract(3usize)) * w3;
                acc[r] = sum;
            }
        }
    }
}

/// The sum of a vector's numbers.
#[cube]
pub(super) fn sum(four: Four) -> f32 {
    (four.extract(0usize) + four.extract(1usize)) + (four.extract(2usize) + four.extract(3usize))
}

/// `to = x / rms(x)`, row by row; the norm's scale is in the matrix that follows. The workgroup
/// waits before and after.
#[cube]
pub(super) fn normalise(
    x: &Shared<[Four]>,
    to: &mut Shared<[Four]>,
    parts: &mut Shared<[f32]>,
    rows: usize,
    #[comptime] sizes: Sizes,
) {
    let d = sizes.width4;
    sync_cube();
    let mut item = UNIT_POS as usize;
    while item < rows * PARTS {
        let first = item / PARTS * d + item % PARTS;
        let mut squares = Four::new(0.0f32);
        for i in 0..comptime!(sizes.width4 / PARTS) {
            let v = x[first + i * PARTS];
            squares += v * v;
        }
        parts[item] = sum(squares);
        item += sizes.units;
    }
    sync_cube();
    let mut item = UNIT_POS as usize;
    while item < rows * d {
        let row = item / d * PARTS;
        let squares = (parts[row] + parts[row + 1]) + (parts[row + 2] + parts[row + 3]);
        let mean = squares / comptime!(4.0 * sizes.width4 as f32);
        to[item] = x[item] / Four::new((mean + 1e-6f32).sqrt());
        item += sizes.units;
    }
    sync_cube();
}
