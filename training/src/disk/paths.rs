//! Names of files.

use std::path::{Path, PathBuf};

/// The file whose name is this one's with something behind it.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
