//! Shapes of networks.

use serde::{Deserialize, Serialize};

use crate::kernels::vectors::LINE;

/// Shape of a network; stored in the weights file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelConfig {
    /// Name of the shape: tiny, small, base …
    pub name: String,
    /// Width of a token, a multiple of 16.
    pub width: usize,
    /// Transformer blocks.
    pub layers: usize,
    /// Attention heads: 1, 2, 4, 8 or 16.
    pub heads: usize,
    /// Hidden width of the feed-forward part.
    pub feed_forward: usize,
    /// Hidden width of the value and error heads.
    pub value_hidden: usize,
    /// Hidden width of the move heads.
    pub move_hidden: usize,
}

impl ModelConfig {
    /// Largest hidden width of the move heads.
    pub(crate) const MOST_MOVE_HIDDEN: usize = 1024;

    /// For tests.
    pub fn tiny() -> Self {
        Self {
            name: "tiny".to_owned(),
            width: 32,
            layers: 2,
            heads: 2,
            feed_forward: 64,
            value_hidden: 32,
            move_hidden: 16,
        }
    }

    /// The CPU default.
    pub fn small() -> Self {
        Self {
            name: "small".to_owned(),
            width: 128,
            layers: 6,
            heads: 4,
            feed_forward: 256,
            value_hidden: 128,
            move_hidden: 128,
        }
    }

    /// For GPUs.
    pub fn base() -> Self {
        Self {
            name: "base".to_owned(),
            width: 384,
            layers: 10,
            heads: 8,
            feed_forward: 768,
            value_hidden: 256,
            move_hidden: 256,
        }
    }

    /// The shape of this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::tiny(), Self::small(), Self::base()].into_iter().find(|shape| shape.name == name)
    }

    /// Says what is wrong with the shape, if anything.
    ///
    /// # Errors
    /// A sentence, when the name is no plain word, or a number is zero, too large or has no vectors
    /// on the CPU.
    pub fn check(&self) -> Result<(), String> {
        // It becomes part of file names.
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        if !(1..=64).contains(&self.name.len()) || !self.name.bytes().all(is_plain) {
            return Err(format!(
                "the network's name is {:?}; it must be 1 to 64 of the letters a to z, digits, - \
                 and _",
                self.name.chars().take(80).collect::<String>()
            ));
        }
        let sizes = [
            ("width", self.width, 8192),
            ("layers", self.layers, 8192),
            ("heads", self.heads, 8192),
            ("feed_forward", self.feed_forward, 8192),
            ("value_hidden", self.value_hidden, 8192),
            ("move_hidden", self.move_hidden, Self::MOST_MOVE_HIDDEN),
        ];
        for (name, size, most) in sizes {
            if !(1..=most).contains(&size) {
                return Err(format!("the network's {name} is {size}; it must be 1 to {most}"));
            }
        }
        if !self.width.is_multiple_of(LINE) {
            return Err(format!("the network's width {} is not a multiple of {LINE}", self.width));
        }
        if !LINE.is_multiple_of(self.heads) {
            return Err(format!(
                "the network has {} attention heads; it must have 1, 2, 4, 8 or {LINE}",
                self.heads
            ));
        }
        Ok(())
    }

    /// Width of the second hidden layer of the move heads.
    pub(crate) fn move_mix(&self) -> usize {
        (self.move_hidden / 4).max(1)
    }
}
