//! Memory that the options ask for, against what this process may take.

use tesla_nn::memory::free_mb;

/// What a network that is not loaded yet will take beside its cache, MiB: 90 on two cores, and more
/// batches on more.
pub const NETWORK_MB: usize = 128;

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
