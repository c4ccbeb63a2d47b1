//! A run on disk: its config and its last checkpoint, of which a kill at any moment leaves one
//! whole.

use std::fs::{self, File, TryLockError};
use std::path::Path;

use burn::tensor::Device;
use tesla_engine::console::lock;
use tesla_nn::files::{self, FileError, LARGEST, sha256};
use tesla_nn::model::{Model, ModelConfig};
use tesla_nn::weights::{self, Loaded, WeightsError};

use super::average::Average;
use super::progress::Progress;
use super::{TrainError, access, replace};
use crate::disk::owner::{CONFIG, Owner, Stranger};
use crate::train::adamw::State;
use crate::train::config::TrainConfig;

/// Folders of a run that hold a checkpoint; the second one only between the renames of a save.
const FOLDERS: [&str; 2] = ["checkpoint", "checkpoint.old"];
/// Where the next checkpoint is made.
const UNFINISHED: &str = "checkpoint.new";

const WEIGHTS: &str = "weights.safetensors";
/// The average of the weights, where the run keeps one.
const AVERAGE: &str = "average.safetensors";
const OPTIMIZER: &str = "optimizer.safetensors";
const PROGRESS: &str = "progress.json";
/// Locked by the process that trains here.
const LOCK: &str = "lock";
/// Hashes of the files of a checkpoint, as `sha256sum --check` reads them. A flipped bit in a
/// weight would be a number like any other.
const HASHES: &str = "SHA256SUMS";

/// All that a run needs to go on.
pub(super) struct Checkpoint {
    pub(super) model: Model,
    pub(super) shape: ModelConfig,
    pub(super) optimizer: State,
    pub(super) average: Option<Average>,
    pub(super) progress: Progress,
}

/// Whether `folder` holds a checkpoint.
fn is_there(folder: &Path) -> bool {
    FOLDERS.iter().any(|name| folder.join(name).is_dir())
}

/// Takes the folder of a run, so that no other process writes there while the lock is held.
pub(super) fn take(folder: &Path) -> Result<File, TrainError> {
    files::make_folder(folder)?;
    let path = folder.join(LOCK);
    let lock = files::append(&path)?;
    match lock::take(&lock) {
        Ok(()) => Ok(lock),
        Err(TryLockError::WouldBlock) => Err(TrainError::Locked(folder.to_owned())),
        Err(TryLockError::Error(error)) => Err(FileError::at("lock", &path)(error).into()),
    }
}

/// The config of the run that `folder` holds, if it holds one.
pub(super) fn stored_config(folder: &Path) -> Result<Option<TrainConfig>, TrainError> {
    let path = folder.join(CONFIG);
    if !path.is_file() {
        return Ok(None);
    }
    let bytes = files::read_bounded(&path, LARGEST)?;
    match (Owner::of(&bytes), is_there(folder)) {
        // Of a run that was killed before its first checkpoint.
        (Some(Owner::Train), false) => return Ok(None),
        (Some(Owner::Train) | None, true) => {}
        (owner, _) => return Err(Stranger::new(&path, owner).into()),
    }
    let config: TrainConfig = serde_json::from_slice(&bytes)
        .map_err(|error| TrainError::Checkpoint(path.clone(), error.to_string()))?;
    config.check().map_err(|what| TrainError::Checkpoint(path, what))?;
    Ok(Some(config))
}

/// Writes the config of the run in `folder`.
pub(super) fn store_config(folder: &Path, config: &TrainConfig) -> Result<(), TrainError> {
    let path = folder.join(CONFIG);
    let text = serde_json::to_vec_pretty(config)
        .map_err(|error| TrainError::Checkpoint(path.clone(), error.to_string()))?;
    replace(&path, &text)
}

/// Reads the checkpoint that `folder` holds, if it holds one: the network with gradients on
/// `device`, the moments without.
pub(super) fn read(folder: &Path, device: &Device) -> Result<Option<Checkpoint>, TrainError> {
    let [current, old] = FOLDERS.map(|name| folder.join(name));
    if !current.is_dir() {
        if !old.is_dir() {
            return Ok(None);
        }
        // Killed between the two renames of `write`.
        access(&old, fs::rename(&old, &current))?;
    }
    let damaged = |what: String| TrainError::Checkpoint(current.clone(), what);
    let hashes = match files::read_bounded(&current.join(HASHES), LARGEST) {
        Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
        // Of a version that wrote none.
        Err(error) if error.is_missing() => None,
        Err(error) => return Err(error.into()),
    };
    let file = |name: &str| {
        let path = current.join(name);
        let bytes = files::read_bounded(&path, LARGEST)?;
        let line = hash_line(name, &bytes);
        match &hashes {
            // A line without its end may lack more.
            Some(hashes) if !hashes.split_inclusive('\n').any(|known| known == line) => {
                Err(damaged(format!("{name} is not what {HASHES} says")))
            }
            _ => Ok(bytes),
        }
    };
    let progress: Progress =
        serde_json::from_slice(&file(PROGRESS)?).map_err(|error| damaged(error.to_string()))?;
    let network = |name: &str, device: &Device| {
        weights::load_bytes(&file(name)?, device).map_err(|error| match error {
            // Whole, but of another version; its own sentence says what to do.
            WeightsError::Misfit(_) => TrainError::Weights(error),
            error => damaged(error.to_string()),
        })
    };
    let loaded = network(WEIGHTS, &device.clone().autodiff())?;
    let average = if current.join(AVERAGE).is_file() {
        Some(Average::of(&network(AVERAGE, device)?.model))
    } else {
        None
    };
    let optimizer =
        State::from_bytes(&file(OPTIMIZER)?, device).map_err(|error| damaged(error.to_string()))?;
    optimizer.check(&loaded.model).map_err(|error| damaged(error.to_string()))?;
    let Loaded { model, config: shape, .. } = loaded;
    Ok(Some(Checkpoint { model, shape, optimizer, average, progress }))
}

/// Writes a checkpoint into `folder` in place of the one that is there, after it has been read
/// back: weights that are not numbers replace none that are.
pub(super) fn write(folder: &Path, checkpoint: &Checkpoint) -> Result<(), TrainError> {
    let Checkpoint { model, shape, optimizer, average, progress } = checkpoint;
    let fresh = folder.join(UNFINISHED);
    let [current, old] = FOLDERS.map(|name| folder.join(name));
    let damaged = |what: String| TrainError::Checkpoint(fresh.clone(), what);
    let network = weights::to_exact_bytes(model, shape)?;
    let average = average.as_ref().map(|average| average.network(model.clone()));
    let average = average.map(|average| weights::to_exact_bytes(&average, shape)).transpose()?;
    let moments = optimizer.to_bytes().map_err(|error| damaged(error.to_string()))?;
    let is_sound = weights::load_bytes(&network, &Device::flex()).is_ok()
        && State::from_bytes(&moments, &Device::flex()).is_ok();
    if !is_sound {
        return Err(TrainError::Diverged(progress.step));
    }
    let progress = serde_json::to_vec(progress).map_err(|error| damaged(error.to_string()))?;
    remove(&fresh)?;
    files::make_folder(&fresh)?;
    let mut files = vec![(WEIGHTS, network), (OPTIMIZER, moments), (PROGRESS, progress)];
    files.extend(average.map(|average| (AVERAGE, average)));
    let hashes = files.iter().map(|(name, bytes)| hash_line(name, bytes)).collect::<String>();
    for (name, bytes) in files.into_iter().chain([(HASHES, hashes.into_bytes())]) {
        files::replace(&fresh.join(name), &bytes)?;
    }
    if current.is_dir() {
        remove(&old)?;
        access(&current, fs::rename(&current, &old))?;
    }
    access(&fresh, fs::rename(&fresh, &current))?;
    remove(&old)
}

/// A file's line, with its end.
fn hash_line(name: &str, bytes: &[u8]) -> String {
    format!("{}  {name}\n", sha256(bytes))
}

fn remove(folder: &Path) -> Result<(), TrainError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => access(folder, Err(error)),
        _ => Ok(()),
    }
}
