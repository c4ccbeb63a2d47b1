//! Config files in TOML.

use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use tesla_nn::files::{FileError, read_text};

/// Largest config file, bytes.
const LARGEST: u64 = 1 << 24;

/// What is wrong with a config file.
#[derive(Debug, thiserror::Error)]
pub enum ConfigFileError {
    /// The file cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file is not a config.
    #[error("{path} cannot be understood: {source}")]
    Toml {
        /// The file.
        path: PathBuf,
        /// What the parser said, with the place.
        source: Box<toml::de::Error>,
    },
    /// What it says cannot be.
    #[error("{path}: {what}")]
    Value {
        /// The file.
        path: PathBuf,
        /// A sentence.
        what: String,
    },
}

/// Reads a config file.
///
/// # Errors
/// When it cannot be read, has a key that there is none of, or a value that it cannot have.
pub fn read<T: DeserializeOwned>(path: &Path) -> Result<T, ConfigFileError> {
    let text = read_text(path, LARGEST)?;
    toml::from_str(&text)
        .map_err(|source| ConfigFileError::Toml { path: path.to_owned(), source: Box::new(source) })
}
