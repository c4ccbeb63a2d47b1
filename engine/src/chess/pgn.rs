//! The games of a PGN, one after another, with a fault where the reader would pass over something.
//!
//! The reader skips words that it does not know, so that a misprinted move, or one in another
//! language, would be lost silently and the moves behind it played in another game. To it a blank
//! line ends a game also where its moves go on.

use std::io::{Cursor, Seek as _};

use pgn_reader::{RawTag, Reader, SanPlus, Visitor};

/// Longest line of tags and longest comment that are read whole, bytes.
const LONGEST_TOKEN: usize = 4096;

/// What some editors begin a file with.
pub const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The fault of a game with a blank line among its moves.
const TORN: &str = "a blank line lies among its moves; take it out";

/// What ends a game's moves.
const RESULTS: [&str; 5] = ["1-0", "0-1", "1/2-1/2", "½-½", "*"];

/// Chess pieces as characters.
const FIGURINES: std::ops::RangeInclusive<char> = '♔'..='♟';

/// A reader of games in `text`.
pub fn reader<T: AsRef<[u8]>>(text: T) -> Reader<Cursor<T>> {
    Reader::build(Cursor::new(text))
        .set_supported_tag_line_length(LONGEST_TOKEN)
        .set_supported_comment_length(LONGEST_TOKEN)
        .finish()
}

/// The games of a text as a visitor reads them, each with the byte that it starts at. Behind a game
/// that cannot be told from the next one there is none.
#[derive(Debug)]
pub struct Games<'a, V> {
    text: &'a [u8],
    reader: Reader<Cursor<&'a [u8]>>,
    visitor: &'a mut V,
    start: usize,
    is_over: bool,
    /// Whether the next one is the rest of the one before.
    is_torn_off: bool,
}

impl<'a, V> Games<'a, V> {
    /// The games of `text`.
    pub fn new(text: &'a [u8], visitor: &'a mut V) -> Self {
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        Self { text, reader: reader(text), visitor, start: 0, is_over: false, is_torn_off: false }
    }

    /// The byte that the reader has come to.
    fn place(&mut self) -> usize {
        self.reader.stream_position().map_or(self.text.len(), |place| place as usize)
    }
}

impl<T, V: Visitor<Output = Result<T, String>>> Iterator for Games<'_, V> {
    type Item = (usize, Result<T, String>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let read = self.reader.read_game(self.visitor);
        let end = self.place();
        // Of a game that the visitor broke off the rest is passed over only now.
        self.is_over |= self.reader.has_more().is_err();
        let next = self.place();
        let start = std::mem::replace(&mut self.start, next);
        let game = match read {
            Ok(game) => game?,
            Err(error) => {
                self.is_over = true;
                Err(error.to_string())
            }
        };
        let text = self.text.get(start..end).unwrap_or_default();
        let rest = self.text.get(next..).unwrap_or_default();
        let whole = self.text.get(start..next).unwrap_or_default();
        let is_torn_off = !has_result(whole) && goes_on(rest, has_numbers(text));
        let is_torn_from = std::mem::replace(&mut self.is_torn_off, is_torn_off);
        let is_torn = is_torn_from || is_torn_off || goes_on(text, false);
        // First, because a skipped word is often why the next move is not legal.
        let fault = unreadable_word(text).map(|word| format!("\"{word}\" is not a move"));
        let fault = fault.or_else(|| is_torn.then(|| TORN.to_owned()));
        let game = fault.map_or(game, Err);
        let is_last = self.is_over && next < self.text.len();
        Some((
            start,
            game.map_err(|why| if is_last { format!("{why}; all behind it is lost") } else { why }),
        ))
    }
}

/// Whether a text goes on with a game that has begun before it: its first word, comments and
/// variations aside, is a later move's number, or a move where those before it have numbers.
fn goes_on(mut text: &[u8], moves_have_numbers: bool) -> bool {
    loop {
        text = text.trim_ascii_start();
        text = match text.split_first() {
            Some((b'{', rest)) => after(rest, b'}'),
            Some((b'(', rest)) => after(rest, b')'),
            Some((b';' | b'%', rest)) => after(rest, b'\n'),
            Some((b'$', rest)) => {
                let length = rest.iter().position(|byte| !byte.is_ascii_digit());
                length.map_or(&[], |length| &rest[length..])
            }
            _ => break,
        };
    }
    let length = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(length);
    match number {
        b"" => {
            let word = rest.split(|&byte| ends_word(byte)).next().unwrap_or_default();
            moves_have_numbers && SanPlus::from_ascii(word).is_ok()
        }
        b"1" => rest.starts_with(b".."),
        _ => rest.starts_with(b"."),
    }
}

fn has_numbers(text: &[u8]) -> bool {
    text.windows(2).any(|pair| pair[0].is_ascii_digit() && pair[1] == b'.')
}

fn has_result(text: &[u8]) -> bool {
    RESULTS.iter().any(|result| text.trim_ascii_end().ends_with(result.as_bytes()))
}

/// What a tag says. Old files are in Latin-1, the character set of the PGN standard (section 4.1).
pub fn tag_text(value: RawTag<'_>) -> String {
    decoded(&value.decode())
}

/// UTF-8, or what is not that as Latin-1.
pub fn decoded(bytes: &[u8]) -> String {
    match str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().copied().map(char::from).collect(),
    }
}

/// The first word of a game's main line that is neither a move nor a number, a result or a sign.
pub fn unreadable_word(game: &[u8]) -> Option<String> {
    let mut rest = game;
    let mut depth = 0_usize;
    let mut line_starts = true;
    while let Some((&byte, tail)) = rest.split_first() {
        let at_line_start = std::mem::replace(&mut line_starts, byte == b'\n');
        rest = match byte {
            b'{' => after(tail, b'}'),
            b';' | b'%' | b'[' if byte == b';' || at_line_start => {
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
    byte.is_ascii_whitespace() || b".!?*(){};$".contains(&byte)
}

fn is_readable(word: &[u8]) -> bool {
    let text = String::from_utf8_lossy(word);
    // The reader takes a dash for a hyphen behind digits, but passes over `O–O`.
    let text = if text.starts_with(|c: char| c.is_ascii_digit() || c == '½') {
        text.replace(['\u{2013}', '\u{2014}'], "-")
    } else {
        text.into_owned()
    };
    // Not a sign such as `=` or `±`.
    let is_worded = text.chars().any(|c| c.is_alphanumeric() || FIGURINES.contains(&c));
    !is_worded
        || word.iter().all(u8::is_ascii_digit)
        || RESULTS.contains(&text.as_str())
        || SanPlus::from_ascii(text.replace('0', "O").as_bytes()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_reader_passes_over_is_found() {
        for word in
            ["Ng1-f3", "Sf3", "a8Q", "exd6ep", "e2-e4", "o-o", "nf3", "♘f3", "P-K4", "N§f3", "O–O"]
        {
            let game = format!("[Event \"x\"]\n\n1. e4 {{a Knight}} e5 (1... foo) 2. {word} 1-0\n");
            assert_eq!(unreadable_word(game.as_bytes()).as_deref(), Some(word));
        }
        let game = "% from a file\n[Event \"x\"]\n[White \"Q\"]\n\n1. e4! $1 e5$6 = 2. Nf3 ± 2... \
                    Nc6 ; knight\n3. 0-0-0 (3. Bb5 (3. d4 exd4 4. foo)) 0–0 4. e8=Q+ -- ½-½\n";
        assert_eq!(unreadable_word(game.as_bytes()), None);
    }
}
