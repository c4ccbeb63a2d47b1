//! Networks without some of their hidden units.
#![cfg(feature = "net")]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[path = "common/canaries.rs"]
mod common;

use burn::tensor::Device;
use tesla_nn::canary;
use tesla_nn::cpu::{Arithmetic, Engine, Options};
use tesla_nn::evaluator::Evaluation;
use tesla_nn::model::{Model, ModelConfig};
use tesla_nn::weights;

use common::{canaries, host};

fn network(config: &ModelConfig) -> Model {
    let device = Device::flex();
    device.seed(11);
    config.init(&device)
}

/// What a CPU says of the canary positions.
fn on_cpu(model: &Model, config: &ModelConfig, arithmetic: Arithmetic) -> Vec<Evaluation> {
    let bytes = weights::to_exact_bytes(model, config).unwrap();
    let options = Options { arithmetic, ..Options::default() };
    Engine::load(&bytes, options).unwrap().evaluate(&canary::requests())
}

/// The kernels leave out what is zero: all but some units of one layer, all of another.
#[test]
fn a_cpu_says_of_a_pruned_network_what_the_model_says() {
    let config = ModelConfig { layers: 3, feed_forward: 100, ..ModelConfig::tiny() };
    let units = |factor: fn(usize) -> f32| (0..100).map(factor).collect::<Vec<_>>();
    let factors = [units(|unit| (unit % 3) as f32), units(|_| 0.0), units(|_| 1.0)];
    let whole = network(&config);
    let pruned = whole.clone().scale_units(&factors);
    let said = pruned.forward(&canaries(), &Device::flex());
    let errors = host(said.log_error.exp());
    for arithmetic in [Arithmetic::Floats, Arithmetic::Fastest] {
        let answers = on_cpu(&pruned, &config, arithmetic);
        for (answer, error) in answers.iter().zip(&errors) {
            assert!((answer.error - error).abs() < 1e-3, "{} {error}", answer.error);
        }
        let unpruned = on_cpu(&whole, &config, arithmetic);
        assert!(canary::difference(&unpruned, &answers) > 1e-3, "the units did something");
    }
}
