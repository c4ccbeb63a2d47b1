//! Writing games: a file appears under its name when it is whole and on the disk, not before.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use tesla_nn::files::{FileError, NewFile};

use super::{GameRecord, RecordError, WITH_OTHERS};
use crate::game::state::fen_of;

/// Level of compression: files are 4 % larger than at 19, and written twenty times as fast.
const LEVEL: i32 = 9;

/// Adds a game, as files hold it before compression, to `bytes`.
///
/// # Errors
/// When the game is longer than 65,535 plies, has more than 255 other moves in one or has no result
/// that the format knows; `bytes` stays as it is then.
pub fn encode(game: &GameRecord, bytes: &mut Vec<u8>) -> Result<(), RecordError> {
    let fen = fen_of(&game.start);
    let too_long = |what: &str| RecordError::Unwritable(format!("its {what} is too long"));
    let fen_length = u8::try_from(fen.len()).map_err(|_| too_long("start position"))?;
    let plies = u16::try_from(game.plies.len()).map_err(|_| too_long("list of moves"))?;
    if game.result > 2 {
        let what = format!("its result is {}, not 0, 1 or 2", game.result);
        return Err(RecordError::Unwritable(what));
    }
    let has_others = game.others.iter().any(|others| !others.is_empty());
    if game.others.iter().any(|others| others.len() > usize::from(u8::MAX)) {
        return Err(too_long("list of other moves"));
    }
    if has_others {
        bytes.push(WITH_OTHERS);
    }
    bytes.push(fen_length);
    bytes.extend_from_slice(fen.as_bytes());
    bytes.push(game.result);
    bytes.extend_from_slice(&plies.to_le_bytes());
    for (index, ply) in game.plies.iter().enumerate() {
        bytes.extend_from_slice(&ply.played.to_le_bytes());
        bytes.extend_from_slice(&ply.best.to_le_bytes());
        bytes.extend_from_slice(&ply.score.to_le_bytes());
        if has_others {
            let others = game.others_at(index);
            bytes.push(others.len() as u8);
            for other in others {
                bytes.extend_from_slice(&other.played.to_le_bytes());
                bytes.extend_from_slice(&other.score.to_le_bytes());
            }
        }
    }
    Ok(())
}

/// A file of games being written. It has a name of its own until [`GameWriter::finish`]; dropped
/// before that, it is deleted.
pub struct GameWriter {
    path: PathBuf,
    stream: zstd::Encoder<'static, NewFile>,
    bytes: Vec<u8>,
}

impl std::fmt::Debug for GameWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GameWriter").field("path", &self.path).finish_non_exhaustive()
    }
}

impl GameWriter {
    /// Starts the file that will be `path`; one that is there stays until the new one is whole.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn create(path: &Path) -> Result<Self, RecordError> {
        let start = |file| {
            let mut stream = zstd::Encoder::new(file, LEVEL)?;
            // A reader then notices flipped bits that would still decompress.
            stream.include_checksum(true)?;
            Ok(stream)
        };
        let stream = start(NewFile::create(path)?).map_err(FileError::at("write", path))?;
        Ok(Self { path: path.to_owned(), stream, bytes: Vec::new() })
    }

    /// Adds a game.
    ///
    /// # Errors
    /// When the disk refuses, or the format has no room for the game.
    pub fn write(&mut self, game: &GameRecord) -> Result<(), RecordError> {
        self.bytes.clear();
        encode(game, &mut self.bytes)?;
        Ok(self.stream.write_all(&self.bytes).map_err(FileError::at("write", &self.path))?)
    }

    /// Gives the file its name; when this returns, it is on the disk.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn finish(self) -> Result<(), RecordError> {
        let file = self.stream.finish().map_err(FileError::at("write", &self.path))?;
        Ok(file.commit()?)
    }
}
