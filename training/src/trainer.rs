//! The training loop: schedule, workers, progress, checkpoints that resume.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use burn::module::Module;
use burn::optim::{GradientsAccumulator, GradientsParams};
use burn::tensor::Device;
use crossbeam_channel::{Receiver, bounded};
use serde::{Deserialize, Serialize};
use tesla_engine::search_api::StopToken;
use tesla_nn::batch::Batch;
use tesla_nn::model::Model;
use tesla_nn::weights;

use crate::adamw::State;
use crate::dataset::{Dataset, Whole};
use crate::labels::Labels;
use crate::loss::{LossWeights, consistency, loss};
use crate::progress::bar;
use crate::train_config::TrainConfig;

/// First line of `loss.csv`. The parts of the loss are means over the last 50 steps, before the
/// parts' weights.
const COLUMNS: &str =
    "step,positions,rate,value,policy,action,error,rmse_points,norm,positions_per_second";

/// Folders of a run that hold a checkpoint; the second one only between the renames of a save.
const CHECKPOINTS: [&str; 2] = ["checkpoint", "checkpoint.old"];

/// Where a run stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Progress {
    step: u64,
    epoch: u64,
    /// Batches of the epoch that are done.
    batch: usize,
    /// Labelled positions seen.
    positions: u64,
}

/// Why training stopped early.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// A checkpoint file.
    #[error("cannot access {path}: {source}; choose another folder with --out")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A checkpoint that is no checkpoint.
    #[error("the checkpoint in {0} is damaged ({1}); delete the folder to start again")]
    Checkpoint(PathBuf, String),
    /// Numbers that cannot be trained with.
    #[error("{0}; mend the options")]
    Config(String),
    /// The weights.
    #[error(transparent)]
    Weights(#[from] weights::WeightsError),
    /// Not a number.
    #[error("the loss is no number any more at step {0}; lower the learning rate and resume")]
    Diverged(u64),
}

/// One worker's part of a step.
struct Job {
    batch: Batch,
    labels: Labels,
    /// Where consistency is part of the loss.
    whole: Option<Whole>,
}

/// A run in its folder.
#[derive(Debug)]
pub struct Trainer {
    config: TrainConfig,
    folder: PathBuf,
    device: Device,
    model: Model,
    optimizer: State,
    progress: Progress,
    is_resumed: bool,
}

fn access<T>(path: &Path, result: std::io::Result<T>) -> Result<T, TrainError> {
    result.map_err(|source| TrainError::Io { path: path.to_owned(), source })
}

impl Trainer {
    /// The config of the run that `folder` holds, if it holds one.
    ///
    /// # Errors
    /// When it is there but cannot be read.
    pub fn stored_config(folder: &Path) -> Result<Option<TrainConfig>, TrainError> {
        let path = folder.join("config.json");
        if !path.is_file() || !(CHECKPOINTS.iter().any(|name| folder.join(name).is_dir())) {
            return Ok(None);
        }
        let bytes = access(&path, fs::read(&path))?;
        serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| TrainError::Checkpoint(path, error.to_string()))
    }

    /// Starts a run in `folder`, or resumes the one that is there (with `config` in force from now
    /// on, its shape and its start excepted).
    ///
    /// # Errors
    /// When `config` is impossible, the folder cannot be used or its checkpoint is damaged.
    pub fn open(
        mut config: TrainConfig,
        folder: &Path,
        device: &Device,
    ) -> Result<Self, TrainError> {
        config.check().map_err(TrainError::Config)?;
        access(folder, fs::create_dir_all(folder))?;
        let stored = Self::stored_config(folder)?;
        let [checkpoint, old] = CHECKPOINTS.map(|name| folder.join(name));
        if !checkpoint.is_dir() && old.is_dir() {
            // Killed between the two renames of `save`.
            access(&old, fs::rename(&old, &checkpoint))?;
        }
        let training = device.clone().autodiff();
        training.seed(config.seed);
        let is_resumed = checkpoint.is_dir();
        let (model, optimizer, progress) = if checkpoint.is_dir() {
            let damaged = |what: String| TrainError::Checkpoint(checkpoint.clone(), what);
            let file = |name: &str| {
                let path = checkpoint.join(name);
                access(&path, fs::read(&path))
            };
            let mut progress: Progress = serde_json::from_slice(&file("progress.json")?)
                .map_err(|error| damaged(error.to_string()))?;
            let loaded = weights::load_bytes(&file("weights.safetensors")?, &training)?;
            config.model = loaded.config;
            let optimizer = State::from_bytes(&file("optimizer.safetensors")?, device)
                .map_err(|error| damaged(error.to_string()))?;
            optimizer.check(&loaded.model).map_err(|error| damaged(error.to_string()))?;
            if let Some(stored) = stored {
                if !config.has_plan_of(&stored) && progress.batch > 0 {
                    // Its batches are others now; the epoch is not begun twice.
                    progress.epoch += 1;
                    progress.batch = 0;
                }
                config.started_from = stored.started_from;
            }
            (loaded.model.train(), optimizer, progress)
        } else {
            (config.model.init(&training), State::default(), Progress::default())
        };
        let trainer = Self {
            config,
            folder: folder.to_owned(),
            device: training,
            model,
            optimizer,
            progress,
            is_resumed,
        };
        trainer.store_config()?;
        trainer.trim_log()?;
        Ok(trainer)
    }

    /// Replaces the fresh network by one that takes every tensor that fits from the weights file
    /// at `path`; says how many it took, and of how many.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub fn start_from(&mut self, path: &Path) -> Result<(usize, usize), TrainError> {
        let bytes = access(path, fs::read(path))?;
        let (model, taken, total) = weights::graft(&bytes, &self.config.model, &self.device)?;
        self.model = model.train();
        self.config.started_from = Some(weights::short_hash(&bytes));
        self.store_config()?;
        Ok((taken, total))
    }

    fn store_config(&self) -> Result<(), TrainError> {
        let path = self.folder.join("config.json");
        let text = serde_json::to_vec_pretty(&self.config)
            .map_err(|error| TrainError::Checkpoint(path.clone(), error.to_string()))?;
        access(&path, fs::write(&path, text))
    }

    /// Drops lines of `loss.csv` that a killed run wrote after its last checkpoint; they will be
    /// written again.
    fn trim_log(&self) -> Result<(), TrainError> {
        let path = self.folder.join("loss.csv");
        let Ok(text) = fs::read_to_string(&path) else { return Ok(()) };
        let step = |line: &str| line.split(',').next().and_then(|field| field.parse().ok());
        let mut kept: String = text
            .lines()
            .filter(|line| step(line).is_none_or(|step: u64| step <= self.progress.step))
            .collect::<Vec<_>>()
            .join("\n");
        if !kept.is_empty() {
            kept.push('\n');
        }
        if kept == text { Ok(()) } else { access(&path, fs::write(&path, kept)) }
    }

    /// Whether `open` found a run.
    pub fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    /// The config in force.
    pub fn config(&self) -> &TrainConfig {
        &self.config
    }

    /// The network so far, without gradients.
    pub fn network(&self) -> Model {
        self.model.valid()
    }

    /// Steps done.
    pub fn step(&self) -> u64 {
        self.progress.step
    }

    /// Trains until the last step or until `stop` is set; saves a checkpoint in both cases and
    /// every five minutes.
    ///
    /// # Errors
    /// When a checkpoint cannot be written or the loss is no number any more.
    pub fn run(&mut self, dataset: &Arc<Dataset>, stop: &StopToken) -> Result<(), TrainError> {
        let template = "{bar:30} step {pos}/{len} {elapsed_precise} left {eta_precise} {msg}";
        let bar = bar(self.config.steps, template);
        let log = self.folder.join("loss.csv");
        let mut log = access(&log, fs::OpenOptions::new().create(true).append(true).open(&log))?;
        if log.metadata().is_ok_and(|metadata| metadata.len() == 0) {
            access(&self.folder, writeln!(log, "{COLUMNS}"))?;
        }
        if self.progress.step == 0 {
            // From here on a kill finds a run to resume, its start included.
            self.save()?;
        }
        let mut saved = Instant::now();
        let mut meter = Meter::new();
        while self.progress.step < self.config.steps && !stop.is_stopped() {
            let plan = dataset.plan(
                self.config.window,
                self.config.batch,
                self.config.seed,
                self.progress.epoch,
            );
            let total = plan.len();
            let is_consistent = self.config.loss.consistency > 0.0;
            let (jobs, encoder) = prefetch(dataset, plan, self.progress.batch, is_consistent);
            loop {
                let jobs: Vec<Job> = jobs.iter().take(self.config.workers).collect();
                if jobs.is_empty() || self.progress.step >= self.config.steps {
                    break;
                }
                self.progress.batch += jobs.len();
                let positions = self.train_step(jobs, &mut meter)?;
                self.progress.positions += positions;
                if meter.steps == 50 {
                    let line = meter.line(&self.progress, &self.config);
                    access(&self.folder, writeln!(log, "{line}"))?;
                    bar.set_message(meter.message());
                    meter = Meter::new();
                }
                bar.set_position(self.progress.step);
                if stop.is_stopped() {
                    break;
                }
                if saved.elapsed() > Duration::from_mins(5) {
                    self.save()?;
                    saved = Instant::now();
                }
            }
            drop(jobs);
            if let Err(panic) = encoder.join() {
                std::panic::resume_unwind(panic);
            }
            if self.progress.batch >= total {
                self.progress.epoch += 1;
                self.progress.batch = 0;
            }
        }
        self.save()?;
        bar.abandon_with_message(format!("stopped after step {}", self.progress.step));
        Ok(())
    }

    fn train_step(&mut self, jobs: Vec<Job>, meter: &mut Meter) -> Result<u64, TrainError> {
        let share = 1.0 / jobs.len() as f32;
        let (weights, device) = (&self.config.loss, &self.device);
        let results: Vec<(GradientsParams, Vec<f32>, u64)> = std::thread::scope(|scope| {
            let threads: Vec<_> = jobs
                .into_iter()
                .map(|job| {
                    // Leaves of its own: workers that share parameters share burn's graph, and one
                    // worker's backward pass now and then consumes another's.
                    let model = self.model.clone().fork(device);
                    scope.spawn(move || gradients(&model, &job, weights, share, device))
                })
                .collect();
            let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            threads.into_iter().map(join).collect()
        });
        let mut sum = GradientsAccumulator::new();
        let mut positions = 0;
        for (grads, parts, counted) in results {
            sum.accumulate(&self.model, grads);
            positions += counted;
            meter.add(&parts, counted);
        }
        let rate = self.config.rate_at(self.progress.step);
        let model = self.model.clone();
        let (model, norm) = self.optimizer.step(&self.config.optimizer, rate, model, sum.grads());
        if !norm.is_finite() {
            return Err(TrainError::Diverged(self.progress.step));
        }
        self.model = model;
        self.progress.step += 1;
        meter.step(norm);
        Ok(positions)
    }

    /// Writes the checkpoint so that a kill at any moment leaves a whole one.
    fn save(&self) -> Result<(), TrainError> {
        let fresh = self.folder.join("checkpoint.new");
        let current = self.folder.join("checkpoint");
        let old = self.folder.join("checkpoint.old");
        let _ = fs::remove_dir_all(&fresh);
        access(&fresh, fs::create_dir_all(&fresh))?;
        let damaged = |what: String| TrainError::Checkpoint(fresh.clone(), what);
        let write = |name: &str, bytes: &[u8]| {
            let path = fresh.join(name);
            access(&path, fs::write(&path, bytes))
        };
        let network = weights::to_exact_bytes(&self.model.valid(), &self.config.model)?;
        write("weights.safetensors", &network)?;
        let optimizer = self.optimizer.to_bytes().map_err(|error| damaged(error.to_string()))?;
        write("optimizer.safetensors", &optimizer)?;
        let progress =
            serde_json::to_vec(&self.progress).map_err(|error| damaged(error.to_string()))?;
        write("progress.json", &progress)?;
        let _ = fs::remove_dir_all(&old);
        if current.is_dir() {
            access(&current, fs::rename(&current, &old))?;
        }
        access(&fresh, fs::rename(&fresh, &current))?;
        let _ = fs::remove_dir_all(&old);
        Ok(())
    }
}

/// Forward and backward over one batch, in the calling thread.
fn gradients(
    model: &Model,
    job: &Job,
    weights: &LossWeights,
    share: f32,
    device: &Device,
) -> (GradientsParams, Vec<f32>, u64) {
    let labels = &job.labels;
    let output = model.forward(&job.batch, device);
    let consistency = job.whole.as_ref().map(|whole| {
        let fresh = model.forward(&whole.batch, device);
        consistency(&output, fresh, &whole.readouts, device) * weights.consistency
    });
    let loss = loss(output, labels, weights, device);
    let total = match consistency {
        Some(consistency) => loss.total + consistency,
        None => loss.total,
    };
    let grads = (total * share).backward();
    let parts = loss.parts.into_data().try_to_vec().unwrap_or_default();
    let counted = labels.weight.iter().filter(|&&weight| weight > 0.0).count() as u64;
    (GradientsParams::from_grads(grads, model), parts, counted)
}

/// Encodes batches ahead of the workers, in a thread of its own.
fn prefetch(
    dataset: &Arc<Dataset>,
    plan: Vec<Vec<crate::dataset::WindowRef>>,
    done: usize,
    is_consistent: bool,
) -> (Receiver<Job>, JoinHandle<()>) {
    let (sender, receiver) = bounded(8);
    let dataset = Arc::clone(dataset);
    let encoder = std::thread::spawn(move || {
        for windows in plan.into_iter().skip(done) {
            let (batch, labels) = dataset.batch(&windows);
            let whole = is_consistent.then(|| dataset.whole(&windows));
            if sender.send(Job { batch, labels, whole }).is_err() {
                break;
            }
        }
    });
    (receiver, encoder)
}

/// Sums over the last steps.
struct Meter {
    started: Instant,
    steps: u64,
    positions: u64,
    parts: [f64; 5],
    norm: f64,
}

impl Meter {
    fn new() -> Self {
        Self { started: Instant::now(), steps: 0, positions: 0, parts: [0.0; 5], norm: 0.0 }
    }

    fn add(&mut self, parts: &[f32], positions: u64) {
        for (sum, part) in self.parts.iter_mut().zip(parts) {
            *sum += f64::from(*part) * positions as f64;
        }
        self.positions += positions;
    }

    fn step(&mut self, norm: f32) {
        self.steps += 1;
        self.norm += f64::from(norm);
    }

    fn means(&self) -> [f64; 5] {
        self.parts.map(|sum| sum / self.positions.max(1) as f64)
    }

    fn rate(&self) -> f64 {
        self.positions as f64 / self.started.elapsed().as_secs_f64().max(1e-9)
    }

    fn message(&self) -> String {
        let [value, policy, action, error, squared] = self.means();
        format!(
            "{:.0} positions/s, value {value:.3}, policy {policy:.3}, action {action:.4}, \
             error {error:.3}, RMSE {:.2} points",
            self.rate(),
            squared.sqrt() * 100.0
        )
    }

    /// A line of `loss.csv`, see [`COLUMNS`].
    fn line(&self, progress: &Progress, config: &TrainConfig) -> String {
        let [value, policy, action, error, squared] = self.means();
        format!(
            "{},{},{:.6},{value:.4},{policy:.4},{action:.4},{error:.4},{:.3},{:.3},{:.0}",
            progress.step,
            progress.positions,
            config.rate_at(progress.step),
            squared.sqrt() * 100.0,
            self.norm / self.steps.max(1) as f64,
            self.rate()
        )
    }
}
