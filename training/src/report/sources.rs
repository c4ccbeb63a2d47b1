//! What a report is made of: folders and files of other commands, recognised by what they hold.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Error, Result, ensure};
use serde::Deserialize;
use serde_json::Value;
use tesla_nn::files::{self, FileError, sha256};

use super::heads::{Program, damaged};
use super::spsa::Tuned;
use crate::disk::journal::{self, Journal};
use crate::evaluate::Evaluated;
use crate::game::limit::Limit;
use crate::matches::config::MatchConfig;
use crate::matches::files::occasion;
use crate::matches::record::MatchGame;
use crate::matches::tally::Tally;
use crate::players::side::Side;
use crate::suite::Record;
use crate::train::config::TrainConfig;
use crate::train::trainer::{LogLine, read_log};
use crate::tune::fit::Report as Fit;
use crate::tune::log::FILE as OBSERVATIONS;
use crate::tune::observe::Observation;
use crate::tune::spsa_run::FILE as PAIRS;

/// Files of folders that are read whole.
const PARTS: [&str; 7] =
    ["results.jsonl", "report.md", "loss.csv", "fit.json", OBSERVATIONS, PAIRS, "spsa.csv"];

/// How deep folders of folders are looked through.
const DEEPEST: usize = 4;

/// A training run.
#[derive(Debug)]
pub(super) struct Run {
    /// What the page calls it.
    pub(super) name: String,
    pub(super) lines: Vec<LogLine>,
    /// `None` = its config.json is of another version.
    pub(super) config: Option<TrainConfig>,
}

/// What `tune` found.
#[derive(Debug)]
pub(super) struct Tuning {
    pub(super) name: String,
    pub(super) fit: Fit,
    /// Empty where they were not kept.
    pub(super) observations: Vec<Observation>,
}

/// A match, finished or not.
#[derive(Debug)]
pub(super) struct Played {
    pub(super) name: String,
    pub(super) config: MatchConfig,
    pub(super) tally: Tally,
    /// By side, what played beside its options.
    pub(super) programs: Vec<Program>,
    /// Games that are not counted, because a match before had the very same.
    pub(super) repeated: u64,
    /// When its first and last game ended, if that is known.
    pub(super) ended: Option<Span>,
}

/// From when to when, seconds since 1970.
pub(super) type Span = (u64, u64);

/// A side's answers to a suite.
#[derive(Debug)]
pub(super) struct Examined {
    pub(super) suite: String,
    pub(super) side: Side,
    pub(super) program: Program,
    pub(super) records: Vec<Record>,
}

/// What makes a side play as it does, but for its limit: options in one order.
pub(super) fn configuration(side: &Side) -> Side {
    let mut side = Side { name: String::new(), limit: Limit::default(), ..side.clone() };
    side.option.0.sort();
    side
}

/// Games of the three-state decider, in their order.
#[derive(Debug)]
pub(super) struct Learning {
    pub(super) name: String,
    pub(super) games: Vec<LearntGame>,
}

/// What a line of `tesla experience learn --csv` says of a game; the rest of it is not drawn.
#[derive(Debug, Deserialize)]
pub(super) struct LearntGame {
    pub(super) score: f64,
    pub(super) confident: u64,
    pub(super) random: u64,
    pub(super) searched: u64,
}

/// Everything that was found.
#[derive(Debug, Default)]
pub(super) struct Sources {
    pub(super) runs: Vec<Run>,
    pub(super) networks: Vec<(String, Evaluated)>,
    pub(super) tunings: Vec<Tuning>,
    pub(super) tuned: Vec<Tuned>,
    pub(super) matches: Vec<Played>,
    pub(super) suites: Vec<Examined>,
    pub(super) learnings: Vec<Learning>,
    /// When all of that was measured: the ends of games, and the times of the other files.
    pub(super) measured: Option<Span>,
    /// Where games were played, as far as it is known.
    pub(super) machines: BTreeSet<String>,
    /// Games between sides that always answer alike.
    pub(super) foretold: HashSet<String>,
}

fn read(path: &Path) -> Result<Vec<u8>> {
    Ok(files::read_bounded(path, files::LARGEST)?)
}

/// The last part of a path that says something.
fn name(path: &Path) -> String {
    unused_name(path, [].into_iter())
}

/// The last part of a path that says something and is no other's name: with the folders above it,
/// as many as that takes.
fn unused_name<'a>(path: &Path, used: impl Iterator<Item = &'a String>) -> String {
    let used: HashSet<&String> = used.collect();
    let whole = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let mut name = whole
        .file_name()
        .map_or_else(|| "run".to_owned(), |name| name.to_string_lossy().into_owned());
    let mut above = whole.parent();
    while used.contains(&name)
        && let Some(folder) = above.and_then(Path::file_name)
    {
        name = format!("{}/{name}", folder.to_string_lossy());
        above = above.and_then(Path::parent);
    }
    name
}

/// The games of a file that `tesla experience` wrote.
fn learning(path: &Path) -> Result<Learning> {
    let games = csv::Reader::from_reader(&read(path)?[..]).into_deserialize().collect();
    let games: Vec<LearntGame> = std::result::Result::map_err(games, damaged::<csv::Error>(path))?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Learning { name: format!("against {name}"), games })
}

impl Sources {
    /// Reads all that these paths hold; folders of folders are looked through.
    ///
    /// # Errors
    /// When one of them holds nothing, or something damaged.
    pub(super) fn read(paths: &[PathBuf]) -> Result<Self> {
        let mut found = Self::default();
        for path in paths {
            let before = found.count();
            let kind = fs::metadata(path).map_err(FileError::at("read", path))?;
            ensure!(
                kind.is_dir()
                    || !path.file_name().is_some_and(|name| PARTS.iter().any(|&p| name == p)),
                "{} is a part of what its folder holds; name the folder",
                path.display()
            );
            if kind.is_dir() {
                found.look(path, 0)?;
            } else if path.extension().is_some_and(|end| end == "csv") {
                found.learnings.push(learning(path)?);
                found.note_file(path);
            } else {
                let figures = serde_json::from_slice(&read(path)?).map_err(damaged(path))?;
                found.networks.push((name(path), figures));
                found.note_file(path);
            }
            ensure!(
                found.count() > before,
                "{} holds nothing to report; name folders of train, match, suite or tune, or the \
                 file that evaluate --json or tesla experience learn --csv wrote",
                path.display()
            );
        }
        Ok(found)
    }

    fn count(&self) -> usize {
        let Self { runs, networks, tunings, tuned, matches, suites, learnings, .. } = self;
        let first = runs.len() + networks.len() + tunings.len() + tuned.len();
        first + matches.len() + suites.len() + learnings.len()
    }

    fn note(&mut self, (from, to): Span) {
        let (first, last) = self.measured.unwrap_or((from, to));
        self.measured = Some((first.min(from), last.max(to)));
    }

    /// Notes when a file was last written, which is when what is in it was measured.
    fn note_file(&mut self, path: &Path) {
        let written = fs::metadata(path).and_then(|file| file.modified()).ok();
        let since = written.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
        if let Some(since) = since {
            self.note((since.as_secs(), since.as_secs()));
        }
    }

    /// Takes what this folder holds, and what the folders in it hold.
    fn look(&mut self, folder: &Path, depth: usize) -> Result<()> {
        let here = |file: &str| Some(folder.join(file)).filter(|path| path.is_file());
        if let Some(path) = here("loss.csv") {
            let lines = read_log(&path).map_err(Error::msg)?;
            let config = read(&folder.join("config.json")).ok();
            let config = config.and_then(|bytes| serde_json::from_slice(&bytes).ok());
            let name = unused_name(folder, self.runs.iter().map(|run| &run.name));
            self.runs.push(Run { name, lines, config });
            self.note_file(&path);
        }
        if let Some(path) = here("fit.json") {
            let fit = serde_json::from_slice(&read(&path)?).map_err(damaged(&path))?;
            let observations = match here(OBSERVATIONS) {
                Some(path) => Journal::<Observation>::read(&path)?,
                None => Vec::new(),
            };
            let name = unused_name(folder, self.tunings.iter().map(|one| &one.name));
            self.tunings.push(Tuning { name, fit, observations });
            self.note_file(&path);
        }
        // A match that has only just begun holds nothing yet.
        let has_begun = |path: &PathBuf| fs::metadata(path).is_ok_and(|file| file.len() > 0);
        if let Some(path) = here("results.jsonl").filter(has_begun) {
            self.take_match(&path, folder)?;
        }
        if let Some(path) = here(PAIRS).filter(has_begun) {
            let name = unused_name(folder, self.tuned.iter().map(|one| &one.name));
            self.tuned.push(Tuned::read(&path, name)?);
            self.note_file(&path);
        }
        let entries = fs::read_dir(folder).map_err(FileError::at("read", folder))?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            if path.is_dir() && depth < DEEPEST {
                self.look(&path, depth + 1)?;
            } else if path.extension().is_some_and(|end| end == "json") {
                self.take_figures(&path)?;
            } else if path.extension().is_some_and(|end| end == "jsonl") {
                self.take_answers(&path)?;
            }
        }
        Ok(())
    }

    /// Takes a match, with when and where it was played if its folder tells.
    fn take_match(&mut self, results: &Path, folder: &Path) -> Result<()> {
        let name = unused_name(folder, self.matches.iter().map(|one| &one.name));
        let mut played = played(results, name, &mut self.foretold)?;
        if let Some(occasion) = occasion(folder) {
            played.ended = Some(occasion.ended);
            self.note(occasion.ended);
            self.machines.extend(occasion.machines);
        } else {
            self.note_file(results);
        }
        self.matches.push(played);
        Ok(())
    }

    /// Takes a file of lines if it holds answers to a suite; others lie beside matches.
    fn take_answers(&mut self, path: &Path) -> Result<()> {
        let Some(head) = journal::subject(path) else { return Ok(()) };
        let Some(suite) = head["suite"].as_str().map(str::to_owned) else { return Ok(()) };
        let side: Side = serde_json::from_value(head["side"].clone()).map_err(damaged(path))?;
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let search = side.machine().ok().filter(|_| side.is_own());
        let program = Program {
            network: text(&head["network"]),
            search: search.and_then(|own| text(&head["search_signature"][own.search.name()])),
            // As the head of a match has it.
            engine: text(&head["program_sha256"])
                .filter(|_| !side.is_own())
                .map(|hash| format!("{}, sha256 {hash}", side.name)),
        };
        let records = Journal::<Record>::read(path)?;
        self.suites.push(Examined { suite, side, program, records });
        self.note_file(path);
        Ok(())
    }

    /// Takes a JSON file if it is a network's figures; many others lie beside it.
    fn take_figures(&mut self, path: &Path) -> Result<()> {
        let Ok(value) = serde_json::from_slice::<Value>(&read(path)?) else { return Ok(()) };
        let is_ours =
            ["network", "block_parameters", "puzzles"].iter().all(|key| value.get(key).is_some());
        if is_ours {
            let figures = serde_json::from_value(value).map_err(damaged(path))?;
            self.networks.push((name(path), figures));
            self.note_file(path);
        }
        Ok(())
    }
}

/// The counts of a match from its results file, without games that are `known` from another one.
/// Between sides that always answer alike the same moves are the same game; others' games are where
/// scores, depths and nodes are the same too, as in a copy of the folder.
fn played(path: &Path, name: String, known: &mut HashSet<String>) -> Result<Played> {
    let (head, records) = Journal::<MatchGame>::read_with_match(path)?;
    let config = head.get("config").cloned().unwrap_or_default();
    let mut config: MatchConfig = serde_json::from_value(config).map_err(damaged(path))?;
    // How many games are asked for is not in the file, as more may be asked for: as many rounds as
    // were begun.
    config.games = 2;
    let round = config.plan().games().max(1);
    let most = records.iter().map(|record| record.number).max().unwrap_or(1);
    config.games = 2 * most.div_ceil(round).max(1);
    let mut tally = Tally::new(config.plan(), config.side.len(), None);
    let programs = Program::of(&head, &config.side);
    let sides = config.side.iter().zip(&programs);
    let players: HashMap<&str, String> = sides
        .map(|(side, program)| {
            let player = format!("{:?} {:?} {program:?}", configuration(side), side.limit);
            (side.name.as_str(), player)
        })
        .collect();
    let (mut here, mut repeated) = (Vec::new(), 0);
    for record in &records {
        let players = [&record.white, &record.black].map(|name| players.get(name.as_str()));
        let mut game = format!("{players:?} {:?}", record.opening);
        for played in &record.moves {
            // Writing to a String cannot fail.
            let _ = if config.is_repeatable() {
                write!(game, " {}", played.uci)
            } else {
                // Others may well play the same moves again, but do not tell the same of them.
                write!(game, " {played:?}")
            };
        }
        let game = sha256(game.as_bytes());
        if known.contains(&game) {
            repeated += 1;
            continue;
        }
        here.push(game);
        tally.add(record);
    }
    known.extend(here);
    Ok(Played { name, config, tally, programs, repeated, ended: None })
}
