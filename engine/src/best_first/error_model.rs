//! The error model: how far a value may still move, and the benefit of finding out.
//!
//! A value that lacks `m` plies of search has an error of scale `s(m) = k · m^p · r`, where `r`
//! (here: *spread*) comes from the evaluator's own error. The probability that a move behind by a
//! gap overtakes the best is `S(gap / s)`, the survival function of the error's distribution; its
//! integral `ψ` is the expected gain. Depth is what an ordinary search would reach with the same
//! number of evaluations ([`EffectiveBranching`]).

use statrs::function::erf::erfc;

use crate::best_first::params::Params;
use crate::tree::effective_branching::EffectiveBranching;

/// Steps per ply in the table of error scales.
const SCALE_STEPS: f32 = 64.0;
/// Plies the table of error scales covers; deeper is as uncertain as this.
const SCALE_PLIES: usize = 64;
/// A float of at least this and below its double holds a whole number in its lowest 23 bits.
const WHOLE: f32 = 8_388_608.0;
/// Work up to which the decay is read from a table.
const WORK_TABLE: usize = 4096;

/// The distribution of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Student's t with two degrees of freedom: heavy tails in closed form.
    StudentT2,
    /// Normal: thin tails, hopeless moves starve.
    Normal,
    /// Logistic.
    Logistic,
    /// Laplace.
    Laplace,
}

impl Family {
    /// The family with this number in the register of tunables; unknown numbers mean the first.
    pub fn from_number(number: f32) -> Self {
        match number.round() as i32 {
            1 => Self::Normal,
            2 => Self::Logistic,
            3 => Self::Laplace,
            _ => Self::StudentT2,
        }
    }

    /// Probability that a standard error exceeds `z`.
    pub fn survival(self, z: f32) -> f32 {
        match self {
            Self::StudentT2 => 0.5 * (1.0 - z / (z * z + 2.0).sqrt()),
            Self::Normal => (0.5 * erfc(f64::from(z) / std::f64::consts::SQRT_2)) as f32,
            Self::Logistic => 1.0 / (1.0 + z.exp()),
            Self::Laplace if z >= 0.0 => 0.5 * (-z).exp(),
            Self::Laplace => 1.0 - 0.5 * z.exp(),
        }
    }

    /// Expected excess of a standard error over `z`: the integral of the survival function.
    pub fn excess(self, z: f32) -> f32 {
        match self {
            Self::StudentT2 => 0.5 * ((z * z + 2.0).sqrt() - z),
            Self::Normal => {
                let density = (-0.5 * z * z).exp() / (2.0 * std::f32::consts::PI).sqrt();
                (density - z * self.survival(z)).max(0.0)
            }
            Self::Logistic => (-z).max(0.0) + (-z.abs()).exp().ln_1p(),
            Self::Laplace => (-z).max(0.0) + 0.5 * (-z.abs()).exp(),
        }
    }
}

/// The error model with its tables, made once from the tunables.
#[derive(Clone, Debug)]
pub struct Model {
    pub(super) family: Family,
    /// Depth and evaluations.
    pub branching: EffectiveBranching,
    unevaluated_variance: f32,
    /// Taken off the value of an unevaluated child, score units.
    pub doubt: f32,
    /// Evaluations below a position that count as much as its own.
    pub static_weight: f32,
    /// Weight of the children's average, by visits, in the backup.
    pub average_share: f32,
    policy_floor: f32,
    error_reference: f32,
    error_trust: f32,
    missing_min: f32,
    scales: Vec<f32>,
    decays: Vec<f32>,
    error_decay: f32,
}

impl Model {
    /// The model these tunables describe.
    pub fn new(params: &Params) -> Self {
        let scales = (0..=SCALE_PLIES * SCALE_STEPS as usize)
            .map(|step| params.error_scale * (step as f32 / SCALE_STEPS).powf(params.error_growth));
        let decays = (0..WORK_TABLE).map(|visits| exact_decay(visits as f32, params.error_decay));
        Self {
            family: Family::from_number(params.error_family),
            branching: EffectiveBranching::new(params.branching),
            unevaluated_variance: params.unevaluated_error.powi(2),
            doubt: params.unevaluated_doubt * params.unevaluated_error,
            static_weight: params.static_weight,
            average_share: params.average_share,
            policy_floor: params.policy_floor,
            error_reference: params.error_reference,
            error_trust: params.error_trust,
            missing_min: params.missing_min,
            scales: scales.collect(),
            decays: decays.collect(),
            error_decay: params.error_decay,
        }
    }

    /// Factor on the error scales at a node of this many evaluations, 1 at 100: values that rest on
    /// many visits change less with one more ply.
    pub fn decay(&self, visits: u32) -> f32 {
        let known = self.decays.get(visits as usize).copied();
        known.unwrap_or_else(|| exact_decay(visits as f32, self.error_decay))
    }

    /// Factor on the error scale that an evaluator's own error stands for.
    pub fn spread(&self, error: f32) -> f32 {
        1.0 + self.error_trust * ((error / self.error_reference).clamp(0.1, 4.0) - 1.0)
    }

    /// Error scale of a value that lacks `missing` plies, score units.
    pub fn scale(&self, missing: f32, spread: f32, evaluated: bool) -> f32 {
        let last = (SCALE_PLIES as f32) * SCALE_STEPS;
        let index = (missing.max(self.missing_min) * SCALE_STEPS).min(last);
        // The nearest step; a cast takes much longer, because it checks the range.
        let step = (index + WHOLE).to_bits() - WHOLE.to_bits();
        let scale = self.scales[step as usize] * spread;
        if evaluated { scale } else { (scale * scale + self.unevaluated_variance).sqrt() }
    }

    /// Share of the overtake probability that is the policy's.
    pub fn policy_floor(&self) -> f32 {
        self.policy_floor
    }

    /// Whether errors are Student's t with two degrees of freedom.
    pub fn is_default_family(&self) -> bool {
        self.family == Family::StudentT2
    }

    /// Expected gain from learning an error of this scale behind the gap, score units.
    pub fn gain(&self, gap: f32, scale: f32) -> f32 {
        scale * self.family.excess(gap / scale)
    }
}

/// Power law of the error scales, 1 at 100 evaluations.
fn exact_decay(visits: f32, power: f32) -> f32 {
    (visits.max(1.0) / 100.0).powf(-power)
}

#[cfg(test)]
mod tests {
    use statrs::distribution::{ContinuousCDF, Laplace, Normal, StudentsT};

    use super::*;

    const FAMILIES: [Family; 4] =
        [Family::StudentT2, Family::Normal, Family::Logistic, Family::Laplace];

    fn points() -> impl Iterator<Item = f32> {
        (-60..=60).map(|step| step as f32 / 10.0)
    }

    #[test]
    fn survival_agrees_with_statrs() {
        let student = StudentsT::new(0.0, 1.0, 2.0).unwrap();
        let normal = Normal::new(0.0, 1.0).unwrap();
        let laplace = Laplace::new(0.0, 1.0).unwrap();
        for z in points() {
            let x = f64::from(z);
            let close = |ours: f32, theirs: f64| {
                assert!((f64::from(ours) - theirs).abs() < 2e-6, "{z}: {ours} {theirs}");
            };
            close(Family::StudentT2.survival(z), student.sf(x));
            close(Family::Normal.survival(z), normal.sf(x));
            close(Family::Laplace.survival(z), laplace.sf(x));
            close(Family::Logistic.survival(z), 1.0 / (1.0 + x.exp()));
        }
    }

    #[test]
    fn excess_is_the_integral_of_survival() {
        for family in FAMILIES {
            for z in points() {
                let h = 0.05;
                let slope = (family.excess(z - h) - family.excess(z + h)) / (2.0 * h);
                let error = (slope - family.survival(z)).abs();
                assert!(error < 2e-3, "{family:?} {z}: {slope} {}", family.survival(z));
            }
        }
    }

    #[test]
    fn the_scale_table_follows_its_law() {
        let params = Params::default();
        let model = Model::new(&params);
        for missing in [0.3_f32, 0.5, 1.0, 2.3, 7.9, 40.0] {
            let law = params.error_scale * missing.powf(params.error_growth);
            assert!((model.scale(missing, 1.0, true) / law - 1.0).abs() < 0.02, "{missing}");
        }
        assert!(model.scale(1.0, 1.0, false) > model.scale(1.0, 1.0, true));
        assert!((model.spread(params.error_reference) - 1.0).abs() < 1e-6);
        assert!((model.scale(1000.0, 1.0, true) - model.scale(64.0, 1.0, true)).abs() < 1e-6);
        for visits in [1_u32, 100, 4095, 4096, 1_000_000] {
            let law = (f64::from(visits) / 100.0).powf(-f64::from(params.error_decay));
            assert!((f64::from(model.decay(visits)) / law - 1.0).abs() < 1e-4, "{visits}");
        }
    }

    #[test]
    fn overtaking_is_the_family_at_gap_over_scale() {
        for (number, family) in FAMILIES.into_iter().enumerate() {
            let mut params = Params::default();
            params.set("error_family", number as f32).unwrap();
            let model = Model::new(&params);
            for gap in [0.0_f32, 0.01, 0.1, 0.7] {
                let expected = family.survival(gap / 0.05);
                assert!((model.overtake(gap, 0.05) - expected).abs() < 1e-6);
            }
            assert!((model.overtake(0.0, 0.05) - 0.5).abs() < 1e-6);
            assert!(model.gain(0.0, 0.1) > model.gain(0.1, 0.1));
        }
    }
}
