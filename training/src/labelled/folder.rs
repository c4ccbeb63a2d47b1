//! Files of games in a folder, by their names.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use tesla_nn::files::FileError;

use super::RecordError;

/// How the names of files with held-out games begin, which no run learns from.
pub const HELD_OUT: &str = "valid";

/// What every file of games is called after its first dot.
pub const EXTENSION: &str = "games.zst";

/// What shards of a merge or an import are called behind their names until all of them are whole:
/// half of what was asked for must not pass for the whole, also after a power cut.
pub(crate) const UNFINISHED: &str = ".part";

/// Whether files of games lie in this folder, whole or not all of them.
pub fn holds_games(folder: &Path) -> bool {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.flatten().any(|entry| is_games_file(&entry.path()))
}

/// The `.games.zst` files that `path` names: itself, or those of a folder in name order.
///
/// # Errors
/// When there is none, or not all of those that a merge or an import was to write.
pub fn find_files(path: &Path) -> Result<Vec<PathBuf>, RecordError> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files: Vec<PathBuf> = std::fs::read_dir(path)
        .map_err(FileError::at("read", path))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .collect();
    let is_part = |path: &PathBuf| file_name(path).ends_with(&format!(".{EXTENSION}{UNFINISHED}"));
    if files.iter().any(is_part) {
        return Err(RecordError::Unfinished(path.to_owned()));
    }
    files.retain(|path| is_games_file(path));
    files.sort();
    if files.is_empty() { Err(RecordError::Empty(path.to_owned())) } else { Ok(files) }
}

/// The files that `path` names and that may be learnt from: itself, or those of a folder whose
/// names do not begin with [`HELD_OUT`].
///
/// # Errors
/// When there is none.
pub fn find_learnable(path: &Path) -> Result<Vec<PathBuf>, RecordError> {
    let mut files = find_files(path)?;
    files.retain(|file| file == path || !is_held_out_file(file));
    if files.is_empty() { Err(RecordError::Empty(path.to_owned())) } else { Ok(files) }
}

/// Whether a file of this name holds games that no run learns from.
pub fn is_held_out_file(path: &Path) -> bool {
    file_name(path).starts_with(HELD_OUT)
}

/// Whether this is what a file of games is called.
pub fn is_games_file(path: &Path) -> bool {
    file_name(path).strip_suffix(EXTENSION).is_some_and(|stem| stem.ends_with('.'))
}

/// The last part of a path.
pub(crate) fn file_name(path: &Path) -> Cow<'_, str> {
    path.file_name().unwrap_or_default().to_string_lossy()
}
