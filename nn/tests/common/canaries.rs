//! The canary positions as the model takes them.

use burn::tensor::Tensor;
use tesla_nn::batch::Batch;
use tesla_nn::canary;
use tesla_nn::encode::Window;

pub(crate) fn host(tensor: Tensor<1>) -> Vec<f32> {
    tensor.into_data().try_to_vec().unwrap()
}

/// The canary positions, packed.
pub(crate) fn canaries() -> Batch {
    let windows: Vec<_> = canary::requests()
        .iter()
        .map(|request| Window::new(&request.position, request.repetitions, &request.moves))
        .collect();
    Batch::pack(&windows)
}
