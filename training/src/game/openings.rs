//! Openings: where games start, read from EPD, FEN and PGN files, in order or shuffled; a book of
//! them is inside the program.

mod epd;
mod pgn;
mod source;

use std::collections::HashSet;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow, ensure};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use tesla_engine::chess::pgn::BYTE_ORDER_MARK;
use tesla_nn::files;
use zstd::stream::read::Decoder;

use super::state::{GameState, fen_of, start_fen};

pub use super::opening::Opening;
pub use source::BookSource;

/// What a file begins with that zstd has compressed.
const ZSTD: [u8; 4] = zstd::zstd_safe::MAGICNUMBER.to_le_bytes();

/// In which order a match takes the openings of a book.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// As the file has them, over and over.
    #[default]
    Sequential,
    /// Shuffled, and shuffled anew each time all have been taken.
    Random {
        /// Decides the shuffles.
        seed: u64,
    },
}

/// How to read a book.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BookOptions {
    /// Read castling as in Chess960.
    pub chess960: bool,
    /// Most moves to take of a PGN game, both sides' counted; `None` takes all.
    pub plies: Option<usize>,
    /// The order.
    pub order: Order,
    /// How many openings of that order to skip, for a match that goes on where another stopped.
    pub start: u64,
}

/// A list of openings and an order to take them in. Never empty.
#[derive(Clone, Debug)]
pub struct Book {
    openings: Vec<Opening>,
    order: Order,
    start: u64,
}

impl Book {
    /// The book that holds only the start position of standard chess.
    pub fn start_position(chess960: bool) -> Self {
        let opening = Opening { fen: start_fen(), moves: Vec::new(), chess960, name: None };
        Self { openings: vec![opening], order: Order::Sequential, start: 0 }
    }

    /// Reads an EPD, FEN or PGN file, also one compressed by zstd. The extension tells which it is;
    /// without one of `.epd`, `.fen` and `.pgn`, the first line does.
    ///
    /// # Errors
    /// When the file cannot be read or is empty, or any entry is damaged, not legal or already
    /// over. A whole PGN game is often over: then limit the plies.
    pub fn read(path: &Path, options: &BookOptions) -> Result<Self> {
        let bytes = files::read_bounded(path, files::LARGEST)
            .map_err(|error| anyhow!("opening book: {error}"))?;
        if !bytes.starts_with(&ZSTD) {
            return Self::parse(path, &bytes, options);
        }
        let mut text = Vec::new();
        Decoder::new(bytes.as_slice())
            .and_then(|unpacked| unpacked.take(files::LARGEST + 1).read_to_end(&mut text))
            .with_context(|| format!("opening book {}: it cannot be unpacked", path.display()))?;
        ensure!(
            text.len() as u64 <= files::LARGEST,
            "opening book {}: it is too large unpacked; split it",
            path.display()
        );
        // `book.epd.zst` is an EPD file.
        Self::parse(&path.with_extension(""), &text, options)
    }

    /// Reads a book from memory; `path` gives the format and stands in errors.
    ///
    /// # Errors
    /// As [`Book::read`].
    pub fn parse(path: &Path, bytes: &[u8], options: &BookOptions) -> Result<Self> {
        let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
        let openings = if is_pgn(path, bytes) {
            pgn::parse(bytes, options.chess960, options.plies)
        } else {
            epd::parse(bytes, options.chess960)
        }
        .map_err(|fault| anyhow!("opening book {}, {fault}", path.display()))?;
        ensure!(!openings.is_empty(), "the opening book {} holds no openings", path.display());
        Ok(Self { openings, order: options.order, start: options.start })
    }

    /// All openings, in the order of the file.
    pub fn openings(&self) -> &[Opening] {
        &self.openings
    }

    /// From how many different positions the first `count` openings of a match start, before the
    /// book is through; how many moves were made until then tells no positions apart.
    pub fn different(&self, count: u64) -> u64 {
        let length = self.openings.len();
        let start = usize::try_from(self.start).unwrap_or(usize::MAX).min(length);
        let end = start.saturating_add(usize::try_from(count).unwrap_or(usize::MAX)).min(length);
        let order = match self.order {
            Order::Sequential => (0..length).collect(),
            Order::Random { seed } => permutation(length, seed, 0),
        };
        let position = |&place: &usize| {
            let fen = match GameState::new(&self.openings[place]) {
                Ok(state) => fen_of(state.position()),
                // Read once already.
                Err(_) => self.openings[place].fen.clone(),
            };
            fen.rsplitn(3, ' ').last().map(str::to_owned)
        };
        order[start..end].iter().map(position).collect::<HashSet<_>>().len() as u64
    }

    /// The n-th opening of a match, from 0. It depends on the book, the order and `n` alone, so
    /// a match can be resumed at any game. A random order costs a shuffle of the whole book.
    pub fn opening(&self, n: u64) -> &Opening {
        let length = self.openings.len() as u128;
        let index = u128::from(self.start) + u128::from(n);
        let place = (index % length) as usize;
        match self.order {
            Order::Sequential => &self.openings[place],
            Order::Random { seed } => {
                let round = (index / length) as u64;
                &self.openings[permutation(self.openings.len(), seed, round)[place]]
            }
        }
    }
}

/// A shuffle of `0..length` that depends on `seed` and `round` alone. Written out here (Fisher
/// and Yates), so that no update of a library changes which openings a match plays.
fn permutation(length: usize, seed: u64, round: u64) -> Vec<usize> {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let mut rng = ChaCha8Rng::from_seed(key);
    rng.set_stream(round);
    let mut order: Vec<usize> = (0..length).collect();
    for last in (1..length).rev() {
        // The bias of the remainder is below 2^-32 for any book that fits in memory.
        order.swap(last, (rng.next_u64() % (last as u64 + 1)) as usize);
    }
    order
}

/// Whether a file is PGN rather than EPD or FEN.
fn is_pgn(path: &Path, bytes: &[u8]) -> bool {
    let extension = path.extension().map(|text| text.to_string_lossy().to_ascii_lowercase());
    match extension.as_deref() {
        Some("pgn") => true,
        Some("epd" | "fen") => false,
        // Only the board of a FEN has a slash in the first word; PGN starts `[Event` or `1.`.
        _ => bytes
            .split(u8::is_ascii_whitespace)
            .find(|word| !word.is_empty())
            .is_some_and(|word| !word.contains(&b'/')),
    }
}

#[cfg(test)]
mod tests;
