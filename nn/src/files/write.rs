//! Writing: a file appears under its name when it is complete and on the disk, not before.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tempfile::{Builder, TempPath};

use super::open::kind;
use super::{FileCause, FileError};

/// How the names of unfinished files end.
const UNFINISHED: &str = ".new";

/// Random letters and digits in an unfinished file's name, so that two writers never share one.
const RANDOM: usize = 6;

/// Writes `bytes` as the file `path`, in place of the one that is there.
///
/// Whatever happens, `path` has either its old content or all of the new. When this returns
/// without an error, the new content is on the disk. To write bit by bit, see [`NewFile`].
///
/// # Errors
/// When `path` is something else than a regular file, or the system refuses.
pub fn replace(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let mut file = NewFile::create(path)?;
    file.write_all(bytes).map_err(FileError::at("write", path))?;
    file.commit()
}

/// A file being written, buffered, beside the one that it will replace.
///
/// It gets its name with [`NewFile::commit`]. Dropped before that, it is deleted. A process that is
/// killed leaves it behind under a name of its own: see [`remove_unfinished`].
///
/// ```
/// # use std::io::Write as _;
/// # use tesla_nn::files::NewFile;
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("games.pgn");
/// let mut file = NewFile::create(&path)?;
/// writeln!(file, "[Event \"?\"]")?;
/// assert!(!path.exists());
/// file.commit()?;
/// assert!(path.exists());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct NewFile {
    /// As the caller named it, for errors.
    path: PathBuf,
    /// Where the file goes: `path` without links.
    target: PathBuf,
    file: BufWriter<File>,
    /// Deletes the file when dropped, after the field above has closed it.
    unfinished: TempPath,
}

impl NewFile {
    /// Starts the file that will be `path`. A link there is followed: the file that it leads to is
    /// the one that will be replaced, and the link stays. The permissions of a file that is there
    /// are kept.
    ///
    /// # Errors
    /// When something else than a regular file is at `path`, or the system refuses.
    pub fn create(path: &Path) -> Result<Self, FileError> {
        let (target, permissions) = target(path)?;
        let (folder, prefix) =
            unfinished(&target).ok_or_else(|| FileError::new("write", path, FileCause::NoName))?;
        let create = || {
            let mut builder = Builder::new();
            builder.prefix(&prefix).suffix(UNFINISHED).rand_bytes(RANDOM);
            // Not the builder's own files, which nobody but the owner may read.
            let (file, unfinished) =
                builder.make_in(folder, |path| File::create_new(path))?.into_parts();
            if let Some(permissions) = permissions {
                file.set_permissions(permissions)?;
            }
            Ok((BufWriter::new(file), unfinished))
        };
        let (file, unfinished) = create().map_err(FileError::at("write", path))?;
        Ok(Self { path: path.to_owned(), target, file, unfinished })
    }

    /// What the file will be called.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Gives the file its name. When this returns without an error, content and name are on the
    /// disk.
    ///
    /// # Errors
    /// When the system refuses. The old file is there still, unless the very last step failed: to
    /// bring the new name to the disk.
    pub fn commit(self) -> Result<(), FileError> {
        let Self { path, target, file, unfinished } = self;
        let keep = || {
            file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            unfinished.persist(&target).map_err(|error| error.error)?;
            sync_folder(parent(&target))
        };
        keep().map_err(FileError::at("write", &path))
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Deletes the unfinished files that killed writers of `path` left beside it.
///
/// Only for a caller that no other process writes `path` besides, for example because it holds the
/// folder's lock: the other's unfinished file would go too.
///
/// # Errors
/// When the folder cannot be read, or a file in it not deleted. A missing folder is no error.
pub fn remove_unfinished(path: &Path) -> Result<(), FileError> {
    let Some((folder, prefix)) = unfinished(path) else { return Ok(()) };
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(FileError::at("read", folder))?,
    };
    let prefix = prefix.as_encoded_bytes();
    for entry in entries {
        let entry = entry.map_err(FileError::at("read", folder))?;
        let name = entry.file_name();
        let random = name
            .as_encoded_bytes()
            .strip_prefix(prefix)
            .and_then(|rest| rest.strip_suffix(UNFINISHED.as_bytes()));
        let is_ours = random.is_some_and(|random| {
            random.len() == RANDOM && random.iter().all(u8::is_ascii_alphanumeric)
        });
        if is_ours {
            fs::remove_file(entry.path()).map_err(FileError::at("delete", &entry.path()))?;
        }
    }
    Ok(())
}

/// Makes a folder and those on the way to it, where they are missing.
///
/// # Errors
/// When the system refuses.
pub fn make_folder(path: &Path) -> Result<(), FileError> {
    fs::create_dir_all(path).map_err(FileError::at("make the folder", path))
}

/// Brings the names in a folder to the disk, after files in it were made, renamed or deleted.
///
/// # Errors
/// When the system refuses.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    // Where folders cannot be opened, as on Windows, the system looks after their names itself.
    File::open(folder).map_or(Ok(()), |folder| folder.sync_all())
}

/// Where a file that is called `path` lies, links followed, and the permissions of the one that is
/// there.
fn target(path: &Path) -> Result<(PathBuf, Option<Permissions>), FileError> {
    let system = || FileError::at("write", path);
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Ok((path.to_owned(), None));
        }
        other => other.map_err(system())?,
    };
    let target = fs::canonicalize(path).map_err(system())?;
    let metadata = fs::metadata(&target).map_err(system())?;
    match kind(metadata.file_type()) {
        Some(kind) => Err(FileError::new("write", path, FileCause::NotRegular(kind))),
        None => Ok((target, Some(metadata.permissions()))),
    }
}

/// The folder of a path's unfinished files, and how their names begin.
fn unfinished(path: &Path) -> Option<(&Path, OsString)> {
    let mut prefix = path.file_name()?.to_owned();
    prefix.push(".");
    Some((parent(path), prefix))
}

/// The folder that a path lies in.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
