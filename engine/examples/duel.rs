//! Plays arms of the Tesla search against the first arm, with the classical evaluator and equal
//! evaluations per move.
//!
//! `cargo run --release --example duel -- openings.epd evaluations pairs [name=value …] / …`
//!
//! Every opening is played with both colours. A game ends by the rules, after [`LONGEST`] plies as
//! a draw, or when both sides have agreed for a while that it is won.

use std::collections::{HashMap, VecDeque};
use std::error::Error;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, Chess, Color, Outcome, Position};
use tesla_engine::history::Game;
use tesla_engine::params::Params;
use tesla_engine::search_api::{Limits, Search, StopToken, Task};
use tesla_engine::tesla::TeslaSearch;
use tesla_engine::timeman::Budget;
use tesla_nn::classical::ClassicalEvaluator;
use tesla_nn::evaluator::{EvalError, Evaluation, Evaluator, Request};

/// Plies after which a game counts as drawn.
const LONGEST: usize = 200;
/// Expected score beyond which a side counts as winning, and for how many plies it must.
const WINNING: f32 = 0.95;
const AGREED: usize = 6;

type Answers = Arc<Mutex<HashMap<Chess, Evaluation>>>;

/// Remembers answers, so that both sides pay once for a position.
struct Remembering {
    inner: ClassicalEvaluator,
    answers: Answers,
    queue: VecDeque<Vec<Request>>,
}

impl Evaluator for Remembering {
    fn description(&self) -> String {
        self.inner.description()
    }

    fn batch_size(&self) -> usize {
        self.inner.batch_size()
    }

    fn fixed_cost(&self) -> f32 {
        self.inner.fixed_cost()
    }

    fn submit(&mut self, batch: Vec<Request>) {
        self.queue.push_back(batch);
    }

    fn in_flight(&self) -> usize {
        self.queue.len()
    }

    fn collect(&mut self) -> Result<Vec<Evaluation>, EvalError> {
        let batch = self.queue.pop_front().ok_or(EvalError::NothingInFlight)?;
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut evaluations = Vec::with_capacity(batch.len());
        for request in batch {
            if let Some(known) = answers.get(&request.position) {
                evaluations.push(known.clone());
                continue;
            }
            let position = request.position.clone();
            self.inner.submit(vec![request]);
            for evaluation in self.inner.collect()? {
                answers.insert(position.clone(), evaluation.clone());
                evaluations.push(evaluation);
            }
        }
        Ok(evaluations)
    }
}

fn engine(words: &[String], answers: &Answers) -> Result<TeslaSearch, Box<dyn Error>> {
    let mut params = Params::default();
    for word in words {
        let (name, value) = word.split_once('=').ok_or("an arm's words look like name=value")?;
        params.set(name, value.parse()?)?;
    }
    let inner = ClassicalEvaluator::with_batch_size(16);
    let evaluator = Remembering { inner, answers: answers.clone(), queue: VecDeque::new() };
    let mut search = TeslaSearch::new(Box::new(evaluator));
    search.set_hash_mb(16);
    search.set_params(params);
    Ok(search)
}

/// Half points of White.
fn play(opening: &Chess, nodes: u64, sides: [&mut TeslaSearch; 2]) -> u32 {
    let mut game = Game::new(opening.clone());
    let limits = Limits { nodes: Some(nodes), ..Limits::default() };
    let mut winning = [0_usize; 2];
    let [white, black] = sides;
    white.clear();
    black.clear();
    for _ in 0..LONGEST {
        match game.position().outcome() {
            Outcome::Known(known) => {
                return known.winner().map_or(1, |winner| 2 * u32::from(winner == Color::White));
            }
            Outcome::Unknown if game.repetitions() >= 2 || game.position().halfmoves() >= 100 => {
                return 1;
            }
            Outcome::Unknown => {}
        }
        let turn = game.position().turn();
        let search = if turn == Color::White { &mut *white } else { &mut *black };
        let (budget, stop) = (Budget::new(&limits, Duration::ZERO), StopToken::default());
        let task = Task { game: &game, limits: &limits, budget: &budget, stop: &stop };
        let outcome = search.search(&task, &mut |_| ());
        let score = outcome.info.score.expected();
        let for_white = if turn == Color::White { score } else { 1.0 - score };
        winning[0] = if for_white > WINNING { winning[0] + 1 } else { 0 };
        winning[1] = if for_white < 1.0 - WINNING { winning[1] + 1 } else { 0 };
        if let Some(side) = winning.iter().position(|&plies| plies >= AGREED) {
            return if side == 0 { 2 } else { 0 };
        }
        game.play(outcome.best);
    }
    1
}

fn main() -> Result<(), Box<dyn Error>> {
    let usage = "usage: duel openings.epd evaluations pairs [name=value …] / [name=value …] …";
    let mut words = std::env::args().skip(1);
    let openings = std::fs::read_to_string(words.next().ok_or(usage)?)?;
    let nodes: u64 = words.next().ok_or(usage)?.parse()?;
    let pairs: usize = words.next().ok_or(usage)?.parse()?;
    let words: Vec<String> = words.collect();
    let arms: Vec<&[String]> = words.split(|word| word == "/").collect();
    let answers = Answers::default();
    let mut base = engine(arms.first().ok_or(usage)?, &answers)?;
    let mut others = Vec::new();
    for &arm in &arms[1..] {
        others.push((engine(arm, &answers)?, [0_u32; 5], arm.join(" ")));
    }
    let lines: Vec<&str> = openings.lines().collect();
    let stride = (lines.len() / pairs.max(1)).max(1);
    for line in lines.iter().step_by(stride).take(pairs) {
        let fields: Vec<&str> = line.split_whitespace().take(4).collect();
        let opening: Chess =
            fields.join(" ").parse::<Fen>()?.into_position(CastlingMode::Standard)?;
        answers.lock().unwrap_or_else(PoisonError::into_inner).clear();
        for (other, pentanomial, _) in &mut others {
            let first = play(&opening, nodes, [&mut *other, &mut base]);
            let second = 2 - play(&opening, nodes, [&mut base, &mut *other]);
            pentanomial[(first + second) as usize] += 1;
        }
    }
    let mut out = std::io::stdout().lock();
    for (_, pentanomial, name) in &others {
        let total: u32 = pentanomial.iter().sum();
        let points: u32 = (0..).zip(pentanomial).map(|(points, count)| points * count).sum();
        let score = f64::from(points) / f64::from(4 * total);
        let moments = (0..)
            .zip(pentanomial)
            .map(|(points, &count)| f64::from(count) * (f64::from(points) / 4.0 - score).powi(2));
        let error = moments.sum::<f64>().sqrt() / f64::from(total);
        let elo = -400.0 * (1.0 / score - 1.0).log10();
        let margin = 1.96 * error * 400.0 / (score * (1.0 - score) * std::f64::consts::LN_10);
        writeln!(out, "{score:.3}  {elo:+.0} ± {margin:.0} Elo  {pentanomial:?}  {name}")?;
    }
    Ok(())
}
