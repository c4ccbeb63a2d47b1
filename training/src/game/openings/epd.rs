//! Lines of EPD (four fields and operations) or FEN (six fields, operations allowed after).

use super::{BadEntry, Opening};
use crate::game::state::{GameState, fen_of, set_up};

/// Reads one opening a line; blank lines do not count.
pub(super) fn parse(bytes: &[u8], chess960: bool) -> Result<Vec<Opening>, BadEntry> {
    let mut openings = Vec::new();
    for (index, line) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let bad = |what| BadEntry { place: format!("line {}", index + 1), what };
        let line = str::from_utf8(line).map_err(|_| bad("it is not UTF-8 text".to_owned()))?.trim();
        if !line.is_empty() {
            openings.push(parse_line(line, chess960).map_err(bad)?);
        }
    }
    Ok(openings)
}

fn parse_line(line: &str, chess960: bool) -> Result<Opening, String> {
    let mut rest = line;
    let mut fields = [""; 4];
    for field in &mut fields {
        *field = next_word(&mut rest);
    }
    let [board, turn, castling, en_passant] = fields;
    if en_passant.is_empty() {
        return Err(format!(
            "\"{line}\" is neither EPD nor FEN: board, side to move, castling and en passant are \
             needed"
        ));
    }
    let mut operations = Operations::default();
    if rest.starts_with(|first: char| first.is_ascii_digit() || first == '-') {
        operations.halfmoves = counter("halfmove clock", next_word(&mut rest))?;
        operations.fullmoves = counter("move number", next_word(&mut rest))?;
    }
    operations.read(rest)?;
    let Operations { halfmoves, fullmoves, name } = operations;
    let fen = format!("{board} {turn} {castling} {en_passant} {halfmoves} {fullmoves}");
    let position = set_up(&fen, chess960).map_err(|error| error.to_string())?;
    let opening = Opening { fen: fen_of(&position), moves: Vec::new(), chess960, name };
    GameState::new(&opening).map_err(|error| error.to_string())?;
    Ok(opening)
}

/// Cuts the next word off a text, and the white space after it.
fn next_word<'a>(rest: &mut &'a str) -> &'a str {
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    *rest = after.trim_start();
    word
}

fn counter(what: &str, text: &str) -> Result<u32, String> {
    let text = text.trim_end_matches(';');
    text.parse().map_err(|_| format!("the {what} \"{text}\" is not a number"))
}

/// The operations of EPD that matter here (PGN standard, section 16.2.5).
struct Operations {
    /// `hmvc`.
    halfmoves: u32,
    /// `fmvn`.
    fullmoves: u32,
    /// `id`.
    name: Option<String>,
}

impl Default for Operations {
    fn default() -> Self {
        Self { halfmoves: 0, fullmoves: 1, name: None }
    }
}

impl Operations {
    /// Reads `opcode operands;` until the end of the line. Opcodes of no use here are skipped.
    fn read(&mut self, text: &str) -> Result<(), String> {
        let mut quoted = false;
        // A semicolon within quotes does not end an operation.
        let parts = text.split(|c| {
            quoted ^= c == '"';
            c == ';' && !quoted
        });
        for part in parts {
            let mut operand = part.trim();
            match next_word(&mut operand) {
                "hmvc" => self.halfmoves = counter("halfmove clock", operand)?,
                "fmvn" => self.fullmoves = counter("move number", operand)?,
                "id" => self.name = Some(operand.trim_matches('"').to_owned()),
                _ => {}
            }
        }
        if quoted { Err("a quotation mark is not closed".to_owned()) } else { Ok(()) }
    }
}
