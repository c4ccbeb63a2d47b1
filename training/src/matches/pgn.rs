//! Writing finished games as PGN, with comments like those of fastchess:
//! `{+0.35/12 0.521s n=800}` is the score in pawns from the mover's view, the depth, the time and
//! the nodes of a move. Mates are counted in plies, as fastchess and cutechess do: `+M5`, `-M2`.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, anyhow};
use shakmaty::san::SanPlus;
use shakmaty::uci::UciMove;
use shakmaty::{Chess, Position};

use super::record::{MatchGame, MoveRecord};
use crate::game::score::UciScore;
use crate::game::state::{set_up, start_fen};

/// Longest line of the movetext, in characters (PGN standard, section 4.3).
const LINE_LENGTH: usize = 80;

/// Longest value of a tag, in bytes as written, so that a tag's line stays within the 255
/// characters that PGN allows.
const TAG_BYTES: usize = 220;

/// Longest text of an engine that a comment repeats, in characters.
const DETAIL_CHARACTERS: usize = 100;

/// What the tags say of the whole match. Empty texts become `?`, or leave their tag out where PGN
/// does not ask for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PgnTags {
    /// Name of the match.
    pub event: String,
    /// Where it was played.
    pub site: String,
    /// Day of the game, as `2026.08.21`.
    pub date: String,
    /// Time control of White, as PGN writes it: `10+0.1`.
    pub white_time_control: String,
    /// Time control of Black.
    pub black_time_control: String,
}

/// Writes one game, with a blank line after it.
///
/// # Errors
/// When the record's opening or moves are not legal.
pub fn to_pgn(game: &MatchGame, match_tags: &PgnTags) -> Result<String> {
    let movetext = set_up(&game.opening.fen, game.opening.chess960)
        .and_then(|start| movetext(game, start))
        .map_err(|what| anyhow!("game {} cannot be written as PGN: {what}", game.number))?;
    Ok(format!("{}\n{}\n\n", tags(game, match_tags), wrap(&movetext)))
}

fn tags(game: &MatchGame, of_match: &PgnTags) -> String {
    let mut text = String::new();
    let mut tag = |name: &str, value: &str| {
        // Nothing can fail when writing to a String.
        let _ = writeln!(text, "[{name} \"{}\"]", escape(value));
    };
    let known = |value: &str, unknown: &str| {
        if value.is_empty() { unknown.to_owned() } else { value.to_owned() }
    };
    tag("Event", &known(&of_match.event, "?"));
    tag("Site", &known(&of_match.site, "?"));
    tag("Date", &known(&of_match.date, "????.??.??"));
    tag("Round", &known(&game.round, "?"));
    tag("White", &known(&game.white, "?"));
    tag("Black", &known(&game.black, "?"));
    tag("Result", game.ending.result.pgn());
    if game.opening.chess960 || game.opening.fen != start_fen() {
        tag("SetUp", "1");
        tag("FEN", &game.opening.fen);
    }
    if game.opening.chess960 {
        tag("Variant", "Chess960");
    }
    if let Some(name) = &game.opening.name {
        tag("Opening", name);
    }
    tag(
        "GameDuration",
        &duration(game.moves.iter().map(|m| m.micros).fold(0, u64::saturating_add)),
    );
    tag("PlyCount", &(game.opening.moves.len() + game.moves.len()).to_string());
    tag("Termination", game.ending.termination.pgn());
    let (white, black) = (&of_match.white_time_control, &of_match.black_time_control);
    if white == black && !white.is_empty() {
        tag("TimeControl", white);
    } else {
        for (name, value) in [("WhiteTimeControl", white), ("BlackTimeControl", black)] {
            if !value.is_empty() {
                tag(name, value);
            }
        }
    }
    text
}

/// Moves and comments, unwrapped.
fn movetext(game: &MatchGame, mut position: Chess) -> Result<String> {
    let mut text = String::new();
    let detail = game.detail.as_deref().map(|text| {
        let cut: String = text.chars().take(DETAIL_CHARACTERS).collect();
        if cut.len() < text.len() { cut + "..." } else { cut }
    });
    let ending = plain(&game.ending.describe(detail.as_deref()));
    let book = game.opening.moves.iter().map(|&uci| anyhow::Ok((uci, "book".to_owned())));
    let played = game.moves.iter().map(|m| {
        let uci = m.uci.parse().with_context(|| format!("\"{}\" is not a UCI move", m.uci))?;
        Ok((uci, comment(m)))
    });
    let last = game.opening.moves.len() + game.moves.len();
    for (index, item) in book.chain(played).enumerate() {
        let (uci, comment): (UciMove, String) = item?;
        let number = position.fullmoves();
        // Each move follows a comment, and then PGN wants Black's number too.
        let dots = position.turn().fold_wb(".", "...");
        let m = uci.to_move(&position).with_context(|| {
            format!("its move {} of both sides, {uci}, is not legal", index + 1)
        })?;
        let san = SanPlus::from_move_and_play_unchecked(&mut position, m);
        let reason = if index + 1 == last { format!(", {ending}") } else { String::new() };
        let _ = write!(text, "{number}{dots} {san} {{{comment}{reason}}} ");
    }
    if last == 0 {
        let _ = write!(text, "{{{ending}}} ");
    }
    text.push_str(game.ending.result.pgn());
    Ok(text)
}

fn comment(played: &MoveRecord) -> String {
    let mut text = String::new();
    if let Some(score) = played.score {
        text.push_str(&score_in_pawns(score));
    }
    if let Some(depth) = played.depth {
        let _ = write!(text, "/{depth}");
    }
    let separator = if text.is_empty() { "" } else { " " };
    // Rounded to milliseconds by hand: a float would do too, but not for all u64.
    let millis = played.micros / 1000 + u64::from(played.micros % 1000 >= 500);
    let _ = write!(text, "{separator}{}.{:03}s", millis / 1000, millis % 1000);
    if let Some(nodes) = played.nodes {
        let _ = write!(text, " n={nodes}");
    }
    text
}

fn score_in_pawns(score: UciScore) -> String {
    match score {
        UciScore::Cp(cp) => {
            let sign = match cp {
                0 => "",
                1.. => "+",
                _ => "-",
            };
            let cp = cp.unsigned_abs();
            format!("{sign}{}.{:02}", cp / 100, cp % 100)
        }
        // The mating side needs no reply to its last move.
        UciScore::Mate(moves) if moves > 0 => format!("+M{}", i64::from(moves) * 2 - 1),
        UciScore::Mate(moves) => format!("-M{}", i64::from(moves).unsigned_abs() * 2),
    }
}

/// Hours, minutes and seconds, as fastchess writes them.
fn duration(micros: u64) -> String {
    let seconds = micros / 1_000_000;
    format!("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)
}

/// The value of a tag: quotes and backslashes escaped, control characters blank, cut to length.
fn escape(value: &str) -> String {
    let mut text = String::new();
    for c in value.chars().map(|c| if c.is_control() { ' ' } else { c }) {
        if text.len() + 1 + c.len_utf8() > TAG_BYTES {
            break;
        }
        if c == '"' || c == '\\' {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

/// The text of a comment: no braces, for comments do not nest, and no control characters.
fn plain(text: &str) -> String {
    let replace = |c: char| match c {
        '{' => '(',
        '}' => ')',
        _ if c.is_control() => ' ',
        _ => c,
    };
    text.chars().map(replace).collect()
}

/// Breaks at blanks, so that lines are at most [`LINE_LENGTH`] long where the words are.
fn wrap(text: &str) -> String {
    let mut wrapped = String::new();
    let mut length = 0;
    for word in text.split_ascii_whitespace() {
        let word_length = word.chars().count();
        // A percent sign at the start of a line would hide it from readers.
        if length > 0 && length + 1 + word_length > LINE_LENGTH && !word.starts_with('%') {
            wrapped.push('\n');
            length = 0;
        } else if length > 0 {
            wrapped.push(' ');
            length += 1;
        }
        wrapped.push_str(word);
        length += word_length;
    }
    wrapped
}

#[cfg(test)]
mod tests;
