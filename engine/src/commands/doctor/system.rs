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

/// A word on the load, where other programs leave less than half of the cores. Linux says it.
pub(super) fn busy() -> Option<String> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let text = read_text(Path::new("/proc/loadavg"), 1 << 10).ok()?;
    let load = text.split_whitespace().next()?.parse().ok()?;
    load_text(load, cores)
}

fn load_text(load: f64, cores: usize) -> Option<String> {
    (load > cores as f64 / 2.0)
        .then(|| format!("the machine was busy (load {load} on {cores} cores)"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_is_told_so() {
        assert_eq!(load_text(0.9, 2), None);
        assert!(load_text(5.5, 2).is_some_and(|text| text.contains("load 5.5 on 2 cores")));
    }
}
