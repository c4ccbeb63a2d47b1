//! A value with its uncertainty, and how it prints.

use std::fmt;

/// A value with its 95 % interval, in the unit of the value (here Elo).
///
/// Prints as `+12.3 ± 8.1`, or `+312.4 [+250.1, +inf]` where the interval is lopsided or open, or
/// `unknown`; the precision is the formatter's (`{:.2}`), by default one decimal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The most likely value, infinite after a clean sweep; `None` without data.
    pub value: Option<f64>,
    /// Lower end of the interval, perhaps minus infinity.
    pub low: f64,
    /// Upper end of the interval, perhaps infinity.
    pub high: f64,
}

impl Estimate {
    /// What is known without data.
    pub const UNKNOWN: Self = Self { value: None, low: f64::NEG_INFINITY, high: f64::INFINITY };

    /// The same as the other side sees it.
    #[must_use]
    pub fn reversed(&self) -> Self {
        Self { value: self.value.map(|value| -value), low: -self.high, high: -self.low }
    }

    /// Half the width of the interval (fastchess's error); `None` where it is open.
    pub fn margin(&self) -> Option<f64> {
        let margin = 0.5 * (self.high - self.low);
        margin.is_finite().then_some(margin)
    }

    /// Whether the two sides of the interval differ by a fifth at most: resampled ends are no
    /// surer than that.
    fn symmetric_margin(&self, value: f64) -> Option<f64> {
        let (below, above) = (value - self.low, self.high - value);
        self.margin().filter(|_| (above - below).abs() <= 0.2 * above.max(below))
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let precision = f.precision().unwrap_or(1);
        let Some(value) = self.value.filter(|value| !value.is_nan()) else {
            return f.write_str("unknown");
        };
        let value_text = signed(value, precision);
        if let Some(margin) = self.symmetric_margin(value) {
            return write!(f, "{value_text} ± {margin:.precision$}");
        }
        let (low, high) = (signed(self.low, precision), signed(self.high, precision));
        write!(f, "{value_text} [{low}, {high}]")
    }
}

/// A number with its sign, zero never being negative.
fn signed(value: f64, precision: usize) -> String {
    let text = format!("{value:+.precision$}");
    if text.contains(|c: char| matches!(c, '1'..='9' | 'i' | 'N')) {
        text
    } else {
        text.replace('-', "+")
    }
}
