//! Muon's step of a whole network: finds the matrices, and moves several at a time on a CPU, all of
//! a size together on a GPU.
//!
//! On a CPU each is moved by itself, so that no result depends on the number of threads; on a GPU
//! there are few launches.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Tensor, TensorData};
use rayon::prelude::*;
use tesla_nn::model::Model;

use super::muon::{self, Operands};
use super::{Grads, Moments, State};
use crate::train::optimizer::Optimizer;

/// What a step takes beside the network and its gradient.
#[derive(Clone, Copy)]
pub(super) struct Step<'a> {
    pub(super) settings: &'a Optimizer,
    pub(super) rate: f32,
    /// What a gradient is multiplied by.
    pub(super) clip: f32,
    /// Whether products may be in bf16 on a processor's tiles.
    pub(super) on_tiles: bool,
}

/// Moves the moments of the matrices that Muon moves; the matrices after the step, by their paths.
pub(super) fn move_matrices(
    state: &mut State,
    model: &Model,
    grads: &Grads,
    step: Step<'_>,
) -> BTreeMap<String, Tensor<2>> {
    let mut finder = Finder { state, grads, passed: 0, step, path: Vec::new(), found: Vec::new() };
    if step.settings.muon > 0.0 {
        model.visit(&mut finder);
    }
    let Finder { state, found, .. } = finder;
    let Step { settings, rate, on_tiles, .. } = step;
    let apart = |Matrix { path, operands, second }| ((path, second), operands);
    let (paths, operands): (Vec<_>, Vec<_>) = found.into_iter().map(apart).unzip();
    let after: Vec<[Tensor<2>; 2]> = match grads {
        Grads::Tensors(_) => muon::step_all(settings, rate, operands),
        Grads::List(_) => {
            let each = operands.into_par_iter();
            each.map(|operands| muon::step(settings, rate, on_tiles, operands)).collect()
        }
    };
    let mut moved = BTreeMap::new();
    for ((path, second), [matrix, momentum]) in paths.into_iter().zip(after) {
        let moments = Moments { first: momentum.flatten(0, 1), second };
        state.moments.insert(path.clone(), moments);
        moved.insert(path, matrix);
    }
    moved
}

/// A matrix to be moved.
struct Matrix {
    path: String,
    operands: Operands,
    /// The second moment, which Muon does not use.
    second: Tensor<1>,
}

/// Finds the matrices that Muon moves.
struct Finder<'a> {
    state: &'a mut State,
    grads: &'a Grads,
    /// Numbers of the list that were visited.
    passed: usize,
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
        let (start, length) = (self.passed, shape.num_elements());
        self.passed += length;
        if !muon::moves(self.step.settings, &self.path, D) {
            return;
        }
        let size: [usize; 2] = shape.dims();
        let clip = self.step.clip;
        let grad = match self.grads {
            Grads::Tensors(grads) => {
                let Some(grad) = grads.get::<D>(param.id) else { return };
                grad.reshape(size) * clip
            }
            Grads::List(grads) => {
                let own = grads[start..start + length].iter();
                let grad = own.map(|grad| grad * clip).collect();
                Tensor::from_data(TensorData::new(grad, size), &device)
            }
        };
        let path = self.path.join(".");
        let old = self.state.moments.remove(&path);
        let Moments { first, second } = old.unwrap_or_else(|| Moments::zeros(length, &device));
        let operands = [tensor.reshape(size), first.reshape(size), grad];
        self.found.push(Matrix { path, operands, second });
    }
}
