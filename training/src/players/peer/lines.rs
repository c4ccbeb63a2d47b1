//! Bytes to lines, with a bound on what an unfinished line may hold; and moves as lines have them.

use shakmaty::Role;
use shakmaty::uci::UciMove;

/// One piece of a stream, without its line end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// A line that was ended by a newline.
    Line(&'a [u8]),
    /// The head of a line that is longer than the limit; the rest of it is dropped.
    TooLong(&'a [u8]),
}

/// Cuts a stream into lines and never holds more than one line's limit.
#[derive(Debug)]
pub(super) struct Splitter {
    limit: usize,
    unfinished: Vec<u8>,
    /// The line's head was given out already.
    skipping: bool,
}

impl Splitter {
    /// `limit` is in bytes and counts neither `\n` nor a `\r` before it.
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, unfinished: Vec::new(), skipping: false }
    }

    /// Takes the next bytes and hands out what they complete.
    pub(super) fn feed(&mut self, bytes: &[u8], mut out: impl FnMut(Piece<'_>)) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            self.extend(&rest[..end], &mut out);
            if !self.skipping {
                let line = &self.unfinished[..];
                out(Piece::Line(line.strip_suffix(b"\r").unwrap_or(line)));
            }
            self.unfinished.clear();
            self.skipping = false;
            rest = &rest[end + 1..];
        }
        self.extend(rest, &mut out);
    }

    /// What came after the last newline. It is no line: a crash may have cut it.
    pub(super) fn unfinished(&self) -> &[u8] {
        &self.unfinished
    }

    fn extend(&mut self, part: &[u8], out: &mut impl FnMut(Piece<'_>)) {
        if self.skipping {
            return;
        }
        // One more than the limit is room for a `\r`.
        let room = (self.limit + 1).saturating_sub(self.unfinished.len());
        self.unfinished.extend_from_slice(&part[..part.len().min(room)]);
        let only_the_end = self.unfinished.len() == self.limit + 1
            && self.unfinished.last() == Some(&b'\r')
            && part.len() <= room;
        if self.unfinished.len() > self.limit && !only_the_end {
            out(Piece::TooLong(&self.unfinished[..self.limit]));
            self.unfinished.clear();
            self.skipping = true;
        }
    }
}

/// The text as it may be shown to a user: control characters are escaped, so that no engine can
/// steer a terminal, and at most `limit` characters are kept.
pub(super) fn shown(text: &str, limit: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(limit));
    for (index, c) in text.chars().enumerate() {
        if index == limit {
            shown.push('…');
            break;
        }
        if c.is_control() && c != '\t' {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Reads a move in UCI notation; no null moves, no drops, no promotion to king or pawn.
///
/// # Errors
/// Half a sentence.
pub(super) fn uci_move(word: &str) -> Result<UciMove, String> {
    match UciMove::from_ascii(word.as_bytes()) {
        Ok(UciMove::Null) => Err("a null move is no answer".to_owned()),
        Ok(UciMove::Normal { promotion: Some(Role::King | Role::Pawn), .. }) => {
            Err("nothing promotes to a king or pawn".to_owned())
        }
        // The notation is lower case; shakmaty reads a promotion in either.
        Ok(m @ UciMove::Normal { .. }) if m.to_string() == word => Ok(m),
        _ => Err(format!("`{}` is no move in UCI notation", shown(word, 40))),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn split<'a>(limit: usize, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
        let mut splitter = Splitter::new(limit);
        let mut pieces = Vec::new();
        for chunk in chunks {
            splitter.feed(chunk, |piece| {
                pieces.push(match piece {
                    Piece::Line(line) => String::from_utf8_lossy(line).into_owned(),
                    Piece::TooLong(head) => format!("{}…", String::from_utf8_lossy(head)),
                });
            });
            assert!(splitter.unfinished.len() <= limit + 1);
        }
        pieces
    }

    #[test]
    fn cuts_at_newlines_and_keeps_the_rest() {
        assert_eq!(split(9, [&b"one\r\ntw"[..], b"o\n\nthr"]), ["one", "two", ""]);
        let mut splitter = Splitter::new(9);
        splitter.feed(b"a\nbest", |_| ());
        assert_eq!(splitter.unfinished(), b"best");
    }

    #[test]
    fn a_line_may_be_as_long_as_the_limit() {
        assert_eq!(split(4, [&b"abcd\nabcd\r\nok\n"[..]]), ["abcd", "abcd", "ok"]);
        assert_eq!(split(4, [&b"abcde\nok\n"[..]]), ["abcd…", "ok"]);
        assert_eq!(split(4, [&b"abcd\re\nok\n"[..]]), ["abcd…", "ok"]);
        assert_eq!(split(4, [&b"abcd\r"[..], b"e\nok\n"]), ["abcd…", "ok"]);
    }

    #[test]
    fn tells_of_a_long_line_before_its_end() {
        assert_eq!(split(4, [&b"abcdef"[..], b"ghijklmnop"]), ["abcd…"]);
    }

    #[test]
    fn what_is_shown_steers_no_terminal() {
        assert_eq!(shown("a\u{1b}[2Jb", 99), "a\\u{1b}[2Jb");
        assert_eq!(shown("abcdef", 3), "abc…");
        assert_eq!(shown("äöü", 3), "äöü");
    }

    proptest! {
        #[test]
        fn chunking_changes_nothing(
            bytes in prop::collection::vec(prop::sample::select(b"ab\r\n".to_vec()), 0..60),
            size in 1_usize..9,
        ) {
            prop_assert_eq!(split(3, [&bytes[..]]), split(3, bytes.chunks(size)));
        }
    }
}
