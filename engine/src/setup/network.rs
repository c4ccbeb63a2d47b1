//! The network inside the program, and how a user's choice of device and file becomes an evaluator.

use std::panic::catch_unwind;
use std::path::Path;

use tesla_nn::device::{DeviceChoice, choose};
use tesla_nn::evaluator::Evaluator;
use tesla_nn::gpu::Storage;
use tesla_nn::known_wins::KnownWins;
use tesla_nn::transformer::{
    AnchorPolicy, TransformerEvaluator, TransformerSettings, WeightsSource,
};
use tesla_nn::weights::{self, Described};

use crate::setup::machine::Machine;

/// The shipped network, whose row in `models/README.md` says what made it, or the one that
/// `EVALFILE` named when the program was built.
const EMBEDDED: &[u8] = include_bytes!(env!("TESLA_NETWORK"));

/// The embedded network's name, which is its file's, and its hash.
pub fn embedded() -> (&'static str, String) {
    (env!("TESLA_NETWORK_NAME"), weights::short_hash(EMBEDDED))
}

/// The embedded network's file.
pub fn bytes() -> &'static [u8] {
    EMBEDDED
}

/// What a weights file holds, or the network inside the program.
///
/// # Errors
/// A sentence, when the file cannot be read or is no network of this version.
pub fn describe(file: Option<&Path>) -> Result<Described, String> {
    let described = match file {
        None => weights::describe(EMBEDDED),
        Some(path) => weights::read_file(path).and_then(|bytes| weights::describe(&bytes)),
    };
    described.map_err(|error| error.to_string())
}

/// The GPU on which the network would run if nothing else is asked for; `None` = the CPU. Nothing
/// is computed on it, so it may still turn out not to agree with the CPU.
pub fn device() -> Option<String> {
    // A driver's fault may come as a panic from below.
    let chosen = catch_unwind(|| choose(DeviceChoice::Auto));
    let chosen = chosen.ok().and_then(Result::ok)?;
    chosen.is_gpu().then_some(chosen.name)
}

/// Whether the device of this name is a GPU where there is one.
pub fn may_use_gpu(device: &str) -> bool {
    matches!(device.parse(), Ok(DeviceChoice::Auto | DeviceChoice::Gpu | DeviceChoice::Which(_)))
}

/// When a kept position becomes an anchor.
pub fn anchors(machine: &Machine) -> AnchorPolicy {
    AnchorPolicy {
        work: machine.params.anchor_work as u32,
        staleness: machine.params.anchor_staleness as usize,
    }
}

/// Starts the network on its device. The second part is sentences for the user. Where many searches
/// share it (`shared_by`, at most so many), no answer depends on who else asks.
///
/// # Errors
/// A sentence, when the device or the weights cannot be used.
pub fn start(
    machine: &Machine,
    shared_by: Option<usize>,
) -> Result<(Box<dyn Evaluator>, Vec<String>), String> {
    let source = match &machine.weights_file {
        None => WeightsSource::Bytes(EMBEDDED),
        Some(path) => WeightsSource::File(Path::new(path)),
    };
    let device = machine.device.parse().map_err(|error| format!("{error}"))?;
    let settings = TransformerSettings {
        device,
        threads: machine.threads,
        batch_size: machine.batch_size.unwrap_or(0),
        shared_by,
        cache_bytes: machine.kv_cache_mb << 20,
        gpu_cache_bytes: machine.gpu_kv_cache_mb << 20,
        storage: Storage::named(machine.gpu_storage).unwrap_or_default(),
        anchors: anchors(machine),
    };
    let mut evaluator =
        TransformerEvaluator::start(source, settings).map_err(|error| error.to_string())?;
    let notes = std::mem::take(&mut evaluator.notes);
    Ok((Box::new(KnownWins::over(Box::new(evaluator))), notes))
}
