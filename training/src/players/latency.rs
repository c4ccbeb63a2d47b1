//! A simulated device for one of our own sides: what the same search is worth on another GPU.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tesla_nn::simulated::Behaviour;

/// Time that the device takes for a batch, written as in `300+1`: microseconds for any batch, and
/// for each position of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Latency {
    /// For any batch, µs.
    pub base: u32,
    /// For each position, µs.
    pub per_position: u32,
}

impl Latency {
    /// As the device behaves.
    pub fn behaviour(self) -> Behaviour {
        Behaviour {
            base: Duration::from_micros(self.base.into()),
            per_position: Duration::from_micros(self.per_position.into()),
            fail_after: None,
        }
    }
}

impl FromStr for Latency {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = || {
            let (base, per_position) = text.split_once('+')?;
            Some(Self { base: base.parse().ok()?, per_position: per_position.parse().ok()? })
        };
        read().ok_or_else(|| {
            format!("'{text}' is no latency; write microseconds of a batch and a position: 300+1")
        })
    }
}

impl TryFrom<String> for Latency {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Latency> for String {
    fn from(latency: Latency) -> Self {
        latency.to_string()
    }
}

impl fmt::Display for Latency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}", self.base, self.per_position)
    }
}
