//! The chance that a move turns out better than the best one: what the values say by the law of
//! errors, the policy as a prior, and a floor that is the policy's.

use serde::{Deserialize, Serialize};
use tesla_engine::best_first::overtake::posterior;
use tesla_engine::best_first::params::{ParamError, Params};

use super::law::{Law, cases};
use super::minimum::minimum;
use super::pairs::Pair;
use super::shape::Shape;

/// Chances are kept this far from none and from certainty, so that one surprise is not endless.
const LEAST: f64 = 1e-6;

/// What the values alone say of a pair, and what is needed besides.
#[derive(Clone, Copy, Debug)]
pub struct Chance {
    /// Number of its position.
    pub position: u32,
    /// Chance by the values.
    by_values: f64,
    policy: f64,
    best_policy: f64,
    /// Whether it turned out so.
    pub happened: bool,
}

/// The chances by this law, with these tunables for depths.
pub fn chances(pairs: &[Pair], law: &Law, shape: Shape, params: &Params) -> Vec<Chance> {
    let chance = |(pair, case): (&Pair, _)| {
        let doubt = if pair.is_seen() { 0.0 } else { law.doubt };
        Chance {
            position: pair.position,
            by_values: 1.0 - shape.cdf((pair.gap + doubt) / law.scale(case)),
            policy: pair.policy,
            best_policy: pair.best_policy,
            happened: pair.overtakes(),
        }
    };
    pairs.iter().zip(&cases(pairs, params)).map(chance).collect()
}

/// The numbers of the rule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Promotion {
    /// `policy_floor`, ε.
    pub floor: f64,
    /// `policy_trust`.
    pub trust: f64,
}

impl Promotion {
    /// Those of these tunables.
    pub fn of(params: &Params) -> Self {
        let (floor, trust) = (f64::from(params.policy_floor), f64::from(params.policy_trust));
        Self { floor, trust }
    }

    /// Sets the tunables.
    ///
    /// # Errors
    /// The first that is out of its range.
    pub fn set(&self, params: &mut Params) -> Result<(), ParamError> {
        params.set("policy_floor", self.floor as f32)?;
        params.set("policy_trust", self.trust as f32)
    }

    /// The chance by the rule.
    pub fn chance(&self, chance: &Chance) -> f64 {
        let odds = (chance.policy / chance.best_policy.max(LEAST)).powf(self.trust);
        let posterior = f64::from(posterior(chance.by_values as f32, odds as f32));
        (1.0 - self.floor) * posterior + self.floor * chance.policy
    }

    /// Mean log likelihood of what happened, nats.
    pub fn likelihood(&self, chances: &[Chance]) -> f64 {
        let sum: f64 = chances.iter().map(|chance| self.ln_chance(chance)).sum();
        sum / chances.len().max(1) as f64
    }

    fn ln_chance(&self, chance: &Chance) -> f64 {
        let promised = self.chance(chance).clamp(LEAST, 1.0 - LEAST);
        if chance.happened { promised.ln() } else { (1.0 - promised).ln() }
    }

    /// The numbers by which what happened is likeliest, each as often as `weights` says of its
    /// position.
    pub fn fit(chances: &[Chance], weights: &dyn Fn(u32) -> f64) -> Self {
        let cost = |numbers: &[f64]| {
            let promotion = Self { floor: numbers[0], trust: numbers[1] };
            if promotion.set(&mut Params::default()).is_err() {
                return f64::NAN;
            }
            chances.iter().map(|c| -weights(c.position) * promotion.ln_chance(c)).sum()
        };
        let found = minimum(&[0.05, 0.8], &[0.05, -0.3], cost);
        Self { floor: found[0], trust: found[1] }
    }
}
