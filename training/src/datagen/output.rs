//! Games from elsewhere into shards or one file, none twice.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use tesla_nn::files::{self, FileError};

use super::store::shard_name;
use super::unique::Unique;
use crate::labelled::{self, EXTENSION, GameRecord, GameWriter};

/// What shards are called behind their names until all of them are whole: half of what was asked
/// for must not pass for the whole, also after a power cut.
const UNFINISHED: &str = ".part";

/// Files being written. Dropped before [`Output::finish`], they are deleted.
#[derive(Debug)]
pub struct Output {
    path: PathBuf,
    /// Games of a shard; `None` = `path` is the only file.
    shard_games: Option<u64>,
    writer: Option<GameWriter>,
    /// Games in the file that is being written.
    in_file: u64,
    files: Vec<PathBuf>,
    unique: Unique,
    kept: u64,
    dropped: u64,
    is_finished: bool,
}

impl Output {
    /// Writes one file where `path` ends in `.games.zst`, else shards of so many games into the
    /// folder `path`.
    ///
    /// # Errors
    /// When the file exists, or the folder holds games or cannot be made.
    pub fn create(path: &Path, shard_games: u64) -> Result<Self> {
        let is_file = labelled::is_games_file(path);
        let folder = if is_file { path.parent().unwrap_or(Path::new("")) } else { path };
        if is_file && path.exists() || !is_file && labelled::find_files(path).is_ok() {
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
            files: Vec::new(),
            unique: Unique::default(),
            kept: 0,
            dropped: 0,
            is_finished: false,
        })
    }

    /// Adds a game, unless it is the same as one before.
    ///
    /// # Errors
    /// When the disk refuses, or the format has no room for the game.
    pub fn add(&mut self, game: &GameRecord) -> Result<()> {
        if !self.unique.insert(game) {
            self.dropped += 1;
            return Ok(());
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
        self.kept += 1;
        self.in_file += 1;
        if self.shard_games == Some(self.in_file) {
            self.close()?;
        }
        Ok(())
    }

    /// Brings the last file to the disk; gives all files, and the games kept and dropped.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn finish(mut self) -> Result<(Vec<PathBuf>, u64, u64)> {
        self.close()?;
        if self.shard_games.is_some() {
            for (number, file) in self.files.iter_mut().enumerate() {
                let path = self.path.join(shard_name(number as u64));
                fs::rename(&*file, &path).map_err(FileError::at("write", &path))?;
                *file = path;
            }
            files::sync_folder(&self.path).map_err(FileError::at("write", &self.path))?;
        }
        self.is_finished = true;
        Ok((std::mem::take(&mut self.files), self.kept, self.dropped))
    }

    fn close(&mut self) -> Result<()> {
        Ok(self.writer.take().map_or(Ok(()), GameWriter::finish)?)
    }
}

/// Removes what a killed run has left.
fn remove_unfinished(folder: &Path) -> Result<(), FileError> {
    let entries = fs::read_dir(folder).map_err(FileError::at("read", folder))?;
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("shard-") && name.contains(&format!(".{EXTENSION}{UNFINISHED}")) {
            fs::remove_file(&path).map_err(FileError::at("delete", &path))?;
        }
    }
    Ok(())
}

impl Drop for Output {
    fn drop(&mut self) {
        if !self.is_finished {
            self.writer = None;
            for file in &self.files {
                let _ = fs::remove_file(file);
            }
        }
    }
}
