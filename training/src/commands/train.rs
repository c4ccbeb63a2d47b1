//! `tesla-train train`: a run from the command line and its config file.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use tesla_engine::console::terminal::INTERRUPTED;
use tesla_engine::search::StopToken;
use tesla_nn::device::{Chosen, DeviceChoice, choose};
use tesla_nn::model::{ModelConfig, Precision};

use crate::train::config::TrainConfig;
use crate::train::dataset::Dataset;
use crate::train::loss::LossWeights;
use crate::train::trainer::Trainer;

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Shape {
    Tiny,
    Small,
    Base,
}

impl From<Shape> for ModelConfig {
    fn from(shape: Shape) -> Self {
        match shape {
            Shape::Tiny => Self::tiny(),
            Shape::Small => Self::small(),
            Shape::Base => Self::base(),
        }
    }
}

/// The command line of a run.
#[derive(Debug, Args)]
pub struct TrainArgs {
    /// Folder with .games.zst files (valid* is kept out), or one file.
    #[arg(long)]
    data: PathBuf,
    /// Folder for checkpoints, loss.csv, config.json and the final weights.
    #[arg(long)]
    out: PathBuf,
    /// TOML file with the run's options, as those in training/configs; what is said here overrides
    /// it.
    #[arg(long)]
    config: Option<PathBuf>,
    /// Shape of the network [default: small].
    #[arg(long, value_enum)]
    shape: Option<Shape>,
    /// Device that trains: auto, cpu, gpu, or software for tests [default: cpu].
    #[arg(long)]
    device: Option<DeviceChoice>,
    /// Precision of the matrix products: f32, bf16 or f16; weights and optimizer are f32
    /// [default: f32].
    #[arg(long)]
    precision: Option<Precision>,
    /// Steps of the whole run [default: 20000].
    #[arg(long)]
    steps: Option<u64>,
    /// Steps of linear warm-up [default: 500].
    #[arg(long)]
    warm_up: Option<u64>,
    /// Windows per worker and step [default: 32].
    #[arg(long)]
    batch: Option<usize>,
    /// Workers, each with its own share of a step [default: 2].
    #[arg(long)]
    workers: Option<usize>,
    /// Threads that encode batches ahead of the workers [default: 1].
    #[arg(long)]
    encoders: Option<usize>,
    /// Positions per window, the anchor included [default: 9].
    #[arg(long)]
    window: Option<u16>,
    /// Largest learning rate [default: 0.003].
    #[arg(long)]
    rate: Option<f32>,
    /// Weights file to start a new run from: every tensor that fits is taken, the rest is fresh.
    #[arg(long)]
    start_from: Option<PathBuf>,
    /// Weight of the policy's part of the loss [default: 2].
    #[arg(long)]
    policy_weight: Option<f32>,
    /// Share of the moves on a search's paths that are refuted, as `tesla-benches paths` counts
    /// them: readouts after such moves get the weight of that share in value, policy and error
    /// [default: the data's share].
    #[arg(long)]
    refuted: Option<f32>,
    /// Weight of the divergence between a chain's last readout and the whole encode of the same
    /// position [default: 0].
    #[arg(long)]
    consistency: Option<f32>,
    /// Seed of the weights and of the order of the windows [default: 1]; choose another one with
    /// --start-from, or the run sees the same windows in the same order again.
    #[arg(long)]
    seed: Option<u64>,
    /// Seconds between checkpoints [default: 300].
    #[arg(long)]
    checkpoint_seconds: Option<u64>,
    /// Steps between checkpoints, besides [default: none].
    #[arg(long)]
    checkpoint_steps: Option<u64>,
}

impl TrainArgs {
    /// The config of the run: the command line over the file over `stored`, the config of the run
    /// that is resumed, or the defaults.
    fn resolve(
        &self,
        stored: Option<&TrainConfig>,
    ) -> Result<TrainConfig, Box<dyn std::error::Error>> {
        let base = stored.cloned().unwrap_or_default();
        let base = match &self.config {
            Some(path) => base.overlaid(path)?,
            None => base,
        };
        let config = self.over(base);
        match stored {
            Some(stored) if stored.model != config.model => Err(format!(
                "{} holds a run of another shape ({}); leave --shape out to resume it, or choose \
                 another folder with --out",
                self.out.display(),
                stored.model.name
            )
            .into()),
            _ => Ok(config),
        }
    }

    fn over(&self, base: TrainConfig) -> TrainConfig {
        TrainConfig {
            model: self.shape.map_or(base.model, ModelConfig::from),
            seed: self.seed.unwrap_or(base.seed),
            window: self.window.unwrap_or(base.window),
            batch: self.batch.unwrap_or(base.batch),
            workers: self.workers.unwrap_or(base.workers),
            encoders: self.encoders.unwrap_or(base.encoders),
            steps: self.steps.unwrap_or(base.steps),
            warm_up: self.warm_up.unwrap_or(base.warm_up),
            rate: self.rate.unwrap_or(base.rate),
            device: self.device.unwrap_or(base.device),
            precision: self.precision.unwrap_or(base.precision),
            refuted: self.refuted.or(base.refuted),
            checkpoint_seconds: self.checkpoint_seconds.unwrap_or(base.checkpoint_seconds),
            checkpoint_steps: self.checkpoint_steps.or(base.checkpoint_steps),
            loss: LossWeights {
                consistency: self.consistency.unwrap_or(base.loss.consistency),
                policy: self.policy_weight.unwrap_or(base.loss.policy),
                ..base.loss
            },
            ..base
        }
    }
}

/// What the device makes of the precision that was asked for, and a sentence where that is not as
/// one might have hoped.
fn precision_on(chosen: &Chosen, config: &TrainConfig) -> (Precision, Option<String>) {
    let wanted = config.precision;
    let name = &chosen.name;
    if wanted == Precision::F32 {
        (wanted, None)
    } else if !wanted.runs_on(&chosen.device) {
        (Precision::F32, Some(format!("{name} does not calculate in {wanted}: trained in f32")))
    } else if chosen.is_gpu {
        (wanted, None)
    } else if config.device == DeviceChoice::Auto {
        (Precision::F32, Some(format!("{wanted} gains nothing on a CPU: trained in f32")))
    } else {
        (wanted, Some(format!("{wanted} on a CPU is for tests: it is slower than f32")))
    }
}

/// Starts a run or goes on with the one in its folder, until its last step or until `interrupted`
/// is set. `say` gets sentences for people.
///
/// # Errors
/// A sentence, when the options, the data or the folder cannot be used, or the run diverges.
pub fn run(
    args: &TrainArgs,
    interrupted: &StopToken,
    say: &dyn Fn(&str),
) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let stored = Trainer::stored_config(&args.out)?;
    let mut config = args.resolve(stored.as_ref())?;
    config.check().map_err(|what| format!("{what}; mend the options"))?;
    let mut dataset = Dataset::read(&args.data, "valid")?;
    say(&format!(
        "{} games, {} positions, {} plies dropped; {:.1} % of the moves are refuted",
        dataset.games(),
        dataset.positions(),
        dataset.dropped_plies,
        100.0 * dataset.refuted()
    ));
    config.positions = dataset.positions();
    dataset.look_ahead(config.look_ahead);
    if let Some(share) = config.refuted {
        dataset.weigh_as_refuted(share);
    }
    let chosen = choose(config.device)?;
    let (precision, remark) = precision_on(&chosen, &config);
    config.precision = precision;
    chosen.note.iter().chain(&remark).for_each(|note| say(note));

    let mut trainer = Trainer::open(config, &args.out, &chosen.device)?;
    match (&args.start_from, trainer.is_resumed()) {
        (start, true) => {
            say(&format!("the run goes on after step {}", trainer.step()));
            if start.is_some() {
                say("--start-from was of its beginning, and is not read again");
            }
        }
        (Some(path), false) => {
            let (taken, total) = trainer.start_from(path)?;
            say(&format!("took {taken} of {total} tensors from {}", path.display()));
        }
        (None, false) => say("a new run"),
    }
    trainer.run(&Arc::new(dataset), interrupted, say)?;
    if trainer.skipped() > 0 {
        say(&format!("{} steps were left out", trainer.skipped()));
    }
    if trainer.step() >= trainer.config().steps {
        let shape = &trainer.config().model;
        let path = tesla_nn::weights::save(&trainer.network(), shape, &args.out)?;
        say(&format!("wrote {}", path.display()));
        return Ok(ExitCode::SUCCESS);
    }
    say("stopped; the same command goes on");
    Ok(ExitCode::from(INTERRUPTED))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        args: TrainArgs,
    }

    fn resolve(words: &str, stored: Option<&TrainConfig>) -> Result<TrainConfig, String> {
        let words = format!("x --data d --out o {words}");
        let cli = Cli::try_parse_from(words.split_whitespace()).map_err(|e| e.to_string())?;
        cli.args.resolve(stored).map_err(|error| error.to_string())
    }

    #[test]
    fn the_command_line_overrides_the_file_and_the_file_the_stored_run() {
        let file = format!("--config {}/configs/tiny.toml", env!("CARGO_MANIFEST_DIR"));
        assert_eq!(resolve("", None).unwrap(), TrainConfig::default());
        let config = resolve(&format!("{file} --steps 9 --precision bf16"), None).unwrap();
        assert_eq!((config.steps, config.warm_up, config.model), (9, 100, ModelConfig::tiny()));
        assert_eq!(config.precision, Precision::Bf16);
        let stored = TrainConfig { window: 5, warm_up: 7, ..TrainConfig::new(ModelConfig::tiny()) };
        assert_eq!(resolve("", Some(&stored)).unwrap(), stored);
        let config = resolve(&format!("{file} --window 6"), Some(&stored)).unwrap();
        assert_eq!((config.window, config.warm_up), (6, 100));
        assert!(
            resolve("--shape base", Some(&stored)).unwrap_err().contains("another shape (tiny)")
        );
        assert_eq!(resolve(&format!("{file} --shape base"), None).unwrap().model.name, "base");
        assert!(resolve("--device abacus", None).unwrap_err().contains("no device called"));
        assert!(resolve("--precision f8", None).unwrap_err().contains("no precision called"));
    }

    #[test]
    fn a_cpu_takes_half_precision_only_when_it_is_meant() {
        let chosen = choose(DeviceChoice::Cpu).unwrap();
        let on = |device, precision| {
            let config = TrainConfig { device, precision, ..TrainConfig::default() };
            precision_on(&chosen, &config)
        };
        assert_eq!(on(DeviceChoice::Cpu, Precision::F32), (Precision::F32, None));
        let (precision, remark) = on(DeviceChoice::Auto, Precision::F16);
        assert!(precision == Precision::F32 && remark.is_some());
        let (precision, remark) = on(DeviceChoice::Cpu, Precision::Bf16);
        assert!(precision == Precision::Bf16 && remark.unwrap().contains("slower"));
    }
}
