//! The opening book as a source of information (Part 3 of the seed): the positions of its games are
//! known, as theory.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::Path;

use pgn_reader::{RawTag, SanPlus, Visitor};
use shakmaty::{Chess, Position};
use tesla_nn::files;

use super::packed::Packed;
use crate::chess::notation::{from_fen, is_chess};
use crate::chess::pgn::{Games, tag_text};

/// Largest book, bytes.
const LARGEST: u64 = 1 << 28;

/// Fields of a position at the beginning of a line of EPD or FEN.
const FIELDS: usize = 4;

/// Positions that theory knows.
#[derive(Debug, Default)]
pub(super) struct Openings(HashSet<Packed>);

impl Openings {
    /// Reads a book: PGN, whose games give all their positions, or EPD and FEN, a position a line.
    ///
    /// # Errors
    /// A sentence on the file, the line or the game that cannot be read.
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let bytes = files::read_bounded(path, LARGEST).map_err(|error| error.to_string())?;
        let is_pgn = bytes.trim_ascii_start().starts_with(b"[")
            || path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("pgn"));
        let read = if is_pgn { Self::of_games(&bytes) } else { Self::of_lines(&bytes) };
        let book = read.map_err(|fault| format!("the book {}: {fault}", path.display()))?;
        if book.0.is_empty() {
            return Err(format!("the book {} holds no position", path.display()));
        }
        Ok(book)
    }

    /// Whether theory knows the position.
    pub(super) fn has(&self, position: Packed) -> bool {
        self.0.contains(&position)
    }

    fn add(&mut self, position: &Chess) {
        self.0.extend(Packed::new(position));
    }

    fn of_lines(bytes: &[u8]) -> Result<Self, String> {
        let text = str::from_utf8(bytes).map_err(|_| "it is not text".to_owned())?;
        let mut book = Self::default();
        let is_said = |line: &str| !line.trim().is_empty() && !line.starts_with('#');
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| is_said(line)) {
            let fields: Vec<&str> = line.split_whitespace().take(FIELDS).collect();
            let position = from_fen(&format!("{} 0 1", fields.join(" ")), false);
            book.add(&position.map_err(|problem| format!("line {number}: {problem}"))?);
        }
        Ok(book)
    }

    fn of_games(bytes: &[u8]) -> Result<Self, String> {
        let mut book = Self::default();
        for (number, (_, game)) in (1..).zip(Games::new(bytes, &mut book)) {
            game.map_err(|fault| format!("game {number}: {fault}"))?;
        }
        Ok(book)
    }
}

impl Visitor for Openings {
    type Tags = Chess;
    type Movetext = Chess;
    type Output = Result<(), String>;

    fn begin_tags(&mut self) -> ControlFlow<Self::Output, Chess> {
        ControlFlow::Continue(Chess::default())
    }

    fn tag(
        &mut self,
        start: &mut Chess,
        name: &[u8],
        value: RawTag<'_>,
    ) -> ControlFlow<Self::Output> {
        let value = tag_text(value);
        match name {
            b"FEN" => match from_fen(&value, false) {
                Ok(position) => *start = position,
                Err(problem) => return ControlFlow::Break(Err(problem.to_string())),
            },
            b"Variant" if !is_chess(&value) => {
                return ControlFlow::Break(Err(format!("the variant {value} is not chess")));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, start: Chess) -> ControlFlow<Self::Output, Chess> {
        self.add(&start);
        ControlFlow::Continue(start)
    }

    fn san(&mut self, position: &mut Chess, san: SanPlus) -> ControlFlow<Self::Output> {
        match san.san.to_move(position) {
            Ok(played) => {
                position.play_unchecked(played);
                self.add(position);
                ControlFlow::Continue(())
            }
            Err(_) => ControlFlow::Break(Err(format!("{san} cannot be played"))),
        }
    }

    fn end_game(&mut self, _: Chess) -> Self::Output {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(book: &Openings, fen: &str) -> bool {
        book.has(Packed::new(&from_fen(fen, false).unwrap()).unwrap())
    }

    const AFTER_E4: &str = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1";

    #[test]
    fn games_give_all_their_positions_and_lines_one_each() {
        let games =
            Openings::of_games(b"[Event \"x\"]\n\n1. e4 {king's pawn} e5 (1... c5) 2. Nf3 *");
        let games = games.unwrap();
        assert_eq!(games.0.len(), 4);
        assert!(has(&games, AFTER_E4));
        let lines =
            format!("{AFTER_E4}\n\n# an ending\n8/8/8/8/8/4k3/4P3/4K3 w - - bm Kd1; id \"x\";\n");
        let lines = Openings::of_lines(lines.as_bytes()).unwrap();
        assert_eq!(lines.0.len(), 2);
        assert!(has(&lines, "8/8/8/8/8/4k3/4P3/4K3 w - - 12 40"));
    }

    #[test]
    fn what_is_no_book_is_told() {
        let fault = Openings::of_lines(b"8/8/8/8/8/4k3/4P3/4K3 w - -\nhello").unwrap_err();
        assert!(fault.starts_with("line 2: "), "{fault}");
        let fault = Openings::of_games(b"1. e4 e5 2. Ke3 *").unwrap_err();
        assert!(fault.contains("game 1: Ke3 cannot be played"), "{fault}");
        let fault = Openings::of_games(b"1. e4 e5 2. Ng1-f3 Nc6 *").unwrap_err();
        assert!(fault.contains("game 1: \"Ng1-f3\" is not a move"), "{fault}");
        let fault = Openings::of_games(b"[Variant \"Atomic\"]\n\n1. e4 e5 *").unwrap_err();
        assert!(fault.contains("game 1: the variant Atomic is not chess"), "{fault}");
        assert!(Openings::of_games(b"[Variant \"Standard\"]\n\n1. e4 e5 *").is_ok());
        let fault = Openings::read(Path::new("no/such/book.pgn")).unwrap_err();
        assert!(fault.contains("book.pgn"), "{fault}");
    }
}
