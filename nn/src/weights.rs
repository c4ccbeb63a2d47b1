//! Weight files: safetensors with the network's shape in the header.
//!
//! The header's metadata holds one entry, `tesla`: a JSON object with `format` = [`FORMAT`],
//! `config`, the [`ModelConfig`], and `payload`, the SHA-256 of the tensors' bytes in the order of
//! their names (missing in files of before 2026-11-23). The tensors are named after the fields of
//! [`Model`] and hold f16 or f32. Shipped files are called `tesla-<shape>-<hash>.safetensors`,
//! where the hash is the first eight hexadecimal digits of the file's SHA-256.

mod describe;
mod graft;
mod source;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use burn::store::{FloatCastAdapter, ModuleSnapshot, SafetensorsStore};
use burn::tensor::{DType, Device};
use safetensors::SafeTensors;
use safetensors::tensor::TensorView;
use serde::{Deserialize, Serialize};

use crate::encode::{
    MOVE_SITUATIONS, OLDER_MOVE_SITUATIONS, OLDER_RULE_ROWS, PLACES, RULE_ROWS,
    THREE_CLASS_MOVE_SITUATIONS,
};
use crate::files::{self, FileError};
use crate::model::{Model, ModelConfig};

pub(crate) use self::source::{Linear, Source};
pub use describe::{Described, describe};
pub use graft::graft;

/// Version of the layout of the file and of what the network's inputs mean.
pub const FORMAT: &str = "tesla-1";

/// Name of our entry in the header's metadata. One entry only: several would be written in random
/// order, and the same weights must give the same file.
const ENTRY: &str = "tesla";

/// The rule table.
pub(crate) const RULES: &str = "rules";
/// Name of the table of moves' situations.
pub(crate) const SITUATIONS: &str = "move_situation";

/// Most bytes of a weights file: many times those of any network that fits a device.
const LARGEST: u64 = 1 << 32;

#[derive(Serialize, Deserialize)]
struct Header {
    format: String,
    config: ModelConfig,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    payload: Option<String>,
}

/// Why a weights file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum WeightsError {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// Not a safetensors file, or a damaged one.
    #[error(
        "the weights are not a readable safetensors file ({0}); get the file again, or name a \
         network of Tesla's: those of lc0 and Stockfish cannot be used"
    )]
    Damaged(String),
    /// A safetensors file, but not one of ours.
    #[error("the weights file is not a Tesla network ({0}); use one made by tesla-train")]
    Foreign(String),
    /// One of ours, but its tensors are not those of its shape in this version.
    #[error(
        "the weights do not fit the network of this version ({0}); train again, or start from them \
         with tesla-train train --start-from"
    )]
    Misfit(String),
    /// All weights are numbers, but what is computed from them is not.
    #[error(
        "the network's answers are not numbers; its training diverged or the file is damaged: use \
         another one"
    )]
    Overflow,
    /// The name promises another content.
    #[error(
        "the weights file's name promises hash {named}, its content has {actual}; get it again"
    )]
    HashMismatch {
        /// Hash in the name.
        named: String,
        /// Hash of the content.
        actual: String,
    },
}

/// A network as loaded.
#[derive(Debug)]
pub struct Loaded {
    /// The network.
    pub model: Model,
    /// Its shape.
    pub config: ModelConfig,
    /// First eight hexadecimal digits of the file's SHA-256.
    pub hash: String,
}

/// First eight hexadecimal digits of the SHA-256 of `bytes`.
pub fn short_hash(bytes: &[u8]) -> String {
    files::sha256(bytes)[..8].to_owned()
}

/// Reads a network from a file; a hash in the file's name must be the content's.
///
/// # Errors
/// When the file cannot be read, is damaged, is no Tesla network or does not match its name.
pub fn load_file(path: &Path, device: &Device) -> Result<Loaded, WeightsError> {
    load_bytes(&read_file(path)?, device)
}

/// Reads a weights file's bytes; a hash in the file's name must be theirs.
///
/// # Errors
/// When the file cannot be read or does not match its name.
pub fn read_file(path: &Path) -> Result<Vec<u8>, WeightsError> {
    let bytes = files::read_bounded(path, LARGEST)?;
    let actual = short_hash(&bytes);
    match named_hash(path) {
        Some(named) if named != actual => Err(WeightsError::HashMismatch { named, actual }),
        _ => Ok(bytes),
    }
}

/// The hash that a shipped file's name promises.
fn named_hash(path: &Path) -> Option<String> {
    let stem = path.file_stem()?.to_str()?;
    let hash = stem.strip_prefix("tesla-")?.rsplit('-').next()?;
    let is_hash = hash.len() == 8 && hash.bytes().all(|b| b.is_ascii_hexdigit());
    is_hash.then(|| hash.to_ascii_lowercase())
}

/// The tensors of a weights file and its network's shape, both checked.
///
/// # Errors
/// When the bytes are damaged or no Tesla network of this version.
pub(crate) fn open(bytes: &[u8]) -> Result<(SafeTensors<'_>, ModelConfig), WeightsError> {
    let damaged = |error: safetensors::SafeTensorError| WeightsError::Damaged(error.to_string());
    let tensors = SafeTensors::deserialize(bytes).map_err(damaged)?;
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(damaged)?;
    let metadata = header.metadata().clone().unwrap_or_default();
    let entry = metadata
        .get(ENTRY)
        .ok_or_else(|| WeightsError::Foreign(format!("no entry {ENTRY} in its header")))?;
    let Header { format, config, payload } = serde_json::from_str(entry)
        .map_err(|error| WeightsError::Foreign(format!("unreadable header: {error}")))?;
    if format != FORMAT {
        return Err(WeightsError::Foreign(format!("format {format}, wanted {FORMAT}")));
    }
    config.check().map_err(WeightsError::Foreign)?;
    if payload.is_some_and(|payload| payload != payload_of(tensors.tensors())) {
        return Err(WeightsError::Damaged("its tensors are not what its header says".to_owned()));
    }
    check_layers(&tensors, &config)?;
    check_size(&config, bytes.len())?;
    check_finite(&tensors)?;
    Ok((tensors, config))
}

/// Reads a network from the bytes of a weights file.
///
/// # Errors
/// When the bytes are damaged or no Tesla network.
pub fn load_bytes(bytes: &[u8], device: &Device) -> Result<Loaded, WeightsError> {
    let (tensors, config) = open(bytes)?;
    if is_older(&tensors) {
        let (model, taken, total) = graft(bytes, &config, device)?;
        if taken != total {
            let missing = format!("{} of its {total} tensors are missing", total - taken);
            return Err(WeightsError::Misfit(missing));
        }
        return Ok(Loaded { model, config, hash: short_hash(bytes) });
    }
    let mut model = config.init(device);
    let mut store = SafetensorsStore::from_bytes(Some(bytes.to_vec()))
        .with_from_adapter(FloatCastAdapter::to(DType::F32));
    model.load_from(&mut store).map_err(|error| WeightsError::Misfit(error.to_string()))?;
    Ok(Loaded { model, config, hash: short_hash(bytes) })
}

/// Whether a table has fewer rows than today's, whose rest [`graft`] fills.
fn is_older(tensors: &SafeTensors<'_>) -> bool {
    [RULES, SITUATIONS].iter().any(|name| older_rows(tensors, name).is_some())
}

/// The rows of the table `name` when it is one of an older version.
fn older_rows(tensors: &SafeTensors<'_>, name: &str) -> Option<usize> {
    let older: &[usize] = match name {
        RULES => &OLDER_RULE_ROWS,
        SITUATIONS => &OLDER_MOVE_SITUATIONS,
        _ => return None,
    };
    let table = tensors.tensor(name).ok()?;
    match *table.shape() {
        [rows, width] if width > 0 => Some(rows).filter(|rows| older.contains(rows)),
        _ => None,
    }
}

/// Rows of the table `name` today, of those tables that have grown.
fn todays_rows(name: &str) -> usize {
    if name == RULES { RULE_ROWS } else { MOVE_SITUATIONS }
}

/// The `table` called `name`, of an older version's `rows`, with the rows that it lacks: zeros for
/// rules that it does not tell of, the same row for moves that it does not tell apart.
fn grown(name: &str, table: &[f32], rows: usize) -> Vec<f32> {
    let (now, width) = (todays_rows(name), table.len() / rows);
    if name == RULES {
        let mut grown = table.to_vec();
        grown.resize(now * width, 0.0);
        return grown;
    }
    if rows == THREE_CLASS_MOVE_SITUATIONS {
        // The last of the three has become two.
        let threes = table.chunks_exact(3 * width);
        return threes.flat_map(|three| [three, &three[2 * width..]].concat()).collect();
    }
    table.chunks_exact(width).flat_map(|row| row.repeat(now / rows)).collect()
}

/// The SHA-256 of the tensors' bytes in the order of their names.
fn payload_of(mut tensors: Vec<(String, TensorView<'_>)>) -> String {
    tensors.sort_by(|a, b| a.0.cmp(&b.0));
    let parts: Vec<&[u8]> = tensors.iter().map(|(_, tensor)| tensor.data()).collect();
    files::sha256(&parts.concat())
}

/// A header with fewer layers than the file would play with a part of the network.
fn check_layers(tensors: &SafeTensors<'_>, config: &ModelConfig) -> Result<(), WeightsError> {
    let layers = graft::layers(tensors);
    if layers == config.layers {
        return Ok(());
    }
    let (told, layers) = (config.layers, layers);
    Err(WeightsError::Misfit(format!("its header says {told} layers, its tensors {layers}")))
}

/// A header of a large network over few bytes: what it says is allocated before its tensors are
/// read.
fn check_size(config: &ModelConfig, bytes: usize) -> Result<(), WeightsError> {
    let [width, layers, heads, feed_forward] =
        [config.width, config.layers, config.heads, config.feed_forward].map(|size| size as u64);
    // The matrices of each block, two bytes a weight at least. Sizes are at most 8,192 each.
    let biases = (PLACES * PLACES) as u64 * heads;
    let least = 2 * layers * (width * (4 * width + 2 * feed_forward) + biases);
    if least <= bytes as u64 {
        return Ok(());
    }
    Err(WeightsError::Misfit(format!(
        "its header says {layers} layers of width {width}, which take {least} bytes at least, and \
         it has {bytes}"
    )))
}

/// Weights that are not numbers poison every evaluation without a word, so refuse them here.
fn check_finite(tensors: &SafeTensors<'_>) -> Result<(), WeightsError> {
    for (name, tensor) in tensors.iter() {
        let finite = match tensor.dtype() {
            safetensors::Dtype::F32 => tensor
                .data()
                .chunks_exact(4)
                .all(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]).is_finite()),
            // Exponent all ones = infinity or not a number.
            safetensors::Dtype::F16 => tensor.data().chunks_exact(2).all(|b| b[1] & 0x7c != 0x7c),
            other => return Err(WeightsError::Foreign(format!("{name} holds {other:?}"))),
        };
        if !finite {
            return Err(WeightsError::Damaged(format!("{name} holds values that are not numbers")));
        }
    }
    Ok(())
}

/// The bytes of a weights file as shipped: f16 tensors, shape in the header.
///
/// # Errors
/// When the tensors cannot be serialised.
pub fn to_bytes(model: &Model, config: &ModelConfig) -> Result<Vec<u8>, WeightsError> {
    serialise(model, config, DType::F16)
}

/// The bytes of a weights file with f32 tensors, for checkpoints.
///
/// # Errors
/// When the tensors cannot be serialised.
pub fn to_exact_bytes(model: &Model, config: &ModelConfig) -> Result<Vec<u8>, WeightsError> {
    serialise(model, config, DType::F32)
}

fn serialise(model: &Model, config: &ModelConfig, dtype: DType) -> Result<Vec<u8>, WeightsError> {
    let damaged = |error: &dyn std::fmt::Display| WeightsError::Damaged(error.to_string());
    let mut store = SafetensorsStore::from_bytes(None).with_to_adapter(FloatCastAdapter::to(dtype));
    model.save_into(&mut store).map_err(|error| damaged(&error))?;
    let bytes = store.get_bytes().map_err(|error| damaged(&error))?;
    // Serialised again so that the header holds our entry only and the file depends on nothing
    // but the weights.
    let tensors = SafeTensors::deserialize(&bytes).map_err(|error| damaged(&error))?;
    assemble(tensors.tensors(), config)
}

/// The bytes of a weights file of these tensors, with its header.
fn assemble(
    mut tensors: Vec<(String, TensorView<'_>)>,
    config: &ModelConfig,
) -> Result<Vec<u8>, WeightsError> {
    tensors.sort_by(|a, b| a.0.cmp(&b.0));
    let payload = Some(payload_of(tensors.clone()));
    let header = Header { format: FORMAT.to_owned(), config: config.clone(), payload };
    let header =
        serde_json::to_string(&header).map_err(|error| WeightsError::Damaged(error.to_string()))?;
    let metadata = HashMap::from([(ENTRY.to_owned(), header)]);
    safetensors::serialize(tensors, Some(metadata))
        .map_err(|error| WeightsError::Damaged(error.to_string()))
}

/// Writes `tesla-<shape>-<hash>.safetensors` into `folder`, made if need be, and returns its path.
///
/// # Errors
/// When the file cannot be written.
pub fn save(model: &Model, config: &ModelConfig, folder: &Path) -> Result<PathBuf, WeightsError> {
    let bytes = to_bytes(model, config)?;
    let name = format!("tesla-{}-{}.safetensors", config.name, short_hash(&bytes));
    let path = folder.join(name);
    files::make_folder(folder)?;
    files::replace(&path, &bytes)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_move_keeps_the_row_of_before() {
        let before: [fn(usize) -> usize; OLDER_MOVE_SITUATIONS.len()] =
            [|row| row / 100, |row| row / 4, |row| row / 4 * 3 + (row % 4).min(2)];
        for (rows, before) in OLDER_MOVE_SITUATIONS.into_iter().zip(before) {
            let table: Vec<f32> = (0..rows * 2).map(|index| index as f32).collect();
            let grown = grown(SITUATIONS, &table, rows);
            assert_eq!(grown.len(), MOVE_SITUATIONS * 2);
            for (row, weights) in grown.chunks_exact(2).enumerate() {
                assert_eq!(weights, &table[before(row) * 2..][..2], "row {row} of {rows}");
            }
        }
    }
}
