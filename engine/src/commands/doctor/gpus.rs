//! The GPUs that `Device` can name.

use super::Finding;

/// Tells of each GPU, unless the CPU was asked for.
#[cfg(feature = "net")]
pub(super) fn check(device: &str, tell: &mut dyn FnMut(Finding)) {
    use std::panic::catch_unwind;

    use tesla_nn::device;

    if device == "cpu" {
        return;
    }
    // A driver's fault may come as a panic from below.
    let gpus = catch_unwind(device::gpus).unwrap_or_default();
    if gpus.is_empty() {
        tell(Finding::fine("gpus", "none; software rasterisers do not count".to_owned()));
    }
    for (index, gpu) in gpus.iter().enumerate() {
        tell(match gpu {
            Ok(gpu) => {
                let can = gpu.adapter.as_ref().map(ToString::to_string).unwrap_or_default();
                Finding::fine("gpus", format!("gpu:{index} {}, {can}", gpu.name))
            }
            Err(why) => {
                let advice = "update its driver, or name another with --device";
                Finding::weak("gpus", format!("gpu:{index} cannot be used ({why})"), advice)
            }
        });
    }
}

/// A program without the network wants none.
#[cfg(not(feature = "net"))]
pub(super) fn check(_: &str, _: &mut dyn FnMut(Finding)) {}
