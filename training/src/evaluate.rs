//! Held-out figures of a network: value, policy, action values and their calibration, by staleness
//! and by how a position was reached; and puzzles by rating.

mod figures;
pub mod idle;
mod phase;
pub mod puzzles;
mod report;

use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use burn::tensor::Device;
use serde::{Deserialize, Serialize};
use tesla_engine::console::terminal::bar;
use tesla_nn::batch::Batch;
use tesla_nn::decode::decode;
use tesla_nn::evaluator::Evaluation;
use tesla_nn::model::{Model, VALUE_BINS};

use crate::train::dataset::{Dataset, WindowRef};
use crate::train::labels::Labels;
use figures::Observation;
use phase::Phases;

pub use figures::{Measures, Reliability, Sums};
pub use phase::{Phase, PhaseRow};
use puzzles::Solved;
pub use report::{Report, Row};

/// Plies since the anchor that the table shows.
pub const STALENESS: [usize; 5] = [0, 1, 2, 4, 8];
/// Longest window, anchor included.
const WINDOW: u16 = 9;
/// Windows per forward pass.
const BATCH: usize = 32;

/// How the position was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// Every position.
    All,
    /// By a move that was not the teacher's best.
    RandomMove,
    /// At least three such moves among the last eight.
    ManyRandomMoves,
    /// By the teacher's best move.
    BestMove,
}

/// The groups in the order of the table.
pub const GROUPS: [Group; 4] =
    [Group::All, Group::RandomMove, Group::ManyRandomMoves, Group::BestMove];

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "all",
            Self::RandomMove => "reached by a random move",
            Self::ManyRandomMoves => "≥ 3 random moves among the last 8",
            Self::BestMove => "reached by the teacher's best move",
        })
    }
}

/// The figures of a network.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// Whole encodes of every held-out position.
    pub whole: Sums,
    /// The same by phase and closeness.
    phases: Phases,
    /// By group, then by staleness; positions with at least eight plies before them.
    pub table: [[Sums; STALENESS.len()]; GROUPS.len()],
}

impl Figures {
    fn add(&mut self, other: &Self) {
        self.whole.add(&other.whole);
        self.phases.add(&other.phases);
        for (row, more) in self.table.iter_mut().zip(&other.table) {
            for (sums, more) in row.iter_mut().zip(more) {
                sums.add(more);
            }
        }
    }
}

/// All figures of a network, as `--json` writes them.
#[derive(Debug, Serialize, Deserialize)]
pub struct Evaluated {
    /// Its name and hash.
    pub network: String,
    /// Weights in the blocks.
    pub block_parameters: usize,
    /// Weights in all.
    pub parameters: usize,
    /// Every so-manieth game was used.
    pub every: u32,
    /// Held-out games, if any were given.
    pub games: Option<Report>,
    /// Puzzles by player.
    pub puzzles: Vec<Solved>,
}

/// Evaluates every `every`-th game of the data set with `threads` threads.
pub fn evaluate(
    model: &Model,
    dataset: &Dataset,
    every: usize,
    threads: usize,
    device: &Device,
) -> Figures {
    let parts = fold(dataset, every, threads, Figures::default, |figures, windows| {
        let (batch, labels) = dataset.batch(windows);
        let answers = Answers::of(model, &batch, device);
        figures.add(&measure(&answers, dataset, windows, &batch, &labels));
    });
    let mut total = Figures::default();
    for part in &parts {
        total.add(part);
    }
    total
}

/// Hands `threads` threads the windows that begin at each ply of every `every`-th game, batch by
/// batch; what each of them makes of its batches, beginning with `start`.
fn fold<T: Send>(
    dataset: &Dataset,
    every: usize,
    threads: usize,
    start: impl Fn() -> T + Sync,
    add: impl Fn(&mut T, &[WindowRef]) + Sync,
) -> Vec<T> {
    let mut windows: Vec<WindowRef> = (0..dataset.games())
        .step_by(every.max(1))
        .flat_map(|game| {
            let plies = dataset.game(game).plies.len() as u16;
            (0..plies).map(move |start| WindowRef {
                game: game as u32,
                start,
                length: WINDOW.min(plies - start),
            })
        })
        .collect();
    windows.sort_by_key(|window| window.length);
    let batches: Vec<&[WindowRef]> = windows.chunks(BATCH).collect();
    let bar = bar(batches.len() as u64, "batches");
    let next = AtomicUsize::new(0);
    let work = || {
        let mut part = start();
        while let Some(windows) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
            add(&mut part, windows);
            bar.inc(1);
        }
        part
    };
    let parts = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        let ended = workers.into_iter().map(thread::ScopedJoinHandle::join);
        ended.map(|end| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    });
    bar.finish_and_clear();
    parts
}

/// What the network says about a batch, on the host.
struct Answers {
    values: Vec<f32>,
    errors: Vec<f32>,
    policy: Vec<f32>,
    deltas: Vec<f32>,
}

impl Answers {
    fn of(model: &Model, batch: &Batch, device: &Device) -> Self {
        let output = model.forward(batch, device);
        let host = |tensor: burn::tensor::Tensor<1>| -> Vec<f32> {
            tensor.into_data().try_to_vec().unwrap_or_default()
        };
        let readouts = batch.windows * batch.readouts;
        Self {
            values: host(output.value_logits.reshape([readouts * VALUE_BINS])),
            errors: host(output.log_error),
            policy: host(output.policy_logits),
            deltas: host(output.action_delta),
        }
    }

    fn decode(&self, readout: usize, moves: Range<usize>) -> Evaluation {
        decode(
            &self.values[readout * VALUE_BINS..(readout + 1) * VALUE_BINS],
            self.errors[readout],
            moves.map(|row| [self.policy[row], self.deltas[row]]),
        )
    }
}

fn observe(
    labels: &Labels,
    readout: usize,
    moves: &Range<usize>,
    said: &Evaluation,
) -> Observation {
    let best = labels.best[readout] as usize;
    let policy = |index: usize| said.moves[index].policy;
    let value = |index: usize| said.moves[index].action_value;
    let count = said.moves.len();
    let first = labels.action_readout.partition_point(|&at| (at as usize) < readout);
    let known = labels.action_readout[first..].iter().take_while(|&&at| at as usize == readout);
    let actions = (first..first + known.count()).map(|at| {
        let index = labels.action_move[at] as usize - moves.start;
        [f64::from(value(index)), f64::from(labels.action_score[at])]
    });
    Observation {
        value: f64::from(said.value),
        error: f64::from(said.error),
        score: f64::from(labels.score[readout]),
        policy: f64::from(policy(best)),
        rank: (0..count).filter(|&index| policy(index) > policy(best)).count(),
        action_is_best: (0..count).all(|index| value(index) <= value(best)),
        actions: actions.collect(),
    }
}

fn measure(
    answers: &Answers,
    dataset: &Dataset,
    windows: &[WindowRef],
    batch: &Batch,
    labels: &Labels,
) -> Figures {
    let mut figures = Figures::default();
    for readout in 0..batch.windows * batch.readouts {
        let (window, ply) = (windows[readout / batch.readouts], readout % batch.readouts);
        if ply >= usize::from(window.length) {
            continue;
        }
        let moves = batch.move_offsets[readout]..batch.move_offsets[readout + 1];
        let said = answers.decode(readout, moves.clone());
        let seen = observe(labels, readout, &moves, &said);
        let position = usize::from(window.start) + ply;
        if ply == 0 {
            figures.whole.observe(&seen);
            let game = window.game as usize;
            let score = dataset.game(game).plies[position].score;
            figures.phases.of(dataset.pieces(game)[position], score).observe(&seen);
        }
        let Some(column) = STALENESS.iter().position(|&staleness| staleness == ply) else {
            continue;
        };
        if position < usize::from(WINDOW) - 1 {
            continue;
        }
        for (group, row) in GROUPS.iter().zip(&mut figures.table) {
            if belongs(dataset, window, position, *group) {
                row[column].observe(&seen);
            }
        }
    }
    figures
}

fn belongs(dataset: &Dataset, window: WindowRef, position: usize, group: Group) -> bool {
    let plies = &dataset.game(window.game as usize).plies;
    let random = |index: usize| plies[index].played != plies[index].best;
    match group {
        Group::All => true,
        Group::RandomMove => random(position - 1),
        Group::ManyRandomMoves => (position - 8..position).filter(|&i| random(i)).count() >= 3,
        Group::BestMove => !random(position - 1),
    }
}
