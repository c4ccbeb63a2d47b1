//! The training pass of the CPU, written out: [`Model::forward`] and its gradients without a graph.
//!
//! [`Model`] defines the network, and burn's automatic differentiation of it is what the gradients
//! are tested against. This does the same with less: weights packed once a step, no padding, no
//! copies between layouts, the attention biases read and taught where they are used. It runs in
//! f32, or multiplies in bf16 where the processor does that faster (`tesla_tiles`).
//! In reading order:
//!
//! * `places` — the weights in one list;
//! * `plan` — a batch without its padding;
//! * `embedding`, `trunk`, `heads` — the network's parts;
//! * `attention` — of one window;
//! * `dense`, `product`, `tiles`, `rows` — the arithmetic.
//!
//! A batch's gradient depends on the batch and the weights only, bit by bit.

#![expect(
    clippy::inline_always,
    reason = "what is not inlined below the dispatch is compiled for the oldest processor"
)]

mod attention;
mod dense;
mod embedding;
mod heads;
mod places;
mod plan;
mod product;
mod rows;
mod tiles;
mod trunk;

use burn::tensor::{Device, Tensor, TensorData};
use tesla_tiles::Tiles;

use self::attention::Heads;
use self::heads::{HeadLayers, KeptHeads};
use self::places::Places;
use self::plan::TokenPlan;
pub use self::product::transposed;
use self::rows::{normalise, normalise_back};
use self::tiles::{TiledWeights, fit};
use self::trunk::{Block, Kept, Passing, sized};
use super::{Model, Output, Precision, VALUE_BINS};
use crate::batch::Batch;
use crate::kernels::gemm::Then;

/// `a · b` for row-major `[n, k]` and `[k, m]`: numbers of bf16 in tiles, sums of f32.
/// `None` where the processor does not, or the sizes do not fit tiles.
///
/// # Panics
/// Where the lists have other lengths.
pub fn tiled_product(a: &[f32], b: &[f32], [k, m]: [usize; 2]) -> Option<Vec<f32>> {
    let tiles = Tiles::find().filter(|_| fit(k, m))?;
    assert!(a.len().is_multiple_of(k) && b.len() == k * m, "matrices of other sizes");
    let mut c = vec![0.0; a.len() / k * m];
    TiledWeights::new(tiles, b, &[], [k, m]).run(a, &mut c, Then::Store);
    Some(c)
}

/// What the network says about a batch, or the gradient of it; as in [`Output`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// `[b * r, 64]`.
    pub value_logits: Vec<f32>,
    /// `[b * r]`.
    pub log_error: Vec<f32>,
    /// `[m]`.
    pub policy_logits: Vec<f32>,
    /// `[m]`.
    pub action_delta: Vec<f32>,
}

impl Answer {
    fn zeros(readouts: usize, moves: usize) -> Self {
        Self {
            value_logits: vec![0.0; readouts * VALUE_BINS],
            log_error: vec![0.0; readouts],
            policy_logits: vec![0.0; moves],
            action_delta: vec![0.0; moves],
        }
    }

    /// The same on a device.
    pub fn into_output(self, device: &Device) -> Output {
        let n = self.log_error.len();
        let list = |values: Vec<f32>| -> Tensor<1> {
            let length = values.len();
            Tensor::from_data(TensorData::new(values, [length]), device)
        };
        Output {
            value_logits: list(self.value_logits).reshape([n, VALUE_BINS]),
            log_error: list(self.log_error),
            policy_logits: list(self.policy_logits),
            action_delta: list(self.action_delta),
        }
    }
}

/// A network ready to be run and differentiated; many threads may share it.
#[derive(Debug)]
pub struct Backprop {
    values: Vec<f32>,
    places: Places,
    blocks: Vec<Block>,
    layers: HeadLayers,
    heads: Heads,
}

/// Memory of one pass, to be used again for the next one.
#[derive(Debug, Default)]
pub struct Workspace {
    plan: TokenPlan,
    blocks: Vec<Kept>,
    /// What comes out of the last block.
    last: Kept,
    inverses: Vec<f32>,
    states: Vec<f32>,
    d_states: Vec<f32>,
    d_x: Vec<f32>,
    passing: Passing,
    heads: KeptHeads,
}

impl Workspace {
    /// What the hidden units of each layer's feed-forward part gave before it was squared, in the
    /// last pass: `[tokens, feed_forward]`, a window's padding left out.
    pub fn hidden_units(&self) -> impl Iterator<Item = &[f32]> {
        self.blocks.iter().map(|kept| kept.up.as_slice())
    }
}

impl Backprop {
    /// Packs the weights of `model`. Products are in bf16 in tiles where the precision is bf16 and
    /// [`Self::has_tiles`], in f32 otherwise.
    pub fn new(model: &Model, precision: Precision) -> Self {
        let tiles = Tiles::find().filter(|_| precision == Precision::Bf16);
        let (values, places) = places::collect(model);
        let block = |places| Block::new(&values, places, tiles);
        let width = model.piece_square.dims()[1];
        Self {
            blocks: places.blocks.iter().map(block).collect(),
            layers: HeadLayers::new(&values, &places, tiles),
            heads: Heads { count: model.heads, width: width / model.heads },
            places,
            values,
        }
    }

    /// Whether this processor multiplies matrices of bf16 in tiles, by Intel's AMX or AVX-512's
    /// instructions, which is faster than f32.
    pub fn has_tiles() -> bool {
        Tiles::find().is_some()
    }

    /// Number of weights.
    pub fn parameters(&self) -> usize {
        self.values.len()
    }

    fn width(&self) -> usize {
        self.heads.count * self.heads.width
    }

    /// Runs the network over `batch`; `work` keeps what [`Self::backward`] needs.
    pub fn forward(&self, batch: &Batch, work: &mut Workspace) -> Answer {
        let (values, places, d) = (&self.values, &self.places, self.width());
        work.plan = TokenPlan::new(batch);
        let Workspace { plan, blocks, last, inverses, states, passing, heads, .. } = work;
        let n = plan.tokens();
        blocks.resize_with(self.blocks.len(), Kept::default);
        let first = blocks.first_mut().unwrap_or(last);
        embedding::embed(plan, places, values, sized(&mut first.x, n * d), d);
        for (index, block) in self.blocks.iter().enumerate() {
            let (kept, later) = blocks[index..].split_at_mut(1);
            let to = &mut later.first_mut().unwrap_or(last).x;
            block.run(values, (self.heads, &plan.windows), (&mut kept[0], passing), to);
        }
        let states = sized(states, n * d);
        normalise(&last.x, places.norm.of(values), states, sized(inverses, n));
        let slots = batch.windows * batch.readouts;
        self.layers.run((values, places), (plan, slots), states, heads)
    }

    /// The gradient of all weights, in the order in which the network is visited, from that of the
    /// answer that [`Self::forward`] gave last with this `work`.
    pub fn backward(&self, gradient: &Answer, work: &mut Workspace) -> Vec<f32> {
        let mut list = vec![0.0; self.parameters()];
        self.add_backward(gradient, work, &mut list);
        list
    }

    /// Adds to `list` what [`Self::backward`] gives.
    pub fn add_backward(&self, gradient: &Answer, work: &mut Workspace, list: &mut [f32]) {
        let (values, places, d) = (&self.values, &self.places, self.width());
        let Workspace { plan, blocks, last, inverses, states, d_states, d_x, passing, heads } =
            work;
        let d_states = sized(d_states, states.len());
        let parameters = (values.as_slice(), places);
        self.layers.back(parameters, (plan, gradient), (states, d_states), (heads, &mut *list));
        d_x.clear();
        d_x.resize(states.len(), 0.0);
        let input = (last.x.as_slice(), places.norm.of(values), inverses.as_slice());
        normalise_back(input, d_states, d_x, places.norm.of_mut(list));
        for (block, kept) in self.blocks.iter().zip(blocks).rev() {
            let memory = (&*kept, &mut *passing);
            block.back(values, (self.heads, &plan.windows), memory, (d_x, &mut *list));
        }
        embedding::embed_back(plan, places, d_x, list, d);
    }
}
