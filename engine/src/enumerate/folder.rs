//! The folder of a run and its state, the one file that says what the others are worth.
//!
//! `state` is text: `tesla-enumeration VERSION SHA-256`, then JSON with that hash. A checkpoint
//! first makes sure that all files it speaks of are on the disk, then puts the new state in the old
//! one's place. So at any moment the state there is fits the files there are.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tesla_nn::files;

use super::error::EnumerateError;
use super::log::{self, Log};
use crate::console::lock;

const STATE: &str = "state";
const LOCK: &str = "lock";
const FORMAT: &str = "tesla-enumeration";

/// Largest state, bytes: a line for each file.
const LARGEST: u64 = 1 << 30;

/// A folder that no other run writes in.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// Held, not read.
    _lock: File,
}

impl Folder {
    /// Takes a folder of an enumeration, or makes one.
    ///
    /// # Errors
    /// When it cannot be made, is in use or holds something else.
    pub(super) fn open(path: &Path) -> Result<Self, EnumerateError> {
        fs::create_dir_all(path).map_err(EnumerateError::io(path))?;
        if !path.join(STATE).exists() {
            for entry in fs::read_dir(path).map_err(EnumerateError::io(path))? {
                let name = entry.map_err(EnumerateError::io(path))?.file_name();
                if name != LOCK && !is_half_a_state(&name) {
                    return Err(EnumerateError::Strangers(path.to_owned()));
                }
            }
        }
        let lock_path = path.join(LOCK);
        let lock = files::append(&lock_path).map_err(EnumerateError::file)?;
        match lock::take(&lock) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(EnumerateError::Locked(path.to_owned())),
            Err(TryLockError::Error(source)) => {
                return Err(EnumerateError::Io { path: lock_path, source });
            }
        }
        let state = path.join(STATE);
        files::remove_unfinished(&state)
            .map_err(|error| EnumerateError::io(&state)(error.into()))?;
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Puts `state` in place of the last one. What it speaks of must be on the disk.
    ///
    /// # Errors
    /// When the disk refuses; the last state stays then.
    pub(super) fn save(&self, state: &impl Serialize) -> Result<(), EnumerateError> {
        let path = self.path.join(STATE);
        let write = || {
            let json = serde_json::to_string_pretty(state)?;
            let hash = files::sha256(json.as_bytes());
            let text = format!("{FORMAT} {} {hash}\n{json}", log::VERSION);
            Ok(files::replace(&path, text.as_bytes())?)
        };
        write().map_err(EnumerateError::io(&path))
    }

    /// Deletes the files that the state no longer speaks of, and those that no state ever did.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn clean<'a>(
        &self,
        kept: impl Iterator<Item = &'a Log>,
    ) -> Result<(), EnumerateError> {
        let kept: HashSet<String> = kept.filter(|log| log.length() > 0).map(Log::name).collect();
        for entry in fs::read_dir(&self.path).map_err(EnumerateError::io(&self.path))? {
            let entry = entry.map_err(EnumerateError::io(&self.path))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            // Whatever else a person has put there is theirs.
            if Log::is_name(&name) && !kept.contains(&name) {
                fs::remove_file(entry.path()).map_err(EnumerateError::io(&entry.path()))?;
            }
        }
        Ok(())
    }
}

/// Whether a run has left its state in this folder.
pub(super) fn is_begun(path: &Path) -> bool {
    path.join(STATE).exists()
}

/// Deletes what a run has put into a folder, its state last, and the folder where nothing else is
/// in it.
///
/// # Errors
/// When the disk refuses.
pub(super) fn remove(path: &Path) -> Result<(), EnumerateError> {
    let mut is_empty = true;
    for entry in fs::read_dir(path).map_err(EnumerateError::io(path))? {
        let entry = entry.map_err(EnumerateError::io(path))?;
        let name = entry.file_name();
        let text = name.to_string_lossy();
        if Log::is_name(&text) || name == LOCK || is_half_a_state(&name) {
            fs::remove_file(entry.path()).map_err(EnumerateError::io(&entry.path()))?;
        } else if name != STATE {
            is_empty = false;
        }
    }
    let state = path.join(STATE);
    fs::remove_file(&state).map_err(EnumerateError::io(&state))?;
    if is_empty { fs::remove_dir(path).map_err(EnumerateError::io(path)) } else { Ok(()) }
}

/// The state in a folder, which may be of a run that goes on; `None` where there is none.
///
/// # Errors
/// When it is damaged or of another version.
pub(super) fn load<T: DeserializeOwned>(folder: &Path) -> Result<Option<T>, EnumerateError> {
    let path = folder.join(STATE);
    let damaged = |what| EnumerateError::Damaged { path: path.clone(), what };
    let bytes = match files::read_bounded(&path, LARGEST) {
        Err(error) if error.is_missing() => return Ok(None),
        other => other.map_err(EnumerateError::file)?,
    };
    let text = String::from_utf8(bytes).map_err(|_| damaged("it is not text"))?;
    let (head, json) = text.split_once('\n').unwrap_or((&text, ""));
    let mut words = head.split(' ');
    if words.next() != Some(FORMAT) {
        return Err(damaged("it does not begin like a state file"));
    }
    if words.next() != Some(&log::VERSION.to_string()) {
        return Err(damaged("it is from another version of this program"));
    }
    if words.next() != Some(&files::sha256(json.as_bytes())) {
        return Err(damaged("its contents do not match its checksum"));
    }
    serde_json::from_str(json).map(Some).map_err(|_| damaged("its contents are not a state"))
}

/// Whether a file of this name is a state that a killed run did not finish.
fn is_half_a_state(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with("state.") && name.ends_with(".new")
}

#[cfg(test)]
mod tests {
    use super::super::log::Kind;
    use super::*;
    use crate::enumerate::test_folder::TestFolder;

    #[test]
    fn a_state_is_whole_or_refused() {
        let test = TestFolder::new();
        assert_eq!(load::<Vec<u32>>(test.path()).unwrap(), None);
        let folder = Folder::open(test.path()).unwrap();
        folder.save(&vec![1_u32, 2, 3]).unwrap();
        assert_eq!(load(test.path()).unwrap(), Some(vec![1_u32, 2, 3]));
        let path = test.path().join(STATE);
        let bytes = fs::read(&path).unwrap();
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 4;
            fs::write(&path, &changed).unwrap();
            assert!(load::<Vec<u32>>(test.path()).is_err(), "{place}");
            fs::write(&path, &bytes[..place]).unwrap();
            assert!(load::<Vec<u32>>(test.path()).is_err(), "{place} bytes");
        }
    }

    #[test]
    fn one_run_at_a_time_and_nobody_elses_files() {
        let test = TestFolder::new();
        let folder = Folder::open(test.path()).unwrap();
        assert!(matches!(Folder::open(test.path()), Err(EnumerateError::Locked(_))));
        drop(folder);
        fs::write(test.path().join("letter.txt"), "dear").unwrap();
        assert!(matches!(Folder::open(test.path()), Err(EnumerateError::Strangers(_))));
    }

    /// What a crash leaves while a state is written: the old one, and half of the next.
    #[test]
    fn half_a_state_is_of_no_use() {
        let test = TestFolder::new();
        let half = test.path().join("state.abc123.new");
        fs::write(&half, "tesla-enum").unwrap();
        let folder = Folder::open(test.path()).unwrap();
        assert!(!half.exists(), "it is no stranger's");
        folder.save(&1_u32).unwrap();
        drop(folder);
        fs::write(&half, "tesla-enum").unwrap();
        let folder = Folder::open(test.path()).unwrap();
        assert_eq!((load(test.path()).unwrap(), half.exists()), (Some(1_u32), false));
        folder.save(&2_u32).unwrap();
        assert_eq!(load(test.path()).unwrap(), Some(2_u32));
    }

    #[test]
    fn only_what_counts_is_kept() {
        let test = TestFolder::new();
        let folder = Folder::open(test.path()).unwrap();
        folder.save(&0).unwrap();
        let mut old = Log::new(Kind::Positions, 1, 0);
        old.append(folder.path(), b"old").unwrap();
        let mut new = Log::new(Kind::Positions, 1, 1);
        new.append(folder.path(), b"new").unwrap();
        folder.clean([&new].into_iter()).unwrap();
        assert!(!folder.path().join(old.name()).exists());
        assert!(folder.path().join(new.name()).exists());
        assert!(folder.path().join(STATE).exists());
        let note = folder.path().join("positions.txt");
        fs::write(&note, "mine").unwrap();
        folder.clean(std::iter::empty()).unwrap();
        assert!(!folder.path().join(new.name()).exists() && note.exists());
        drop(folder);
        remove(test.path()).unwrap();
        assert!(note.exists() && !test.path().join(STATE).exists());
        fs::remove_file(&note).unwrap();
        Folder::open(test.path()).unwrap().save(&0).unwrap();
        assert!(is_begun(test.path()));
        remove(test.path()).unwrap();
        assert!(!test.path().exists());
        fs::create_dir(test.path()).unwrap();
    }
}
