//! Where static values come from: the classical evaluation, or a network asked in batches.

use std::collections::HashMap;
use std::sync::Arc;

use shakmaty::{Chess, Move, Position};
use tesla_nn::classical::centipawns;
use tesla_nn::evaluator::{
    CacheFigures, CacheNote, EvalError, Evaluation, Evaluator, Handle, Request,
    centipawns_from_score,
};

use super::value::clamp_estimate;
use crate::chess::game::position_key;
use crate::search::{self, Fallbacks};

/// Rough memory of a cached answer in bytes, for the bound in MiB.
const ANSWER_BYTES: usize = 500;

/// What a network said of a position.
#[derive(Clone, Debug)]
pub(super) struct NetworkAnswer {
    /// Centipawns for the side to move.
    pub(super) value: i32,
    /// Probability of each legal move, in the order of the move generator.
    pub(super) policy: Arc<[f32]>,
    /// What each of them is worth by the network, centipawns for the side that makes it.
    pub(super) promises: Arc<[i16]>,
    /// The position's name in the evaluator's cache.
    handle: Handle,
}

/// A position to evaluate, and the position and move that it comes from.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) key: u64,
    pub(super) position: Chess,
    pub(super) parent: Option<(u64, Move)>,
}

/// The source of static values.
pub(super) enum Leaf {
    Classical,
    Network(Box<Network>),
}

impl Leaf {
    /// What the network's cache has done so far.
    pub(super) fn cache_figures(&self) -> Option<CacheFigures> {
        match self {
            Self::Classical => None,
            Self::Network(network) => network.evaluator.cache_figures(),
        }
    }
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
    pub(super) fn evaluate(&mut self, wanted: &[Asked]) -> Result<(), EvalError> {
        while self.evaluator.in_flight() > 0 {
            let _ = self.evaluator.collect(); // somebody else's leftovers, errors included
        }
        let size = self.evaluator.batch_size().max(1);
        for batch in wanted.chunks(size) {
            let requests = batch.iter().map(|asked| self.request(asked)).collect();
            self.evaluator.submit(requests);
        }
        for batch in wanted.chunks(size) {
            let answers = self.evaluator.collect()?;
            for (asked, answer) in batch.iter().zip(&answers) {
                self.cache.insert(asked.key, to_answer(answer));
            }
        }
        Ok(())
    }

    fn request(&self, asked: &Asked) -> Request {
        let parent = asked.parent.and_then(|(key, played)| Some((self.cache.handle(key)?, played)));
        Request { parent, keep: true, ..Request::single(&asked.position) }
    }

    /// A search begins: what was forgotten here the evaluator's cache may forget too.
    pub(super) fn begin(&mut self) {
        if std::mem::take(&mut self.cache.has_dropped) {
            self.evaluator.note(0, CacheNote::Retain(self.cache.handles()));
        }
    }

    /// Lets the evaluator's cache keep the positions along a line from here.
    pub(super) fn protect(&mut self, position: &Chess, line: &[Move]) {
        let (mut position, mut handles) = (position.clone(), Vec::new());
        for &played in line {
            handles.extend(self.cache.handle(position_key(&position)));
            position.play_unchecked(played);
        }
        handles.extend(self.cache.handle(position_key(&position)));
        self.evaluator.note(0, CacheNote::Protect(handles));
    }

    /// Puts the next evaluator in the place of one that failed; `false` where none is left. It
    /// knows none of the names.
    pub(super) fn replace(&mut self, error: &EvalError) -> bool {
        self.cache.forget_handles();
        search::replace(&mut self.evaluator, &mut self.spares, error)
    }
}

fn to_answer(evaluation: &Evaluation) -> NetworkAnswer {
    NetworkAnswer {
        value: centipawns_of(evaluation.value),
        policy: evaluation.moves.iter().map(|estimate| estimate.policy).collect(),
        promises: evaluation.moves.iter().map(|e| centipawns_of(e.action_value) as i16).collect(),
        handle: evaluation.handle,
    }
}

fn centipawns_of(score: f32) -> i32 {
    clamp_estimate(centipawns_from_score(score).round() as i32)
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
    /// Whether answers were dropped since the evaluator was told.
    has_dropped: bool,
}

impl Cache {
    pub(super) fn new(megabytes: usize) -> Self {
        let half = (megabytes << 20) / ANSWER_BYTES / 2;
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
            half: half.max(1_024),
            has_dropped: false,
        }
    }

    pub(super) fn clear(&mut self) {
        self.young.clear();
        self.old.clear();
    }

    pub(super) fn contains(&self, key: u64) -> bool {
        self.young.contains_key(&key) || self.old.contains_key(&key)
    }

    /// The name of a position in the evaluator's cache.
    fn handle(&self, key: u64) -> Option<Handle> {
        self.young.get(&key).or_else(|| self.old.get(&key)).map(|answer| answer.handle)
    }

    /// The names of all positions.
    fn handles(&self) -> Vec<Handle> {
        self.young.values().chain(self.old.values()).map(|answer| answer.handle).collect()
    }

    fn forget_handles(&mut self) {
        for answer in self.young.values_mut().chain(self.old.values_mut()) {
            answer.handle = Handle::default();
        }
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
            self.has_dropped = true;
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
        let answer = |value| NetworkAnswer {
            value,
            policy: [].into(),
            promises: [].into(),
            handle: Handle::default(),
        };
        for key in 0..100_000 {
            cache.insert(key, answer(key as i32));
            assert!(cache.get(0).is_some_and(|answer| answer.value == 0));
            assert!(cache.young.len() + cache.old.len() <= 2 * 1_024);
        }
        assert!(!cache.contains(5));
        assert!(cache.contains(99_999));
    }
}
