//! The transformer: windows in, value histograms, error scales and move estimates out.
//!
//! Notation of the shapes: `b` windows in the batch, `t` token slots per window (anchor pieces,
//! moved pieces, readouts), `r` readouts per window, `d` width, `h` heads, `m` legal moves of the
//! whole batch.

use burn::module::{Initializer, Module, Param};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::activation::{relu, softmax};
use burn::tensor::{Device, Int, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use crate::cpu::LINE;
use crate::encode::{
    ATTACK_STATES, BOARD_FEATURES, MAX_PIECES, MOVE_FEATURES, MOVE_SITUATIONS, PIECE_SQUARES,
    READOUT_SQUARE, RULE_FEATURES, RULE_ROWS, TARGETS, Window,
};

/// Bins of the value histogram, over expected scores 0 to 1.
pub const VALUE_BINS: usize = 64;
/// Squares and the readout, as the attention bias counts them.
pub(crate) const PLACES: usize = READOUT_SQUARE as usize + 1;
/// Row of the bias table that hides a token: added to the table at run time, never learnt.
const HIDDEN: i32 = (PLACES * PLACES) as i32;
/// What hiding adds to an attention logit.
const HIDDEN_LOGIT: f32 = -1e4;

/// Shape of a network; stored in the weights file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelConfig {
    /// Name of the shape: tiny, small, base …
    pub name: String,
    /// Width of a token, a multiple of 16.
    pub width: usize,
    /// Transformer blocks.
    pub layers: usize,
    /// Attention heads: 1, 2, 4, 8 or 16.
    pub heads: usize,
    /// Hidden width of the feed-forward part.
    pub feed_forward: usize,
    /// Hidden width of the value and error heads.
    pub value_hidden: usize,
    /// Hidden width of the move heads.
    pub move_hidden: usize,
}

impl ModelConfig {
    /// For tests.
    pub fn tiny() -> Self {
        Self {
            name: "tiny".to_owned(),
            width: 32,
            layers: 2,
            heads: 2,
            feed_forward: 64,
            value_hidden: 32,
            move_hidden: 16,
        }
    }

    /// The CPU default.
    pub fn small() -> Self {
        Self {
            name: "small".to_owned(),
            width: 128,
            layers: 6,
            heads: 4,
            feed_forward: 256,
            value_hidden: 128,
            move_hidden: 128,
        }
    }

    /// For GPUs.
    pub fn base() -> Self {
        Self {
            name: "base".to_owned(),
            width: 384,
            layers: 10,
            heads: 8,
            feed_forward: 768,
            value_hidden: 256,
            move_hidden: 256,
        }
    }

    /// Says what is wrong with the shape, if anything.
    ///
    /// # Errors
    /// A sentence, when a number is zero or too large, or has no vectors on the CPU.
    pub fn check(&self) -> Result<(), String> {
        let sizes = [
            ("width", self.width),
            ("layers", self.layers),
            ("heads", self.heads),
            ("feed_forward", self.feed_forward),
            ("value_hidden", self.value_hidden),
            ("move_hidden", self.move_hidden),
        ];
        for (name, size) in sizes {
            if !(1..=8192).contains(&size) {
                return Err(format!("the network's {name} is {size}; it must be 1 to 8192"));
            }
        }
        if !self.width.is_multiple_of(LINE) {
            return Err(format!("the network's width {} is not a multiple of {LINE}", self.width));
        }
        if !LINE.is_multiple_of(self.heads) {
            return Err(format!(
                "the network has {} attention heads; it must have 1, 2, 4, 8 or {LINE}",
                self.heads
            ));
        }
        Ok(())
    }

    /// Width of the second hidden layer of the move heads.
    pub(crate) fn move_mix(&self) -> usize {
        (self.move_hidden / 4).max(1)
    }

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

    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        let mean_square = x.clone().powi_scalar(2).mean_dim(1); // [n, 1]
        let scaled = x * (mean_square + 1e-6).sqrt().recip(); // [n, d]
        scaled * self.scale.val().unsqueeze::<2>()
    }
}

/// One pre-norm block: attention with a static bias per pair of squares, then squared-`ReLU` feed-forward.
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
    /// # Shapes
    /// `x` `[b * t, d]`, `pairs` `[b * t * t]` rows of the bias table, answer `[b * t, d]`.
    fn forward(&self, x: Tensor<2>, pairs: Tensor<1, Int>, shape: AttentionShape) -> Tensor<2> {
        let AttentionShape { batch, tokens, heads } = shape;
        let [_, d] = x.dims();
        let per_head = d / heads;
        let hidden = Tensor::full([1, heads], HIDDEN_LOGIT, &x.device());
        let bias = Tensor::cat(vec![self.bias.val(), hidden], 0)
            .select(0, pairs) // [b * t * t, h]
            .reshape([batch, tokens, tokens, heads])
            .permute([0, 3, 1, 2]); // [b, h, t, t]
        let split = |y: Tensor<2>| y.reshape([batch, tokens, heads, per_head]).swap_dims(1, 2);
        let normed = self.attention_norm.forward(x.clone());
        let query = split(self.query.forward(normed.clone())); // [b, h, t, d / h]
        let key = split(self.key.forward(normed.clone()));
        let value = split(self.value.forward(normed));
        let logits = query.matmul(key.swap_dims(2, 3)) * (per_head as f32).sqrt().recip() + bias;
        let mixed = softmax(logits, 3).matmul(value); // [b, h, t, d / h]
        let mixed = mixed.swap_dims(1, 2).reshape([batch * tokens, d]);
        let x = x + self.out.forward(mixed);
        let fed = relu(self.up.forward(self.feed_norm.forward(x.clone()))).powi_scalar(2);
        x + self.down.forward(fed)
    }
}

#[derive(Clone, Copy, Debug)]
struct AttentionShape {
    batch: usize,
    tokens: usize,
    heads: usize,
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
        let pieces = t - r;
        let d = self.piece_square.dims()[1];
        let int = |rows: &[i32]| -> Tensor<1, Int> {
            Tensor::from_data(TensorData::new(rows.to_vec(), [rows.len()]), device)
        };
        let piece_tokens = self.piece_square.val().select(0, int(&batch.piece_square))
            + self.piece_state.val().select(0, int(&batch.piece_state)); // [b * pieces, d]
        let empty = Tensor::zeros([1, d], device);
        let board = Tensor::cat(vec![self.board.val(), empty], 0)
            .select(0, int(&batch.board)) // [b * r * 32, d]
            .reshape([b * r, batch.board_slots, d])
            .sum_dim(1)
            .reshape([b * r, d]);
        let rules = self.rules.val().select(0, int(&batch.rules));
        let rules = rules.reshape([b * r, RULE_FEATURES, d]).sum_dim(1).reshape([b * r, d]);
        let readouts = (board + rules).reshape([b, r, d]);
        let mut x = Tensor::cat(vec![piece_tokens.reshape([b, pieces, d]), readouts], 1)
            .reshape([b * t, d]);
        let pairs = int(&batch.pairs);
        let shape = AttentionShape { batch: b, tokens: t, heads: self.heads };
        for block in &self.blocks {
            x = block.forward(x, pairs.clone(), shape);
        }
        self.heads(self.norm.forward(x), batch, device)
    }

    /// # Shapes
    /// `x` `[b * t, d]`: final states of all tokens.
    fn heads(&self, x: Tensor<2>, batch: &Batch, device: &Device) -> Output {
        let (b, t, r) = (batch.windows, batch.tokens(), batch.readouts);
        let d = x.dims()[1];
        let int = |rows: &[i32]| -> Tensor<1, Int> {
            Tensor::from_data(TensorData::new(rows.to_vec(), [rows.len()]), device)
        };
        let states = x.clone().reshape([b, t, d]).slice([0..b, t - r..t]).reshape([b * r, d]);
        let hidden = relu(self.value_hidden.forward(states.clone())); // [b * r, value_hidden]
        let value_logits = self.value_out.forward(hidden.clone());
        let log_error = self.error_out.forward(hidden).reshape([b * r]);

        let width = self.move_piece.weight.dims()[1];
        let nothing = Tensor::zeros([1, width], device);
        let captured = Tensor::cat(vec![self.move_captured.forward(x.clone()), nothing], 0);
        let piece = self.move_piece.forward(x).select(0, int(&batch.move_piece)); // [m, move_hidden]
        let captured = captured.select(0, int(&batch.move_captured));
        let readout = self.move_readout.forward(states).select(0, int(&batch.move_readout));
        let targets = int(&batch.move_target);
        let gate = self.target_gate.val().select(0, targets.clone());
        let target = self.target.val().select(0, targets);
        let feature = self.move_feature.val().select(0, int(&batch.move_feature));
        let situation = self.move_situation.val().select(0, int(&batch.move_situation));
        let moves = relu((piece + captured + readout) * gate + target + feature + situation);
        let moves = relu(self.move_mix.forward(moves)); // [m, move_hidden / 4]
        let out = self.move_out.forward(moves); // [m, 2]
        let m = batch.move_piece.len();
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

/// Slots that a window with this many pieces takes.
pub fn padded_slots(pieces: usize) -> usize {
    pieces.next_multiple_of(4).min(MAX_PIECES)
}

/// Windows packed into flat index lists; everything the device needs, on the host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    /// `b`.
    pub windows: usize,
    /// Slots for the anchor's pieces.
    pub anchor_slots: usize,
    /// Slots for moved pieces.
    pub moved_slots: usize,
    /// `r`.
    pub readouts: usize,
    /// Slots of the readout's board summary.
    pub board_slots: usize,
    piece_square: Vec<i32>,
    piece_state: Vec<i32>,
    rules: Vec<i32>,
    board: Vec<i32>,
    pairs: Vec<i32>,
    move_piece: Vec<i32>,
    move_captured: Vec<i32>,
    move_readout: Vec<i32>,
    move_target: Vec<i32>,
    move_feature: Vec<i32>,
    move_situation: Vec<i32>,
    /// First move of each readout in the flat move list, and one past the last of all: `b * r + 1`.
    pub move_offsets: Vec<usize>,
}

impl Batch {
    /// Token slots per window, `t`.
    pub fn tokens(&self) -> usize {
        self.anchor_slots + self.moved_slots + self.readouts
    }

    /// Packs windows; all are padded to the longest.
    pub fn pack(windows: &[Window]) -> Self {
        let pieces = windows.iter().map(|window| window.anchor_pieces).max().unwrap_or(0);
        Self::pack_slots(windows, padded_slots(pieces))
    }

    fn pack_slots(windows: &[Window], anchor_slots: usize) -> Self {
        let longest = |f: fn(&Window) -> usize| windows.iter().map(f).max().unwrap_or(0);
        let mut batch = Self {
            windows: windows.len(),
            anchor_slots,
            moved_slots: longest(|w| w.tokens.len() - w.anchor_pieces),
            readouts: longest(|w| w.readouts.len()),
            move_offsets: vec![0],
            ..Self::default()
        };
        batch.board_slots = batch.anchor_slots;
        for (index, window) in windows.iter().enumerate() {
            batch.push_tokens(window);
            batch.push_pairs(window);
            batch.push_readouts(index, window, windows.len());
        }
        batch
    }

    /// Packs whole encodes into `shape` windows with room for 32 pieces, repeating the last window
    /// as padding, and pads the moves to a power of two of at least `moves`: few shapes for a GPU
    /// to tune for.
    pub fn pack_padded(windows: &[Window], shape: usize, moves: usize) -> Self {
        let mut padded = windows.to_vec();
        if let Some(last) = windows.last() {
            padded.resize(shape.max(windows.len()), last.clone());
        }
        let mut batch = Self::pack_slots(&padded, MAX_PIECES);
        let moves = batch.moves().max(moves).next_power_of_two().max(64);
        let rows = [
            &mut batch.move_piece,
            &mut batch.move_captured,
            &mut batch.move_readout,
            &mut batch.move_target,
            &mut batch.move_feature,
            &mut batch.move_situation,
        ];
        for list in rows {
            list.resize(moves, 0);
        }
        batch
    }

    /// Legal moves in the batch, padding included, `m`.
    pub fn moves(&self) -> usize {
        self.move_piece.len()
    }

    fn slot(&self, window: &Window, token: usize) -> usize {
        if token < window.anchor_pieces {
            token
        } else {
            self.anchor_slots + token - window.anchor_pieces
        }
    }

    fn push_tokens(&mut self, window: &Window) {
        let start = self.piece_square.len();
        let slots = self.anchor_slots + self.moved_slots;
        self.piece_square.resize(start + slots, 0);
        self.piece_state.resize(start + slots, 0);
        for (token, piece) in window.tokens.iter().enumerate() {
            let row = start + self.slot(window, token);
            self.piece_square[row] = i32::from(piece.piece_square);
            self.piece_state[row] =
                i32::from(piece.kind()) * ATTACK_STATES as i32 + i32::from(piece.state);
        }
    }

    /// Bias rows of all pairs of tokens; `HIDDEN` where the query does not see the key.
    fn push_pairs(&mut self, window: &Window) {
        let t = self.tokens();
        let pieces = self.anchor_slots + self.moved_slots;
        let start = self.pairs.len();
        self.pairs.resize(start + t * t, HIDDEN);
        let places: Vec<(usize, i32)> = window
            .tokens
            .iter()
            .enumerate()
            .map(|(token, piece)| (self.slot(window, token), i32::from(piece.square())))
            .collect();
        let see = |pairs: &mut [i32], slot: usize, place: i32, mask: u64| {
            let mut rest = mask;
            while rest != 0 {
                let (key_slot, key_place) = places[rest.trailing_zeros() as usize];
                pairs[slot * t + key_slot] = place * PLACES as i32 + key_place;
                rest &= rest - 1;
            }
        };
        let pairs = &mut self.pairs[start..];
        for (token, &(slot, place)) in places.iter().enumerate() {
            see(pairs, slot, place, window.seen_by(token));
        }
        let readout = i32::from(READOUT_SQUARE);
        for (index, position) in window.readouts.iter().enumerate() {
            see(pairs, pieces + index, readout, position.visible);
            for earlier in 0..=index {
                pairs[(pieces + index) * t + pieces + earlier] = HIDDEN - 1;
            }
        }
    }

    fn push_readouts(&mut self, index: usize, window: &Window, windows: usize) {
        let t = self.tokens();
        let nothing = (windows * t) as i32;
        for ply in 0..self.readouts {
            let start = self.board.len();
            self.board.resize(start + self.board_slots, BOARD_FEATURES as i32);
            let Some(readout) = window.readouts.get(ply) else {
                self.rules.extend([0, 2, 18, 27, 35]);
                self.move_offsets.push(self.move_piece.len());
                continue;
            };
            for (slot, &row) in self.board[start..].iter_mut().zip(&readout.board) {
                *slot = i32::from(row);
            }
            self.rules.extend(readout.rules.iter().map(|&row| i32::from(row)));
            for m in &readout.moves {
                let row = |token: u8| (index * t + self.slot(window, usize::from(token))) as i32;
                let (piece, captured) = (row(m.piece), m.captured.map_or(nothing, row));
                self.move_piece.push(piece);
                self.move_captured.push(captured);
                self.move_readout.push((index * self.readouts + ply) as i32);
                self.move_target.push(i32::from(m.target));
                self.move_feature.push(i32::from(m.feature));
                self.move_situation.push(i32::from(m.situation));
            }
            self.move_offsets.push(self.move_piece.len());
        }
    }
}
