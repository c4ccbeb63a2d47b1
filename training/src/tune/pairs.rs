//! A move beside the best one: what the rule of promotion is asked, and how it came out.

use tesla_engine::best_first::error_model::Model;
use tesla_engine::best_first::params::Params;

use super::observe::Observation;

/// A move and the best one, as the search knew them and after a look at each by itself. Scores are
/// expected scores for the side that moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Number of the position whose tree they are from.
    pub position: u32,
    /// Evaluations of the position before the move.
    pub work: u32,
    /// Evaluations of the move; 0 = never searched.
    pub child_work: u32,
    /// The evaluator's own error about the move, or about the position before it where the move
    /// was never searched.
    pub error: f64,
    /// By how much the best move led.
    pub gap: f64,
    /// How much of the gap was recovered; more than `gap` = the move turned out better.
    pub change: f64,
    /// Policy of the move.
    pub policy: f64,
    /// Policy of the best move.
    pub best_policy: f64,
}

impl Pair {
    /// Whether the move had been searched.
    pub fn is_seen(&self) -> bool {
        self.child_work > 0
    }

    /// Whether it turned out better than the best one.
    pub fn overtakes(&self) -> bool {
        self.change > self.gap
    }

    /// Plies that the move lacked, with these tunables.
    pub fn missing(&self, model: &Model, params: &Params) -> f64 {
        let missing = model.branching.depth(self.work) + params.horizon
            - 1.0
            - model.branching.depth(self.child_work);
        f64::from(missing.max(params.missing_min))
    }
}

/// The pairs of all observations.
pub fn pairs(observations: &[Observation]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for observation in observations {
        for choice in &observation.seen.choices {
            let best = choice.best;
            for other in &choice.others {
                let gap = f64::from(best.value) - f64::from(other.value);
                let later = f64::from(best.later) - f64::from(other.later);
                pairs.push(Pair {
                    position: observation.position,
                    work: choice.work,
                    child_work: other.work,
                    error: f64::from(other.error),
                    gap,
                    change: gap - later,
                    policy: f64::from(other.policy),
                    best_policy: f64::from(best.policy),
                });
            }
        }
    }
    pairs
}
