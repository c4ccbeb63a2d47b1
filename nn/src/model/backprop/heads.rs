//! The heads of value, error and moves, forward and backward.

use tesla_tiles::Tiles;

use super::Answer;
use super::dense::Layer;
use super::embedding::{row, row_mut};
use super::places::Places;
use super::plan::{MoveRows, NOTHING, TokenPlan};
use super::rows::{add, relu_back, wide};
use super::trunk::sized;
use crate::kernels::gemm::Then;
use crate::model::VALUE_BINS;

/// Columns of the value head's answer: the histogram and the error.
const COLUMNS: usize = VALUE_BINS + 1;

/// The heads with their weights packed.
#[derive(Debug)]
pub(super) struct HeadLayers {
    value_hidden: Layer,
    /// Histogram and error.
    value_out: Layer,
    /// What moves and what is captured.
    parts: Layer,
    readout: Layer,
    mix: Layer,
    out: Layer,
}

/// What the heads keep for the way back, and matrices on that way.
#[derive(Debug, Default)]
pub(super) struct KeptHeads {
    value_hidden: Vec<f32>,
    value_out: Vec<f32>,
    parts: Vec<f32>,
    readout: Vec<f32>,
    /// First hidden layer of the moves.
    moves: Vec<f32>,
    mix: Vec<f32>,
    out: Vec<f32>,
    d_hidden: Vec<f32>,
    d_parts: Vec<f32>,
    d_readout: Vec<f32>,
    d_moves: Vec<f32>,
    d_mix: Vec<f32>,
}

impl HeadLayers {
    /// The heads at `places` of the weights `values`; their products on `tiles`, if given.
    pub(super) fn new(values: &[f32], places: &Places, tiles: Option<Tiles>) -> Self {
        let layer = |part| Layer::new(values, &[part], tiles);
        Self {
            value_hidden: layer(places.value_hidden),
            value_out: Layer::new(values, &[places.value_out, places.error_out], tiles),
            parts: Layer::new(values, &[places.move_piece, places.move_captured], tiles),
            readout: layer(places.move_readout),
            mix: layer(places.move_mix),
            out: layer(places.move_out),
        }
    }

    /// The answer for the tokens' final states, in the batch's order of readouts, of which there
    /// are `slots` with their padding.
    pub(super) fn run(
        &self,
        (values, places): (&[f32], &Places),
        (plan, slots): (&TokenPlan, usize),
        states: &[f32],
        kept: &mut KeptHeads,
    ) -> Answer {
        let (np, nr, m) = (plan.pieces.len(), plan.slots.len(), plan.moves.len());
        let (pieces, readouts) = states.split_at(np * (states.len() / plan.tokens().max(1)));
        let hidden = sized(&mut kept.value_hidden, nr * self.value_hidden.m);
        self.value_hidden.run(readouts, hidden, Then::Relu);
        let value_out = sized(&mut kept.value_out, nr * COLUMNS);
        self.value_out.run(hidden, value_out, Then::Store);

        self.parts.run(pieces, sized(&mut kept.parts, np * self.parts.m), Then::Store);
        self.readout.run(readouts, sized(&mut kept.readout, nr * self.readout.m), Then::Store);
        let tables = Tables::of(values, places);
        let moves = sized(&mut kept.moves, m * self.readout.m);
        tables.run(&plan.moves, [&kept.parts, &kept.readout], moves);
        let mix = sized(&mut kept.mix, m * self.mix.m);
        self.mix.run(moves, mix, Then::Relu);
        let out = sized(&mut kept.out, m * 2);
        self.out.run(mix, out, Then::Store);

        let mut answer = Answer::zeros(slots, 0);
        for (&slot, row) in plan.slots.iter().zip(value_out.chunks_exact(COLUMNS)) {
            let bins = &mut answer.value_logits[slot * VALUE_BINS..][..VALUE_BINS];
            bins.copy_from_slice(&row[..VALUE_BINS]);
            answer.log_error[slot] = row[VALUE_BINS];
        }
        answer.policy_logits = out.iter().step_by(2).copied().collect();
        answer.action_delta = out.iter().skip(1).step_by(2).copied().collect();
        answer
    }

    /// The gradient of the final states goes into `d_states`, the weights' own is added to `list`.
    pub(super) fn back(
        &self,
        (values, places): (&[f32], &Places),
        (plan, gradient): (&TokenPlan, &Answer),
        (states, d_states): (&[f32], &mut [f32]),
        (kept, list): (&mut KeptHeads, &mut [f32]),
    ) {
        let at = plan.pieces.len() * (states.len() / plan.tokens().max(1));
        let (pieces, readouts) = states.split_at(at);
        let (d_pieces, d_readouts) = d_states.split_at_mut(at);
        for (&slot, row) in plan.slots.iter().zip(kept.value_out.chunks_exact_mut(COLUMNS)) {
            let bins = &gradient.value_logits[slot * VALUE_BINS..][..VALUE_BINS];
            row[..VALUE_BINS].copy_from_slice(bins);
            row[VALUE_BINS] = gradient.log_error[slot];
        }
        let d_out = &kept.value_out;
        self.value_out.learn(&kept.value_hidden, d_out, list);
        let d_hidden = sized(&mut kept.d_hidden, kept.value_hidden.len());
        self.value_out.back(d_out, d_hidden, Then::Store);
        relu_back(&kept.value_hidden, d_hidden);
        self.value_hidden.learn(readouts, d_hidden, list);
        self.value_hidden.back(d_hidden, d_readouts, Then::Store);

        self.back_moves((values, places), (plan, gradient), kept, list);
        self.readout.learn(readouts, &kept.d_readout, list);
        self.readout.back(&kept.d_readout, d_readouts, Then::Add);
        self.parts.learn(pieces, &kept.d_parts, list);
        self.parts.back(&kept.d_parts, d_pieces, Then::Store);
    }

    /// From the moves' gradients to those of what they are made of.
    fn back_moves(
        &self,
        (values, places): (&[f32], &Places),
        (plan, gradient): (&TokenPlan, &Answer),
        kept: &mut KeptHeads,
        list: &mut [f32],
    ) {
        let KeptHeads { parts, readout, moves, mix, out, d_moves, d_mix, .. } = kept;
        let pairs = gradient.policy_logits.iter().zip(&gradient.action_delta);
        for (out, (policy, action)) in out.as_chunks_mut::<2>().0.iter_mut().zip(pairs) {
            *out = [*policy, *action];
        }
        self.out.learn(mix, out, list);
        let d_mix = sized(d_mix, mix.len());
        self.out.back(out, d_mix, Then::Store);
        relu_back(mix, d_mix);
        self.mix.learn(moves, d_mix, list);
        let d_moves = sized(d_moves, moves.len());
        self.mix.back(d_mix, d_moves, Then::Store);
        relu_back(moves, d_moves);
        kept.d_parts.clear();
        kept.d_parts.resize(parts.len(), 0.0);
        kept.d_readout.clear();
        kept.d_readout.resize(readout.len(), 0.0);
        let tables = Tables::of(values, places);
        tables.back(
            &plan.moves,
            [parts, readout, d_moves],
            [&mut kept.d_parts, &mut kept.d_readout],
        );
        tables.learn(places, &plan.moves, [parts, readout, d_moves], list);
    }
}

/// The tables that moves are made of.
#[derive(Clone, Copy)]
struct Tables<'a> {
    gate: &'a [f32],
    target: &'a [f32],
    feature: &'a [f32],
    situation: &'a [f32],
    /// Width of a row.
    width: usize,
}

impl<'a> Tables<'a> {
    fn of(values: &'a [f32], places: &Places) -> Self {
        let [gate, target, feature, situation] =
            [places.target_gate, places.target, places.move_feature, places.move_situation]
                .map(|span| span.of(values));
        Self { gate, target, feature, situation, width: places.move_piece.m }
    }

    /// First hidden layer of the moves, from what pieces and readouts give to it.
    fn run(self, moves: &[MoveRows], [parts, readout]: [&[f32]; 2], to: &mut [f32]) {
        let width = self.width;
        wide(
            #[inline(always)]
            || {
                for (m, to) in moves.iter().zip(to.chunks_exact_mut(width)) {
                    gather(m, [parts, readout], to);
                    let gate = row(self.gate, m.target, width);
                    let target = row(self.target, m.target, width);
                    let feature = row(self.feature, m.feature, width);
                    let situation = row(self.situation, m.situation, width);
                    for i in 0..width {
                        let x = to[i] * gate[i] + target[i] + feature[i] + situation[i];
                        to[i] = x.max(0.0);
                    }
                }
            },
        );
    }

    /// Adds the gradients of what pieces and readouts gave.
    fn back(
        self,
        moves: &[MoveRows],
        [_, _, d_moves]: [&[f32]; 3],
        [d_parts, d_readout]: [&mut [f32]; 2],
    ) {
        let width = self.width;
        let mut product = vec![0.0; width];
        wide(
            #[inline(always)]
            || {
                for (m, d) in moves.iter().zip(d_moves.chunks_exact(width)) {
                    let gate = row(self.gate, m.target, width);
                    for ((to, d), gate) in product.iter_mut().zip(d).zip(gate) {
                        *to = d * gate;
                    }
                    add(&mut row_mut(d_parts, m.piece, 2 * width)[..width], &product);
                    if m.captured != NOTHING {
                        add(&mut row_mut(d_parts, m.captured, 2 * width)[width..], &product);
                    }
                    add(row_mut(d_readout, m.readout, width), &product);
                }
            },
        );
    }

    /// Adds the tables' own gradients to `list`.
    fn learn(
        self,
        places: &Places,
        moves: &[MoveRows],
        [parts, readout, d_moves]: [&[f32]; 3],
        list: &mut [f32],
    ) {
        let width = self.width;
        let mut sum = vec![0.0; width];
        wide(
            #[inline(always)]
            || {
                let each = || moves.iter().zip(d_moves.chunks_exact(width));
                let table = places.target_gate.of_mut(list);
                for (m, d) in each() {
                    gather(m, [parts, readout], &mut sum);
                    let to = row_mut(table, m.target, width);
                    for ((to, d), sum) in to.iter_mut().zip(d).zip(&sum) {
                        *to += d * sum;
                    }
                }
                let table = places.target.of_mut(list);
                each().for_each(|(m, d)| add(row_mut(table, m.target, width), d));
                let table = places.move_feature.of_mut(list);
                each().for_each(|(m, d)| add(row_mut(table, m.feature, width), d));
                let table = places.move_situation.of_mut(list);
                each().for_each(|(m, d)| add(row_mut(table, m.situation, width), d));
            },
        );
    }
}

/// What the moving piece, the captured one and the readout give to a move.
#[inline(always)]
fn gather(m: &MoveRows, [parts, readout]: [&[f32]; 2], to: &mut [f32]) {
    let width = to.len();
    let piece = &row(parts, m.piece, 2 * width)[..width];
    let readout = row(readout, m.readout, width);
    if m.captured == NOTHING {
        for i in 0..width {
            to[i] = piece[i] + readout[i];
        }
    } else {
        let captured = &row(parts, m.captured, 2 * width)[width..];
        for i in 0..width {
            to[i] = piece[i] + captured[i] + readout[i];
        }
    }
}
