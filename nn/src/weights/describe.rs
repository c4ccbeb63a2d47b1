//! What a weights file tells of its network, without loading it.

use super::source::floats;
use super::{WeightsError, files, open};
use crate::model::ModelConfig;

/// A network, described.
#[derive(Clone, Debug)]
pub struct Described {
    /// Its shape.
    pub config: ModelConfig,
    /// SHA-256 of the file, 64 hexadecimal digits.
    pub hash: String,
    /// Numbers in all tensors.
    pub parameters: usize,
    /// Those of them that are not zero.
    pub nonzero: usize,
    /// Tensors.
    pub tensors: usize,
    /// What the numbers are stored as, such as F16; each once, in alphabetical order.
    pub types: Vec<String>,
}

/// Checks a weights file as loading does, and says what is in it.
///
/// # Errors
/// When the bytes are damaged or no Tesla network of this version.
pub fn describe(bytes: &[u8]) -> Result<Described, WeightsError> {
    let (tensors, config) = open(bytes)?;
    let (mut parameters, mut nonzero, mut types) = (0, 0, Vec::new());
    for (name, tensor) in tensors.iter() {
        let weights = floats(name, &tensor)?;
        parameters += weights.len();
        nonzero += weights.iter().filter(|weight| **weight != 0.0).count();
        types.push(format!("{:?}", tensor.dtype()));
    }
    types.sort();
    types.dedup();
    let (hash, tensors) = (files::sha256(bytes), tensors.len());
    Ok(Described { config, hash, parameters, nonzero, tensors, types })
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::super::to_bytes;
    use super::*;

    #[test]
    fn a_network_is_described_as_it_was_written() {
        let config = ModelConfig::tiny();
        let device = Device::flex();
        device.seed(1);
        let model = config.init(&device);
        let bytes = to_bytes(&model, &config).unwrap();
        let described = describe(&bytes).unwrap();
        assert_eq!(
            (&described.config.name, &described.types),
            (&config.name, &vec!["F16".to_owned()])
        );
        let file_bytes = 2 * described.parameters;
        assert!((file_bytes..file_bytes + (1 << 14)).contains(&bytes.len()));
        // Without a hidden unit in each layer: its inputs, its bias and its outputs.
        let mut factors = vec![vec![1.0; config.feed_forward]; config.layers];
        for layer in &mut factors {
            layer[3] = 0.0;
        }
        let pruned = describe(&to_bytes(&model.scale_units(&factors), &config).unwrap()).unwrap();
        assert_eq!(pruned.parameters, described.parameters);
        assert_eq!(described.nonzero - pruned.nonzero, config.layers * (2 * config.width + 1));
        assert_eq!((described.hash.len(), described.tensors > 10), (64, true));
        assert!(describe(&bytes[..100]).is_err());
    }
}
