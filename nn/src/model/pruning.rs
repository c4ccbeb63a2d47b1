//! Networks without some hidden units of their feed-forward parts.
//!
//! A unit whose input is below zero for every token gives zero and gets no gradient, so it never
//! comes back. A network without it answers the same, and is quicker on a CPU.

use burn::nn::Linear;
use burn::tensor::{Tensor, TensorData};

use super::{Block, Model};

impl Model {
    /// How strongly each hidden unit of the feed-forward parts acts: the sum of the squares of its
    /// output weights, `[layers][feed_forward]`.
    pub fn unit_strengths(&self) -> Vec<Vec<f32>> {
        let strengths = |block: &Block| {
            let squares = block.down.weight.val().powi_scalar(2).sum_dim(1); // [feed_forward, 1]
            squares.into_data().convert::<f32>().try_to_vec().unwrap_or_default()
        };
        self.blocks.iter().map(strengths).collect()
    }

    /// The network with all weights of each hidden unit of the feed-forward parts times a factor,
    /// `[layers][feed_forward]`. Units of factor zero are left out, and stay so when the network is
    /// trained on.
    ///
    /// # Panics
    /// When `factors` is of another shape.
    #[must_use]
    pub fn scale_units(mut self, factors: &[Vec<f32>]) -> Self {
        assert_eq!(self.blocks.len(), factors.len(), "layers");
        let blocks = self.blocks.into_iter().zip(factors);
        self.blocks = blocks.map(|(block, factors)| block.scale_units(factors)).collect();
        self
    }
}

impl Block {
    fn scale_units(mut self, factors: &[f32]) -> Self {
        let device = self.up.weight.val().device();
        let data = TensorData::new(factors.to_vec(), [factors.len()]);
        let factors: Tensor<1> = Tensor::from_data(data, &device);
        let Linear { weight, bias, .. } = &mut self.up;
        *weight = weight.clone().map(|up| up * factors.clone().unsqueeze_dim(0)); // [d, f]
        *bias = bias.clone().map(|bias| bias.map(|bias| bias * factors.clone()));
        let down = self.down.weight.clone();
        self.down.weight = down.map(|down| down * factors.clone().unsqueeze_dim(1)); // [f, d]
        self
    }
}
