//! Memory that this process may still take, as far as the system tells: what the machine has free,
//! and what the process' limits and its control groups leave of it. Known on Linux only.
//! What the options ask for is held against it.

#[cfg(target_os = "linux")]
mod groups;

/// The default of `KVCache`, MiB.
pub const KV_CACHE_MB: usize = 512;

/// Memory that this process may still take, MiB; `None` where the system does not tell.
#[cfg(target_os = "linux")]
pub fn free_mb() -> Option<usize> {
    let free = [machine(), limits(), groups::free()].into_iter().flatten().min()?;
    Some(usize::try_from(free >> 20).unwrap_or(usize::MAX))
}

/// Memory that this process may still take, MiB; `None` where the system does not tell.
#[cfg(not(target_os = "linux"))]
pub fn free_mb() -> Option<usize> {
    None
}

/// How much of what the option `name` wants can be had, in MiB, and a sentence where that is less;
/// `promised_mb` of what is free are for others. Where the system does not tell what is free, the
/// wish is granted.
pub fn affordable(name: &str, wanted_mb: usize, promised_mb: usize) -> (usize, Option<String>) {
    let Some(free_mb) = free_mb() else { return (wanted_mb, None) };
    let free_mb = free_mb.saturating_sub(promised_mb);
    // The rest is for everybody else.
    let most = (free_mb / 4 * 3).max(1);
    if wanted_mb <= most {
        return (wanted_mb, None);
    }
    let sentence =
        format!("{name} {wanted_mb} MiB is more than this machine has free; {most} is used");
    (most, Some(sentence))
}

/// Of the machine, bytes.
#[cfg(target_os = "linux")]
fn machine() -> Option<u64> {
    kilobytes(&system_text("/proc/meminfo")?, "MemAvailable:")
}

/// What `ulimit -v` and `ulimit -d` leave, bytes.
#[cfg(target_os = "linux")]
fn limits() -> Option<u64> {
    use rustix::process::{Resource, getrlimit};

    let status = system_text("/proc/self/status")?;
    let left = |resource, used| {
        let limit = getrlimit(resource).current?;
        Some(limit.saturating_sub(kilobytes(&status, used)?))
    };
    [left(Resource::As, "VmSize:"), left(Resource::Data, "VmData:")].into_iter().flatten().min()
}

/// Bytes that a line of this name tells in kB.
#[cfg(target_os = "linux")]
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// A text file of the system's own.
#[cfg(target_os = "linux")]
fn system_text(path: impl AsRef<std::path::Path>) -> Option<String> {
    crate::files::read_text(path.as_ref(), 1 << 22).ok()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_is_free_is_no_more_than_what_the_machine_has() {
        let text = system_text("/proc/meminfo").unwrap();
        let all = kilobytes(&text, "MemTotal:").unwrap() >> 20;
        let free = free_mb().unwrap() as u64;
        assert!(0 < free && free <= all, "{free} of {all}");
    }

    #[test]
    fn lines_in_kilobytes_are_read() {
        let text = "VmPeak:\t   12 kB\nVmSize:\t 2048 kB\nThreads:\t1\n";
        assert_eq!(kilobytes(text, "VmSize:"), Some(2048 << 10));
        assert_eq!(kilobytes(text, "Threads:"), None);
        assert_eq!(kilobytes(text, "VmData:"), None);
        assert_eq!(kilobytes("VmSize: 99999999999999999999 kB", "VmSize:"), None);
    }
}
