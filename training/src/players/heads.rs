//! Players that ask the network once or one ply deep, without a search: what its heads are worth
//! alone.
//!
//! Reads the clock: a move may have a time limit.

use std::time::Instant;

use shakmaty::{CastlingMode, Chess, Move, Position};
use tesla_nn::evaluator::{CacheNote, Evaluation, Evaluator, Request, centipawns_from_score};

use super::player::{Mishap, Player, Reply, Turn};
use crate::game::ending::Termination;
use crate::game::score::UciScore;

/// What decides the move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    /// The likeliest move of the policy.
    Policy,
    /// The highest action value.
    ActionValue,
    /// The move whose position has the lowest value for the opponent; mates and draws by the rules.
    Value,
}

/// A network that plays by one of its heads.
pub struct HeadPlayer {
    head: Head,
    evaluator: Box<dyn Evaluator>,
}

impl std::fmt::Debug for HeadPlayer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeadPlayer").field("head", &self.head).finish_non_exhaustive()
    }
}

impl HeadPlayer {
    /// A player that asks `evaluator`.
    pub fn new(head: Head, evaluator: Box<dyn Evaluator>) -> Self {
        Self { head, evaluator }
    }

    /// Answers in the order of the requests.
    fn ask(&mut self, requests: Vec<Request>) -> Result<Vec<Evaluation>, Mishap> {
        self.evaluator.submit(requests);
        self.evaluator.collect().map_err(|error| Mishap::Fatal(error.to_string()))
    }

    /// Expected score of each move, or its policy, and how many evaluations that took.
    fn judge(&mut self, position: &Chess, moves: &[Move]) -> Result<(Vec<f32>, u64), Mishap> {
        let request = Request { keep: self.head == Head::Value, ..Request::single(position) };
        let root = self.ask(vec![request])?.pop().unwrap_or_default();
        match self.head {
            Head::Policy => Ok((root.moves.iter().map(|m| m.policy).collect(), 1)),
            Head::ActionValue => Ok((root.moves.iter().map(|m| m.action_value).collect(), 1)),
            Head::Value => self.judge_children(position, moves, &root),
        }
    }

    fn judge_children(
        &mut self,
        position: &Chess,
        moves: &[Move],
        root: &Evaluation,
    ) -> Result<(Vec<f32>, u64), Mishap> {
        let mut worth = Vec::with_capacity(moves.len());
        let mut open = Vec::new();
        let mut requests = Vec::new();
        for (index, &m) in moves.iter().enumerate() {
            let mut after = position.clone();
            after.play_unchecked(m);
            if after.is_checkmate() {
                worth.push(1.0);
            } else if after.is_stalemate() || after.is_insufficient_material() {
                worth.push(0.5);
            } else {
                worth.push(0.0);
                open.push(index);
                let parent = Some((root.handle, m));
                requests.push(Request { parent, ..Request::single(&after) });
            }
        }
        let mut evaluations = 1;
        let size = self.evaluator.batch_size().max(1);
        for (places, batch) in open.chunks(size).zip(requests.chunks(size)) {
            for (&place, answer) in places.iter().zip(self.ask(batch.to_vec())?) {
                worth[place] = 1.0 - answer.value;
                evaluations += 1;
            }
        }
        Ok((worth, evaluations))
    }
}

impl Player for HeadPlayer {
    fn new_game(&mut self, _chess960: bool) -> Result<(), Mishap> {
        self.evaluator.note(0, CacheNote::ForgetAll);
        Ok(())
    }

    fn play(&mut self, turn: &Turn<'_>) -> Result<Reply, Mishap> {
        let started = Instant::now();
        let position = turn.state.position();
        let moves = position.legal_moves();
        let (worth, nodes) = self.judge(position, &moves)?;
        let mode: CastlingMode = position.castles().mode();
        let mut best: Option<(Move, f32)> = None;
        for (&m, &worth) in moves.iter().zip(&worth) {
            let is_asked = turn.only.is_empty() || turn.only.contains(&m.to_uci(mode));
            if is_asked && best.is_none_or(|(_, most)| worth > most) {
                best = Some((m, worth));
            }
        }
        let (best, worth) = best.ok_or_else(|| Mishap::Failed {
            how: Termination::Crash,
            what: "there is no move to play".to_owned(),
        })?;
        let score = UciScore::Cp(centipawns_from_score(worth).round() as i32);
        Ok(Reply {
            best: best.to_uci(mode),
            score: (self.head != Head::Policy).then_some(score),
            latest: (self.head != Head::Policy).then_some(score),
            depth: Some(u32::from(self.head == Head::Value)),
            nodes: Some(nodes),
            pv: Vec::new(),
            others: Vec::new(),
            remarks: Vec::new(),
            elapsed: started.elapsed(),
        })
    }

    fn transcript(&self) -> Vec<String> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use shakmaty::fen::Fen;
    use tesla_nn::classical::ClassicalEvaluator;

    use super::*;
    use crate::game::limit::Limit;
    use crate::game::state::GameState;

    fn play(head: Head, fen: &str) -> (String, u64) {
        let mut player = HeadPlayer::new(head, Box::new(ClassicalEvaluator::default()));
        let position = fen.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap();
        let state = GameState::from_position(position);
        let turn = Turn {
            state: &state,
            limit: &Limit::default(),
            clocks: [None; 2],
            allowance: Duration::ZERO,
            only: &[],
        };
        player.new_game(false).unwrap();
        let reply = player.play(&turn).unwrap();
        (reply.best.to_string(), reply.nodes.unwrap())
    }

    #[test]
    fn one_ply_sees_mates_captures_and_draws() {
        assert_eq!(play(Head::Value, "7k/8/6K1/8/8/8/8/R7 w - - 0 1").0, "a1a8");
        let (best, nodes) = play(Head::Value, "7k/8/8/3q4/8/8/3R4/K7 w - - 0 1");
        assert_eq!(best, "d2d5");
        assert!(nodes > 10);
        // All moves but one give away the rook's win by stalemate or a lost rook.
        let (best, _) = play(Head::Value, "k7/2K5/8/8/8/8/1R6/8 w - - 0 1");
        assert!(best.starts_with("b2") && best != "b2b7" && best != "b2b8", "{best}");
    }

    #[test]
    fn the_other_heads_ask_once() {
        for head in [Head::Policy, Head::ActionValue] {
            assert_eq!(play(head, "7k/8/8/3q4/8/8/3R4/K7 w - - 0 1").1, 1);
        }
    }
}
