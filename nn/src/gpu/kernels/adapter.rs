//! A GPU, and what it can do.

use std::fmt;
use std::task::{Context, Poll, Waker};
use std::thread;

use cubecl::Device;
use cubecl::client::Client;
use cubecl::device::{WgpuBackend, WgpuDevice, WgpuDeviceKind};
use cubecl::prelude::Scalar;
use cubecl::wgpu::wgpu::{self, AdapterInfo, DeviceType};
use cubecl::wgpu::{AutoGraphicsApi, RuntimeOptions, WgpuSetup, try_init_device, try_init_setup};
use half::f16;

use super::sizes::Limits;

/// A GPU that kernels of our own run on.
#[derive(Clone, PartialEq, Eq)]
pub struct Adapter(WgpuDevice);

impl fmt::Debug for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Adapter").field(&self.0).finish()
    }
}

impl fmt::Display for Adapter {
    /// What it can do, as far as that matters here.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Limits { shared, units, buffer, .. } = self.limits();
        let (shared, buffer) = (shared >> 10, buffer >> 20);
        let f16 = if self.has_f16() { ", 16-bit floats" } else { "" };
        write!(f, "{shared} KiB and {units} units a workgroup, {buffer} MiB a buffer{f16}")
    }
}

impl Adapter {
    /// Sets up the adapter of this kind that this API has, which a process does once.
    ///
    /// # Errors
    /// A sentence, where there is none or its driver fails.
    pub fn open(kind: WgpuDeviceKind, api: WgpuBackend) -> Result<Self, String> {
        let device = WgpuDevice::new(kind).on(api);
        let setup = RuntimeOptions::try_default()
            .and_then(|options| try_init_setup::<AutoGraphicsApi>(&device, options));
        setup.map(|_| Self(device)).map_err(|error| error.to_string())
    }

    /// Its name, for people.
    pub fn name(&self) -> String {
        self.client().properties().identity.name.clone()
    }

    /// The same for burn's tensors.
    #[cfg(feature = "burn-wgpu")]
    pub fn of_tensors(&self) -> burn::tensor::Device {
        burn::tensor::Device::from(self.0.clone())
    }

    /// What this API tells of each of its adapters, software rasterisers included.
    pub fn infos(api: WgpuBackend) -> Vec<AdapterInfo> {
        Listing::of(api).adapters.iter().map(wgpu::Adapter::get_info).collect()
    }

    /// A new device on an adapter that another was on, which is lost.
    ///
    /// # Errors
    /// A sentence, where the driver gives none.
    pub fn open_again(kind: &WgpuDeviceKind, api: WgpuBackend) -> Result<Self, String> {
        let Listing { instance, backend, adapters } = Listing::of(api);
        let (wanted, index) = match *kind {
            WgpuDeviceKind::DiscreteGpu(index) => (Some(DeviceType::DiscreteGpu), index),
            WgpuDeviceKind::IntegratedGpu(index) => (Some(DeviceType::IntegratedGpu), index),
            WgpuDeviceKind::VirtualGpu(index) => (Some(DeviceType::VirtualGpu), index),
            _ => (None, 0),
        };
        let is_wanted = |adapter: &wgpu::Adapter| {
            wanted.is_none_or(|wanted| adapter.get_info().device_type == wanted)
        };
        let adapter = adapters.into_iter().filter(is_wanted).nth(index);
        let adapter = adapter.ok_or("the adapter is gone")?;
        let asked = adapter.request_device(&wgpu::DeviceDescriptor {
            required_features: adapter
                .features()
                .difference(wgpu::Features::MAPPABLE_PRIMARY_BUFFERS)
                .difference(wgpu::Features::all_experimental_mask()),
            required_limits: adapter.limits(),
            memory_hints: wgpu::MemoryHints::MemoryUsage,
            ..wgpu::DeviceDescriptor::default()
        });
        let (device, queue) = now(asked).map_err(|error| error.to_string())?;
        let setup = WgpuSetup { instance, adapter, device, queue, backend };
        let options = RuntimeOptions::try_default();
        let device = options.and_then(|options| try_init_device(setup, options));
        device.map(Self).map_err(|error| error.to_string())
    }

    /// Whether it calculates with 16-bit floats and stores them.
    pub fn has_f16(&self) -> bool {
        self.client().properties().supports_type(f16::elem_type_native())
    }

    /// The queue of this thread.
    pub(super) fn client(&self) -> Client {
        Device::Wgpu(self.0.clone()).client()
    }

    /// What the kernel depends on.
    pub(super) fn limits(&self) -> Limits {
        let client = self.client();
        let properties = client.properties();
        let hardware = &properties.hardware;
        Limits {
            shared: hardware.max_shared_memory_size,
            units: hardware.max_units_per_cube as usize,
            buffer: usize::try_from(properties.memory.max_page_size).unwrap_or(usize::MAX),
            buffers: hardware.max_bindings as usize,
        }
    }
}

/// The adapters of an API.
struct Listing {
    instance: wgpu::Instance,
    backend: wgpu::Backend,
    adapters: Vec<wgpu::Adapter>,
}

impl Listing {
    fn of(api: WgpuBackend) -> Self {
        let backend = match api {
            WgpuBackend::Dx12 => wgpu::Backend::Dx12,
            WgpuBackend::Metal => wgpu::Backend::Metal,
            _ => wgpu::Backend::Vulkan,
        };
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
            backends: backend.into(),
            ..wgpu::InstanceDescriptor::new_without_display_handle()
        });
        let adapters = now(instance.enumerate_adapters(backend.into()));
        Self { instance, backend, adapters }
    }
}

/// The outcome of what a native driver answers at once.
fn now<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(outcome) = future.as_mut().poll(&mut context) {
            return outcome;
        }
        thread::yield_now();
    }
}
