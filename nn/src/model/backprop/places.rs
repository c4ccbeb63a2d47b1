//! The network's weights end to end in one list, in the order in which the network is visited, and
//! where each tensor is in it.

use std::collections::HashMap;

use burn::module::{Module, ModuleVisitor, Param, ParamId};
use burn::nn::Linear;
use burn::tensor::Tensor;

use crate::model::{Block, Model};

/// Where one tensor's numbers are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Span {
    start: usize,
    len: usize,
}

impl Span {
    /// The tensor's part of the list.
    pub(super) fn of(self, list: &[f32]) -> &[f32] {
        &list[self.start..self.start + self.len]
    }

    /// The tensor's part of the list.
    pub(super) fn of_mut(self, list: &mut [f32]) -> &mut [f32] {
        &mut list[self.start..self.start + self.len]
    }
}

/// A linear layer: weights `[k, m]` and, perhaps, a bias.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dense {
    pub(super) weight: Span,
    pub(super) bias: Option<Span>,
    pub(super) k: usize,
    pub(super) m: usize,
}

/// Places of a block's tensors.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockPlaces {
    pub(super) attention_norm: Span,
    /// Query, key and value.
    pub(super) mixers: [Dense; 3],
    pub(super) out: Dense,
    pub(super) bias: Span,
    pub(super) feed_norm: Span,
    pub(super) up: Dense,
    pub(super) down: Dense,
}

/// Places of the network's tensors.
#[derive(Clone, Debug)]
pub(super) struct Places {
    pub(super) piece_square: Span,
    pub(super) piece_state: Span,
    pub(super) rules: Span,
    pub(super) board: Span,
    pub(super) blocks: Vec<BlockPlaces>,
    pub(super) norm: Span,
    pub(super) value_hidden: Dense,
    pub(super) value_out: Dense,
    pub(super) error_out: Dense,
    pub(super) move_piece: Dense,
    pub(super) move_captured: Dense,
    pub(super) move_readout: Dense,
    pub(super) target_gate: Span,
    pub(super) target: Span,
    pub(super) move_feature: Span,
    pub(super) move_situation: Span,
    pub(super) move_mix: Dense,
    pub(super) move_out: Dense,
}

/// The numbers of all tensors, and their places by the tensors' identities.
#[derive(Default)]
struct Collector {
    values: Vec<f32>,
    spans: HashMap<ParamId, Span>,
}

impl ModuleVisitor for Collector {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let data = param.val().into_data();
        let start = self.values.len();
        match data.as_slice::<f32>() {
            Ok(values) => self.values.extend_from_slice(values),
            Err(_) => self.values.extend(data.iter::<f32>()),
        }
        self.spans.insert(param.id, Span { start, len: self.values.len() - start });
    }
}

impl Collector {
    fn span<const D: usize>(&self, param: &Param<Tensor<D>>) -> Span {
        self.spans.get(&param.id).copied().unwrap_or_default()
    }

    fn dense(&self, linear: &Linear) -> Dense {
        let [k, m] = linear.weight.dims();
        let bias = linear.bias.as_ref().map(|bias| self.span(bias));
        Dense { weight: self.span(&linear.weight), bias, k, m }
    }

    fn block(&self, block: &Block) -> BlockPlaces {
        BlockPlaces {
            attention_norm: self.span(&block.attention_norm.scale),
            mixers: [&block.query, &block.key, &block.value].map(|linear| self.dense(linear)),
            out: self.dense(&block.out),
            bias: self.span(&block.bias),
            feed_norm: self.span(&block.feed_norm.scale),
            up: self.dense(&block.up),
            down: self.dense(&block.down),
        }
    }
}

/// The network's weights in one list, and the tensors' places in it.
pub(super) fn collect(model: &Model) -> (Vec<f32>, Places) {
    let mut all = Collector::default();
    model.visit(&mut all);
    let places = Places {
        piece_square: all.span(&model.piece_square),
        piece_state: all.span(&model.piece_state),
        rules: all.span(&model.rules),
        board: all.span(&model.board),
        blocks: model.blocks.iter().map(|block| all.block(block)).collect(),
        norm: all.span(&model.norm.scale),
        value_hidden: all.dense(&model.value_hidden),
        value_out: all.dense(&model.value_out),
        error_out: all.dense(&model.error_out),
        move_piece: all.dense(&model.move_piece),
        move_captured: all.dense(&model.move_captured),
        move_readout: all.dense(&model.move_readout),
        target_gate: all.span(&model.target_gate),
        target: all.span(&model.target),
        move_feature: all.span(&model.move_feature),
        move_situation: all.span(&model.move_situation),
        move_mix: all.dense(&model.move_mix),
        move_out: all.dense(&model.move_out),
    };
    (all.values, places)
}
