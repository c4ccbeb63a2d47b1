//! Averages of weights. The exponential moving one of a run: what a smaller learning rate would
//! have reached, without waiting for it. It is what is evaluated and exported; the run goes on from
//! the weights themselves. And the mean of several networks, as of a run's start and its end.

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::Tensor;
use tesla_nn::model::Model;

/// Averages of all weights, each tensor flat, in the order in which the network is visited.
#[derive(Clone, Debug)]
pub(super) struct Average(Vec<Tensor<1>>);

impl Average {
    /// Begins with the weights of `model`, which has no gradients.
    pub(super) fn of(model: &Model) -> Self {
        let mut weights = Weights(Vec::new());
        model.visit(&mut weights);
        Self(weights.0)
    }

    /// Takes the weights of `model` in, of which the average keeps `decay`. In the first steps of a
    /// run, `step` of them, it keeps less: fresh weights say nothing.
    pub(super) fn step(&mut self, model: &Model, decay: f32, step: u64) {
        let keep = decay.min((1 + step) as f32 / (10 + step) as f32);
        let fresh = Self::of(model).0;
        let old = std::mem::take(&mut self.0);
        let mixed = old.into_iter().zip(fresh).map(|(old, new)| old * keep + new * (1.0 - keep));
        self.0 = mixed.collect();
    }

    /// The averages as a network of the shape of `model`.
    pub(super) fn network(&self, model: Model) -> Model {
        model.map(&mut Replaced(self.0.iter()))
    }
}

/// The mean of the weights of these networks of one shape. Where one was trained from the other it
/// is often better than both (Wortsman and others 2022, "Model soups").
pub fn mean(first: &Model, others: &[Model]) -> Model {
    let mut sums = Average::of(first).0;
    for other in others {
        let weights = Average::of(other).0.into_iter();
        sums = sums.into_iter().zip(weights).map(|(sum, weight)| sum + weight).collect();
    }
    let count = (1 + others.len()) as f32;
    let means = sums.into_iter().map(|sum| sum / count).collect();
    Average(means).network(first.clone())
}

/// Collects all weights.
struct Weights(Vec<Tensor<1>>);

impl ModuleVisitor for Weights {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let value = param.val();
        let length = value.shape().num_elements();
        self.0.push(value.reshape([length]));
    }
}

/// Puts the next average in place of each weight.
struct Replaced<'a>(std::slice::Iter<'a, Tensor<1>>);

impl ModuleMapper for Replaced<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let (id, tensor, mapper) = param.consume();
        let shape = tensor.shape();
        let value = self.0.next().map_or(tensor, |average| average.clone().reshape(shape));
        Param::from_mapped_value(id, value, mapper)
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use tesla_nn::model::ModelConfig;

    use super::*;

    fn first(average: &Average) -> f32 {
        average.0[0].clone().narrow(0, 0, 1).into_scalar::<f32>()
    }

    #[test]
    fn it_moves_by_what_the_decay_leaves() {
        let device = Device::flex();
        let [a, b] = [1, 2].map(|seed| {
            device.seed(seed);
            ModelConfig::tiny().init(&device)
        });
        let (from, to) = (first(&Average::of(&a)), first(&Average::of(&b)));
        let mut average = Average::of(&a);
        average.step(&b, 0.75, 1_000_000);
        assert!((first(&average) - (0.75 * from + 0.25 * to)).abs() < 1e-6);
        let network = average.network(a.clone());
        assert!((first(&Average::of(&network)) - first(&average)).abs() < 1e-9);
        // The first step of a run keeps a tenth.
        let mut average = Average::of(&a);
        average.step(&b, 0.75, 0);
        assert!((first(&average) - (0.1 * from + 0.9 * to)).abs() < 1e-6);
    }
}
