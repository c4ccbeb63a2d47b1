//! The machine, without its devices.

use std::path::Path;
use std::{fs, thread};

use tesla_nn::files::read_text;
use tesla_nn::memory;

use super::Finding;

/// What the network, its batches and the program take beside `Hash` and `KVCache`, MiB.
const REST_MB: usize = 400;

/// Cores and the vector instructions that the network's kernels use.
pub(super) fn processor() -> Finding {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let vectors = vectors();
    let found = format!("{cores} cores, {}", vectors.unwrap_or("no vector instructions we use"));
    match vectors {
        Some(_) => Finding::fine("processor", found),
        None => Finding::weak(
            "processor",
            found,
            "on this processor the network is several times slower; use a GPU, or Evaluator = \
             Classical",
        ),
    }
}

#[cfg(target_arch = "x86_64")]
fn vectors() -> Option<&'static str> {
    if is_x86_feature_detected!("avx512f") {
        Some("AVX-512")
    } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
        Some("AVX2 and FMA")
    } else {
        None
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn vectors() -> Option<&'static str> {
    cfg!(target_arch = "aarch64").then_some("NEON")
}

/// Whether the options' defaults, so many MiB, fit into what is free.
pub(super) fn memory(wanted_mb: usize) -> Finding {
    let needed = wanted_mb + REST_MB;
    match memory::free_mb() {
        None => Finding::fine("memory", "this system does not say how much is free".to_owned()),
        Some(free) if free >= needed => Finding::fine("memory", format!("{free} MiB free")),
        Some(free) => Finding::weak(
            "memory",
            format!("{free} MiB free, {needed} needed by the options' defaults"),
            "close other programs, or lower the options Hash and KVCache",
        ),
    }
}

/// Vulkan's drivers and the kernel's, where Linux keeps them.
pub(super) fn drivers() -> Finding {
    let found = drivers_found();
    if !cfg!(target_os = "linux") {
        return Finding::fine("drivers", "the system's own (not checked)".to_owned());
    }
    if found.iter().any(|name| !is_software(name)) {
        return Finding::fine("drivers", found.join(", "));
    }
    let text = if found.is_empty() { "no Vulkan driver".to_owned() } else { found.join(", ") };
    let advice = "for a GPU install the maker's driver with Vulkan (check: vulkaninfo --summary); \
        in a container give \
                  it the GPU and its Vulkan file, for NVIDIA NVIDIA_DRIVER_CAPABILITIES=all";
    Finding::weak("drivers", text, advice)
}

/// Mesa's rasteriser on the CPU.
fn is_software(name: &str) -> bool {
    name.starts_with("lvp_")
}

fn drivers_found() -> Vec<String> {
    let folders = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d"];
    let mut names: Vec<String> = folders.iter().flat_map(|folder| names_in(folder)).collect();
    names.sort();
    names.dedup();
    if let Ok(text) = read_text(Path::new("/proc/driver/nvidia/version"), 1 << 16) {
        names.extend(text.lines().next().map(str::to_owned));
    }
    names
}

fn names_in(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}
