//! The files of a match in its folder: results, times, PGN, transcripts.
//!
//! `results.jsonl` is the match: for our own sides without clocks it depends on nothing but the
//! match, so an interrupted run ends with the same bytes as an undisturbed one. Times differ from
//! run to run and have a file of their own. The PGN is made of both, and can be made again.
//!
//! Reads the clock for the day in a game's PGN.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tesla_nn::files::{self, FileError};

use super::arbiter::Failure;
use super::config::MatchConfig;
use super::pgn::{PgnTags, to_pgn};
use super::record::MatchGame;
use crate::console::machine::machine;
use crate::disk::day::day;
use crate::disk::journal::{Journal, Resumed};
use crate::players::side::Side;

/// How long the moves of one game took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Times {
    game: u64,
    /// When it ended, seconds since 1970.
    ended: u64,
    micros: Vec<u64>,
    /// Where it was played, in the first game of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    machine: Option<String>,
}

/// When and where the games of a match were played.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Occasion {
    /// Ends of the first game and the last one, seconds since 1970.
    pub ended: (u64, u64),
    /// The machines, as far as they are known.
    pub machines: BTreeSet<String>,
}

/// When and where the games in a folder were played, if it says so.
pub fn occasion(folder: &Path) -> Option<Occasion> {
    let text = files::read_bounded(&folder.join("times.jsonl"), files::LARGEST).ok()?;
    let times = parse_times(&text);
    let ended = || times.values().map(|times| times.ended);
    let machines = times.values().filter_map(|times| times.machine.clone()).collect();
    Some(Occasion { ended: (ended().min()?, ended().max()?), machines })
}

/// The open folder of a match.
#[derive(Debug)]
pub struct Files {
    folder: PathBuf,
    fingerprint: Value,
    journal: Journal<MatchGame>,
    times: File,
    /// Closed while it is written anew: Windows replaces no file that is open.
    pgn: Option<File>,
    tags: HashMap<String, String>,
    event: String,
    /// When the games ended, by number.
    ended: HashMap<u64, u64>,
    /// Where this run plays, until it is noted.
    machine: Option<String>,
}

/// A side's name and its clock as PGN writes it; `-` is none.
fn time_control(side: &Side) -> (String, String) {
    let control = side.limit.tc.map(|control| control.to_string());
    (side.name.clone(), control.unwrap_or_else(|| "-".to_owned()))
}

impl Files {
    /// Opens the folder, a new one or that of an interrupted run of the same match, and gives the
    /// games that are finished.
    ///
    /// # Errors
    /// When the folder holds another match, is in use, or cannot be written.
    pub fn open(
        folder: &Path,
        config: &MatchConfig,
        fingerprint: Value,
    ) -> Result<(Self, Vec<MatchGame>)> {
        files::make_folder(folder)?;
        let results = folder.join("results.jsonl");
        let own = ["games.pgn", "times.jsonl", "report.md"].map(|name| folder.join(name));
        if let Some(stranger) = own.into_iter().find(|path| !results.exists() && path.exists()) {
            bail!(
                "{} is there but no results.jsonl, so it is of no match that could go on, and \
                 nothing is written over; name another folder with --out",
                stranger.display()
            );
        }
        let Resumed { journal, mut records, .. } =
            Journal::<MatchGame>::open(&results, &fingerprint)?;
        let times_path = folder.join("times.jsonl");
        let times_text = files::read_bounded(&times_path, files::LARGEST).unwrap_or_default();
        let times = parse_times(&times_text);
        let ended = times.iter().map(|(&game, times)| (game, times.ended)).collect();
        for record in &mut records {
            if let Some(times) = times.get(&record.number) {
                for (played, &micros) in record.moves.iter_mut().zip(&times.micros) {
                    played.micros = micros;
                }
            }
        }
        let pgn_path = folder.join("games.pgn");
        files::remove_unfinished(&pgn_path)?;
        let mut files = Self {
            folder: folder.to_owned(),
            fingerprint,
            journal,
            times: files::append(&times_path)?,
            pgn: None,
            tags: config.side.iter().map(time_control).collect(),
            event: folder.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            ended,
            machine: Some(machine()),
        };
        // A run that was killed may have left half a game at the end of the PGN, or half a line.
        if times_text.last().is_some_and(|&byte| byte != b'\n') {
            files.times.write_all(b"\n").map_err(FileError::at("write", &times_path))?;
        }
        files.write_pgn(&records)?;
        Ok((files, records))
    }

    /// Keeps a finished game; when this returns, it is on the disk.
    ///
    /// # Errors
    /// When the disk refuses.
    #[expect(clippy::disallowed_methods, reason = "the hour at which a game ended, for people")]
    pub fn append(&mut self, record: &MatchGame) -> Result<()> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let times = Times {
            game: record.number,
            ended: now.unwrap_or(Duration::ZERO).as_secs(),
            micros: record.moves.iter().map(|played| played.micros).collect(),
            machine: self.machine.take(),
        };
        let mut line = serde_json::to_string(&times)?;
        line.push('\n');
        // The times first: a game that is in the results has its times.
        let path = self.folder.join("times.jsonl");
        let written = self.times.write_all(line.as_bytes()).and_then(|()| self.times.sync_data());
        written.map_err(FileError::at("write", &path))?;
        self.ended.insert(times.game, times.ended);
        self.journal.append(record)?;
        let text = self.pgn_of(record)?;
        let path = self.folder.join("games.pgn");
        let mut pgn = match self.pgn.take() {
            Some(pgn) => pgn,
            None => files::append(&path)?,
        };
        pgn.write_all(text.as_bytes()).map_err(FileError::at("write", &path))?;
        self.pgn = Some(pgn);
        Ok(())
    }

    /// Keeps what was said to and by a side that failed, and gives the file's name.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn keep_transcript(&self, record: &MatchGame, failure: &Failure) -> Result<String> {
        files::make_folder(&self.folder.join("transcripts"))?;
        let side = failure.side.fold_wb(&record.white, &record.black);
        let name: String =
            side.chars().map(|c| if c.is_alphanumeric() { c } else { '-' }).take(60).collect();
        let name = format!("transcripts/game-{:06}-{name}.txt", record.number);
        let path = self.folder.join(&name);
        let text = format!(
            "game {}, {side} ({}): {}\n{}\n",
            record.number,
            record.ending.termination.word(),
            failure.what,
            failure.transcript.join("\n")
        );
        files::replace(&path, text.as_bytes())?;
        Ok(name)
    }

    /// Puts the finished match in order: the records by number, the PGN likewise.
    ///
    /// # Errors
    /// When the disk refuses; the files then stay as they are.
    pub fn finish(mut self, records: &[MatchGame]) -> Result<()> {
        self.write_pgn(records)?;
        self.journal.replace(&self.fingerprint, records)
    }

    fn pgn_of(&self, record: &MatchGame) -> Result<String> {
        let limit = |name: &String| self.tags.get(name).cloned().unwrap_or_default();
        let tags = PgnTags {
            event: self.event.clone(),
            site: "tesla-train match".to_owned(),
            date: self.ended.get(&record.number).map_or_else(String::new, |&at| day(at, ".")),
            white_time_control: limit(&record.white),
            black_time_control: limit(&record.black),
        };
        to_pgn(record, &tags)
    }

    fn write_pgn(&mut self, records: &[MatchGame]) -> Result<()> {
        let path = self.folder.join("games.pgn");
        let mut text = String::new();
        for record in records {
            text += &self.pgn_of(record)?;
        }
        self.pgn = None;
        Ok(files::replace(&path, text.as_bytes())?)
    }
}

/// The times by game; unreadable lines are skipped, since nothing depends on them.
fn parse_times(text: &[u8]) -> HashMap<u64, Times> {
    text.split(|&byte| byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<Times>(line).ok())
        .map(|times| (times.game, times))
        .collect()
}
