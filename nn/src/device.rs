//! Which device the network runs on, chosen from what is really there.

#[cfg(feature = "wgpu")]
mod gpu;
mod part;
#[cfg(all(feature = "wgpu", target_os = "linux"))]
mod quiet;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

pub use self::part::Part;
use crate::gpu::Adapter;

/// What the user asks for (UCI option `Device`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum DeviceChoice {
    /// A GPU where a real one is found, else the CPU.
    #[default]
    Auto,
    /// The CPU, by kernels of our own ([`cpu`](crate::cpu)).
    Cpu,
    /// A real GPU (through wgpu: Vulkan, Metal, DX12).
    Gpu,
    /// This one of several: `gpu:1` is the second of the list that `tesla doctor` shows, `gpu:4070`
    /// the first with these letters in its name.
    Which(Part),
    /// wgpu on whatever adapter there is, software rasterisers included: slow, for tests.
    Software,
}

impl FromStr for DeviceChoice {
    type Err = DeviceError;

    fn from_str(name: &str) -> Result<Self, DeviceError> {
        let unknown = || DeviceError::Unknown(name.to_owned());
        let lower = name.to_ascii_lowercase();
        if let Some(part) = lower.strip_prefix("gpu:") {
            return Part::of(part).map(Self::Which).ok_or_else(unknown);
        }
        match lower.as_str() {
            "auto" | "" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "gpu" | "wgpu" => Ok(Self::Gpu),
            "software" => Ok(Self::Software),
            _ => Err(unknown()),
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Cpu => f.write_str("cpu"),
            Self::Gpu => f.write_str("gpu"),
            Self::Which(part) => write!(f, "gpu:{part}"),
            Self::Software => f.write_str("software"),
        }
    }
}

impl TryFrom<String> for DeviceChoice {
    type Error = DeviceError;

    fn try_from(name: String) -> Result<Self, DeviceError> {
        name.parse()
    }
}

impl From<DeviceChoice> for String {
    fn from(choice: DeviceChoice) -> Self {
        choice.to_string()
    }
}

/// Why there is no such device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// Not one of ours.
    #[error(
        "there is no device called {0}; use auto, cpu, gpu, gpu: with a number or a part of its \
         name, or software"
    )]
    Unknown(String),
    /// Nothing to run on.
    #[error("no {0} was found ({1}); choose auto or cpu")]
    Absent(DeviceChoice, String),
}

/// A device in use.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The GPU; none on the CPU.
    pub adapter: Option<Adapter>,
    /// For people: `CPU`, or the adapter's name.
    pub name: String,
    /// Whether its memory is the machine's own: an integrated GPU's, a software rasteriser's.
    pub shares_memory: bool,
    /// Why it is not what one might have hoped for, in one sentence.
    pub note: Option<String>,
}

impl Chosen {
    /// Whether it is a GPU (or pretends to be one).
    pub fn is_gpu(&self) -> bool {
        self.adapter.is_some()
    }

    /// Where burn's tensors are.
    #[cfg(any(feature = "burn-wgpu", not(feature = "wgpu")))]
    pub fn tensors(&self) -> burn::tensor::Device {
        #[cfg(feature = "burn-wgpu")]
        if let Some(adapter) = &self.adapter {
            return adapter.of_tensors();
        }
        burn::tensor::Device::flex()
    }
}

fn cpu(note: Option<String>) -> Chosen {
    Chosen { adapter: None, name: "CPU".to_owned(), shares_memory: true, note }
}

/// Finds the device. `Auto` never fails: without a real GPU it is the CPU, and the note says so.
///
/// # Errors
/// When a GPU was asked for by name and there is none.
pub fn choose(choice: DeviceChoice) -> Result<Chosen, DeviceError> {
    match choice {
        DeviceChoice::Cpu => Ok(cpu(None)),
        DeviceChoice::Auto => Ok(gpu::real().unwrap_or_else(|why| {
            cpu(Some(format!("no GPU ({why}), so the network runs on the CPU")))
        })),
        DeviceChoice::Gpu => gpu::real().map_err(|why| DeviceError::Absent(choice, why)),
        DeviceChoice::Which(part) => {
            gpu::which(part).map_err(|why| DeviceError::Absent(choice, why))
        }
        DeviceChoice::Software => gpu::any().map_err(|why| DeviceError::Absent(choice, why)),
    }
}

/// An adapter that a graphics API names, and what becomes of it.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its name.
    pub name: String,
    /// Its driver with its version, and the API.
    pub driver: String,
    /// Its number as a GPU: `gpu:0`, `gpu:1` …
    pub number: Option<usize>,
    /// What it can do, or why it is not used.
    pub usable: Result<String, String>,
}

/// Every adapter of every API, software rasterisers included. Opens the real GPUs.
pub fn adapters() -> Vec<Found> {
    gpu::adapters()
}

/// For the first line of a program that may use a GPU. On Linux it starts the program anew, in the
/// same process, where a layer of Mesa's would write an error that is none to stderr; the layer can
/// only be left out by the environment.
pub fn start_quietly() {
    #[cfg(all(feature = "wgpu", target_os = "linux"))]
    quiet::start();
}

/// All real GPUs, as `gpu:0`, `gpu:1` … count them, each with why it cannot be used where that is
/// so. Opens them all.
pub fn gpus() -> Vec<Result<Chosen, String>> {
    gpu::all().collect()
}

/// What ran on this adapter is lost: the next who chooses it gets a new device.
pub(crate) fn lose(adapter: &Adapter) {
    gpu::lose(adapter);
}

#[cfg(not(feature = "wgpu"))]
mod gpu {
    use super::{Chosen, Found, Part};
    use crate::gpu::Adapter;

    pub(super) fn real() -> Result<Chosen, String> {
        Err("built without the feature wgpu".to_owned())
    }

    pub(super) fn which(_: Part) -> Result<Chosen, String> {
        real()
    }

    pub(super) fn all() -> impl Iterator<Item = Result<Chosen, String>> {
        std::iter::empty()
    }

    pub(super) fn any() -> Result<Chosen, String> {
        real()
    }

    pub(super) fn adapters() -> Vec<Found> {
        Vec::new()
    }

    pub(super) fn lose(adapter: &Adapter) {
        match *adapter {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_auto_always_works() {
        let which = DeviceChoice::Which(Part::of("rtx 4070").unwrap());
        for choice in [
            DeviceChoice::Auto,
            DeviceChoice::Cpu,
            DeviceChoice::Gpu,
            which,
            DeviceChoice::Software,
        ] {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        for name in ["abacus", "gpu:", "gpu1"] {
            assert!(name.parse::<DeviceChoice>().is_err());
        }
        let absent = "gpu:no such name".parse().unwrap();
        assert!(choose(absent).is_err_and(|why| why.to_string().contains("choose auto")));
        assert!(choose(DeviceChoice::Auto).is_ok());
        assert!(!choose(DeviceChoice::Cpu).unwrap().is_gpu());
        // Every GPU that can be named is among the adapters, in the same order.
        let numbers: Vec<usize> = adapters().iter().filter_map(|found| found.number).collect();
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..gpus().len()), "{numbers:?}");
    }
}
