//! The folder of a run: a journal of the games as they come, and whole shards.
//!
//! A game is in the journal before it is counted. Shards are written in their order, each when all
//! of its numbers are played, so that of games that are the same the one with the lowest number
//! stays, whichever was played first. A shard's held-out games are in a file of their own, which is
//! written before it: a shard that is there has both.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tesla_nn::files::{self, FileError};

use crate::disk::journal::Journal;
use crate::disk::owner::{CONFIG, Owner, Stranger};
use crate::game::state::{fen_of, set_up};
use crate::labelled::unique::{Unique, is_held_out};
use crate::labelled::{
    self, Candidate, EXTENSION, GameReader, GameRecord, GameWriter, HELD_OUT, Ply, RecordError,
};

/// A game in the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct JournalGame {
    /// Its number, from 0.
    game: u64,
    /// FEN of the start position.
    start: String,
    /// As in [`GameRecord`].
    result: u8,
    /// Played, best and score of each ply, as in [`Ply`].
    plies: Vec<(u16, u16, i16)>,
    /// By ply, other moves and their scores, as in [`Candidate`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    others: Vec<Vec<(u16, i16)>>,
}

impl JournalGame {
    fn new(game: u64, record: &GameRecord) -> Self {
        let plies = record.plies.iter().map(|ply| (ply.played, ply.best, ply.score)).collect();
        let pair = |other: &Candidate| (other.played, other.score);
        let others = record.others.iter().map(|others| others.iter().map(pair).collect()).collect();
        Self { game, start: fen_of(&record.start), result: record.result, plies, others }
    }

    fn record(&self) -> Result<GameRecord> {
        let start = set_up(&self.start, false)?;
        let ply = |&(played, best, score): &_| Ply { played, best, score };
        let plies = self.plies.iter().map(ply).collect();
        let other = |&(played, score): &_| Candidate { played, score };
        let others = self.others.iter().map(|others| others.iter().map(other).collect()).collect();
        Ok(GameRecord { start, result: self.result, plies, others })
    }
}

/// The open folder of a run.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    fingerprint: Value,
    /// `None` only while it is made anew.
    journal: Option<Journal<JournalGame>>,
    games: u64,
    shard_games: u64,
    /// Share of the games that are held out.
    valid: f64,
    /// Games that are in no shard yet, by number.
    pending: BTreeMap<u64, GameRecord>,
    /// The first shard that is not whole.
    next: u64,
    /// The games of the shards before it.
    seen: Unique,
    kept: u64,
    held_out: u64,
    dropped: u64,
}

/// Name of shard `number`.
pub(super) fn shard_name(number: u64) -> String {
    format!("shard-{number:05}.{EXTENSION}")
}

/// Name of the held-out games of shard `number`.
fn valid_name(number: u64) -> String {
    format!("{HELD_OUT}-{number:05}.{EXTENSION}")
}

/// Refuses a `config.json` of something else.
fn check_owner(config: &Path) -> Result<()> {
    if config.exists() {
        let owner = Owner::of(&files::read_bounded(config, files::LARGEST)?);
        ensure!(owner == Some(Owner::Datagen), Stranger::new(config, owner));
    }
    Ok(())
}

impl Store {
    /// Opens the folder of a run of so many games, new or interrupted, of which the share `valid`
    /// is held out.
    ///
    /// # Errors
    /// When the folder holds another run or something else, is in use, damaged or cannot be
    /// written.
    pub fn open(
        folder: &Path,
        fingerprint: Value,
        games: u64,
        shard_games: u64,
        valid: f64,
    ) -> Result<Self> {
        files::make_folder(folder)?;
        let config = folder.join(CONFIG);
        check_owner(&config)?;
        let path = folder.join("games.jsonl");
        if let Err(half @ RecordError::Unfinished(_)) = labelled::find_files(folder) {
            return Err(half.into());
        }
        ensure!(
            path.exists() || !labelled::holds_games(folder),
            "{} holds .games.zst files but no games.jsonl, so they are of no run that could go on; \
             name another folder",
            folder.display()
        );
        let resumed = Journal::<JournalGame>::open(&path, &fingerprint)?;
        files::remove_unfinished(&config)?;
        files::replace(&config, format!("{fingerprint:#}\n").as_bytes())?;
        let mut pending = BTreeMap::new();
        for entry in resumed.records {
            let record = entry.record().map_err(|what| {
                anyhow!(
                    "game {} of the journal {} is damaged: {what}; delete its line, and it is made \
                     again",
                    entry.game,
                    path.display()
                )
            })?;
            pending.insert(entry.game, record);
        }
        let mut store = Self {
            folder: folder.to_owned(),
            fingerprint,
            journal: Some(resumed.journal),
            games,
            shard_games,
            valid,
            pending,
            next: 0,
            seen: Unique::default(),
            kept: 0,
            held_out: 0,
            dropped: 0,
        };
        store.finish_shards()?;
        Ok(store)
    }

    /// Keeps a finished game. When this returns, it is on the disk.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn add(&mut self, number: u64, game: GameRecord) -> Result<()> {
        if let Some(journal) = &mut self.journal {
            journal.append(&JournalGame::new(number, &game))?;
        }
        self.pending.insert(number, game);
        self.finish_shards()
    }

    /// The games that are still to be played.
    pub fn missing(&self) -> Vec<u64> {
        (self.next..self.shards())
            .filter(|&shard| !self.path(shard).exists())
            .flat_map(|shard| self.range(shard))
            .filter(|number| !self.pending.contains_key(number))
            .collect()
    }

    /// Games on disk so far, those of unfinished shards included, and those that were dropped
    /// because a game with a lower number is the same.
    pub fn counts(&self) -> (u64, u64) {
        (self.kept + self.pending.len() as u64, self.dropped)
    }

    /// Games that are held out, in whole shards.
    pub fn held_out(&self) -> u64 {
        self.held_out
    }

    /// Whether every shard is whole.
    pub fn is_complete(&self) -> bool {
        self.next == self.shards()
    }

    fn shards(&self) -> u64 {
        self.games.div_ceil(self.shard_games)
    }

    /// The games of a shard.
    fn range(&self, shard: u64) -> Range<u64> {
        let start = shard * self.shard_games;
        start..self.games.min(start + self.shard_games)
    }

    fn path(&self, shard: u64) -> PathBuf {
        self.folder.join(shard_name(shard))
    }

    /// Goes through the shards in their order as far as they are whole, and writes those that are
    /// not on disk yet.
    fn finish_shards(&mut self) -> Result<()> {
        let before = self.next;
        while self.next < self.shards() {
            let range = self.range(self.next);
            let (path, valid) = (self.path(self.next), self.folder.join(valid_name(self.next)));
            let size = range.end - range.start;
            let (learnt, held_out) = if path.exists() {
                let held_out = if valid.exists() { self.learn(&valid)? } else { 0 };
                (self.learn(&path)?, held_out)
            } else if self.is_played(&range) {
                self.write(&path, &valid, range.clone())?
            } else {
                break;
            };
            let kept = learnt + held_out;
            self.pending.retain(|number, _| !range.contains(number));
            self.held_out += held_out;
            self.kept += kept;
            self.dropped += size.saturating_sub(kept);
            self.next += 1;
        }
        if self.next > before { self.shorten() } else { Ok(()) }
    }

    fn is_played(&self, range: &Range<u64>) -> bool {
        let size = range.end - range.start;
        // The cheap question first: this is asked after every game.
        self.pending.len() as u64 >= size
            && self.pending.range(range.clone()).count() as u64 == size
    }

    /// Takes note of a shard's games, and counts them.
    fn learn(&mut self, path: &Path) -> Result<u64> {
        let mut games = 0;
        for game in GameReader::open(path)? {
            self.seen.insert(&game?);
            games += 1;
        }
        Ok(games)
    }

    /// Writes a shard, after its held-out games if there are any, and counts both.
    fn write(&mut self, path: &Path, valid: &Path, range: Range<u64>) -> Result<(u64, u64)> {
        // Of a run that was killed.
        files::remove_unfinished(path)?;
        files::remove_unfinished(valid)?;
        if valid.exists() {
            fs::remove_file(valid).map_err(FileError::at("delete", valid))?;
        }
        let mut counts = (0, 0);
        let (mut shard, mut held_out) = (GameWriter::create(path)?, None);
        for game in self.pending.range(range).map(|(_, game)| game) {
            if !self.seen.insert(game) {
                continue;
            }
            if is_held_out(game, self.valid) {
                let writer = match &mut held_out {
                    Some(writer) => writer,
                    none => none.insert(GameWriter::create(valid)?),
                };
                writer.write(game)?;
                counts.1 += 1;
            } else {
                shard.write(game)?;
                counts.0 += 1;
            }
        }
        held_out.map_or(Ok(()), GameWriter::finish)?;
        shard.finish()?;
        Ok(counts)
    }

    /// Leaves only what is in no shard in the journal.
    fn shorten(&mut self) -> Result<()> {
        let Some(journal) = self.journal.take() else { return Ok(()) };
        let entries: Vec<JournalGame> =
            self.pending.iter().map(|(&number, game)| JournalGame::new(number, game)).collect();
        journal.replace(&self.fingerprint, &entries)?;
        let path = self.folder.join("games.jsonl");
        self.journal = Some(Journal::resume(&path, &self.fingerprint)?.journal);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
