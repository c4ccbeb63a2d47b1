//! Where static values come from: the classical evaluation, or a network asked in batches.

use std::collections::HashMap;
use std::sync::Arc;

use shakmaty::Chess;
use tesla_nn::classical::centipawns;
use tesla_nn::evaluator::{EvalError, Evaluation, Evaluator, Request, centipawns_from_score};

use super::value::clamp_estimate;
use crate::search::{self, Fallbacks};

/// Rough memory of a cached answer in bytes, for the bound in MiB.
const ANSWER_BYTES: usize = 400;

/// What a network said of a position.
#[derive(Clone, Debug)]
pub(super) struct NetworkAnswer {
    /// Centipawns for the side to move.
    pub(super) value: i32,
    /// Probability of each legal move, in the order of the move generator.
    pub(super) policy: Arc<[f32]>,
}

/// The source of static values.
pub(super) enum Leaf {
    Classical,
    Network(Box<Network>),
}

impl std::fmt::Debug for Leaf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Classical => "Classical",
            Self::Network(_) => "Network",
        })
    }
}

/// An evaluator and what it has said so far.
pub(super) struct Network {
    pub(super) evaluator: Box<dyn Evaluator>,
    pub(super) cache: Cache,
    /// What to go on with when the evaluator fails.
    pub(super) spares: Option<Fallbacks>,
}

impl Network {
    pub(super) fn new(evaluator: Box<dyn Evaluator>, megabytes: usize) -> Self {
        Self { evaluator, cache: Cache::new(megabytes), spares: None }
    }

    /// Evaluates positions, all with a legal move, and remembers the answers under their keys.
    ///
    /// # Errors
    /// When the evaluator fails; batches still in flight are then abandoned.
    pub(super) fn evaluate(&mut self, wanted: &[(u64, Chess)]) -> Result<(), EvalError> {
        while self.evaluator.in_flight() > 0 {
            let _ = self.evaluator.collect(); // somebody else's leftovers, errors included
        }
        let size = self.evaluator.batch_size().max(1);
        for batch in wanted.chunks(size) {
            self.evaluator
                .submit(batch.iter().map(|(_, position)| Request::single(position)).collect());
        }
        for batch in wanted.chunks(size) {
            let answers = self.evaluator.collect()?;
            for ((key, _), answer) in batch.iter().zip(&answers) {
                self.cache.insert(*key, to_answer(answer));
            }
        }
        Ok(())
    }

    /// Puts the next evaluator in the place of one that failed; `false` where none is left.
    pub(super) fn replace(&mut self, error: &EvalError) -> bool {
        search::replace(&mut self.evaluator, &mut self.spares, error)
    }
}

fn to_answer(evaluation: &Evaluation) -> NetworkAnswer {
    let value = clamp_estimate(centipawns_from_score(evaluation.value).round() as i32);
    NetworkAnswer {
        value,
        policy: evaluation.moves.iter().map(|estimate| estimate.policy).collect(),
    }
}

/// The classical value within alpha-beta's range.
pub(super) fn classical(position: &Chess) -> i32 {
    clamp_estimate(centipawns(position))
}

/// Answers by key, bounded: two halves, the older of which is dropped when the younger is full.
pub(super) struct Cache {
    young: HashMap<u64, NetworkAnswer>,
    old: HashMap<u64, NetworkAnswer>,
    half: usize,
}

impl Cache {
    pub(super) fn new(megabytes: usize) -> Self {
        let half = (megabytes << 20) / ANSWER_BYTES / 2;
        Self { young: HashMap::new(), old: HashMap::new(), half: half.max(1_024) }
    }

    pub(super) fn clear(&mut self) {
        self.young.clear();
        self.old.clear();
    }

    pub(super) fn contains(&self, key: u64) -> bool {
        self.young.contains_key(&key) || self.old.contains_key(&key)
    }

    /// The answer, which is then kept longer.
    pub(super) fn get(&mut self, key: u64) -> Option<NetworkAnswer> {
        if let Some(answer) = self.young.get(&key) {
            return Some(answer.clone());
        }
        let answer = self.old.remove(&key)?;
        self.insert(key, answer.clone());
        Some(answer)
    }

    fn insert(&mut self, key: u64, answer: NetworkAnswer) {
        if self.young.len() >= self.half {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, answer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cache_is_bounded_and_keeps_what_is_used() {
        let mut cache = Cache::new(0);
        let answer = |value| NetworkAnswer { value, policy: [].into() };
        for key in 0..100_000 {
            cache.insert(key, answer(key as i32));
            assert!(cache.get(0).is_some_and(|answer| answer.value == 0));
            assert!(cache.young.len() + cache.old.len() <= 2 * 1_024);
        }
        assert!(!cache.contains(5));
        assert!(cache.contains(99_999));
    }
}
