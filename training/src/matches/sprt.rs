//! A sequential test as a match file or the command line states it.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::console::options::Shown;
use crate::statistics::sprt::SprtModel;

/// A sequential test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SprtConfig {
    /// Elo of the null hypothesis.
    pub elo0: f64,
    /// Elo of the other one.
    pub elo1: f64,
    /// Chance of a false positive.
    #[serde(default = "five_percent")]
    pub alpha: f64,
    /// Chance of a false negative.
    #[serde(default = "five_percent")]
    pub beta: f64,
    /// Unit of the hypotheses.
    #[serde(default)]
    pub model: SprtModel,
}

/// Reads `elo0=0,elo1=5,alpha=0.05,beta=0.05,model=normalized`; the last three may be left out.
impl FromStr for SprtConfig {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = "write for example elo0=0,elo1=5,alpha=0.05,beta=0.05,model=normalized";
        let mut numbers = [None, None, Some(five_percent()), Some(five_percent())];
        let mut model = SprtModel::default();
        for part in text.split(',') {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| format!("'{part}' is no key=value; {wanted}"))?;
            let place = match key {
                "elo0" => 0,
                "elo1" => 1,
                "alpha" => 2,
                "beta" => 3,
                "model" => {
                    model = match value {
                        "normalized" => SprtModel::Normalized,
                        "logistic" => SprtModel::Logistic,
                        _ => return Err(format!("there is no model '{value}'; {wanted}")),
                    };
                    continue;
                }
                _ => return Err(format!("there is no key '{key}'; {wanted}")),
            };
            let number = value.parse().map_err(|_| format!("'{value}' is no number; {wanted}"))?;
            numbers[place] = Some(number);
        }
        match numbers {
            [Some(elo0), Some(elo1), Some(alpha), Some(beta)] => {
                Ok(Self { elo0, elo1, alpha, beta, model })
            }
            _ => Err(format!("elo0 and elo1 are needed; {wanted}")),
        }
    }
}

impl Shown for SprtConfig {
    fn shown(&self) -> Option<String> {
        let Self { elo0, elo1, alpha, beta, .. } = self;
        Some(format!("elo0={elo0},elo1={elo1},alpha={alpha},beta={beta}"))
    }
}

fn five_percent() -> f64 {
    0.05
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_read() {
        let read = |text: &str| text.parse::<SprtConfig>();
        let sprt = read("elo0=-2.5,elo1=5").unwrap();
        assert!((sprt.elo0 + 2.5).abs() < 1e-9 && (sprt.alpha - 0.05).abs() < 1e-9);
        assert_eq!(
            read("elo1=5,elo0=0,model=logistic,beta=0.1").unwrap().model,
            SprtModel::Logistic
        );
        for text in ["", "elo0=0", "elo0=0,elo1=x", "elo0=0,elo1=5,gamma=1", "elo0,elo1=5"] {
            assert!(read(text).unwrap_err().contains("write for example"), "{text}");
        }
    }
}
