//! Games from elsewhere into shards or one file, none twice.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use tesla_nn::files::{self, FileError};

use super::store::shard_name;
use crate::labelled::unique::{Unique, is_held_out};
use crate::labelled::{self, EXTENSION, GameRecord, GameWriter, HELD_OUT, UNFINISHED};

/// What was written.
#[derive(Debug)]
pub struct Written {
    /// The files; the last one is that of the held-out games, if there are any.
    pub files: Vec<PathBuf>,
    /// Games, those held out included.
    pub kept: u64,
    /// Games held out.
    pub held_out: u64,
    /// Games that were dropped because another one is the same.
    pub dropped: u64,
}

/// What becomes of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its hash decides whether it is held out.
    Drawn,
    /// It was held out before, and stays so, or another part of its game is.
    HeldOut,
    /// Another part of its game is not held out.
    Learnt,
}

/// Files being written. Dropped before [`Output::finish`], they are deleted.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    /// Games of a shard; `None` = `path` is the only file.
    shard_games: Option<u64>,
    writer: Option<GameWriter>,
    /// Games in the file that is being written.
    in_file: u64,
    /// Share of the games that are held out, and where they go.
    valid: (f64, Option<GameWriter>),
    held_out: u64,
    files: Vec<PathBuf>,
    unique: Unique,
    kept: u64,
    dropped: u64,
    is_finished: bool,
}

impl Output {
    /// Writes one file where `path` ends in `.games.zst`, else shards of so many games into the
    /// folder `path`, and the share `valid` of the games into one file beside them, `valid`. Which
    /// games these are depends on the games alone.
    ///
    /// # Errors
    /// When the file exists, or the folder holds games or cannot be made.
    pub fn create(path: &Path, shard_games: u64, valid: f64) -> Result<Self> {
        let is_file = labelled::is_games_file(path);
        check_valid(valid)?;
        ensure!(!is_file || valid <= 0.0, "--valid needs a folder; {} is one file", path.display());
        let folder = if is_file { path.parent().unwrap_or(Path::new("")) } else { path };
        if if is_file { path.exists() } else { labelled::holds_games(path) } {
            if !is_file {
                // What a killed run has half renamed is told of in other words.
                labelled::find_files(path)?;
            }
            bail!(
                "{} exists already, and nothing is written over; name another file or folder with \
                 --out",
                path.display()
            );
        }
        files::make_folder(folder)?;
        if !is_file {
            remove_unfinished(folder)?;
        }
        Ok(Self {
            path: path.to_owned(),
            shard_games: (!is_file).then_some(shard_games),
            writer: None,
            in_file: 0,
            valid: (valid, None),
            held_out: 0,
            files: Vec::new(),
            unique: Unique::default(),
            kept: 0,
            dropped: 0,
            is_finished: false,
        })
    }

    /// What is drawn for a game, for all its parts.
    pub fn fate(&self, first: &GameRecord) -> Fate {
        if is_held_out(first, self.valid.0) { Fate::HeldOut } else { Fate::Learnt }
    }

    /// Adds a game, unless it is the same as one before. Where all are written into one file,
    /// `fate` decides nothing.
    ///
    /// # Errors
    /// When the disk refuses, or the format has no room for the game.
    pub fn add(&mut self, game: &GameRecord, fate: Fate) -> Result<()> {
        if !self.unique.insert(game) {
            self.dropped += 1;
            return Ok(());
        }
        self.kept += 1;
        let is_file = self.shard_games.is_none();
        let fate = if fate == Fate::Drawn { self.fate(game) } else { fate };
        if !is_file && fate == Fate::HeldOut {
            let writer = &mut self.valid.1;
            let writer = match writer {
                Some(writer) => writer,
                None => {
                    writer.insert(GameWriter::create(&self.path.join(valid_name() + UNFINISHED))?)
                }
            };
            self.held_out += 1;
            return Ok(writer.write(game)?);
        }
        if self.writer.is_none() {
            let path = match self.shard_games {
                Some(_) => self.path.join(shard_name(self.files.len() as u64) + UNFINISHED),
                None => self.path.clone(),
            };
            self.writer = Some(GameWriter::create(&path)?);
            self.files.push(path);
            self.in_file = 0;
        }
        if let Some(writer) = &mut self.writer {
            writer.write(game)?;
        }
        self.in_file += 1;
        if self.shard_games == Some(self.in_file) {
            self.close()?;
        }
        Ok(())
    }

    /// Brings the last file to the disk.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn finish(mut self) -> Result<Written> {
        self.close()?;
        let shards = self.files.len();
        if let Some(writer) = self.valid.1.take() {
            writer.finish()?;
            self.files.push(self.path.join(valid_name() + UNFINISHED));
        }
        if self.shard_games.is_some() {
            for (number, file) in self.files.iter_mut().enumerate() {
                let name = if number < shards { shard_name(number as u64) } else { valid_name() };
                let path = self.path.join(name);
                fs::rename(&*file, &path).map_err(FileError::at("write", &path))?;
                *file = path;
            }
            files::sync_folder(&self.path).map_err(FileError::at("write", &self.path))?;
        }
        self.is_finished = true;
        let Self { kept, held_out, dropped, .. } = self;
        Ok(Written { files: std::mem::take(&mut self.files), kept, held_out, dropped })
    }

    fn close(&mut self) -> Result<()> {
        Ok(self.writer.take().map_or(Ok(()), GameWriter::finish)?)
    }
}

/// Checks the share of the games that are held out.
///
/// # Errors
/// When it is none, or all games.
pub fn check_valid(valid: f64) -> Result<()> {
    ensure!(
        (0.0..1.0).contains(&valid),
        "--valid is {valid}; it must be a share from 0 to below 1, as 0.02"
    );
    Ok(())
}

/// The file of held-out games.
fn valid_name() -> String {
    format!("{HELD_OUT}.{EXTENSION}")
}

/// Removes what a killed run has left.
fn remove_unfinished(folder: &Path) -> Result<(), FileError> {
    let entries = fs::read_dir(folder).map_err(FileError::at("read", folder))?;
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_ours = name.starts_with("shard-") || name.starts_with(HELD_OUT);
        if is_ours && name.contains(&format!(".{EXTENSION}{UNFINISHED}")) {
            fs::remove_file(&path).map_err(FileError::at("delete", &path))?;
        }
    }
    Ok(())
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.is_finished {
            (self.writer, self.valid.1) = (None, None);
            for file in &self.files {
                let _ = fs::remove_file(file);
            }
        }
    }
}
