//! Memory that this machine has free.

/// How much of what the option `name` wants this machine can give, in MiB, and a sentence where
/// that is less; `promised_mb` of what is free are for others. Known on Linux only; elsewhere the
/// wish is granted.
pub fn affordable(name: &str, wanted_mb: usize, promised_mb: usize) -> (usize, Option<String>) {
    let Some(free_mb) = free_memory_mb() else { return (wanted_mb, None) };
    let free_mb = free_mb.saturating_sub(promised_mb);
    // The rest is for the network, its batches and everybody else.
    let most = (free_mb / 4 * 3).max(1);
    if wanted_mb <= most {
        return (wanted_mb, None);
    }
    let sentence =
        format!("{name} {wanted_mb} MiB is more than this machine has free; {most} is used");
    (most, Some(sentence))
}

/// Memory that is free on this machine, MiB; known on Linux only.
pub fn free_memory_mb() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes / 1024)
}
