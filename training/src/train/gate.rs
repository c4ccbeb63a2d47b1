//! Gating: every so many steps a run's network plays the last one that passed.
//!
//! Held-out figures do not say what a network is worth in a search. `gates.csv` of the run's folder
//! keeps the results, `gates/` the networks and the games.

use std::path::{Path, PathBuf};

use anyhow::{Error, Result, anyhow};
use serde::{Deserialize, Serialize};
use tesla_nn::device::DeviceChoice;
use tesla_nn::files;
use tesla_nn::weights;

use super::config::{GateConfig, TrainConfig};
use super::trainer::Trainer;
use crate::game::adjudicate::{DrawRule, ResignRule};
use crate::game::limit::Limit;
use crate::game::openings::BookSource;
use crate::matches::config::MatchConfig;
use crate::matches::runner;
use crate::players::pool::RunContext;
use crate::players::side::{Side, UciOptions};
use crate::statistics::elo::Trinomial;

/// The list of a run's matches, in its folder.
const GATES: &str = "gates.csv";

/// Begins the name of the network that a run starts from, in its folder of matches.
const FIRST: &str = "first-";

/// A line of `gates.csv`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GateLine {
    /// Steps done.
    pub step: u64,
    /// Labelled positions seen.
    pub positions: u64,
    /// File name of the network.
    pub network: String,
    /// File name of the one that it met.
    pub opponent: String,
    /// Games won.
    pub wins: u64,
    /// Games drawn.
    pub draws: u64,
    /// Games lost.
    pub losses: u64,
    /// Elo difference.
    pub elo: Option<f64>,
    /// Half of its 95 % interval.
    pub margin: Option<f64>,
    /// Whether it scored more than half, and is what the next one meets.
    pub passed: bool,
}

/// The gating matches of a run.
#[derive(Debug)]
pub struct Gate {
    config: GateConfig,
    openings: BookSource,
    /// The run's: what leaves a GPU alone leaves it alone here too.
    device: DeviceChoice,
    folder: PathBuf,
    /// The network that the first one meets; `None` = the engine's own.
    first: Option<PathBuf>,
}

impl Gate {
    /// The gating matches of the run in `folder`, if its config asks for any. Where none has passed
    /// yet, the opponent is the network that the run started from, or the engine's own; `start` is
    /// where that is found, and a copy is kept for a run that is resumed without it.
    ///
    /// # Errors
    /// When the run started from a network that is neither at `start` nor kept, or the copy cannot
    /// be written.
    pub fn of(config: &TrainConfig, folder: &Path, start: Option<&Path>) -> Result<Option<Self>> {
        if config.gate.games == 0 {
            return Ok(None);
        }
        let hash = config.started_from.as_deref();
        Ok(Some(Self {
            config: config.gate,
            openings: config.gate_openings.clone(),
            device: config.device,
            folder: folder.to_owned(),
            first: hash.map(|hash| kept(folder, hash, start)).transpose()?,
        }))
    }

    /// Checks before the training what a match hours later would stumble over: rules and openings.
    ///
    /// # Errors
    /// A sentence on what is wrong.
    pub fn check(&self) -> Result<()> {
        let rules = self.rules(Path::new("new"), self.first.as_deref()).complete();
        let book = rules.and_then(|rules| rules.book());
        book.map(drop).map_err(|error| anyhow!("gating match: {error}"))
    }

    /// The first step after `step` at which a match is due.
    pub fn next(&self, step: u64) -> u64 {
        (step / self.config.steps + 1) * self.config.steps
    }

    /// Whether the match of `step` is due and has no result yet.
    ///
    /// # Errors
    /// When the results so far cannot be read.
    pub fn is_due(&self, step: u64) -> Result<bool> {
        let is_step = step > 0 && step.is_multiple_of(self.config.steps);
        Ok(is_step && read_gates(&self.folder)?.iter().all(|line| line.step != step))
    }

    /// Plays the match of the trainer's network, or what is left of it; `None` where somebody
    /// wanted to stop.
    ///
    /// # Errors
    /// When the network cannot be written or the match cannot begin or go on.
    pub fn play(&self, trainer: &Trainer, context: &RunContext<'_>) -> Result<Option<GateLine>> {
        let lines = read_gates(&self.folder)?;
        let folder = self.folder.join("gates");
        let network = weights::save(&trainer.network(), &trainer.config().model, &folder)?;
        let last = lines.iter().rev().find(|line| line.passed);
        let opponent = last.map(|line| folder.join(&line.network));
        let opponent = opponent.or_else(|| self.first.clone());
        let games = folder.join(format!("step-{}", trainer.step()));
        let finished = self
            .rules(&network, opponent.as_deref())
            .complete()
            .and_then(|config| runner::run(&config, &RunContext { folder: &games, ..*context }))
            .map_err(|error| anyhow!("gating match: {error}"))?;
        if !finished.is_complete {
            return Ok(None);
        }
        let pairing = finished.tally.pairings.first().copied().unwrap_or_default();
        let elo = pairing.pairs.sample().elo();
        let Trinomial { wins, draws, losses } = pairing.games;
        let line = GateLine {
            step: trainer.step(),
            positions: trainer.positions(),
            network: file_name(Some(&network)),
            opponent: file_name(opponent.as_deref()),
            wins,
            draws,
            losses,
            elo: elo.value.filter(|elo| elo.is_finite()),
            margin: elo.margin(),
            passed: wins > losses,
        };
        write_gates(&self.folder, lines.into_iter().chain([line.clone()]))?;
        Ok(Some(line))
    }

    /// The match: 400 games say about ±25 Elo.
    fn rules(&self, network: &Path, opponent: Option<&Path>) -> MatchConfig {
        let side = |name: &str, weights: Option<&Path>| {
            let weights = weights.map(|path| path.to_string_lossy().into_owned());
            let option = weights.map(|path| ("WeightsFile".to_owned(), path));
            let is_on_cpu = self.device == DeviceChoice::Cpu;
            let device = is_on_cpu.then(|| ("Device".to_owned(), "cpu".to_owned()));
            let option = UciOptions(option.into_iter().chain(device).collect());
            Side { name: name.to_owned(), option, ..Side::default() }
        };
        MatchConfig {
            games: self.config.games,
            limit: Limit { nodes: Some(self.config.nodes), ..Limit::default() },
            side: vec![side("new", Some(network)), side("old", opponent)],
            openings: self.openings.clone(),
            resign: Some(ResignRule { move_count: 3, score_cp: 600, two_sided: false }),
            draw: Some(DrawRule { move_number: 40, move_count: 8, score_cp: 10 }),
            ..MatchConfig::default()
        }
    }
}

/// The copy of the network that the run in `folder` started from, made where there is none.
fn kept(folder: &Path, hash: &str, start: Option<&Path>) -> Result<PathBuf> {
    let gates = folder.join("gates");
    let copy = gates.join(format!("{FIRST}{hash}.safetensors"));
    if copy.is_file() {
        return Ok(copy);
    }
    let bytes = start.map(weights::read_file).transpose()?;
    let bytes = bytes.filter(|bytes| weights::short_hash(bytes) == hash).ok_or_else(|| {
        anyhow!(
            "the run started from the network {hash}, which its gating matches begin with; name \
             its file with --start-from"
        )
    })?;
    files::make_folder(&gates)?;
    files::replace(&copy, &bytes)?;
    Ok(copy)
}

/// Makes sure that a new run's matches do not pass for played because an earlier run's were. The
/// network that a run starts from may be there: a run that ended before its first checkpoint leaves
/// it.
///
/// # Errors
/// A sentence, when `folder` holds matches.
pub fn check_none(folder: &Path) -> Result<()> {
    let list = folder.join(GATES);
    let gates = std::fs::read_dir(folder.join("gates")).into_iter().flatten();
    let is_first = |path: &Path| file_name(Some(path)).starts_with(FIRST);
    let mut games = gates.filter_map(|entry| Some(entry.ok()?.path()));
    let old = list.exists().then_some(list).or_else(|| games.find(|path| !is_first(path)));
    match old {
        Some(path) => Err(anyhow!(
            "{} is of an earlier run in this folder; move {GATES} and the folder gates away, or \
             choose another folder with --out",
            path.display()
        )),
        None => Ok(()),
    }
}

fn file_name(path: Option<&Path>) -> String {
    let name = path.and_then(Path::file_name);
    name.map_or_else(|| "embedded".to_owned(), |name| name.to_string_lossy().into_owned())
}

/// The gating matches of the run in `folder`, oldest first; none where there were none.
///
/// # Errors
/// When `gates.csv` is damaged.
pub fn read_gates(folder: &Path) -> Result<Vec<GateLine>> {
    let path = folder.join(GATES);
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let lines = csv::Reader::from_path(&path).and_then(|mut reader| reader.deserialize().collect());
    lines.map_err(|error| damaged(&path, &error))
}

fn damaged(path: &Path, what: &csv::Error) -> Error {
    let path = path.display();
    anyhow!("{path} is not a list of gating matches ({what}); move it away to begin another one")
}

fn write_gates(folder: &Path, lines: impl Iterator<Item = GateLine>) -> Result<()> {
    let path = folder.join(GATES);
    let wrong = |error: csv::Error| damaged(&path, &error);
    let mut writer = csv::Writer::from_writer(Vec::new());
    for line in lines {
        writer.serialize(line).map_err(wrong)?;
    }
    let bytes = writer.into_inner().map_err(|error| wrong(error.into_error().into()))?;
    Ok(files::replace(&path, &bytes)?)
}
