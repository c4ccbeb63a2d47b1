//! A range that each game draws a number from, written `0..8` or `0.0..0.3`; both ends belong to
//! it.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A range, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Span<T> {
    /// Smallest number.
    pub low: T,
    /// Largest number.
    pub high: T,
}

impl<T: FromStr + PartialOrd + Copy> FromStr for Span<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (low, high) = text.split_once("..").unwrap_or((text, text));
        let number = |text: &str| text.trim().parse::<T>().ok();
        match (number(low), number(high)) {
            (Some(low), Some(high)) if low <= high => Ok(Self { low, high }),
            _ => Err(format!(
                "'{text}' is not a range; write its two ends, the smaller one first, as in 0..8, \
                 or one number"
            )),
        }
    }
}

impl<T: fmt::Display> fmt::Display for Span<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}..{}", self.low, self.high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read() {
        assert_eq!("0..8".parse(), Ok(Span { low: 0_u64, high: 8 }));
        assert_eq!("0.0..0.3".parse(), Ok(Span { low: 0.0, high: 0.3 }));
        assert_eq!("4".parse(), Ok(Span { low: 4_u64, high: 4 }));
        for text in ["", "..", "8..0", "a..b", "1..2..3", "-1..3", "1.."] {
            assert!(text.parse::<Span<u64>>().is_err(), "{text}");
        }
        assert!("0..NaN".parse::<Span<f64>>().is_err());
    }
}
