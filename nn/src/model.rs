//! The transformer: windows in, value histograms, error scales and move estimates out.
//!
//! Notation of the shapes: `b` windows in the batch, `t` token slots per window (anchor pieces,
//! moved pieces, readouts), `r` readouts per window, `d` width, `h` heads, `m` legal moves of the
//! whole batch.

pub mod backprop;
mod config;
mod precision;
mod pruning;

use burn::module::{Initializer, Module, Param};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::activation::{relu, softmax};
use burn::tensor::{Device, FloatDType, Int, Tensor, TensorData};

use crate::batch::{Batch, Inputs, Moves};
use crate::encode::{
    ATTACK_STATES, BOARD_FEATURES, MOVE_FEATURES, MOVE_SITUATIONS, PIECE_SQUARES, PLACES,
    RULE_FEATURES, RULE_ROWS, TARGETS,
};

pub use config::ModelConfig;
pub use precision::Precision;

/// Bins of the value histogram, over expected scores 0 to 1.
pub const VALUE_BINS: usize = 64;
/// What hiding adds to an attention logit.
const HIDDEN_LOGIT: f32 = -1e4;

impl ModelConfig {
    /// The network with fresh random weights.
    pub fn init(&self, device: &Device) -> Model {
        let table = |rows, width, std| -> Param<Tensor<2>> {
            Initializer::Normal { mean: 0.0, std }.init([rows, width], device)
        };
        let d = self.width;
        Model {
            piece_square: table(PIECE_SQUARES, d, 0.1),
            piece_state: table(12 * ATTACK_STATES, d, 0.1),
            rules: table(RULE_ROWS, d, 0.1),
            board: table(BOARD_FEATURES, d, 0.02),
            blocks: (0..self.layers).map(|_| self.block(device)).collect(),
            norm: RmsNorm::new(d, device),
            value_hidden: LinearConfig::new(d, self.value_hidden).init(device),
            value_out: LinearConfig::new(self.value_hidden, VALUE_BINS).init(device),
            error_out: LinearConfig::new(self.value_hidden, 1).init(device),
            move_piece: LinearConfig::new(d, self.move_hidden).init(device),
            move_captured: LinearConfig::new(d, self.move_hidden).with_bias(false).init(device),
            move_readout: LinearConfig::new(d, self.move_hidden).with_bias(false).init(device),
            target_gate: Initializer::Normal { mean: 1.0, std: 0.1 }
                .init([TARGETS, self.move_hidden], device),
            target: table(TARGETS, self.move_hidden, 0.1),
            move_feature: table(MOVE_FEATURES, self.move_hidden, 0.1),
            move_situation: table(MOVE_SITUATIONS, self.move_hidden, 0.1),
            move_mix: LinearConfig::new(self.move_hidden, self.move_mix()).init(device),
            move_out: LinearConfig::new(self.move_mix(), 2).init(device),
            heads: self.heads,
        }
    }

    fn block(&self, device: &Device) -> Block {
        let d = self.width;
        let out = |input: usize, output: usize| {
            // Residual branches start small, so that depth does not blow up the first steps.
            let std = 0.5 / ((input * self.layers) as f64).sqrt();
            LinearConfig::new(input, output)
                .with_initializer(Initializer::Normal { mean: 0.0, std })
                .init(device)
        };
        Block {
            attention_norm: RmsNorm::new(d, device),
            query: LinearConfig::new(d, d).init(device),
            key: LinearConfig::new(d, d).init(device),
            value: LinearConfig::new(d, d).init(device),
            out: out(d, d),
            bias: Initializer::Normal { mean: 0.0, std: 0.02 }
                .init([PLACES * PLACES, self.heads], device),
            feed_norm: RmsNorm::new(d, device),
            up: LinearConfig::new(d, self.feed_forward).init(device),
            down: out(self.feed_forward, d),
        }
    }
}

/// Root-mean-square normalisation with a learnt scale.
#[derive(Module, Debug)]
pub struct RmsNorm {
    scale: Param<Tensor<1>>,
}

impl RmsNorm {
    fn new(width: usize, device: &Device) -> Self {
        Self { scale: Initializer::Ones.init([width], device) }
    }

    /// In f32 whatever comes in: squares overflow f16, and 1e-6 vanishes in it.
    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        let dtype = float_type(&x);
        let x = x.cast(FloatDType::F32);
        let mean_square = x.clone().powi_scalar(2).mean_dim(1); // [n, 1]
        let scaled = x * (mean_square + 1e-6).sqrt().recip(); // [n, d]
        (scaled * self.scale.val().unsqueeze::<2>()).cast(dtype)
    }
}

/// One pre-norm block: attention with a static bias per pair of squares, then squared-`ReLU`
/// feed-forward.
#[derive(Module, Debug)]
pub struct Block {
    attention_norm: RmsNorm,
    query: Linear,
    key: Linear,
    value: Linear,
    out: Linear,
    /// `[65 * 65, h]`: attention bias by (query square, key square); 64 is the readout.
    bias: Param<Tensor<2>>,
    feed_norm: RmsNorm,
    up: Linear,
    down: Linear,
}

impl Block {
    /// Queries, keys and values of the tokens `x`, each `[n, d]`.
    pub(crate) fn project(&self, x: Tensor<2>) -> [Tensor<2>; 3] {
        let normed = self.attention_norm.forward(x);
        let query = self.query.forward(normed.clone());
        [query, self.key.forward(normed.clone()), self.value.forward(normed)]
    }

    /// What the queries take from the values, and how much attention each key gets from each query.
    ///
    /// # Shapes
    /// query `[b * q, d]`, key and value `[b * t, d]`, `pairs` `[b * q * t]` rows of the bias
    /// table; answer `[b * q, d]` and `[b, h, q, t]`.
    pub(crate) fn attend(
        &self,
        [query, key, value]: [Tensor<2>; 3],
        pairs: Tensor<1, Int>,
        shape: AttentionShape,
    ) -> (Tensor<2>, Tensor<4>) {
        let AttentionShape { batch, queries, keys, heads } = shape;
        let [_, d] = query.dims();
        let per_head = d / heads;
        let hidden = Tensor::full([1, heads], HIDDEN_LOGIT, &query.device());
        let bias = Tensor::cat(vec![self.bias.val(), hidden], 0)
            .select(0, pairs) // [b * q * t, h]
            .reshape([batch, queries, keys, heads])
            .permute([0, 3, 1, 2]) // [b, h, q, t]
            .cast(float_type(&query));
        let split = |y: Tensor<2>, tokens: usize| {
            y.reshape([batch, tokens, heads, per_head]).swap_dims(1, 2)
        };
        let query = split(query, queries); // [b, h, q, d / h]
        let key = split(key, keys);
        let value = split(value, keys);
        let logits = query.matmul(key.swap_dims(2, 3)) * (per_head as f32).sqrt().recip() + bias;
        let weights = softmax(logits.cast(FloatDType::F32), 3).cast(float_type(&value));
        let mixed = weights.clone().matmul(value); // [b, h, q, d / h]
        (mixed.swap_dims(1, 2).reshape([batch * queries, d]), weights)
    }

    /// Adds the attention output to the tokens `x` `[n, d]`, then the feed-forward block's.
    pub(crate) fn absorb(&self, x: Tensor<2>, mixed: Tensor<2>) -> Tensor<2> {
        let x = x + self.out.forward(mixed);
        let fed = relu(self.up.forward(self.feed_norm.forward(x.clone()))).powi_scalar(2);
        x + self.down.forward(fed)
    }
}

/// Shape of one attention.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AttentionShape {
    /// `b`.
    pub(crate) batch: usize,
    /// Queries of each window.
    pub(crate) queries: usize,
    /// Keys of each window.
    pub(crate) keys: usize,
    /// `h`.
    pub(crate) heads: usize,
}

/// The network.
#[derive(Module, Debug)]
pub struct Model {
    piece_square: Param<Tensor<2>>,
    piece_state: Param<Tensor<2>>,
    rules: Param<Tensor<2>>,
    board: Param<Tensor<2>>,
    blocks: Vec<Block>,
    norm: RmsNorm,
    value_hidden: Linear,
    value_out: Linear,
    error_out: Linear,
    move_piece: Linear,
    move_captured: Linear,
    move_readout: Linear,
    target_gate: Param<Tensor<2>>,
    target: Param<Tensor<2>>,
    move_feature: Param<Tensor<2>>,
    move_situation: Param<Tensor<2>>,
    move_mix: Linear,
    move_out: Linear,
    #[module(skip)]
    heads: usize,
}

/// What the network says about a batch of windows. Readouts are in window order.
#[derive(Clone, Debug)]
pub struct Output {
    /// `[b * r, 64]`: logits of the value histogram, for each readout's side to move.
    pub value_logits: Tensor<2>,
    /// `[b * r]`: natural logarithm of the error scale of the value's mean, in score units.
    pub log_error: Tensor<1>,
    /// `[m]`: policy logits of the legal moves, not normalised.
    pub policy_logits: Tensor<1>,
    /// `[m]`: log-odds of the action value minus log-odds of the position's value.
    pub action_delta: Tensor<1>,
}

impl Model {
    /// Runs the network over a packed batch.
    pub fn forward(&self, batch: &Batch, device: &Device) -> Output {
        let (b, t, r) = (batch.windows, batch.tokens(), batch.readouts);
        let precision = float_type(&self.move_piece.weight.val());
        let mut x = self.embed(&batch.inputs, [b, t - r, r], device).cast(precision);
        let d = x.dims()[1];
        let pairs = indices(&batch.pairs, device);
        let shape = AttentionShape { batch: b, queries: t, keys: t, heads: self.heads };
        for block in &self.blocks {
            let (mixed, _) = block.attend(block.project(x.clone()), pairs.clone(), shape);
            x = block.absorb(x, mixed);
        }
        let x = self.norm.forward(x);
        let readouts = x.clone().reshape([b, t, d]).slice([0..b, t - r..t]).reshape([b * r, d]);
        let [piece, captured] = self.move_parts(x);
        let nothing = Tensor::zeros([1, captured.dims()[1]], (device, captured.dtype()));
        let captured = Tensor::cat(vec![captured, nothing], 0);
        self.answer(readouts, [piece, captured], &batch.moves, device)
    }

    /// The blocks, the first layer's first.
    pub(crate) fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Attention heads.
    pub(crate) fn heads(&self) -> usize {
        self.heads
    }

    /// Final states of tokens, from what the last block made of them.
    pub(crate) fn finish(&self, x: Tensor<2>) -> Tensor<2> {
        self.norm.forward(x)
    }

    /// The tokens `[b * (p + r), d]` of `b` windows as they enter the first block: `p` pieces each,
    /// then `r` readouts.
    pub(crate) fn embed(
        &self,
        inputs: &Inputs,
        [b, p, r]: [usize; 3],
        device: &Device,
    ) -> Tensor<2> {
        let d = self.piece_square.dims()[1];
        let pieces = self.piece_square.val().select(0, indices(&inputs.piece_square, device))
            + self.piece_state.val().select(0, indices(&inputs.piece_state, device)); // [b * p, d]
        let empty = Tensor::zeros([1, d], device);
        let slots = inputs.board.len() / (b * r);
        let board = Tensor::cat(vec![self.board.val(), empty], 0)
            .select(0, indices(&inputs.board, device)) // [b * r * 32, d]
            .reshape([b * r, slots, d])
            .sum_dim(1)
            .reshape([b * r, d]);
        let rules = self.rules.val().select(0, indices(&inputs.rules, device));
        let rules = rules.reshape([b * r, RULE_FEATURES, d]).sum_dim(1).reshape([b * r, d]);
        let readouts = (board + rules).reshape([b, r, d]);
        Tensor::cat(vec![pieces.reshape([b, p, d]), readouts], 1).reshape([b * (p + r), d])
    }

    /// What the move heads take from tokens in their final states, as moving and as captured
    /// pieces.
    pub(crate) fn move_parts(&self, states: Tensor<2>) -> [Tensor<2>; 2] {
        [self.move_piece.forward(states.clone()), self.move_captured.forward(states)]
    }

    /// What the network says of positions whose readouts have these final states. `parts` are what
    /// [`Self::move_parts`] made of their pieces, as the rows in `moves` count them.
    pub(crate) fn answer(
        &self,
        readouts: Tensor<2>,
        [piece, captured]: [Tensor<2>; 2],
        moves: &Moves,
        device: &Device,
    ) -> Output {
        let int = |rows: &[i32]| indices(rows, device);
        let n = readouts.dims()[0];
        let hidden = relu(self.value_hidden.forward(readouts.clone())); // [n, value_hidden]
        let value_logits = self.value_out.forward(hidden.clone()).cast(FloatDType::F32);
        let log_error = self.error_out.forward(hidden).reshape([n]).cast(FloatDType::F32);

        let piece = piece.select(0, int(&moves.piece)); // [m, move_hidden]
        let captured = captured.select(0, int(&moves.captured));
        let readout = self.move_readout.forward(readouts).select(0, int(&moves.readout));
        let targets = int(&moves.target);
        let dtype = float_type(&readout);
        let row = |table: &Param<Tensor<2>>, rows| table.val().select(0, rows).cast(dtype);
        let gate = row(&self.target_gate, targets.clone());
        let target = row(&self.target, targets);
        let feature = row(&self.move_feature, int(&moves.feature));
        let situation = row(&self.move_situation, int(&moves.situation));
        let hidden = relu((piece + captured + readout) * gate + target + feature + situation);
        let hidden = relu(self.move_mix.forward(hidden)); // [m, move_hidden / 4]
        let out = self.move_out.forward(hidden).cast(FloatDType::F32); // [m, 2]
        let m = moves.piece.len();
        Output {
            value_logits,
            log_error,
            policy_logits: out.clone().slice([0..m, 0..1]).reshape([m]),
            action_delta: out.slice([0..m, 1..2]).reshape([m]),
        }
    }

    /// Number of weights in the blocks (attention biases included) and in the whole network.
    pub fn parameters(&self) -> (usize, usize) {
        (self.blocks.iter().map(Module::num_params).sum(), self.num_params())
    }
}

/// The type of a tensor's numbers.
fn float_type<const D: usize>(tensor: &Tensor<D>) -> FloatDType {
    tensor.dtype().into()
}

/// A list of rows, on the device.
pub(crate) fn indices(rows: &[i32], device: &Device) -> Tensor<1, Int> {
    Tensor::from_data(TensorData::new(rows.to_vec(), [rows.len()]), device)
}
