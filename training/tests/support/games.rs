//! Labelled games that a test makes, and a folder for its files.

use std::path::{Path, PathBuf};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use shakmaty::fen::Fen;
use shakmaty::{Chess, EnPassantMode, Position};
use tesla_nn::classical::centipawns;
use tesla_training::labelled::pack;

/// A folder of its own for each test, removed at the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tesla-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Random games with the classical evaluation as teacher, in the format of the data.
pub(crate) fn games(count: usize, seed: u64) -> Vec<u8> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut bytes = Vec::new();
    for _ in 0..count {
        let mut position = Chess::default();
        let fen = Fen::from_position(&position, EnPassantMode::Legal).to_string();
        let mut plies = Vec::new();
        for _ in 0..60 {
            let moves = position.legal_moves();
            if moves.is_empty() {
                break;
            }
            let best = moves.iter().max_by_key(|&&m| {
                let mut after = position.clone();
                after.play_unchecked(m);
                -centipawns(&after)
            });
            let played = moves[rng.random_range(0..moves.len())];
            plies.extend(pack(played).to_le_bytes());
            plies.extend(pack(*best.unwrap()).to_le_bytes());
            plies.extend((centipawns(&position) as i16).to_le_bytes());
            position.play_unchecked(played);
        }
        bytes.push(fen.len() as u8);
        bytes.extend(fen.as_bytes());
        bytes.push(1);
        bytes.extend(((plies.len() / 6) as u16).to_le_bytes());
        bytes.extend(plies);
    }
    bytes
}

/// Writes games as a file of data.
pub(crate) fn write(path: &Path, bytes: &[u8]) {
    std::fs::write(path, zstd::encode_all(bytes, 3).unwrap()).unwrap();
}
