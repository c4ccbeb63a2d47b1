//! Muon's steps for gradients in a list: several matrices at a time, each by itself, so that no
//! result depends on the number of threads.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Tensor, TensorData};
use rayon::prelude::*;
use tesla_nn::model::Model;

use super::{Moments, State, muon};
use crate::train::optimizer::Optimizer;

/// What a step takes beside the network and its gradient.
#[derive(Clone, Copy)]
pub(super) struct Step<'a> {
    pub(super) settings: &'a Optimizer,
    pub(super) rate: f32,
    /// What a gradient is multiplied by.
    pub(super) clip: f32,
}

/// Moves the moments of the matrices that Muon moves; the matrices after the step, by their paths.
pub(super) fn moved(
    state: &mut State,
    model: &Model,
    grads: &[f32],
    step: Step<'_>,
) -> BTreeMap<String, Tensor<2>> {
    let mut finder = Finder { state, rest: grads, step, path: Vec::new(), found: Vec::new() };
    if step.settings.muon > 0.0 {
        model.visit(&mut finder);
    }
    let Finder { state, found, .. } = finder;
    let each = found.into_par_iter().map(|Matrix { path, operands, moments }| {
        let (matrix, moments) = moments.muon_step(step.settings, step.rate, operands);
        (path, matrix, moments)
    });
    let mut moved = BTreeMap::new();
    for (path, matrix, moments) in each.collect::<Vec<_>>() {
        state.moments.insert(path.clone(), moments);
        moved.insert(path, matrix);
    }
    moved
}

/// A matrix to be moved.
struct Matrix {
    path: String,
    /// The matrix and its clipped gradient.
    operands: [Tensor<2>; 2],
    moments: Moments,
}

/// Finds the matrices that Muon moves.
struct Finder<'a> {
    state: &'a mut State,
    rest: &'a [f32],
    step: Step<'a>,
    path: Vec<String>,
    found: Vec<Matrix>,
}

impl ModuleVisitor for Finder<'_> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let tensor = param.val().inner();
        let (shape, device) = (tensor.shape(), tensor.device());
        let length = shape.num_elements();
        let (grads, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.rest = rest;
        if !muon::moves(self.step.settings, &self.path, D) {
            return;
        }
        let size: [usize; 2] = shape.dims();
        let grad = grads.iter().map(|grad| grad * self.step.clip).collect();
        let grad = Tensor::from_data(TensorData::new(grad, size), &device);
        let path = self.path.join(".");
        let old = self.state.moments.remove(&path);
        let moments = old.unwrap_or_else(|| Moments::zeros(length, &device));
        let operands = [tensor.reshape(size), grad];
        self.found.push(Matrix { path, operands, moments });
    }
}
