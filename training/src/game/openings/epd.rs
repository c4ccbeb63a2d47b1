//! Lines of EPD (four fields and operations) or FEN (six fields, operations allowed after).

use anyhow::{Context as _, Result, anyhow};

use super::Opening;
use crate::game::epd::{number, operand, operations, parse_number, split_position};
use crate::game::state::{GameState, fen_of, set_up};

/// Reads one opening a line; blank lines and those that begin with `#` do not count.
pub(super) fn parse(bytes: &[u8], chess960: bool) -> Result<Vec<Opening>> {
    let mut openings = Vec::new();
    for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let line = str::from_utf8(line)
            .with_context(|| format!("line {}: it is not UTF-8 text", index + 1))?
            .trim();
        if !line.is_empty() && !line.starts_with('#') {
            let opening = parse_line(line, chess960);
            openings.push(opening.map_err(|fault| anyhow!("line {}: {fault}", index + 1))?);
        }
    }
    Ok(openings)
}

fn parse_line(line: &str, chess960: bool) -> Result<Opening> {
    let (position, mut rest) = split_position(line)?;
    rest = rest.trim_start();
    let mut counters = (0, 1);
    if rest.starts_with(|first: char| first.is_ascii_digit() || first == '-') {
        counters.0 = parse_number("the halfmove clock", next_word(&mut rest))?;
        counters.1 = parse_number("the move number", next_word(&mut rest))?;
    }
    let operations = operations(rest)?;
    let halfmoves: u32 = number(&operations, "hmvc")?.unwrap_or(counters.0);
    let fullmoves: u32 = number(&operations, "fmvn")?.unwrap_or(counters.1);
    let position = set_up(&format!("{position} {halfmoves} {fullmoves}"), chess960)?;
    let name = operand(&operations, "id").map(str::to_owned);
    let opening = Opening { fen: fen_of(&position), moves: Vec::new(), chess960, name };
    GameState::new(&opening)?;
    Ok(opening)
}

/// Cuts the next word off a text, and the white space after it; without its semicolon.
fn next_word<'a>(rest: &mut &'a str) -> &'a str {
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    *rest = after.trim_start();
    word.trim_end_matches(';')
}
