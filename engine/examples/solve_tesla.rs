//! Counts how many positions of an EPD suite the Tesla search solves with the classical evaluator.
//!
//! `cargo run --release --example solve_tesla -- suite.epd evaluations [positions] [name=value …] [/ …]`
//!
//! A position with `bm` or `am` is solved when the answer agrees; one with `dm` (direct mate) when
//! a mate is proven. Tunables are set by `name=value`; `batch=N` bounds the batch, `v=1` explains
//! the failures. A `/` begins another arm with its own tunables; all arms search each position and
//! share its evaluations, which makes comparing them cheap.

use std::collections::{HashMap, VecDeque};
use std::error::Error;
use std::io::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use shakmaty::fen::Fen;
use shakmaty::san::SanPlus;
use shakmaty::{CastlingMode, Chess};
use tesla_engine::history::Game;
use tesla_engine::params::Params;
use tesla_engine::score::Score;
use tesla_engine::search_api::{Limits, Outcome, Search, StopToken, Task};
use tesla_engine::tesla::TeslaSearch;
use tesla_engine::timeman::Budget;
use tesla_nn::classical::ClassicalEvaluator;
use tesla_nn::evaluator::{EvalError, Evaluation, Evaluator, Request};

type Answers = Arc<Mutex<HashMap<Chess, Evaluation>>>;

/// Remembers answers, so that several arms pay once for a position.
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

/// One way to search, and how it fared.
struct Arm {
    name: String,
    is_verbose: bool,
    search: TeslaSearch,
    solved: usize,
    evaluations: u64,
    time: Duration,
}

impl Arm {
    fn new(words: &[String], answers: &Answers) -> Result<Self, Box<dyn Error>> {
        let (mut batch, mut is_verbose, mut params) = (64, false, Params::default());
        for word in words {
            match word.split_once('=').ok_or("an arm's words look like name=value")? {
                ("batch", value) => batch = value.parse()?,
                ("v", _) => is_verbose = true,
                (name, value) => params.set(name, value.parse()?)?,
            }
        }
        let inner = ClassicalEvaluator::with_batch_size(batch);
        let evaluator = Remembering { inner, answers: answers.clone(), queue: VecDeque::new() };
        let mut search = TeslaSearch::new(Box::new(evaluator));
        search.set_params(params);
        let (solved, evaluations, time) = (0, 0, Duration::ZERO);
        Ok(Self { name: words.join(" "), is_verbose, search, solved, evaluations, time })
    }

    fn attempt(&mut self, line: &str, nodes: u64) -> Result<(), Box<dyn Error>> {
        let fields: Vec<&str> = line.split_whitespace().take(4).collect();
        let fen: Fen = fields.join(" ").parse()?;
        let position: Chess = fen.into_position(CastlingMode::Standard)?;
        let game = Game::new(position.clone());
        let limits = Limits { nodes: Some(nodes), ..Limits::default() };
        let budget = Budget::new(&limits, Duration::ZERO);
        self.search.clear();
        let start = Instant::now();
        let stop = StopToken::default();
        let task = Task { game: &game, limits: &limits, budget: &budget, stop: &stop };
        let outcome = self.search.search(&task, &mut |_| ());
        self.time += start.elapsed();
        self.evaluations += outcome.info.nodes;
        if is_solved(line, &position, &outcome)? {
            self.solved += 1;
        } else if self.is_verbose {
            self.explain(line, &outcome)?;
        }
        Ok(())
    }

    fn explain(&self, line: &str, outcome: &Outcome) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        let pv: Vec<String> = outcome.info.pv.iter().map(ToString::to_string).collect();
        writeln!(out, "{}: {}; pv {}", line.trim(), outcome.best, pv.join(" "))?;
        for row in self.search.root_moves().iter().take(12) {
            writeln!(
                out,
                "  {:7} {:.3} ± {:.3}  work {:5}  policy {:.3}  overtake {:.3}  {:?}",
                row.mv, row.value, row.error, row.work, row.policy, row.overtake, row.score
            )?;
        }
        Ok(())
    }
}

/// The operand of an EPD opcode.
fn operand<'a>(line: &'a str, opcode: &str) -> Option<&'a str> {
    let start = line.find(&format!(" {opcode} "))? + opcode.len() + 2;
    line[start..].split(';').next()
}

fn is_solved(line: &str, position: &Chess, outcome: &Outcome) -> Result<bool, Box<dyn Error>> {
    if operand(line, "dm").is_some() {
        return Ok(matches!(outcome.info.score, Score::Win(_)));
    }
    let listed = |opcode: &str| -> Result<Option<bool>, Box<dyn Error>> {
        let Some(list) = operand(line, opcode) else { return Ok(None) };
        for text in list.split_whitespace() {
            if text.parse::<SanPlus>()?.san.to_move(position)? == outcome.best {
                return Ok(Some(true));
            }
        }
        Ok(Some(false))
    };
    Ok(listed("bm")?.unwrap_or(true) && !listed("am")?.unwrap_or(false))
}

fn main() -> Result<(), Box<dyn Error>> {
    let usage =
        "usage: solve_tesla suite.epd evaluations [positions] [name=value …] [/ name=value …]";
    let mut words: VecDeque<String> = std::env::args().skip(1).collect();
    let suite = std::fs::read_to_string(words.pop_front().ok_or(usage)?)?;
    let nodes: u64 = words.pop_front().ok_or(usage)?.parse()?;
    let count = words.front().and_then(|word| word.parse().ok());
    if count.is_some() {
        words.pop_front();
    }
    let answers = Answers::default();
    let words: Vec<String> = words.into();
    let arms = words.split(|word| word == "/").map(|words| Arm::new(words, &answers));
    let mut arms = arms.collect::<Result<Vec<Arm>, _>>()?;
    let lines: Vec<&str> = suite.lines().filter(|line| !line.trim().is_empty()).collect();
    let tried = lines.len().min(count.unwrap_or(usize::MAX));
    for line in &lines[..tried] {
        answers.lock().unwrap_or_else(PoisonError::into_inner).clear();
        for arm in &mut arms {
            arm.attempt(line, nodes)?;
        }
    }
    let mut out = std::io::stdout().lock();
    for Arm { name, solved, evaluations, time, .. } in &arms {
        let rate = *evaluations as f64 / time.as_secs_f64();
        let figures = format!("{solved}/{tried} solved, {evaluations} evaluations, {rate:.0}/s");
        writeln!(out, "{figures}  {name}")?;
    }
    Ok(())
}
