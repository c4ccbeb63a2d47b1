//! Vulkan without the noise of Mesa's layer that selects a device.
//!
//! Vulkan's loader puts that layer into every instance. Where the instance could show windows on
//! Wayland, as wgpu's always could, the layer asks the compositor for its GPU, and libwayland
//! writes `error: XDG_RUNTIME_DIR is invalid or not set in the environment.` to stderr, once for
//! each listing of adapters. The only switch of it is a variable of the environment, and a process
//! cannot change its own safely while other threads may read it. So the program starts itself anew
//! with the switch, in the same process, before it has done anything.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

/// Leaves the layer out.
const SWITCH: &str = "NODEVICE_SELECT";

/// By these a user selects a device through the layer.
const SELECTIONS: [&str; 3] =
    ["MESA_VK_DEVICE_SELECT", "MESA_VK_DEVICE_SELECT_FORCE_DEFAULT_DEVICE", "DRI_PRIME"];

/// Starts the program anew without the layer, where the layer would complain. It returns where it
/// would not, and where the new start fails: with the noise everything works too.
pub(super) fn start() {
    if !is_noisy(|name| env::var_os(name)) {
        return;
    }
    let mut words = env::args_os();
    // Also the right program where its file was replaced or deleted since.
    let mut again = Command::new("/proc/self/exe");
    if let Some(name) = words.next() {
        again.arg0(name);
    }
    let _ = again.args(words).env(SWITCH, "1").exec();
}

/// Whether the layer is there for nothing and would complain.
fn is_noisy(variable: impl Fn(&str) -> Option<OsString>) -> bool {
    let folder = variable("XDG_RUNTIME_DIR");
    let has_folder = folder.is_some_and(|folder| Path::new(&folder).is_absolute());
    let is_set = |name: &str| variable(name).is_some();
    !has_folder && !is_set(SWITCH) && !SELECTIONS.into_iter().any(is_set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_starts_anew_once_and_only_where_nobody_selects_a_device() {
        let with = |set: &[(&str, &str)]| {
            is_noisy(|name| {
                let found = set.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| value.into())
            })
        };
        assert!(with(&[]) && with(&[("XDG_RUNTIME_DIR", "")]));
        assert!(!with(&[("XDG_RUNTIME_DIR", "/run/user/1000")]));
        assert!(!with(&[(SWITCH, "1")]) && !with(&[("DRI_PRIME", "1")]));
    }
}
