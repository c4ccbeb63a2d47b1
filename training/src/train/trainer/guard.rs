//! What keeps one bad batch from ending a run, and a run that goes astray from ruining its
//! checkpoint.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use statrs::statistics::{Data, Median as _};
use tesla_nn::model::Precision;

/// Steps without a number, one after another, that end the run.
pub(super) const BAD_IN_A_ROW: u32 = 5;
/// Norms that the median is taken of.
const MEMORY: usize = 101;
/// Norms before which there is no median worth the name.
const LEAST: usize = 20;
/// A norm this many times the median is worth a warning.
const EXPLOSION: f32 = 10.0;
/// Steps between two such warnings.
const SILENCE: u64 = 50;
/// First scale of an f16 run's loss.
const FIRST_SCALE: f32 = 8192.0;
/// Largest scale.
const LARGEST_SCALE: f32 = 65536.0;
/// Good steps after which the scale is doubled.
const PATIENCE: u32 = 1000;

/// Looks at every step's gradient before it counts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Guard {
    /// What the loss is multiplied by before it is differentiated, so that small gradients do not
    /// vanish in f16; 1 in other precisions.
    pub(super) scale: f32,
    /// The precision that the scale is for.
    precision: Precision,
    /// Steps skipped since the run began.
    pub(super) skipped: u64,
    /// Steps skipped since the last good one.
    in_a_row: u32,
    /// Good steps since the scale changed.
    good: u32,
    #[serde(skip)]
    norms: VecDeque<f32>,
    #[serde(skip)]
    silent_until: u64,
}

/// What becomes of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ruling {
    /// It counts.
    Fine,
    /// It counts, with a sentence for people.
    Warned(String),
    /// It is left out, with a sentence for people.
    Skipped(String),
    /// There were too many to leave out.
    Stop,
}

impl Default for Guard {
    fn default() -> Self {
        Self {
            scale: 1.0,
            precision: Precision::F32,
            skipped: 0,
            in_a_row: 0,
            good: 0,
            norms: VecDeque::new(),
            silent_until: 0,
        }
    }
}

impl Guard {
    /// Fits the scale of the loss to the run's precision, which may have changed with a resume.
    pub(super) fn set_precision(&mut self, precision: Precision) {
        if precision != self.precision {
            self.precision = precision;
            self.scale = if precision == Precision::F16 { FIRST_SCALE } else { 1.0 };
            self.good = 0;
        }
    }

    /// Whether the last step was left out: no time to save anything.
    pub(super) fn is_worried(&self) -> bool {
        self.in_a_row > 0
    }

    /// Judges step `step` by whether its loss is a number and by its gradient's norm.
    pub(super) fn judge(&mut self, step: u64, is_number: bool, norm: f32) -> Ruling {
        if !is_number || !norm.is_finite() {
            return self.bad(step, is_number);
        }
        self.in_a_row = 0;
        self.good += 1;
        if self.precision == Precision::F16 && self.good >= PATIENCE {
            self.scale = (self.scale * 2.0).min(LARGEST_SCALE);
            self.good = 0;
        }
        let median = self.median();
        self.norms.push_back(norm);
        if self.norms.len() > MEMORY {
            self.norms.pop_front();
        }
        match median {
            Some(median) if norm > EXPLOSION * median && step >= self.silent_until => {
                self.silent_until = step + SILENCE;
                Ruling::Warned(format!(
                    "the gradient's norm is {norm:.3} at step {step}, {:.0} times its median; if \
                     this goes on, lower the learning rate",
                    norm / median
                ))
            }
            _ => Ruling::Fine,
        }
    }

    fn bad(&mut self, step: u64, is_number: bool) -> Ruling {
        self.skipped += 1;
        self.good = 0;
        if is_number && self.scale > 1.0 {
            // Too large for f16: the price of a scale that keeps small gradients alive.
            self.scale = (self.scale / 2.0).max(1.0);
            return Ruling::Skipped(format!(
                "step {step} is left out: its gradient is too large for f16; the loss is scaled by \
                 {} from now on",
                self.scale
            ));
        }
        self.in_a_row += 1;
        if self.in_a_row >= BAD_IN_A_ROW {
            return Ruling::Stop;
        }
        let what = if is_number { "gradient's norm" } else { "loss" };
        Ruling::Skipped(format!(
            "step {step} is left out: its {what} is not a number ({} left out so far)",
            self.skipped
        ))
    }

    /// The median of the last norms, which a few large ones do not move.
    fn median(&self) -> Option<f32> {
        if self.norms.len() < LEAST {
            return None;
        }
        let norms: Vec<f64> = self.norms.iter().copied().map(f64::from).collect();
        Some(Data::new(norms).median() as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_steps_are_skipped_until_there_are_too_many() {
        let mut guard = Guard::default();
        assert_eq!(guard.judge(0, true, 1.0), Ruling::Fine);
        for round in 0..3 {
            for step in 1..u64::from(BAD_IN_A_ROW) {
                let (is_number, norm) = if step % 2 == 0 { (false, 1.0) } else { (true, f32::NAN) };
                assert!(matches!(guard.judge(step, is_number, norm), Ruling::Skipped(_)));
                assert!(guard.is_worried());
            }
            assert_eq!(guard.skipped, (round + 1) * u64::from(BAD_IN_A_ROW - 1));
            assert_eq!(guard.judge(9, true, 1.0), Ruling::Fine);
            assert!(!guard.is_worried());
        }
        for step in 1..u64::from(BAD_IN_A_ROW) {
            assert!(matches!(guard.judge(step, true, f32::INFINITY), Ruling::Skipped(_)));
        }
        assert_eq!(guard.judge(9, true, f32::INFINITY), Ruling::Stop);
    }

    #[test]
    fn a_norm_far_above_the_median_is_warned_of_once_in_a_while() {
        let mut guard = Guard::default();
        for step in 0..30 {
            assert_eq!(guard.judge(step, true, 1.0 + 0.1 * (step % 7) as f32), Ruling::Fine);
        }
        let Ruling::Warned(sentence) = guard.judge(30, true, 26.0) else { panic!("no warning") };
        assert!(sentence.contains("26.000 at step 30, 20 times"), "{sentence}");
        assert_eq!(guard.judge(31, true, 26.0), Ruling::Fine);
        assert!(matches!(guard.judge(30 + SILENCE, true, 26.0), Ruling::Warned(_)));
    }

    #[test]
    fn the_scale_of_an_f16_run_finds_its_place() {
        let mut guard = Guard::default();
        guard.set_precision(Precision::F16);
        assert!((guard.scale - FIRST_SCALE).abs() < 0.1);
        // Overflows do not end the run as long as the scale can give way.
        let halvings = FIRST_SCALE.log2() as u64;
        for step in 0..halvings {
            assert!(matches!(guard.judge(step, true, f32::INFINITY), Ruling::Skipped(_)));
        }
        assert!((guard.scale - 1.0).abs() < 1e-6 && !guard.is_worried());
        guard.set_precision(Precision::F16);
        assert!((guard.scale - 1.0).abs() < 1e-6, "a resumed run keeps its scale");
        for step in 0..u64::from(PATIENCE) {
            let _ = guard.judge(step, true, 1.0);
        }
        assert!((guard.scale - 2.0).abs() < 1e-6);
        guard.set_precision(Precision::Bf16);
        assert!((guard.scale - 1.0).abs() < 1e-6);
    }
}
