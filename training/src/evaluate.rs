//! Held-out figures of a network: value and policy by staleness and by how a position was reached.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use burn::tensor::Device;
use serde::Serialize;
use tesla_nn::batch::Batch;
use tesla_nn::decode::decode;
use tesla_nn::model::{Model, VALUE_BINS};

use crate::dataset::{Dataset, WindowRef};
use crate::labels::Labels;
use crate::progress::bar;

/// Plies since the anchor that the table shows.
pub const STALENESS: [usize; 5] = [0, 1, 2, 4, 8];
/// Longest window, anchor included.
const WINDOW: u16 = 9;
/// Windows per forward pass.
const BATCH: usize = 32;

/// How the position was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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

/// Sums over positions.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Sums {
    positions: u64,
    score: f64,
    score_squared: f64,
    residual_squared: f64,
    residual_absolute: f64,
    top_1: u64,
    /// Residuals within the error head's 50 % and 90 % bands.
    within: [u64; 2],
    actions: u64,
    action_squared: f64,
}

impl Sums {
    fn add(&mut self, other: &Self) {
        self.positions += other.positions;
        self.score += other.score;
        self.score_squared += other.score_squared;
        self.residual_squared += other.residual_squared;
        self.residual_absolute += other.residual_absolute;
        self.top_1 += other.top_1;
        self.within[0] += other.within[0];
        self.within[1] += other.within[1];
        self.actions += other.actions;
        self.action_squared += other.action_squared;
    }

    fn n(&self) -> f64 {
        self.positions.max(1) as f64
    }

    /// Share of the labels' variance that the value explains.
    pub fn variance_explained(&self) -> f64 {
        let variance = self.score_squared / self.n() - (self.score / self.n()).powi(2);
        1.0 - self.residual_squared / self.n() / variance
    }

    /// Root-mean-square error of the value, in points.
    pub fn rmse_points(&self) -> f64 {
        (self.residual_squared / self.n()).sqrt() * 100.0
    }

    /// Share of positions whose likeliest move is the teacher's best.
    pub fn policy_top_1(&self) -> f64 {
        self.top_1 as f64 / self.n()
    }
}

/// The figures of a network.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Figures {
    /// Whole encodes of every held-out position.
    pub whole: Sums,
    /// By group, then by staleness; positions with at least eight plies before them.
    pub table: [[Sums; STALENESS.len()]; GROUPS.len()],
}

impl Figures {
    fn add(&mut self, other: &Self) {
        self.whole.add(&other.whole);
        for (row, more) in self.table.iter_mut().zip(&other.table) {
            for (sums, more) in row.iter_mut().zip(more) {
                sums.add(more);
            }
        }
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = &self.whole;
        writeln!(
            f,
            "All {} held-out positions, whole encodes: variance explained {:.4}, RMSE {:.2} points, \
             mean error {:.2} points, policy top-1 {:.4}, action value RMSE {:.2} points; {:.1} % of \
             the residuals lie in the error head's 50 % band, {:.1} % in its 90 % band.\n",
            whole.positions,
            whole.variance_explained(),
            whole.rmse_points(),
            whole.residual_absolute / whole.n() * 100.0,
            whole.policy_top_1(),
            (whole.action_squared / whole.actions.max(1) as f64).sqrt() * 100.0,
            whole.within[0] as f64 / whole.n() * 100.0,
            whole.within[1] as f64 / whole.n() * 100.0,
        )?;
        writeln!(
            f,
            "Variance explained / RMSE in points / policy top-1, by plies since the anchor:\n"
        )?;
        writeln!(f, "| positions | count | 0 (whole) | 1 | 2 | 4 | 8 |")?;
        writeln!(f, "|---|---|---|---|---|---|---|")?;
        for (group, row) in GROUPS.iter().zip(&self.table) {
            write!(f, "| {group} | {} |", row[0].positions)?;
            for sums in row {
                write!(
                    f,
                    " {:.3} / {:.1} / {:.3} |",
                    sums.variance_explained(),
                    sums.rmse_points(),
                    sums.policy_top_1()
                )?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

/// Evaluates every `every`-th game of the data set with `threads` threads.
pub fn evaluate(
    model: &Model,
    dataset: &Dataset,
    every: usize,
    threads: usize,
    device: &Device,
) -> Figures {
    let mut batches: Vec<Vec<WindowRef>> = Vec::new();
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
    batches.extend(windows.chunks(BATCH).map(<[WindowRef]>::to_vec));
    let bar = bar(batches.len() as u64, "{bar:30} batch {pos}/{len} left {eta_precise}");
    let next = AtomicUsize::new(0);
    let work = || {
        let mut figures = Figures::default();
        while let Some(windows) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
            let (batch, labels) = dataset.batch(windows);
            figures.add(&measure(model, dataset, windows, &batch, &labels, device));
            bar.inc(1);
        }
        figures
    };
    let mut total = Figures::default();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            match worker.join() {
                Ok(figures) => total.add(&figures),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    bar.finish_and_clear();
    total
}

fn measure(
    model: &Model,
    dataset: &Dataset,
    windows: &[WindowRef],
    batch: &Batch,
    labels: &Labels,
    device: &Device,
) -> Figures {
    let output = model.forward(batch, device);
    let host = |tensor: burn::tensor::Tensor<1>| -> Vec<f32> {
        tensor.into_data().try_to_vec().unwrap_or_default()
    };
    let readouts = batch.windows * batch.readouts;
    let values = host(output.value_logits.reshape([readouts * VALUE_BINS]));
    let (errors, policy, deltas) =
        (host(output.log_error), host(output.policy_logits), host(output.action_delta));
    let mut actions: Vec<(usize, usize, f32)> = Vec::new();
    for ((&readout, &row), &score) in
        labels.action_readout.iter().zip(&labels.action_move).zip(&labels.action_score)
    {
        actions.push((readout as usize, row as usize, score));
    }
    let mut figures = Figures::default();
    let mut next_action = actions.iter().peekable();
    for readout in 0..readouts {
        let (window, ply) = (windows[readout / batch.readouts], readout % batch.readouts);
        if ply >= usize::from(window.length) {
            continue;
        }
        let moves = batch.move_offsets[readout]..batch.move_offsets[readout + 1];
        let answer = decode(
            &values[readout * VALUE_BINS..(readout + 1) * VALUE_BINS],
            errors[readout],
            moves.clone().map(|row| [policy[row], deltas[row]]),
        );
        let mut sums = Sums { positions: 1, ..Sums::default() };
        let score = f64::from(labels.score[readout]);
        let residual = f64::from(answer.value) - score;
        sums.score = score;
        sums.score_squared = score * score;
        sums.residual_squared = residual * residual;
        sums.residual_absolute = residual.abs();
        let likeliest = (0..answer.moves.len())
            .max_by(|&a, &b| answer.moves[a].policy.total_cmp(&answer.moves[b].policy));
        sums.top_1 = u64::from(likeliest == Some(labels.best[readout] as usize));
        // Student's t, two degrees of freedom: P(|T| < x) = x / √(x² + 2).
        let z = residual.abs() / f64::from(answer.error);
        sums.within = [u64::from(z < 0.816_5), u64::from(z < 2.919_99)];
        while let Some(&&(_, row, score)) = next_action.peek().filter(|(at, _, _)| *at == readout) {
            next_action.next();
            let said = answer.moves[row - moves.start].action_value;
            sums.actions += 1;
            sums.action_squared += f64::from(said - score).powi(2);
        }
        let position = usize::from(window.start) + ply;
        if ply == 0 {
            figures.whole.add(&sums);
        }
        let Some(column) = STALENESS.iter().position(|&staleness| staleness == ply) else {
            continue;
        };
        if position < usize::from(WINDOW) - 1 {
            continue;
        }
        for (group, row) in GROUPS.iter().zip(&mut figures.table) {
            if belongs(dataset, window, position, *group) {
                row[column].add(&sums);
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
