//! Which book games start from: the one inside the program, the start position, or a file.

use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

use super::{Book, BookOptions};
use crate::console::options::shown_as_displayed;

/// The book inside the program: EPD, a position a line, as `tesla-train book` wrote it.
const BUILT_IN: &[u8] = include_bytes!("../../../openings/book.epd.zst");

/// Its name on the command line.
const BUILT_IN_NAME: &str = "built-in";

/// What the start position is called.
const START: &str = "startpos";

/// Which book games start from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Option<String>", into = "String")]
pub enum BookSource {
    /// The one inside the program.
    #[default]
    BuiltIn,
    /// The start position alone.
    StartPosition,
    /// An EPD, FEN or PGN file.
    File(PathBuf),
}

impl BookSource {
    /// Reads the book. `options.plies` is for PGN files; the other options are for all books.
    ///
    /// # Errors
    /// As [`Book::read`].
    pub fn read(&self, options: &BookOptions) -> Result<Book> {
        match self {
            Self::BuiltIn => {
                let text = zstd::decode_all(BUILT_IN).context("the program is damaged")?;
                Book::parse(Path::new("built-in.epd"), &text, options)
            }
            Self::StartPosition => Ok(Book::start_position(options.chess960)),
            Self::File(path) => Book::read(path, options),
        }
    }
}

impl From<&str> for BookSource {
    fn from(text: &str) -> Self {
        match text {
            BUILT_IN_NAME => Self::BuiltIn,
            START => Self::StartPosition,
            path => Self::File(path.into()),
        }
    }
}

impl From<PathBuf> for BookSource {
    fn from(path: PathBuf) -> Self {
        Self::File(path)
    }
}

impl FromStr for BookSource {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.into())
    }
}

impl From<Option<String>> for BookSource {
    fn from(text: Option<String>) -> Self {
        text.as_deref().map_or(Self::BuiltIn, Self::from)
    }
}

impl From<BookSource> for String {
    fn from(source: BookSource) -> Self {
        source.to_string()
    }
}

impl fmt::Display for BookSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BuiltIn => f.write_str(BUILT_IN_NAME),
            Self::StartPosition => f.write_str(START),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

shown_as_displayed!(BookSource);

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use shakmaty::{Color, Position};

    use super::*;
    use crate::game::state::GameState;

    #[test]
    fn the_built_in_book_is_small_large_enough_and_has_no_position_twice() {
        assert!(BUILT_IN.len() <= 150_000, "{} bytes", BUILT_IN.len());
        let book = BookSource::default().read(&BookOptions::default()).unwrap();
        let openings = book.openings();
        assert!(openings.len() >= 3_000, "{}", openings.len());
        let unique: HashSet<&str> = openings.iter().map(|opening| opening.fen.as_str()).collect();
        assert_eq!(unique.len(), openings.len());
        let mut white = 0;
        for opening in openings {
            let state = GameState::new(opening).unwrap();
            assert!(!state.position().is_check(), "{}", opening.fen);
            white += usize::from(state.position().turn() == Color::White);
        }
        let share = white as f64 / openings.len() as f64;
        assert!((0.3..0.7).contains(&share), "{share} with White to move");
        let chess960 = BookOptions { chess960: true, ..BookOptions::default() };
        assert!(BookSource::BuiltIn.read(&chess960).is_ok());
    }

    #[test]
    fn a_source_is_written_as_it_is_given() {
        for text in ["built-in", "startpos", "books/uho.epd"] {
            let source = BookSource::from(text);
            assert_eq!(source.to_string(), text);
            let stored = serde_json::to_string(&source).unwrap();
            assert_eq!(serde_json::from_str::<BookSource>(&stored).unwrap(), source);
        }
        // As earlier versions stored it.
        assert_eq!(serde_json::from_str::<BookSource>("null").unwrap(), BookSource::BuiltIn);
        let start = BookSource::StartPosition.read(&BookOptions::default()).unwrap();
        assert_eq!(start.openings().len(), 1);
    }
}
