//! A results file that grows game by game and survives a killed process.
//!
//! JSON, one value a line: first a header that describes the match, then one record per finished
//! game. A line is written with one call and reaches the disk before the call returns. A line that
//! a crash cut short is dropped on resuming, and its game is played again.

use std::fs::{File, TryLockError};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, anyhow, bail};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tesla_engine::console::lock;
use tesla_nn::files::{self, FileError, NewFile};

/// What the header's `format` says.
const FORMAT: &str = "tesla-match-journal";

/// Version of the lines' layout; a change of the records' fields raises it.
const VERSION: u32 = 1;

/// Longest header, bytes: a file of something else may be a single line of any length.
const LONGEST_HEADER: u64 = 1 << 24;

/// A results file open for appending, locked against other runs.
#[derive(Debug)]
pub struct Journal<T> {
    file: File,
    path: PathBuf,
    /// Bytes of whole lines.
    length: u64,
    records: PhantomData<fn(&T)>,
}

/// A results file as a resumed match finds it.
#[derive(Debug)]
pub struct Resumed<J, T> {
    /// The file, ready for more.
    pub journal: J,
    /// The games it holds, in the order of its lines.
    pub records: Vec<T>,
    /// Bytes of a torn last line that were cut off; 0 when the file was whole.
    pub cut_bytes: u64,
}

/// What a file says of its match or run, if it is a journal.
pub fn subject(path: &Path) -> Option<Value> {
    let mut line = Vec::new();
    let file = files::open_bounded(path, files::LARGEST).ok()?;
    BufReader::new(file).take(LONGEST_HEADER).read_until(b'\n', &mut line).ok()?;
    let mut head: Value = serde_json::from_slice(&line).ok()?;
    (head.get("format")?.as_str()? == FORMAT).then(|| head["match"].take())
}

impl<T: Serialize + DeserializeOwned> Journal<T> {
    /// Starts a file for the match that `fingerprint` describes.
    ///
    /// # Errors
    /// When the file exists or cannot be written.
    pub fn create(path: &Path, fingerprint: &Value) -> Result<Self> {
        let file = files::make(path).map_err(|error| {
            if error.is_there_already() {
                let path = path.display();
                anyhow!("the results file {path} exists already; resume it, or name another file")
            } else {
                error.into()
            }
        })?;
        let mut journal = Self::lock(file, path)?;
        journal.append_line(&header(fingerprint))?;
        Ok(journal)
    }

    /// Opens the file of an interrupted match and reads its games. A torn last line is cut off.
    ///
    /// # Errors
    /// When the file cannot be used, belongs to a match with another fingerprint, is in use by
    /// another run, or is damaged elsewhere than at its very end; it stays as it is then.
    pub fn resume(path: &Path, fingerprint: &Value) -> Result<Resumed<Self, T>> {
        let header = header(fingerprint);
        let io_error = |error| FileError::at("use", path)(error);
        let mut journal = Self::lock(files::edit(path)?, path)?;
        let size = journal.file.metadata().map_err(io_error)?.len();
        let (records, length) = read_lines(&journal.file, path, &header)?;
        journal.length = length;
        journal.file.set_len(length).map_err(io_error)?;
        journal.file.seek(SeekFrom::Start(length)).map_err(io_error)?;
        if length == 0 {
            journal.append_line(&header)?;
        }
        Ok(Resumed { journal, records, cut_bytes: size.saturating_sub(length) })
    }

    /// The records of a file, which stays as it is, whatever match it is of; a torn last line is
    /// passed over.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub fn read(path: &Path) -> Result<Vec<T>> {
        Ok(Self::read_with_match(path)?.1)
    }

    /// The same, after what the file says of its match.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub fn read_with_match(path: &Path) -> Result<(Value, Vec<T>)> {
        let io_error = |error| FileError::at("use", path)(error);
        let mut header = Vec::new();
        let file = files::open_bounded(path, files::LARGEST)?;
        BufReader::new(&file)
            .take(LONGEST_HEADER)
            .read_until(b'\n', &mut header)
            .map_err(io_error)?;
        (&file).seek(SeekFrom::Start(0)).map_err(io_error)?;
        let (records, _) = read_lines(&file, path, &header)?;
        let mut head: Value = serde_json::from_slice(&header).unwrap_or_default();
        Ok((head["match"].take(), records))
    }

    /// Starts the file or opens that of an interrupted run, whichever it is.
    ///
    /// # Errors
    /// As [`Journal::create`] and [`Journal::resume`].
    pub fn open(path: &Path, fingerprint: &Value) -> Result<Resumed<Self, T>> {
        if path.exists() {
            return Self::resume(path, fingerprint);
        }
        let journal = Self::create(path, fingerprint)?;
        Ok(Resumed { journal, records: Vec::new(), cut_bytes: 0 })
    }

    /// Rewrites the whole file, with what is final in order. Either the old file or the new one is
    /// there at any moment.
    ///
    /// # Errors
    /// When a record cannot be written or the disk refuses; the old file stays then.
    pub fn replace(self, fingerprint: &Value, records: &[T]) -> Result<()> {
        let mut bytes = header(fingerprint);
        for record in records {
            serde_json::to_writer(&mut bytes, record)
                .context("a game cannot be written as JSON")?;
            bytes.push(b'\n');
        }
        let Self { file, path, .. } = self;
        let mut new = NewFile::create(&path)?;
        new.write_all(&bytes).map_err(FileError::at("write", &path))?;
        // Some systems do not replace a file that is open.
        drop(file);
        Ok(new.commit()?)
    }

    fn lock(file: File, path: &Path) -> Result<Self> {
        match lock::take(&file) {
            Ok(()) => {
                // Of a run that was killed.
                files::remove_unfinished(path)?;
                Ok(Self { file, path: path.to_owned(), length: 0, records: PhantomData })
            }
            Err(TryLockError::WouldBlock) => bail!(
                "another run is writing the results file {}; wait for it, or name another file",
                path.display()
            ),
            Err(TryLockError::Error(error)) => Err(FileError::at("lock", path)(error).into()),
        }
    }

    /// Adds one finished game; when this returns, the game is on the disk.
    ///
    /// # Errors
    /// When the disk refuses. The file then ends with the last whole line, and the call may be
    /// tried again.
    pub fn append(&mut self, record: &T) -> Result<()> {
        let mut line = serde_json::to_vec(record).context("a game cannot be written as JSON")?;
        line.push(b'\n');
        self.append_line(&line)
    }

    fn append_line(&mut self, line: &[u8]) -> Result<()> {
        let written = self.file.write_all(line).and_then(|()| self.file.sync_data());
        match written {
            Ok(()) => {
                self.length += line.len() as u64;
                Ok(())
            }
            Err(error) => {
                // Half a line must not stay where the next one would continue it. Should this
                // fail as well, resuming finds the damage.
                let _ = self.file.set_len(self.length);
                let _ = self.file.seek(SeekFrom::Start(self.length));
                Err(FileError::at("write", &self.path)(error).into())
            }
        }
    }
}

fn header(fingerprint: &Value) -> Vec<u8> {
    let header = json!({ "format": FORMAT, "version": VERSION, "match": fingerprint });
    format!("{header}\n").into_bytes()
}

/// The games of a file and the bytes of its whole lines. No bytes at all mean that not even the
/// header was whole.
fn read_lines<T: DeserializeOwned>(
    file: &File,
    path: &Path,
    header: &[u8],
) -> Result<(Vec<T>, u64)> {
    let io_error = |error| FileError::at("use", path)(error);
    let mut reader = BufReader::new(file);
    let mut line = Vec::new();
    reader.by_ref().take(LONGEST_HEADER).read_until(b'\n', &mut line).map_err(io_error)?;
    if line.len() < header.len() && header.starts_with(&line) {
        return Ok((Vec::new(), 0));
    }
    check_header(&line, header, path)?;
    let mut length = line.len() as u64;
    let mut records = Vec::new();
    loop {
        line.clear();
        reader.read_until(b'\n', &mut line).map_err(io_error)?;
        if !line.ends_with(b"\n") {
            return Ok((records, length));
        }
        match serde_json::from_slice(&line) {
            Ok(record) => records.push(record),
            Err(error) => {
                let is_last = reader.fill_buf().map_err(io_error)?.is_empty();
                // Whole JSON of a wrong shape was not torn by a crash.
                if is_last && !error.is_data() {
                    return Ok((records, length));
                }
                bail!(
                    "line {} of the results file {} is damaged ({error}); fix it, or delete it \
                     and all lines after it, and those games are played again",
                    records.len() + 2,
                    path.display()
                );
            }
        }
        length += line.len() as u64;
    }
}

fn check_header(line: &[u8], ours: &[u8], path: &Path) -> Result<()> {
    let place = path.display();
    let not_a_journal = || anyhow!("{place} is not a results file of a match; name another file");
    let in_file: Value = serde_json::from_slice(line).map_err(|_| not_a_journal())?;
    if in_file.get("format").and_then(Value::as_str) != Some(FORMAT) || !line.ends_with(b"\n") {
        return Err(not_a_journal());
    }
    // Both are parsed from text, so that a float which JSON rounds does not look different.
    let now: Value = serde_json::from_slice(ours).map_err(|_| not_a_journal())?;
    match first_difference(Some(&in_file), Some(&now), String::new()) {
        None => Ok(()),
        // Nobody can set a hash.
        Some((field, ..)) if field.ends_with("sha256") => bail!(
            "the results file {place} is of a different run: what it is about has changed ({field} \
             differs); name another file, or give the same input and options as then"
        ),
        Some((field, in_file, now)) => bail!(
            "the results file {place} is of a different run: {} is {in_file} there and {now} here \
             ({field}); name another folder or file, or give the same as then",
            field.rsplit('.').next().unwrap_or_default()
        ),
    }
}

/// The name of the first field in which two values differ, and both values there.
fn first_difference(
    a: Option<&Value>,
    b: Option<&Value>,
    field: String,
) -> Option<(String, String, String)> {
    match (a, b) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            let dot = if field.is_empty() { "" } else { "." };
            // A version or format that differs says more than the fields that differ with it.
            let first = ["format", "version"].iter().copied();
            let names = first.chain(left.keys().chain(right.keys()).map(String::as_str));
            names.into_iter().find_map(|name| {
                first_difference(left.get(name), right.get(name), format!("{field}{dot}{name}"))
            })
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) => (0..left.len().max(right.len()))
            .find_map(|i| first_difference(left.get(i), right.get(i), format!("{field}[{i}]"))),
        _ if a == b => None,
        _ => {
            let show = |value: Option<&Value>| value.map_or("absent".to_owned(), Value::to_string);
            Some((field, show(a), show(b)))
        }
    }
}

#[cfg(test)]
mod tests;
