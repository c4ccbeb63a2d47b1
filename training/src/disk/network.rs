//! The weights files that runs leave behind.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use tesla_nn::files::FileError;

/// How the name of a weights file ends.
const EXTENSION: &str = "safetensors";

/// A weights file: `path` itself, or where that is the folder of a training run, the newest in it.
///
/// # Errors
/// When the folder cannot be read or holds none.
pub fn weights_file(path: &Path) -> Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let entries = fs::read_dir(path).map_err(FileError::at("read", path))?;
    let files = entries.filter_map(|entry| {
        let entry = entry.ok()?;
        let is_network = entry.path().extension().is_some_and(|extension| extension == EXTENSION);
        is_network.then(|| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))?
    });
    let newest = files.max().map(|(_, path)| path);
    newest.with_context(|| {
        format!(
            "{} holds no weights yet: a training run writes them at its last step; let it go on, \
             or name a file",
            path.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_stands_for_its_newest_weights() {
        let folder = std::env::temp_dir().join(format!("tesla-weights-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let error = weights_file(&folder).unwrap_err().to_string();
        assert!(error.contains("holds no weights yet"), "{error}");
        fs::write(folder.join("loss.csv"), "").unwrap();
        assert!(weights_file(&folder).is_err());
        for name in ["old", "new"] {
            fs::write(folder.join(name).with_extension(EXTENSION), "").unwrap();
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        let newest = folder.join("new.safetensors");
        assert_eq!(weights_file(&folder).unwrap(), newest);
        assert_eq!(weights_file(&newest).unwrap(), newest);
        assert_eq!(weights_file(Path::new("none")).unwrap(), Path::new("none"));
        fs::remove_dir_all(&folder).unwrap();
    }
}
