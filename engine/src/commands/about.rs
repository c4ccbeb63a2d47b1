//! What `tesla --version` says: what this program is and what it would run on, without starting any
//! of it.

use crate::commands::doctor;

/// Which features the program was built with.
const FEATURES: &str = if cfg!(feature = "wgpu") {
    "net, wgpu: the network, on the CPU and on GPUs"
} else if cfg!(feature = "net") {
    "net: the network, on the CPU"
} else {
    "none: no network, positions are judged by a classical evaluation"
};

/// Name and version, one line.
pub const VERSION: &str = concat!("tesla ", env!("CARGO_PKG_VERSION"));

/// Version, network, features and device, a line each. It looks for a GPU as play does, and tunes
/// nothing on it.
pub fn text() -> String {
    let (network, device) = (network(), device());
    format!("{VERSION}\nnetwork   {network}\nfeatures  {FEATURES}\ndevice    {device}")
}

/// What a session in a terminal begins with: who this is and what to type. It needs no network and
/// no device.
pub const GREETING: &str = concat!(
    "Tesla ",
    env!("CARGO_PKG_VERSION"),
    ", a chess engine: best-first minimax over a batched transformer. Type help for the commands, \
     go nodes 1000 to let it think, d to see the board, quit to end."
);

#[cfg(feature = "net")]
fn network() -> String {
    let (name, hash) = crate::setup::network::embedded();
    format!("{name} (SHA-256 begins {hash})")
}

#[cfg(not(feature = "net"))]
fn network() -> String {
    "none".to_owned()
}

#[cfg(feature = "net")]
fn device() -> String {
    match crate::setup::network::device() {
        Some(name) => name,
        None => cpu(),
    }
}

#[cfg(not(feature = "net"))]
fn device() -> String {
    cpu()
}

fn cpu() -> String {
    format!("CPU: {}", doctor::processor_text())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_told_in_its_line() {
        let text = text();
        let heads: Vec<_> =
            text.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(heads, ["tesla", "network", "features", "device"], "{text}");
        assert_eq!(text.lines().next(), Some(VERSION));
        let has_network = text.contains("SHA-256");
        assert_eq!(has_network, cfg!(feature = "net"), "{text}");
    }
}
