//! A GPU, and what it can do.

use std::fmt;

use cubecl::Device;
use cubecl::client::Client;
use cubecl::device::{WgpuBackend, WgpuDeviceKind};

use super::sizes::Limits;

/// A GPU that kernels of our own run on.
#[derive(Clone, PartialEq, Eq)]
pub struct Adapter(Device);

impl fmt::Debug for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Adapter").field(&self.0).finish()
    }
}

impl Adapter {
    /// The adapter of this kind that this API has; burn's device of the same names is the same.
    ///
    /// # Errors
    /// A sentence, where there is none.
    pub fn open(kind: WgpuDeviceKind, api: WgpuBackend) -> Result<Self, String> {
        let device = Device::wgpu(kind).and_then(|device| device.on(api));
        device.map(Self).map_err(|error| error.to_string())
    }

    /// The queue of this thread.
    pub(super) fn client(&self) -> Client {
        self.0.client()
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
