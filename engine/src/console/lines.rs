//! Lines from a stream that may hold anything.

use std::io::{BufRead, ErrorKind};

/// Longer lines are not kept. The longest game of chess has fewer than 6,000 moves per side, which
/// is 60 kB of moves.
const LONGEST: usize = 1 << 17;

/// What came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A line without its end; bytes that are no UTF-8 are replaced.
    Text(String),
    /// A line beyond the limit, which was skipped.
    TooLong,
    /// The stream has ended, or cannot be read.
    End,
}

/// Reads the next line, keeping at most 128 KiB of it in memory.
pub fn next_line(input: &mut impl BufRead) -> Line {
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let piece = match input.fill_buf() {
            Ok(piece) => piece,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return Line::End,
        };
        let end = piece.iter().position(|&byte| byte == b'\n');
        let (text, used) = match end {
            Some(at) => (piece.get(..at).unwrap_or_default(), at + 1),
            None => (piece, piece.len()),
        };
        let at_end = used == 0;
        too_long |= line.len() + text.len() > LONGEST;
        if !too_long {
            line.extend_from_slice(text);
        }
        input.consume(used);
        if too_long && (end.is_some() || at_end) {
            return Line::TooLong;
        }
        if end.is_some() || (at_end && !line.is_empty()) {
            return Line::Text(String::from_utf8_lossy(&line).into_owned());
        }
        if at_end {
            return Line::End;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_bytes_become_lines() {
        let mut long = vec![b'x'; LONGEST + 1];
        long.extend_from_slice(b"\nuci\n\xff\xfe go\r\nlast");
        let mut input = long.as_slice();
        assert_eq!(next_line(&mut input), Line::TooLong);
        assert_eq!(next_line(&mut input), Line::Text("uci".to_owned()));
        assert_eq!(next_line(&mut input), Line::Text("\u{fffd}\u{fffd} go\r".to_owned()));
        assert_eq!(next_line(&mut input), Line::Text("last".to_owned()));
        assert_eq!(next_line(&mut input), Line::End);
        assert_eq!(next_line(&mut input), Line::End);
    }
}
