//! What a weights file tells of its network, without loading it.

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
    let (mut parameters, mut types) = (0, Vec::new());
    for (_, tensor) in tensors.iter() {
        parameters += tensor.shape().iter().product::<usize>();
        types.push(format!("{:?}", tensor.dtype()));
    }
    types.sort();
    types.dedup();
    let (hash, tensors) = (files::sha256(bytes), tensors.len());
    Ok(Described { config, hash, parameters, tensors, types })
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::super::to_bytes;
    use super::*;

    #[test]
    fn a_network_is_described_as_it_was_written() {
        let config = ModelConfig::tiny();
        let bytes = to_bytes(&config.init(&Device::flex()), &config).unwrap();
        let described = describe(&bytes).unwrap();
        assert_eq!((described.config.name, described.types), (config.name, vec!["F16".to_owned()]));
        let file_bytes = 2 * described.parameters;
        assert!((file_bytes..file_bytes + (1 << 14)).contains(&bytes.len()));
        assert_eq!((described.hash.len(), described.tensors > 10), (64, true));
        assert!(describe(&bytes[..100]).is_err());
    }
}
