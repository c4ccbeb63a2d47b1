//! A few letters of a device's name, as the user gives them.

use std::fmt;

/// Most bytes of it.
const MOST: usize = 32;

/// Which of several GPUs: its number in the list, or a part of its name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Part {
    bytes: [u8; MOST],
    len: usize,
}

impl Part {
    /// Of a text that is neither empty nor too long.
    pub(super) fn of(text: &str) -> Option<Self> {
        let text = text.trim();
        let mut bytes = [0; MOST];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        (!text.is_empty()).then_some(Self { bytes, len: text.len() })
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }

    /// Its number, if it is one of a list of so many.
    #[cfg(any(feature = "wgpu", test))]
    pub(super) fn index(&self, count: usize) -> Option<usize> {
        self.text().parse().ok().filter(|&index| index < count)
    }

    /// Whether it is in this name, in letters of any case.
    #[cfg(any(feature = "wgpu", test))]
    pub(super) fn is_in(&self, name: &str) -> bool {
        name.to_lowercase().contains(&self.text().to_lowercase())
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.text(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gpu_is_named_by_number_or_by_letters() {
        let part = |text| Part::of(text).unwrap();
        assert_eq!(part("1").index(2), Some(1));
        assert_eq!(part("4070").index(2), None);
        assert!(part("4070").is_in("NVIDIA GeForce RTX 4070 Ti"));
        assert!(part("geforce").is_in("NVIDIA GeForce RTX 4070 Ti") && !part("arc").is_in("AMD"));
        assert!(Part::of(" ").is_none() && Part::of(&"x".repeat(40)).is_none());
    }
}
