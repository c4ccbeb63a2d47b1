//! The training loop: schedule, workers, progress, checkpoints that resume.
//!
//! Reads the clock: checkpoints are due by time.

pub mod average;
mod checkpoint;
mod error;
mod feed;
mod gradients;
mod guard;
mod held_out;
mod log;
mod progress;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, Tensor};
use tesla_engine::console::terminal::resumed;
use tesla_engine::search::StopToken;
use tesla_nn::files::{self, FileError};
use tesla_nn::model::Model;
use tesla_nn::weights;

use crate::train::adamw::State;
use crate::train::config::TrainConfig;
use crate::train::dataset::Dataset;
use average::Average;
use checkpoint::Checkpoint;
use feed::Feed;
use gradients::{Job, Memory, Pass};
use guard::Ruling;
use held_out::Sample;
use log::{Log, Pace};
use progress::Progress;

pub use error::TrainError;
pub use log::{LogLine, read_log};

fn access<T>(path: &Path, result: std::io::Result<T>) -> Result<T, TrainError> {
    Ok(result.map_err(FileError::at("use", path))?)
}

/// Writes a file so that a kill leaves the old content or the new one.
fn replace(path: &Path, bytes: &[u8]) -> Result<(), TrainError> {
    files::remove_unfinished(path)?;
    Ok(files::replace(path, bytes)?)
}

/// Random numbers are the process's, and weights are drawn when they are first read: one network
/// after another, so that its seed alone decides it.
static DRAWING: Mutex<()> = Mutex::new(());

/// The network of a new run.
fn fresh(config: &TrainConfig, device: &Device) -> Model {
    let _alone = DRAWING.lock().unwrap_or_else(PoisonError::into_inner);
    device.seed(config.seed);
    let model = config.model.init(device);
    model.visit(&mut Look);
    model
}

/// Looks at every weight.
struct Look;

impl ModuleVisitor for Look {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let _ = param.val();
    }
}

/// A run in its folder.
#[derive(Debug)]
pub struct Trainer {
    config: TrainConfig,
    folder: PathBuf,
    device: Device,
    model: Model,
    optimizer: State,
    /// Of the weights, where the config asks for one.
    average: Option<Average>,
    progress: Progress,
    is_resumed: bool,
    held_out: Option<Sample>,
    memory: Memory,
    /// Held, not read.
    _lock: File,
}

impl Trainer {
    /// The config of the run that `folder` holds, if it holds one.
    ///
    /// # Errors
    /// When it is there but cannot be read, or the folder is of something else.
    pub fn stored_config(folder: &Path) -> Result<Option<TrainConfig>, TrainError> {
        checkpoint::stored_config(folder)
    }

    /// Starts a run in `folder`, or resumes the one that is there (with `config` in force from now
    /// on, its shape and its start excepted). Weights and moments live on `device`.
    ///
    /// # Errors
    /// When `config` is impossible or ends before the run's step, the folder is in use, of
    /// something else or cannot be used, or its checkpoint is damaged.
    pub fn open(
        mut config: TrainConfig,
        folder: &Path,
        device: &Device,
    ) -> Result<Self, TrainError> {
        config.check().map_err(TrainError::Config)?;
        let lock = checkpoint::take(folder)?;
        let stored = Self::stored_config(folder)?;
        if stored.as_ref().is_some_and(|stored| !stored.optimizer.moves_alike(&config.optimizer)) {
            return Err(TrainError::Config(format!(
                "optimizer.muon cannot be switched on or off in a run, whose moments are of the \
                 other kind; leave it as it was, or start a new run from {} with --start-from",
                folder.join("checkpoint/weights.safetensors").display()
            )));
        }
        let training = device.clone().autodiff();
        let found = checkpoint::read(folder, device)?;
        let is_resumed = found.is_some();
        let (model, optimizer, average, mut progress) = match found {
            Some(Checkpoint { model, shape, optimizer, average, mut progress }) => {
                config.model = shape;
                if let Some(stored) = stored {
                    // The plan in force when the checkpoint was written, whatever was meant since.
                    let plan = progress.plan.unwrap_or_else(|| stored.plan());
                    if config.plan() != plan && progress.batch > 0 {
                        // Its batches are others now; the epoch is not begun twice.
                        progress.epoch += 1;
                        progress.batch = 0;
                    }
                    config.started_from = stored.started_from;
                }
                (model.train(), optimizer, average, progress)
            }
            None => (fresh(&config, &training), State::default(), None, Progress::default()),
        };
        if config.steps < progress.step {
            return Err(TrainError::Past { made: progress.step });
        }
        progress.plan = Some(config.plan());
        progress.guard.set_precision(config.precision);
        checkpoint::store_config(folder, &config)?;
        Ok(Self {
            folder: folder.to_owned(),
            device: training,
            model,
            optimizer,
            average: average.filter(|_| config.average > 0.0),
            config,
            progress,
            is_resumed,
            held_out: None,
            memory: Memory::default(),
            _lock: lock,
        })
    }

    /// Replaces the fresh network by one that takes every tensor that fits from the weights file
    /// at `path`; says how many it took, and of how many.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub fn start_from(&mut self, path: &Path) -> Result<(usize, usize), TrainError> {
        let bytes = files::read_bounded(path, files::LARGEST)?;
        let (model, taken, total) = weights::graft(&bytes, &self.config.model, &self.device)?;
        self.model = model.train();
        self.config.started_from = Some(weights::short_hash(&bytes));
        checkpoint::store_config(&self.folder, &self.config)?;
        Ok((taken, total))
    }

    /// Whether `open` found a run.
    pub fn is_resumed(&self) -> bool {
        self.is_resumed
    }

    /// The config in force.
    pub fn config(&self) -> &TrainConfig {
        &self.config
    }

    /// The network so far, without gradients: the average of its weights where there is one.
    pub fn network(&self) -> Model {
        let model = self.model.valid();
        match &self.average {
            Some(average) => average.network(model),
            None => model,
        }
    }

    /// From now on the network is measured on positions of `dataset`, which it must not learn from.
    pub fn hold_out(&mut self, dataset: &Dataset) {
        let TrainConfig { window, valid_positions, .. } = self.config;
        self.held_out = Some(Sample::draw(dataset, window, valid_positions));
    }

    /// Steps done, those left out included.
    pub fn step(&self) -> u64 {
        self.progress.step
    }

    /// Labelled positions trained on.
    pub fn positions(&self) -> u64 {
        self.progress.positions
    }

    /// Steps left out, because their loss or their gradient was no number.
    pub fn skipped(&self) -> u64 {
        self.progress.guard.skipped
    }

    /// Trains until the last step or until `stop` is set; saves a checkpoint in both cases and as
    /// often as the config says. `say` gets sentences for people.
    ///
    /// # Errors
    /// When a checkpoint cannot be written or the loss is no longer a number. The last good
    /// checkpoint stays.
    pub fn run(
        &mut self,
        dataset: &Arc<Dataset>,
        stop: &StopToken,
        say: &dyn Fn(&str),
    ) -> Result<(), TrainError> {
        self.run_to(self.config.steps, dataset, stop, say)
    }

    /// [`Trainer::run`] up to step `end`, from where the run can go on.
    ///
    /// # Errors
    /// As there.
    pub fn run_to(
        &mut self,
        end: u64,
        dataset: &Arc<Dataset>,
        stop: &StopToken,
        say: &dyn Fn(&str),
    ) -> Result<(), TrainError> {
        let end = end.min(self.config.steps);
        let bar = resumed(self.config.steps, self.progress.step, "steps");
        let mut log = Log::open(&self.folder, self.progress.step)?;
        if self.progress.step == 0 {
            // From here on a kill finds a run to resume, its start included.
            self.save()?;
        }
        let mut saved = Instant::now();
        let mut pace = Pace::new();
        while self.is_going(end, stop) {
            let (mut feed, batches) = pace.wait(|| self.feed(dataset))?;
            while self.is_going(end, stop) {
                let jobs = pace.wait(|| feed.take(self.config.batches_a_step()));
                if jobs.is_empty() {
                    break;
                }
                self.progress.batch += jobs.len();
                let ruling = self.train_step(&jobs, &mut pace);
                match ruling {
                    Ruling::Fine => {}
                    Ruling::Warned(sentence) | Ruling::Skipped(sentence) => {
                        bar.suspend(|| say(&sentence));
                    }
                    Ruling::Stop => return Err(TrainError::Diverged(self.progress.step)),
                }
                self.measure();
                if let Some(message) = log.tell(&mut self.progress, &self.config, &mut pace)? {
                    bar.set_message(message);
                }
                bar.set_position(self.progress.step);
                if self.is_due(saved) {
                    self.save()?;
                    saved = Instant::now();
                }
            }
            feed.end();
            if self.progress.batch >= batches {
                self.progress.epoch += 1;
                self.progress.batch = 0;
            }
        }
        if !self.progress.guard.is_worried() || self.progress.step >= self.config.steps {
            self.save()?;
        }
        bar.finish_and_clear();
        Ok(())
    }

    /// Measures the network on the held-out positions, when it is due.
    fn measure(&mut self) {
        let is_due = self.progress.step.is_multiple_of(self.config.valid_steps.max(1));
        if let Some(sample) = self.held_out.as_ref().filter(|_| is_due) {
            let device = self.device.clone().without_autodiff();
            let measured = sample.measure(&self.network(), self.config.precision, &device);
            self.progress.held_out = Some(measured);
        }
    }

    fn is_going(&self, end: u64, stop: &StopToken) -> bool {
        self.progress.step < end && !stop.is_stopped()
    }

    /// Whether a checkpoint is due. None is written while steps are left out: weights that make no
    /// numbers are not to replace older ones.
    fn is_due(&self, saved: Instant) -> bool {
        let TrainConfig { checkpoint_seconds, checkpoint_steps, .. } = self.config;
        let by_steps = checkpoint_steps.is_some_and(|n| self.progress.step.is_multiple_of(n));
        let by_time = saved.elapsed() >= Duration::from_secs(checkpoint_seconds);
        (by_steps || by_time) && !self.progress.guard.is_worried()
    }

    /// What is left of the epoch, and how many batches the whole of it has: at least one.
    fn feed(&self, dataset: &Arc<Dataset>) -> Result<(Feed, usize), TrainError> {
        let TrainConfig { window, batch, seed, encoders, decided, .. } = self.config;
        let plan = dataset.plan(window, batch, seed, self.progress.epoch);
        if plan.is_empty() {
            return Err(TrainError::Config(format!(
                "there is nothing to learn from: decided is {decided}, and in all games one side \
                 is far ahead"
            )));
        }
        let rest = plan.get(self.progress.batch..).unwrap_or_default();
        let is_consistent = self.config.loss.consistency > 0.0;
        let step = self.config.batches_a_step();
        Ok((Feed::start(dataset, rest, (encoders, step), is_consistent), plan.len()))
    }

    fn train_step(&mut self, jobs: &[Job], pace: &mut Pace) -> Ruling {
        let pass = Pass {
            weights: &self.config.loss,
            precision: self.config.precision,
            scale: self.progress.guard.scale,
            device: &self.device,
            workers: self.config.workers,
        };
        let sum = gradients::gradients(&self.model, jobs, pass, &mut self.memory);
        let (is_number, positions) = (sum.is_number(), sum.positions());
        let parts = sum.parts;
        let gradient =
            State::measured(&self.model, sum.grads, pass.scale).in_precision(self.config.precision);
        let norm = gradient.norm;
        let ruling = self.progress.guard.judge(self.progress.step, is_number, norm);
        if matches!(ruling, Ruling::Fine | Ruling::Warned(_)) {
            let rate = self.config.rate_at(self.progress.step);
            let model = self.model.clone();
            self.model = self.optimizer.step(&self.config.optimizer, rate, model, gradient);
            self.take_into_average();
            self.progress.sums.add(&parts, norm);
        }
        if ruling != Ruling::Stop {
            self.progress.step += 1;
            self.progress.positions += positions;
            pace.add(positions);
        }
        ruling
    }

    fn take_into_average(&mut self) {
        let decay = self.config.average;
        if decay > 0.0 {
            let model = self.model.valid();
            let average = self.average.get_or_insert_with(|| Average::of(&model));
            average.step(&model, decay, self.progress.step);
        }
    }

    fn save(&self) -> Result<(), TrainError> {
        let checkpoint = Checkpoint {
            model: self.model.valid(),
            shape: self.config.model.clone(),
            optimizer: self.optimizer.clone(),
            average: self.average.clone(),
            progress: self.progress.clone(),
        };
        checkpoint::write(&self.folder, &checkpoint)
    }
}
