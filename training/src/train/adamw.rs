//! `AdamW` with global-norm clipping, and a state that can be saved on any device.
//!
//! burn's own optimizer clips each tensor by itself and restores its state on burn's default
//! device, which may be a GPU that this machine does not have; hence this small one. Decoupled
//! weight decay after Loshchilov and Hutter 2019; matrices only, tables of embeddings and scales
//! are left alone.

mod matrices;
mod saved;

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor, TensorData};
use tesla_nn::model::{Model, Precision};

use super::muon;
use super::optimizer::{NEGLIGIBLE, Optimizer};
use matrices::{Step, move_matrices};

pub use saved::StateError;

#[derive(Clone, Debug)]
struct Moments {
    first: Tensor<1>,
    second: Tensor<1>,
}

impl Moments {
    fn zeros(length: usize, device: &Device) -> Self {
        Self { first: Tensor::zeros([length], device), second: Tensor::zeros([length], device) }
    }
}

/// Moments of every parameter, by its path in the model.
#[derive(Clone, Debug, Default)]
pub struct State {
    /// Steps taken.
    pub steps: u64,
    moments: BTreeMap<String, Moments>,
}

/// Gradients of all parameters.
pub enum Grads {
    /// By the parameters' identities, on the parameters' device.
    Tensors(GradientsParams),
    /// End to end, in the order in which the network is visited.
    List(Vec<f32>),
}

/// What a step goes against.
pub struct Gradient {
    grads: Grads,
    /// Global norm before clipping, of the loss itself.
    pub norm: f32,
    /// What the loss was multiplied by.
    scale: f32,
    /// Whether the step's products may be in bf16 on a processor's tiles.
    on_tiles: bool,
}

impl Gradient {
    /// The same, for a step in this precision.
    #[must_use]
    pub fn in_precision(self, precision: Precision) -> Self {
        Self { on_tiles: precision == Precision::Bf16, ..self }
    }
}

impl std::fmt::Debug for Grads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Grads").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Gradient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gradient").field("norm", &self.norm).finish_non_exhaustive()
    }
}

impl State {
    /// The gradient of `model`'s loss times `scale`, with its norm.
    pub fn measured(model: &Model, grads: Grads, scale: f32) -> Gradient {
        let norm = match &grads {
            Grads::Tensors(grads) => {
                let mut flat = Flat { grads, all: Vec::new() };
                model.visit(&mut flat);
                if flat.all.is_empty() {
                    0.0
                } else {
                    Tensor::cat(flat.all, 0).powi_scalar(2).sum().sqrt().into_scalar::<f32>()
                }
            }
            Grads::List(grads) => sum_of_squares(grads).sqrt() as f32,
        };
        Gradient { grads, norm: norm / scale, scale, on_tiles: false }
    }

    /// One step: `model` moves against `gradient` at the learning rate `rate`.
    pub fn step(
        &mut self,
        settings: &Optimizer,
        rate: f32,
        model: Model,
        gradient: Gradient,
    ) -> Model {
        self.steps += 1;
        let Gradient { grads, norm, scale, on_tiles } = gradient;
        let clip = if norm > settings.clip_norm { settings.clip_norm / norm } else { 1.0 };
        let clip = clip / scale;
        let path = Vec::new();
        let step = Step { settings, rate, clip, on_tiles };
        let moved = move_matrices(self, &model, &grads, step);
        match grads {
            Grads::Tensors(grads) => {
                model.map(&mut Mover { state: self, grads, settings, rate, clip, path, moved })
            }
            Grads::List(grads) => {
                let rest = grads.as_slice();
                model.map(&mut ListMover { state: self, rest, settings, rate, clip, path, moved })
            }
        }
    }
}

/// Lists the gradients: one sum over all of them takes fewer launches than a sum for each.
struct Flat<'a> {
    grads: &'a GradientsParams,
    all: Vec<Tensor<1>>,
}

impl burn::module::ModuleVisitor for Flat<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if let Some(grad) = self.grads.get::<D>(param.id) {
            let length = grad.shape().num_elements();
            self.all.push(grad.reshape([length]));
        }
    }
}

struct Mover<'a> {
    state: &'a mut State,
    grads: GradientsParams,
    settings: &'a Optimizer,
    rate: f32,
    /// Clips, and takes the loss's scale away again.
    clip: f32,
    path: Vec<String>,
    /// Muon's matrices after the step.
    moved: BTreeMap<String, Tensor<2>>,
}

/// Whether weight decay pulls at the parameter of this path. Tables are looked up by row: decay
/// would pull rows that the batch does not touch.
fn decays(path: &[String]) -> bool {
    path.last().is_some_and(|name| name == "weight")
}

impl ModuleMapper for Mover<'_> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let (id, tensor, mapper) = param.consume();
        let Some(grad) = self.grads.remove::<D>(id) else {
            return Param::from_mapped_value(id, tensor, mapper);
        };
        let shape = tensor.shape();
        let path = self.path.join(".");
        if let Some(moved) = self.moved.remove(&path) {
            let moved = Tensor::from_inner(moved.reshape(shape)).require_grad();
            return Param::from_mapped_value(id, moved, mapper);
        }
        let Optimizer { beta_1, beta_2, epsilon, weight_decay, .. } = *self.settings;
        let length = shape.num_elements();
        // Views first: what comes after them is fused into few kernels.
        let (value, grad) = (tensor.inner().reshape([length]), grad.reshape([length]));
        let grad = grad * self.clip;
        let old = self.state.moments.remove(&path);
        let old = old.unwrap_or_else(|| Moments::zeros(length, &grad.device()));
        let first = old.first * beta_1 + grad.clone() * (1.0 - beta_1);
        let first = muon::without_negligible(first);
        let second = old.second * beta_2 + grad.clone() * grad * (1.0 - beta_2);
        let second = muon::without_negligible(second);
        let steps = self.state.steps as i32;
        let first_unbiased = first.clone() / (1.0 - beta_1.powi(steps));
        let second_unbiased = second.clone() / (1.0 - beta_2.powi(steps));
        let step = first_unbiased / (second_unbiased.sqrt() + epsilon);
        let keep = if decays(&self.path) { 1.0 - self.rate * weight_decay } else { 1.0 };
        let value = value * keep - step * self.rate;
        self.state.moments.insert(path, Moments { first, second });
        let moved = Tensor::from_inner(value.reshape(shape)).require_grad();
        Param::from_mapped_value(id, moved, mapper)
    }
}

/// [`Mover`] for gradients in a list, on the CPU: one pass over the numbers, in their own memory.
struct ListMover<'a> {
    state: &'a mut State,
    rest: &'a [f32],
    settings: &'a Optimizer,
    rate: f32,
    clip: f32,
    path: Vec<String>,
    /// Muon's matrices after the step.
    moved: BTreeMap<String, Tensor<2>>,
}

impl ListMover<'_> {
    /// Moves `values` and their moments.
    fn step(&self, grads: &[f32], values: &mut [f32], [first, second]: [&mut [f32]; 2]) {
        let Optimizer { beta_1, beta_2, epsilon, weight_decay, .. } = *self.settings;
        let steps = self.state.steps as i32;
        let [unbias_1, unbias_2] = [beta_1, beta_2].map(|beta| 1.0 / (1.0 - beta.powi(steps)));
        let keep = if decays(&self.path) { 1.0 - self.rate * weight_decay } else { 1.0 };
        let moments = first.iter_mut().zip(second);
        for ((value, grad), (first, second)) in values.iter_mut().zip(grads).zip(moments) {
            let grad = grad * self.clip;
            *first = or_zero(*first * beta_1 + grad * (1.0 - beta_1));
            *second = or_zero(*second * beta_2 + grad * grad * (1.0 - beta_2));
            let step = *first * unbias_1 / ((*second * unbias_2).sqrt() + epsilon);
            *value = *value * keep - step * self.rate;
        }
    }
}

/// By lanes: a sum of one number after another waits for each addition.
fn sum_of_squares(list: &[f32]) -> f64 {
    let mut lanes = [0.0; 8];
    let (whole, rest) = list.as_chunks::<8>();
    for numbers in whole {
        for (lane, &x) in lanes.iter_mut().zip(numbers) {
            *lane += f64::from(x) * f64::from(x);
        }
    }
    lanes.iter().sum::<f64>() + rest.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>()
}

/// `moment`, or zero where it is [`NEGLIGIBLE`].
fn or_zero(moment: f32) -> f32 {
    if moment.abs() < NEGLIGIBLE { 0.0 } else { moment }
}

/// A tensor's numbers, and the memory that they are in, where nobody else has it.
fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_into_vec().unwrap_or_default()
}

impl ModuleMapper for ListMover<'_> {
    fn enter_module(&mut self, name: &str, _container_type: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container_type: &str) {
        self.path.pop();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let (id, tensor, mapper) = param.consume();
        let tensor = tensor.inner();
        let (shape, device) = (tensor.shape(), tensor.device());
        let (grads, rest) = self.rest.split_at(shape.num_elements().min(self.rest.len()));
        self.rest = rest;
        let path = self.path.join(".");
        if let Some(moved) = self.moved.remove(&path) {
            let moved = Tensor::from_inner(moved.reshape(shape)).require_grad();
            return Param::from_mapped_value(id, moved, mapper);
        }
        let mut values = numbers(tensor);
        let (mut first, mut second) = match self.state.moments.remove(&path) {
            Some(Moments { first, second }) => (numbers(first), numbers(second)),
            None => (vec![0.0; grads.len()], vec![0.0; grads.len()]),
        };
        self.step(grads, &mut values, [&mut first, &mut second]);
        let [first, second] = [first, second].map(|list| {
            let length = list.len();
            Tensor::from_data(TensorData::new(list, [length]), &device)
        });
        self.state.moments.insert(path, Moments { first, second });
        let moved = Tensor::from_data(TensorData::new(values, shape), &device);
        Param::from_mapped_value(id, Tensor::from_inner(moved).require_grad(), mapper)
    }
}

#[cfg(test)]
mod tests {
    use tesla_nn::model::ModelConfig;

    use super::*;

    #[test]
    fn moments_that_nothing_moves_end_at_zero() {
        let mut model = ModelConfig::tiny().init(&Device::flex());
        let length = model.parameters().1;
        let settings = Optimizer { muon: 1.0, ..Optimizer::default() };
        let mut state = State::default();
        // One gradient, then none; the momentum of .95 would be subnormal after 1,700 steps.
        for step in 0..2_000 {
            let grad = if step == 0 { 1e-4 } else { 0.0 };
            let gradient = State::measured(&model, Grads::List(vec![grad; length]), 1.0);
            model = state.step(&settings, 1e-3, model, gradient);
        }
        for (path, moments) in state.moments {
            for list in [moments.first, moments.second].map(numbers) {
                assert!(list.iter().all(|&moment| moment == 0.0), "{path}");
            }
        }
    }
}
