//! Lines of EPD (PGN standard, section 16.2): a position, then operations.

use std::str::FromStr;

use anyhow::{Result, anyhow, ensure};

/// An operation: the opcode, and its operands with the quotes taken off.
#[derive(Debug)]
pub(crate) struct Operation<'a> {
    pub(crate) opcode: &'a str,
    pub(crate) operands: &'a str,
}

/// The first four fields of a line, those of a position, and the rest.
///
/// # Errors
/// When there are fewer.
pub(crate) fn split_position(text: &str) -> Result<(&str, &str)> {
    let text = text.trim();
    let mut end = 0;
    for field in 0..4 {
        let rest = &text[end..];
        let start = end + rest.len() - rest.trim_start().len();
        let length = text[start..].find([' ', '\t', ';']).unwrap_or(text.len() - start);
        ensure!(
            length > 0,
            "it is neither EPD nor FEN: {field} of the four fields of a position are there; begin \
             the line with pieces, side to move, castling rights and en passant square"
        );
        end = start + length;
    }
    Ok((&text[..end], &text[end..]))
}

/// Reads `opcode operands;` until the end of the line.
///
/// # Errors
/// When a string is not closed.
pub(crate) fn operations(text: &str) -> Result<Vec<Operation<'_>>> {
    let mut operations = Vec::new();
    let mut rest = text.trim_start_matches([' ', '\t', ';']);
    while !rest.is_empty() {
        let (opcode, after) = rest.split_at(rest.find([' ', '\t', ';', '"']).unwrap_or(rest.len()));
        let mut quoted = false;
        let end = after.find(|c| {
            quoted ^= c == '"';
            c == ';' && !quoted
        });
        ensure!(
            !quoted || end.is_some(),
            "the string after '{opcode}' is not closed; end it with \""
        );
        let (operands, after) = after.split_at(end.unwrap_or(after.len()));
        let operands = operands.trim().trim_matches('"').trim();
        operations.push(Operation { opcode, operands });
        rest = after.trim_start_matches([' ', '\t', ';']);
    }
    Ok(operations)
}

/// The operands of the first operation of this name, if it has any.
pub(crate) fn operand<'a>(operations: &[Operation<'a>], opcode: &str) -> Option<&'a str> {
    operations.iter().find(|o| o.opcode == opcode && !o.operands.is_empty()).map(|o| o.operands)
}

/// The number behind this operation, if there is one.
///
/// # Errors
/// When it is not a number.
pub(crate) fn number<T: FromStr>(operations: &[Operation<'_>], opcode: &str) -> Result<Option<T>> {
    operand(operations, opcode).map(|value| parse_number(opcode, value)).transpose()
}

/// Reads what stands where a number should.
///
/// # Errors
/// When it is none.
pub(crate) fn parse_number<T: FromStr>(name: &str, value: &str) -> Result<T> {
    value.parse().map_err(|_| anyhow!("{name} '{value}' is not a number; write one"))
}
