//! Games of PGN as openings.

use std::io::{Cursor, Seek};
use std::ops::ControlFlow;

use pgn_reader::{RawTag, Reader, SanPlus, Visitor};
use shakmaty::{Chess, Position};

use super::{BadEntry, Opening};
use crate::game::state::{GameState, castling_mode, fen_of, set_up, start_fen};

/// Longest line of tags that is read, in bytes.
const TAG_LINE_BYTES: usize = 4096;

/// Reads the first `plies` moves of each game.
pub(super) fn parse(
    bytes: &[u8],
    chess960: bool,
    plies: Option<usize>,
) -> Result<Vec<Opening>, BadEntry> {
    let mut reader =
        Reader::build(Cursor::new(bytes)).set_supported_tag_line_length(TAG_LINE_BYTES).finish();
    let mut visitor = OpeningReader { chess960, plies: plies.unwrap_or(usize::MAX) };
    let mut openings = Vec::new();
    let mut start = 0;
    loop {
        let game = reader.read_game(&mut visitor);
        let end = reader.stream_position().map_or(bytes.len(), |end| end as usize);
        let opening = match game {
            Ok(None) => return Ok(openings),
            Ok(Some(opening)) => opening,
            Err(error) => Err(error.to_string()),
        };
        let text = bytes.get(start..end).unwrap_or_default();
        // First, for a word passed over is often why the next move is not legal.
        let opening = match unreadable_word(text) {
            None => opening,
            Some(word) => Err(format!("\"{word}\" is not a move")),
        };
        openings.push(opening.map_err(|what| BadEntry {
            place: format!("game {} (line {})", openings.len() + 1, line_of(bytes, start)),
            what,
        })?);
        start = end;
    }
}

/// Number of the line, from 1, where the first text after `start` stands.
fn line_of(bytes: &[u8], start: usize) -> usize {
    let blank = bytes.iter().skip(start).take_while(|byte| byte.is_ascii_whitespace()).count();
    1 + bytes.iter().take(start + blank).filter(|&&byte| byte == b'\n').count()
}

struct OpeningReader {
    chess960: bool,
    plies: usize,
}

#[derive(Default)]
struct Tags {
    fen: Option<String>,
    set_up: bool,
    name: Option<String>,
}

struct Movetext {
    opening: Opening,
    position: Chess,
    has_fen: bool,
}

impl Visitor for OpeningReader {
    type Tags = Tags;
    type Movetext = Movetext;
    type Output = Result<Opening, String>;

    fn begin_tags(&mut self) -> ControlFlow<Self::Output, Tags> {
        ControlFlow::Continue(Tags::default())
    }

    fn tag(
        &mut self,
        tags: &mut Tags,
        name: &[u8],
        value: RawTag<'_>,
    ) -> ControlFlow<Self::Output> {
        let value = value.decode_utf8_lossy();
        match name {
            b"FEN" => tags.fen = Some(value.into_owned()),
            b"SetUp" => tags.set_up = value == "1",
            b"Opening" => tags.name = Some(value.into_owned()),
            b"ECO" if tags.name.is_none() => tags.name = Some(value.into_owned()),
            b"Variant" if !is_chess(&value) => {
                let what = format!("the variant \"{value}\" is neither standard nor Chess960");
                return ControlFlow::Break(Err(what));
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn begin_movetext(&mut self, tags: Tags) -> ControlFlow<Self::Output, Movetext> {
        if tags.set_up && tags.fen.is_none() {
            return ControlFlow::Break(Err("it has a SetUp tag but no FEN tag".to_owned()));
        }
        let has_fen = tags.fen.is_some();
        match set_up(&tags.fen.unwrap_or_else(start_fen), self.chess960) {
            Ok(position) => {
                let opening = Opening {
                    fen: fen_of(&position),
                    moves: Vec::new(),
                    chess960: self.chess960,
                    name: tags.name,
                };
                ControlFlow::Continue(Movetext { opening, position, has_fen })
            }
            Err(error) => ControlFlow::Break(Err(error.to_string())),
        }
    }

    fn san(&mut self, game: &mut Movetext, san: SanPlus) -> ControlFlow<Self::Output> {
        if game.opening.moves.len() >= self.plies {
            return ControlFlow::Continue(());
        }
        match san.san.to_move(&game.position) {
            Ok(m) => {
                game.opening.moves.push(m.to_uci(castling_mode(self.chess960)));
                game.position.play_unchecked(m);
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(Err(format!(
                "move {} of the game, {san}: {error} in \"{}\"",
                game.opening.moves.len() + 1,
                fen_of(&game.position)
            ))),
        }
    }

    fn end_game(&mut self, game: Movetext) -> Self::Output {
        // A blank line within a game splits it; the second half must not pass as an opening.
        if !game.has_fen && game.opening.moves.is_empty() && self.plies > 0 {
            return Err("it has neither moves nor a FEN tag".to_owned());
        }
        match GameState::new(&game.opening) {
            Ok(_) => Ok(game.opening),
            Err(error) => Err(format!("{error}; a limit of plies may help")),
        }
    }
}

/// Whether this value of the tag `Variant` means the rules of chess, Chess960 included.
pub(crate) fn is_chess(variant: &str) -> bool {
    let plain: String = variant.chars().filter(char::is_ascii_alphanumeric).collect();
    ["", "standard", "chess", "normal", "fromposition", "chess960", "fischerandom", "fischerrandom"]
        .contains(&plain.to_ascii_lowercase().as_str())
}

/// The first word of a game's main line that is neither a move nor a number nor a result. The
/// reader passes over such words, so that a misprinted move would be lost silently.
pub(crate) fn unreadable_word(game: &[u8]) -> Option<String> {
    let mut rest = game.trim_ascii_start();
    while rest.starts_with(b"[") {
        rest = after(rest, b'\n').trim_ascii_start();
    }
    let mut depth = 0_usize;
    let mut line_starts = true;
    while let Some((&byte, tail)) = rest.split_first() {
        let at_line_start = std::mem::replace(&mut line_starts, byte == b'\n');
        rest = match byte {
            b'{' => after(tail, b'}'),
            b';' | b'%' if byte == b';' || at_line_start => {
                line_starts = true;
                after(tail, b'\n')
            }
            b'(' | b')' => {
                depth = if byte == b'(' { depth + 1 } else { depth.saturating_sub(1) };
                tail
            }
            _ if ends_word(byte) => tail,
            _ => {
                let length = rest.iter().position(|&byte| ends_word(byte)).unwrap_or(rest.len());
                let (word, tail) = rest.split_at(length);
                if depth == 0 && !is_readable(word) {
                    return Some(String::from_utf8_lossy(word).into_owned());
                }
                tail
            }
        };
    }
    None
}

fn after(text: &[u8], end: u8) -> &[u8] {
    text.iter().position(|&byte| byte == end).map_or(&[], |at| &text[at + 1..])
}

fn ends_word(byte: u8) -> bool {
    byte.is_ascii_whitespace() || b".!?*(){};".contains(&byte)
}

fn is_readable(word: &[u8]) -> bool {
    let digits = word.strip_prefix(b"$").unwrap_or(word);
    let text = String::from_utf8_lossy(word).replace(['\u{2013}', '\u{2014}'], "-");
    digits.iter().all(u8::is_ascii_digit)
        || ["1-0", "0-1", "1/2-1/2", "½-½"].contains(&text.as_str())
        || SanPlus::from_ascii(text.replace('0', "O").as_bytes()).is_ok()
}
