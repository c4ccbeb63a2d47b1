//! The GPUs of this machine, opened once each and again when one was lost.

use std::panic::catch_unwind;
use std::sync::{Mutex, OnceLock, PoisonError};

use cubecl::device::{WgpuBackend, WgpuDeviceKind};
use cubecl::wgpu::wgpu::{AdapterInfo, DeviceType};

use super::{Chosen, Found, Part};
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

/// An adapter that was asked for, and what came of it.
struct Opened {
    kind: WgpuDeviceKind,
    api: WgpuBackend,
    chosen: Result<Chosen, String>,
    is_lost: bool,
}

/// An adapter can be set up once per process; later requests get the same device.
static OPENED: Mutex<Vec<Opened>> = Mutex::new(Vec::new());

/// The best real GPU.
pub(super) fn real() -> Result<Chosen, String> {
    let opened = list().into_iter().map(|(kind, api)| open(&kind, api));
    let mut why = "none found".to_owned();
    for chosen in opened {
        match chosen {
            Ok(chosen) => return Ok(chosen),
            Err(error) => why = error,
        }
    }
    Err(why)
}

/// The real GPU that is meant, or which there are.
pub(super) fn which(part: Part) -> Result<Chosen, String> {
    let gpus = list();
    if let Some(index) = part.index(gpus.len()) {
        let (kind, api) = &gpus[index];
        return open(kind, *api);
    }
    let all: Vec<Result<Chosen, String>> = all().collect();
    let found = all.iter().flatten().find(|chosen| part.is_in(&chosen.name));
    found.cloned().ok_or_else(|| {
        let named = |(index, chosen): (usize, &Result<Chosen, String>)| match chosen {
            Ok(chosen) => format!("gpu:{index} is {}", chosen.name),
            Err(why) => format!("gpu:{index} cannot be used: {why}"),
        };
        let names: Vec<String> = all.iter().enumerate().map(named).collect();
        if names.is_empty() { "none found".to_owned() } else { names.join(", ") }
    })
}

/// All real GPUs, each with why it cannot be used where that is so.
pub(super) fn all() -> impl Iterator<Item = Result<Chosen, String>> {
    list().into_iter().map(|(kind, api)| open(&kind, api))
}

/// Whatever adapter there is, software rasterisers included.
pub(super) fn any() -> Result<Chosen, String> {
    let mut opened = Err("no graphics API to ask".to_owned());
    for &api in APIS {
        opened = open(&WgpuDeviceKind::DefaultDevice, api);
        if opened.is_ok() {
            break;
        }
    }
    opened
}

/// What was on this adapter is lost: the next who asks for it gets a new device.
pub(super) fn lose(adapter: &Adapter) {
    let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let is_it = |entry: &&mut Opened| {
        entry.chosen.as_ref().is_ok_and(|chosen| chosen.adapter.as_ref() == Some(adapter))
    };
    for entry in opened.iter_mut().filter(is_it) {
        entry.is_lost = true;
    }
}

/// Every adapter of every API. What the first API names is not told again for the next one.
pub(super) fn adapters() -> Vec<Found> {
    let gpus = list();
    let mut all = Vec::new();
    for &api in APIS {
        let mut counts = [0; 3];
        for info in catch_unwind(|| infos(api)).unwrap_or_default() {
            let kind = kind_of(info.device_type, &mut counts);
            let number = gpus.iter().position(|(gpu, of)| Some(gpu) == kind.as_ref() && *of == api);
            let usable = match number {
                Some(number) => {
                    let opened = open(&gpus[number].0, api);
                    opened.map(|gpu| gpu.adapter.map_or_else(String::new, |gpu| gpu.to_string()))
                }
                None => Err(refusal(info.device_type).to_owned()),
            };
            let driver = [info.driver, info.driver_info, format!("{api:?}")];
            let driver: Vec<String> = driver.into_iter().filter(|word| !word.is_empty()).collect();
            all.push(Found { name: info.name, driver: driver.join(" "), number, usable });
        }
    }
    all
}

fn infos(api: WgpuBackend) -> Vec<AdapterInfo> {
    // Vulkan's loader crashes when instances come and go on several threads at once.
    let _alone = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    Adapter::infos(api)
}

/// The next device of this type, where it is a real GPU's. `counts` are those before it.
fn kind_of(device: DeviceType, counts: &mut [usize; 3]) -> Option<WgpuDeviceKind> {
    let (at, kind): (usize, fn(usize) -> WgpuDeviceKind) = match device {
        DeviceType::DiscreteGpu => (0, WgpuDeviceKind::DiscreteGpu),
        DeviceType::IntegratedGpu => (1, WgpuDeviceKind::IntegratedGpu),
        DeviceType::VirtualGpu => (2, WgpuDeviceKind::VirtualGpu),
        DeviceType::Other | DeviceType::Cpu => return None,
    };
    counts[at] += 1;
    Some(kind(counts[at] - 1))
}

/// Why an adapter is none of the GPUs.
fn refusal(device: DeviceType) -> &'static str {
    match device {
        DeviceType::Cpu => {
            "a software rasteriser, slower than our own kernels on the CPU; Device = software uses \
             it, for tests"
        }
        DeviceType::Other => "its driver does not say that it is a GPU",
        _ => "the same GPU is used through another API",
    }
}

/// The real GPUs, the best first, by the first API that has any. To look takes tens of
/// milliseconds: the drivers' libraries are loaded, and unloaded where there is no GPU. So a
/// process looks once.
fn list() -> Vec<(WgpuDeviceKind, WgpuBackend)> {
    static LISTED: OnceLock<Vec<(WgpuDeviceKind, WgpuBackend)>> = OnceLock::new();
    let look = |&api: &WgpuBackend| {
        let mut counts = [0; 3];
        let infos = catch_unwind(|| infos(api)).unwrap_or_default();
        let kinds = infos.into_iter().filter_map(|info| kind_of(info.device_type, &mut counts));
        let mut found: Vec<_> = kinds.map(|kind| (kind, api)).collect();
        found.sort_by_key(|(kind, _)| rank(kind));
        Some(found).filter(|found| !found.is_empty())
    };
    LISTED.get_or_init(|| APIS.iter().find_map(look).unwrap_or_default()).clone()
}

/// Discrete GPUs before integrated ones before virtual ones, each in the API's order.
fn rank(kind: &WgpuDeviceKind) -> (usize, usize) {
    match *kind {
        WgpuDeviceKind::DiscreteGpu(index) => (0, index),
        WgpuDeviceKind::IntegratedGpu(index) => (1, index),
        WgpuDeviceKind::VirtualGpu(index) => (2, index),
        _ => (3, 0),
    }
}

fn open(kind: &WgpuDeviceKind, api: WgpuBackend) -> Result<Chosen, String> {
    let mut all = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
    let known = all.iter().position(|opened| opened.kind == *kind && opened.api == api);
    let Some(known) = known else {
        let chosen = catch_unwind(|| open_first(kind, api));
        let chosen = chosen.unwrap_or_else(|_| Err("its driver failed at the start".to_owned()));
        all.push(Opened { kind: kind.clone(), api, chosen: chosen.clone(), is_lost: false });
        return chosen;
    };
    let Opened { chosen, is_lost, .. } = &mut all[known];
    if *is_lost && let Ok(known) = chosen {
        let again = catch_unwind(|| Adapter::open_again(kind, api));
        let adapter = again.unwrap_or_else(|_| Err("its driver failed".to_owned()))?;
        known.adapter = Some(adapter);
        *is_lost = false;
    }
    chosen.clone()
}

fn open_first(kind: &WgpuDeviceKind, api: WgpuBackend) -> Result<Chosen, String> {
    let is_software = matches!(kind, WgpuDeviceKind::DefaultDevice);
    let adapter = Adapter::open(kind.clone(), api)?;
    let (name, adapter) = (adapter.name(), Some(adapter));
    let shares_memory = is_software || matches!(kind, WgpuDeviceKind::IntegratedGpu(_));
    let note = is_software.then(|| "software rasterisers are for tests, not for play".to_owned());
    Ok(Chosen { adapter, name, shares_memory, note })
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::gpu::{DeviceEngine, DeviceOptions};
    use crate::model::ModelConfig;
    use crate::{canary, weights};

    /// A drill: the adapter is given up as lost, and the next who asks gets a device that works
    /// beside it. Without Vulkan there is nothing to lose.
    #[test]
    fn a_lost_device_is_opened_again() {
        let first = match any() {
            Ok(first) => first.adapter.unwrap(),
            Err(why) => return println!("skipped: {why}"),
        };
        assert_eq!(any().unwrap().adapter.as_ref(), Some(&first));
        lose(&first);
        let second = any().unwrap().adapter.unwrap();
        assert!(second != first && any().unwrap().adapter.as_ref() == Some(&second));
        let config = ModelConfig::tiny();
        let bytes = weights::to_bytes(&config.init(&Device::flex()), &config).unwrap();
        let answers = [first, second].map(|adapter| {
            let gpu = DeviceEngine::on_gpu(&bytes, &adapter, DeviceOptions::default());
            gpu.unwrap().evaluate(&canary::requests())
        });
        assert_eq!(answers[0], answers[1]);
    }
}
