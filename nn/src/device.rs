//! Which device the network runs on, chosen from what is really there.

use std::fmt;
use std::str::FromStr;

use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use crate::gpu::Adapter;

/// What the user asks for (UCI option `Device`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceChoice {
    /// A GPU where a real one is found, else the CPU.
    #[default]
    Auto,
    /// The CPU, by kernels of our own ([`cpu`](crate::cpu)).
    Cpu,
    /// A real GPU (burn-wgpu: Vulkan, Metal, DX12).
    Gpu,
    /// wgpu on whatever adapter there is, software rasterisers included: slow, for tests.
    Software,
}

impl FromStr for DeviceChoice {
    type Err = DeviceError;

    fn from_str(name: &str) -> Result<Self, DeviceError> {
        match name.to_ascii_lowercase().as_str() {
            "auto" | "" => Ok(Self::Auto),
            "cpu" => Ok(Self::Cpu),
            "gpu" | "wgpu" => Ok(Self::Gpu),
            "software" => Ok(Self::Software),
            _ => Err(DeviceError::Unknown(name.to_owned())),
        }
    }
}

impl fmt::Display for DeviceChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
            Self::Software => "software",
        })
    }
}

/// Why there is no such device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeviceError {
    /// Not one of ours.
    #[error("there is no device called {0}; use auto, cpu, gpu or software")]
    Unknown(String),
    /// Nothing to run on.
    #[error("no {0} was found ({1}); set Device to auto or cpu")]
    Absent(DeviceChoice, String),
}

/// A device in use.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// burn's name for it.
    pub device: Device,
    /// The same for kernels of our own; none on the CPU.
    pub adapter: Option<Adapter>,
    /// For people: `CPU`, or the adapter's name.
    pub name: String,
    /// Whether it is a GPU (or pretends to be one).
    pub is_gpu: bool,
    /// Whether it only pretends.
    pub is_software: bool,
    /// Why it is not what one might have hoped for, in one sentence.
    pub note: Option<String>,
}

fn cpu(note: Option<String>) -> Chosen {
    Chosen {
        device: Device::flex(),
        adapter: None,
        name: "CPU".to_owned(),
        is_gpu: false,
        is_software: false,
        note,
    }
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
        DeviceChoice::Software => gpu::any().map_err(|why| DeviceError::Absent(choice, why)),
    }
}

#[cfg(feature = "wgpu")]
mod gpu {
    use std::sync::OnceLock;

    use burn::tensor::wgpu::WgpuBackend;
    use burn::tensor::{Device, DeviceKind};
    use cubecl::device::WgpuDeviceKind;

    use super::Chosen;
    use crate::gpu::Adapter;

    /// Best first. OpenGL is left out: it names no GPU's kind, and only to ask it loads libraries
    /// that complain.
    const APIS: &[WgpuBackend] = if cfg!(target_os = "macos") {
        &[WgpuBackend::Metal]
    } else if cfg!(target_os = "windows") {
        &[WgpuBackend::Vulkan, WgpuBackend::Dx12]
    } else {
        &[WgpuBackend::Vulkan]
    };

    /// wgpu can be set up once per process and kind; later requests get the same device.
    static REAL: OnceLock<Result<Chosen, String>> = OnceLock::new();
    static ANY: OnceLock<Result<Chosen, String>> = OnceLock::new();

    pub(super) fn real() -> Result<Chosen, String> {
        let kinds =
            [DeviceKind::DiscreteGpu(0), DeviceKind::IntegratedGpu(0), DeviceKind::VirtualGpu(0)];
        REAL.get_or_init(|| {
            kinds
                .into_iter()
                .find_map(|kind| open(kind).ok())
                .ok_or_else(|| "none found".to_owned())
        })
        .clone()
    }

    pub(super) fn any() -> Result<Chosen, String> {
        ANY.get_or_init(|| open(DeviceKind::DefaultDevice)).clone()
    }

    fn open(kind: DeviceKind) -> Result<Chosen, String> {
        let is_software = matches!(kind, DeviceKind::DefaultDevice);
        let mut opened = Err("no graphics API to ask".to_owned());
        for &api in APIS {
            let options = Device::wgpu_options().device_kind(kind.clone()).graphics_api(api);
            opened = options.init().map(|device| (device, api)).map_err(|error| error.to_string());
            if opened.is_ok() {
                break;
            }
        }
        let (device, api) = opened?;
        let adapter = Adapter::open(of_cubecl(&kind), api)?;
        let name = device.identity().map_or_else(|| "unnamed GPU".to_owned(), |id| id.name);
        let note =
            is_software.then(|| "software rasterisers are for tests, not for play".to_owned());
        let adapter = Some(adapter);
        Ok(Chosen { device, adapter, name, is_gpu: true, is_software, note })
    }

    /// burn's kind of a device as CubeCL calls it.
    fn of_cubecl(kind: &DeviceKind) -> WgpuDeviceKind {
        match *kind {
            DeviceKind::DiscreteGpu(index) => WgpuDeviceKind::DiscreteGpu(index),
            DeviceKind::IntegratedGpu(index) => WgpuDeviceKind::IntegratedGpu(index),
            DeviceKind::VirtualGpu(index) => WgpuDeviceKind::VirtualGpu(index),
            DeviceKind::Cpu => WgpuDeviceKind::Cpu,
            _ => WgpuDeviceKind::DefaultDevice,
        }
    }
}

#[cfg(not(feature = "wgpu"))]
mod gpu {
    use super::Chosen;

    pub(super) fn real() -> Result<Chosen, String> {
        Err("built without the feature wgpu".to_owned())
    }

    pub(super) fn any() -> Result<Chosen, String> {
        real()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_auto_always_works() {
        for choice in
            [DeviceChoice::Auto, DeviceChoice::Cpu, DeviceChoice::Gpu, DeviceChoice::Software]
        {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        assert!("abacus".parse::<DeviceChoice>().is_err());
        assert!(choose(DeviceChoice::Auto).is_ok());
        assert!(!choose(DeviceChoice::Cpu).unwrap().is_gpu);
    }
}
