//! How much memory games may take.

use std::path::Path;

use tesla_nn::memory::free_mb;

use super::RecordError;

/// Memory for games, or for what is kept of them.
#[derive(Clone, Debug)]
pub struct Room {
    all: u64,
    left: u64,
}

impl Room {
    /// Three quarters of what this process may take now; the rest is for everything else. All there
    /// is where the system does not tell.
    pub fn of_machine() -> Self {
        Self::of(free_mb().map_or(u64::MAX, |free| (free as u64) << 20) / 4 * 3)
    }

    /// So many bytes.
    pub fn of(bytes: u64) -> Self {
        Self { all: bytes, left: bytes }
    }

    /// Takes `bytes` of it for a game of the file at `path`.
    ///
    /// # Errors
    /// When it has not as many left.
    pub fn take(&mut self, path: &Path, bytes: usize) -> Result<(), RecordError> {
        let left = self.left.checked_sub(bytes as u64);
        self.left = left.ok_or_else(|| {
            let (path, free_mb) = (path.to_owned(), self.all >> 20);
            RecordError::TooMany { path, free_mb }
        })?;
        Ok(())
    }
}
