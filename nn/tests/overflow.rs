//! A network of finite weights whose answers are not numbers.
#![cfg(feature = "net")]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use burn::tensor::Device;
use safetensors::SafeTensors;
use tesla_nn::device::DeviceChoice;
use tesla_nn::gpu::Storage;
use tesla_nn::model::ModelConfig;
use tesla_nn::transformer::{
    AnchorPolicy, TransformerEvaluator, TransformerSettings, WeightsSource,
};
use tesla_nn::weights;

/// As a run leaves it that diverged. It would play its first legal move without a word.
#[test]
fn a_network_that_overflows_is_refused() {
    refused(&["move_mix.weight", "move_out.weight", "value_hidden.weight", "value_out.weight"]);
}

/// Hidden layers behind it must not make zeros of what is not a number.
#[test]
fn a_block_that_overflows_is_refused() {
    refused(&["blocks.0.up.weight"]);
}

fn refused(names: &[&str]) {
    let config = ModelConfig::tiny();
    let mut bytes = weights::to_exact_bytes(&config.init(&Device::flex()), &config).unwrap();
    for name in names {
        let range = {
            let tensors = SafeTensors::deserialize(&bytes).unwrap();
            let data = tensors.tensor(name).unwrap().data();
            let first = data.as_ptr() as usize - bytes.as_ptr() as usize;
            first..first + data.len()
        };
        for weight in bytes[range].chunks_exact_mut(4) {
            weight.copy_from_slice(&3e38_f32.to_le_bytes());
        }
    }
    // A file of before the header told the tensors' hash.
    let word = b"payload";
    if let Some(at) = bytes.windows(word.len()).position(|window| window == word) {
        bytes[at..at + word.len()].copy_from_slice(b"paylaod");
    }
    let settings = TransformerSettings {
        device: DeviceChoice::Cpu,
        threads: 1,
        batch_size: 8,
        shared_by: None,
        cache_bytes: 1 << 20,
        gpu_cache_bytes: 0,
        storage: Storage::default(),
        anchors: AnchorPolicy::default(),
    };
    let fault = TransformerEvaluator::start(WeightsSource::Bytes(&bytes), settings).unwrap_err();
    assert!(fault.to_string().contains("answers are not numbers"), "{fault}");
}
