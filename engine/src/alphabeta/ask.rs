//! What the search asks of its source of static values: a network is asked in batches, and each
//! position from its parent's entries in the network's cache.

use shakmaty::{Chess, Move, Position};

use super::leaf::{Asked, Leaf, Network, NetworkAnswer, classical};
use super::value::DRAW;
use super::worker::{Worker, play};

/// Largest first batch of a node; a device whose batches cost little begins with fewer.
const FIRST_BATCH: f32 = 8.0;

/// A node whose children are wanted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parent<'a> {
    pub(super) position: &'a Chess,
    pub(super) key: u64,
    /// Whether its first move may well end the search of the node.
    pub(super) is_cut_likely: bool,
}

impl Worker<'_> {
    /// The static value from the side to move. Ends the search where the evaluator fails or may be
    /// asked no more.
    pub(super) fn static_value(&mut self, position: &Chess, key: u64) -> i32 {
        match self.leaf {
            Leaf::Classical => classical(position),
            Leaf::Network(_) => self.answer(position, key).map_or(DRAW, |answer| answer.value),
        }
    }

    /// The network's answer; `None` for the classical evaluation, in a position without legal
    /// moves, and when the search has ended.
    pub(super) fn answer(&mut self, position: &Chess, key: u64) -> Option<NetworkAnswer> {
        let Leaf::Network(network) = &mut *self.leaf else { return None };
        if let Some(answer) = network.cache.get(key) {
            return Some(answer);
        }
        if position.legal_moves().is_empty() {
            return None;
        }
        let parent = self.path.last().and_then(|&(key, played)| Some((key, played?)));
        self.ask(vec![Asked { key, position: position.clone(), parent }]);
        self.network()?.cache.get(key)
    }

    pub(super) fn network(&mut self) -> Option<&mut Network> {
        match self.leaf {
            Leaf::Classical => None,
            Leaf::Network(network) => Some(network),
        }
    }

    /// Evaluates the next children of a node in one batch, most promising first: as many as were
    /// taken care of before (`done`), at first one or what a batch costs to start. Returns how many
    /// moves are taken care of; those that are not `wanted` are, without an evaluation.
    pub(super) fn prefetch(
        &mut self,
        parent: &Parent<'_>,
        moves: &[Move],
        done: usize,
        mut wanted: impl FnMut(usize, Move) -> bool,
    ) -> usize {
        self.look_at_clock();
        let Some(network) = self.network() else { return moves.len() };
        let started = network.evaluator.fixed_cost().clamp(1.0, FIRST_BATCH) as usize;
        let size = match done {
            0 if parent.is_cut_likely => 1,
            _ => started.max(done),
        };
        let (mut children, mut seen) = (Vec::with_capacity(size), 0);
        for &played in moves {
            if children.len() >= size {
                break;
            }
            seen += 1;
            if !wanted(done + seen - 1, played) {
                continue;
            }
            let (key, position) = play(parent.position, parent.key, played);
            if !network.cache.contains(key) && !position.legal_moves().is_empty() {
                children.push(Asked { key, position, parent: Some((parent.key, played)) });
            }
        }
        if !children.is_empty() {
            self.ask(children);
        }
        seen
    }

    /// Sends positions to the network, as many as the node limit still allows; none when the search
    /// is over.
    fn ask(&mut self, mut wanted: Vec<Asked>) {
        if self.stopped {
            return;
        }
        let left = self.node_limit().saturating_sub(self.nodes);
        wanted.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        if wanted.is_empty() {
            self.stopped = true;
            return;
        }
        let task = self.task;
        let Some(network) = self.network() else { return };
        let mut answered = network.evaluate(&wanted);
        while let Err(error) = &answered
            && task.has_time_for_another()
            && network.replace(error)
        {
            answered = network.evaluate(&wanted);
        }
        match answered {
            Ok(()) => self.nodes += wanted.len() as u64,
            Err(error) => {
                self.error = Some(error);
                self.stopped = true;
            }
        }
        self.look_at_clock();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, VecDeque};
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use shakmaty::CastlingMode;
    use shakmaty::fen::Fen;
    use tesla_nn::classical::{ClassicalEvaluator, centipawns};
    use tesla_nn::evaluator::{
        EvalError, Evaluation, Evaluator, Handle, Request, score_from_centipawns,
    };

    use crate::alphabeta::AlphaBeta;
    use crate::chess::game::Game;
    use crate::search::clock::Budget;
    use crate::search::{Limits, Search as _, StopToken, Task};

    use super::*;

    /// Counts positions, and those that came with the right parent; values and action values are
    /// what stands on the board, whatever hangs.
    #[derive(Default)]
    struct Static {
        inner: ClassicalEvaluator,
        asked: VecDeque<Vec<Chess>>,
        names: HashMap<Handle, Chess>,
        counts: Arc<Mutex<(usize, usize)>>,
    }

    fn after(position: &Chess, played: Move) -> Chess {
        let mut after = position.clone();
        after.play_unchecked(played);
        after
    }

    fn worth(position: &Chess) -> f32 {
        score_from_centipawns(centipawns(position) as f32)
    }

    impl Evaluator for Static {
        fn description(&self) -> String {
            "static".to_owned()
        }

        fn batch_size(&self) -> usize {
            64
        }

        fn submit(&mut self, batch: Vec<Request>) {
            let mut counts = self.counts.lock().unwrap();
            for request in &batch {
                counts.0 += 1;
                if let Some((parent, played)) = request.parent {
                    assert_eq!(after(&self.names[&parent], played), request.position);
                    counts.1 += 1;
                }
            }
            self.asked.push_back(batch.iter().map(|request| request.position.clone()).collect());
            self.inner.submit(batch);
        }

        fn in_flight(&self) -> usize {
            self.inner.in_flight()
        }

        fn collect(&mut self) -> Result<Vec<Evaluation>, EvalError> {
            let mut answers = self.inner.collect()?;
            let positions = self.asked.pop_front().ok_or(EvalError::NothingInFlight)?;
            for (answer, position) in answers.iter_mut().zip(positions) {
                answer.value = worth(&position);
                for (said, &played) in answer.moves.iter_mut().zip(&position.legal_moves()) {
                    said.action_value = 1.0 - worth(&after(&position, played));
                }
                self.names.insert(answer.handle, position);
            }
            Ok(answers)
        }
    }

    /// The move to `depth`, positions asked for, and those of them with parents.
    fn searched(fen: &str, depth: u32) -> (String, (usize, usize)) {
        let fen: Fen = fen.parse().unwrap();
        let game = Game::new(fen.into_position(CastlingMode::Standard).unwrap());
        let evaluator = Box::<Static>::default();
        let counts = Arc::clone(&evaluator.counts);
        let limits = Limits { depth: Some(depth), ..Limits::default() };
        let (budget, stop) = (Budget::new(&limits, Duration::ZERO), StopToken::default());
        let task = Task { game: &game, limits: &limits, budget: &budget, stop: &stop };
        let outcome = AlphaBeta::with_evaluator(evaluator, 4).search(&task, &mut |_| {});
        let counts = *counts.lock().unwrap();
        (outcome.best.to_uci(CastlingMode::Standard).to_string(), counts)
    }

    /// Only the root and what comes after a passed move have none.
    #[test]
    fn nearly_every_position_names_its_parent() {
        let fen = "r1bqkb1r/pppp1ppp/2n2n2/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 4 4";
        let (_, (asked, named)) = searched(fen, 4);
        assert!(asked > 100 && named * 10 >= asked * 8 && named < asked, "{named} of {asked}");
    }

    #[test]
    fn a_defended_pawn_is_not_taken_with_the_queen() {
        let (best, (asked, _)) = searched("7k/8/2p5/3p4/8/8/3Q4/6K1 w - - 0 1", 1);
        assert_ne!(best, "d2d5");
        // The root, its moves, and of all replies the recapture.
        assert!(asked < 40, "{asked}");
    }
}
