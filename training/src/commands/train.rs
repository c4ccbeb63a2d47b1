//! `tesla-train train`: a run from the command line and its config file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use tesla_engine::search::StopToken;
use tesla_nn::device::{Chosen, DeviceChoice, choose};
use tesla_nn::model::Precision;
use tesla_nn::model::backprop::Backprop;

use super::{GOES_ON, Outcome, print, stopped};
use crate::labelled::{HELD_OUT, RecordError, Room, is_held_out_file};
use crate::players::pool::{Pool, RunContext};
use crate::train::config::{TrainConfig, TrainOptions};
use crate::train::dataset::Dataset;
use crate::train::gate::{self, Gate, GateLine};
use crate::train::learnt::{self, Learnt};
use crate::train::trainer::{Trainer, read_log};

/// The command line of a run.
#[derive(Debug, Args)]
pub struct TrainArgs {
    /// Folder with .games.zst files (valid* is left out), or one file.
    #[arg(long)]
    data: PathBuf,
    /// Folder for checkpoints, loss.csv, config.json and the final weights.
    #[arg(long)]
    out: PathBuf,
    /// TOML file with the run's options, like those in training/configs; the command line overrides
    /// it.
    #[arg(long)]
    config: Option<PathBuf>,
    /// Weights file to start a new run from: every tensor that fits is copied, the rest is
    /// initialised.
    #[arg(long)]
    start_from: Option<PathBuf>,
    /// Held-out games for loss.csv and the progress bar: a folder with .games.zst files or one
    /// file; by default the valid* files of --data.
    #[arg(long)]
    valid: Option<PathBuf>,
    #[command(flatten)]
    options: TrainOptions,
}

impl TrainArgs {
    /// The games that are measured but not learnt from, perhaps none. Those that have been learnt
    /// from all the same are left out.
    fn held_out(
        &self,
        learnt: &Learnt,
        say: &dyn Fn(&str),
    ) -> Result<Dataset, Box<dyn std::error::Error>> {
        let mut dataset = match &self.valid {
            Some(path) => Dataset::read(path, "")?,
            None if self.data.is_dir() => {
                Dataset::read_named(&self.data, is_held_out_file, Room::of_machine())?
            }
            None => Dataset::default(),
        };
        let games = dataset.games();
        let known = dataset.leave_out(|dataset, game| learnt.has(dataset, game));
        match &self.valid {
            Some(path) if known == games => Err(format!(
                "the network has learnt from all games of {}; name others with --valid",
                path.display()
            )
            .into()),
            _ => {
                if known > 0 {
                    say(&format!(
                        "{known} of the {games} held-out games are not measured: the network has \
                         learnt from them"
                    ));
                }
                Ok(dataset)
            }
        }
    }

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
        let config = self.options.over(base);
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
}

/// What the device makes of the precision that was asked for, and a sentence where that is not as
/// one might have hoped.
fn precision_on(chosen: &Chosen, config: &TrainConfig) -> (Precision, Option<String>) {
    let wanted = config.precision;
    let name = &chosen.name;
    let has_tiles = !chosen.is_gpu() && wanted == Precision::Bf16 && Backprop::has_tiles();
    if wanted == Precision::F32 || has_tiles {
        (wanted, None)
    } else if !wanted.runs_on(&chosen.tensors()) {
        (Precision::F32, Some(format!("{name} does not calculate in {wanted}: trained in f32")))
    } else if chosen.is_gpu() {
        (wanted, None)
    } else if config.device == DeviceChoice::Auto {
        (Precision::F32, Some(format!("{wanted} gains nothing on this CPU: trained in f32")))
    } else {
        (wanted, Some(format!("{wanted} on a CPU is for tests: it is slower than f32")))
    }
}

/// The games to learn from, as `config` wants them; it is told how many positions they have.
fn games(
    path: &Path,
    config: &mut TrainConfig,
    say: &dyn Fn(&str),
) -> Result<Dataset, RecordError> {
    let mut dataset = Dataset::read(path, HELD_OUT)?;
    say(&format!(
        "{} games, {} positions, {} plies dropped; {:.1} % of the moves are refuted",
        dataset.games(),
        dataset.positions(),
        dataset.dropped_plies,
        100.0 * dataset.refuted()
    ));
    config.positions = dataset.positions();
    dataset.keep_decided(config.decided);
    dataset.look_ahead(config.look_ahead);
    if let Some(share) = config.refuted {
        dataset.weigh_as_refuted(share);
    }
    Ok(dataset)
}

/// Starts a run or goes on with the one in its folder, until its last step or until `interrupted`
/// is set. `say` gets sentences for people.
///
/// # Errors
/// A sentence, when the options, the data or the folder cannot be used, or the run diverges.
pub fn run(args: &TrainArgs, interrupted: &StopToken, say: &dyn Fn(&str)) -> Outcome {
    let stored = Trainer::stored_config(&args.out)?;
    let mut config = args.resolve(stored.as_ref())?;
    config.check().map_err(|what| format!("{what}; fix the options"))?;
    let chosen = choose(config.device)?;
    let dataset = games(&args.data, &mut config, say)?;
    let (precision, remark) = precision_on(&chosen, &config);
    config.precision = precision;
    chosen.note.iter().chain(&remark).for_each(|note| say(note));

    if stored.is_none() && config.gate.games > 0 {
        gate::check_none(&args.out)?;
    }
    let mut trainer = Trainer::open(config, &args.out, &chosen.tensors())?;
    let mut before = Learnt::default();
    match (&args.start_from, trainer.is_resumed()) {
        (start, true) => {
            say(&format!("the run resumes after step {}", trainer.step()));
            before = Learnt::by_run(&args.out)?;
            if start.is_some() {
                say("--start-from was of its beginning, and is not read again");
            }
        }
        (Some(path), false) => {
            let (taken, total) = trainer.start_from(path)?;
            say(&format!("took {taken} of {total} tensors from {}", path.display()));
            match Learnt::of(path)? {
                Some(learnt) => before = learnt,
                None => say("what it has learnt from is not known: hold out what it cannot know"),
            }
        }
        (None, false) => say("a new run"),
    }
    let learnt = learnt::note(&args.out, &dataset, before)?;
    let held_out = args.held_out(&learnt, say)?;
    if held_out.positions() > 0 {
        trainer.hold_out(&held_out);
    } else {
        say("no held-out games: nothing will tell how good the network is on others");
    }
    let is_over = run_and_gate(args, &mut trainer, &Arc::new(dataset), (interrupted, say))?;
    if trainer.skipped() > 0 {
        say(&format!("{} steps were left out", trainer.skipped()));
    }
    if is_over {
        let shape = &trainer.config().model;
        let path = tesla_nn::weights::save(&trainer.network(), shape, &args.out)?;
        print(reached(&trainer, &args.out, &path))?;
        return Ok(ExitCode::SUCCESS);
    }
    Ok(stopped(say, GOES_ON))
}

/// What a finished run says: where it stands, and what to do next.
fn reached(trainer: &Trainer, folder: &Path, weights: &Path) -> String {
    let mut text =
        format!("finished: {} steps, {} positions seen", trainer.step(), trainer.positions());
    let lines = read_log(&folder.join("loss.csv")).unwrap_or_default();
    if let Some(line) = lines.last() {
        let _ = write!(text, "; training RMSE {:.1} points", line.rmse_points);
    }
    let valid = lines.iter().rev().find_map(|line| line.valid_rmse_points.zip(line.valid_top_1));
    if let Some((rmse, top_1)) = valid {
        let _ = write!(text, "; held out {rmse:.1} points, top-1 {:.1} %", 100.0 * top_1);
    }
    let _ = writeln!(
        text,
        "\nwrote {weights}\nnext: tesla-train evaluate --weights {} --data HELD_OUT, or in tesla: \
         setoption name WeightsFile value {weights}",
        folder.display(),
        weights = weights.display()
    );
    text
}

/// Trains, with a gating match where one is due; `false` = stopped before the last step or in the
/// match after it.
fn run_and_gate(
    args: &TrainArgs,
    trainer: &mut Trainer,
    dataset: &Arc<Dataset>,
    (interrupted, say): (&StopToken, &dyn Fn(&str)),
) -> Result<bool, Box<dyn std::error::Error>> {
    let is_trained = |trainer: &Trainer| trainer.step() >= trainer.config().steps;
    let first = args.start_from.as_deref();
    let Some(gate) = Gate::of(trainer.config(), &args.out, first)? else {
        trainer.run(dataset, interrupted, say)?;
        return Ok(is_trained(trainer));
    };
    gate.check()?;
    let concurrency = std::thread::available_parallelism().map_or(1, usize::from);
    let pool = Pool { concurrency, interrupted };
    let context = RunContext { folder: &args.out, pool, say };
    loop {
        if gate.is_due(trainer.step())? {
            let Some(line) = gate.play(trainer, &context)? else { return Ok(false) };
            say(&told(&line));
        }
        if is_trained(trainer) || interrupted.is_stopped() {
            return Ok(is_trained(trainer));
        }
        trainer.run_to(gate.next(trainer.step()), dataset, interrupted, say)?;
    }
}

/// A gating match in a sentence.
fn told(line: &GateLine) -> String {
    let GateLine { step, network, opponent, wins, draws, losses, .. } = line;
    let elo = line.elo.map_or_else(|| "?".to_owned(), |elo| format!("{elo:+.1}"));
    let margin = line.margin.map_or_else(|| "?".to_owned(), |margin| format!("{margin:.1}"));
    let verdict = if line.passed { "passed" } else { "not passed" };
    format!(
        "step {step}: {network} against {opponent} +{wins} ={draws} -{losses}, {elo} ± {margin} \
         Elo: {verdict}"
    )
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use tesla_nn::model::ModelConfig;

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
        assert_eq!(precision, Precision::Bf16);
        // Where the processor has tiles for it, it is faster than f32.
        assert_eq!(remark.is_some_and(|text| text.contains("slower")), !Backprop::has_tiles());
    }
}
