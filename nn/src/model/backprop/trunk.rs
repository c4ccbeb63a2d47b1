//! The blocks, forward and backward.

use tesla_tiles::Tiles;

use super::attention::{Attention, Heads, Scratch};
use super::dense::Layer;
use super::places::BlockPlaces;
use super::plan::WindowRows;
use super::rows::{normalise, normalise_back, square, square_back};
use crate::kernels::gemm::Then;

/// A block with its weights packed.
#[derive(Debug)]
pub(super) struct Block {
    places: BlockPlaces,
    mixers: Layer,
    out: Layer,
    up: Layer,
    down: Layer,
}

/// What a block keeps for the way back.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// What came in, `[n, d]`.
    pub(super) x: Vec<f32>,
    inverses: Vec<f32>,
    normed: Vec<f32>,
    qkv: Vec<f32>,
    /// Attention weights, window by window.
    weights: Vec<f32>,
    mixed: Vec<f32>,
    /// Between attention and feed-forward.
    middle: Vec<f32>,
    feed_inverses: Vec<f32>,
    feed_normed: Vec<f32>,
    pub(super) up: Vec<f32>,
}

/// Matrices that no block keeps.
#[derive(Debug, Default)]
pub(super) struct Passing {
    fed: Vec<f32>,
    d_fed: Vec<f32>,
    d_normed: Vec<f32>,
    d_mixed: Vec<f32>,
    d_qkv: Vec<f32>,
    scratch: Scratch,
}

/// Makes `list` this long; what is in it is overwritten by the caller.
pub(super) fn sized(list: &mut Vec<f32>, len: usize) -> &mut [f32] {
    list.resize(len, 0.0);
    list
}

impl Block {
    /// The block at `places` of the weights `values`; its products on `tiles`, if given.
    pub(super) fn new(values: &[f32], places: &BlockPlaces, tiles: Option<Tiles>) -> Self {
        let layer = |part| Layer::new(values, &[part], tiles);
        Self {
            mixers: Layer::new(values, &places.mixers, tiles),
            out: layer(places.out),
            up: layer(places.up),
            down: layer(places.down),
            places: *places,
        }
    }

    /// What the block makes of `kept.x` goes into `to`.
    pub(super) fn run(
        &self,
        values: &[f32],
        (heads, windows): (Heads, &[WindowRows]),
        (kept, passing): (&mut Kept, &mut Passing),
        to: &mut Vec<f32>,
    ) {
        let d = self.out.m;
        let n = kept.x.len() / d;
        let Kept { x, inverses, normed, qkv, weights, mixed, middle, .. } = kept;
        let normed = sized(normed, n * d);
        normalise(x, self.places.attention_norm.of(values), normed, sized(inverses, n));
        let qkv = sized(qkv, 3 * n * d);
        self.mixers.run(normed, qkv, Then::Store);
        let mut weights = sized(weights, windows.iter().map(|w| heads.weights_of(w)).sum());
        let mixed = sized(mixed, n * d);
        let bias = self.places.bias.of(values);
        for window in windows {
            let (own, rest) = weights.split_at_mut(heads.weights_of(window));
            weights = rest;
            let attention = Attention { heads, window, qkv, bias };
            attention.run(own, mixed, &mut passing.scratch);
        }
        middle.clone_from(x);
        self.out.run(mixed, middle, Then::Add);
        let Kept { feed_inverses, feed_normed, up, .. } = kept;
        let feed_normed = sized(feed_normed, n * d);
        normalise(middle, self.places.feed_norm.of(values), feed_normed, sized(feed_inverses, n));
        let up = sized(up, n * self.up.m);
        self.up.run(feed_normed, up, Then::Relu);
        let fed = sized(&mut passing.fed, n * self.up.m);
        square(up, fed);
        to.clone_from(middle);
        self.down.run(fed, to, Then::Add);
    }

    /// Turns the gradient of what came out, `d_x`, into that of what came in, and adds the weights'
    /// own to `list`.
    pub(super) fn back(
        &self,
        values: &[f32],
        (heads, windows): (Heads, &[WindowRows]),
        (kept, passing): (&Kept, &mut Passing),
        (d_x, list): (&mut [f32], &mut [f32]),
    ) {
        self.back_feed(values, (kept, passing), (d_x, list));
        let n = d_x.len() / self.out.m;
        let Passing { d_normed, d_mixed, d_qkv, scratch, .. } = passing;
        self.out.learn(&kept.mixed, d_x, list);
        let d_mixed = sized(d_mixed, d_x.len());
        self.out.back(d_x, d_mixed, Then::Store);
        let d_qkv = sized(d_qkv, 3 * n * self.out.m);
        let bias = self.places.bias.of(values);
        let d_bias = self.places.bias.of_mut(list);
        let mut weights = kept.weights.as_slice();
        for window in windows {
            let (own, rest) = weights.split_at(heads.weights_of(window));
            weights = rest;
            let attention = Attention { heads, window, qkv: &kept.qkv, bias };
            attention.back(own, d_mixed, [d_qkv, d_bias], scratch);
        }
        self.mixers.learn(&kept.normed, d_qkv, list);
        let d_normed = sized(d_normed, d_x.len());
        self.mixers.back(d_qkv, d_normed, Then::Store);
        let norm = self.places.attention_norm;
        let input = (kept.x.as_slice(), norm.of(values), kept.inverses.as_slice());
        normalise_back(input, d_normed, d_x, norm.of_mut(list));
    }

    /// The feed-forward part of [`Self::back`].
    fn back_feed(
        &self,
        values: &[f32],
        (kept, passing): (&Kept, &mut Passing),
        (d_x, list): (&mut [f32], &mut [f32]),
    ) {
        let Passing { fed, d_fed, d_normed, .. } = passing;
        let fed = sized(fed, kept.up.len());
        square(&kept.up, fed);
        self.down.learn(fed, d_x, list);
        let d_fed = sized(d_fed, kept.up.len());
        self.down.back(d_x, d_fed, Then::Store);
        square_back(&kept.up, d_fed);
        self.up.learn(&kept.feed_normed, d_fed, list);
        let d_normed = sized(d_normed, d_x.len());
        self.up.back(d_fed, d_normed, Then::Store);
        let norm = self.places.feed_norm;
        let input = (kept.middle.as_slice(), norm.of(values), kept.feed_inverses.as_slice());
        normalise_back(input, d_normed, d_x, norm.of_mut(list));
    }
}
