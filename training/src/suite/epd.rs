//! One line of an EPD file.

use std::num::NonZeroU32;

use anyhow::{Result, bail, ensure};
use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, Chess, EnPassantMode, Move, Position};

use super::item::{Item, JudgeBy, Task};
use super::notation::{parse_move, position, setup};
use crate::game::epd::{Operation, number, operand, operations, split_position};

/// Reads a line. `None` where the line has nothing to judge. `name` is the id of a line without.
pub(super) fn parse_line(
    text: &str,
    by: JudgeBy,
    name: impl FnOnce() -> String,
) -> Result<Option<Item>> {
    let (fen, rest) = split_position(text)?;
    let mut setup = setup(fen)?;
    let (halfmoves, rest) = counter(rest);
    let (fullmoves, rest) = if halfmoves.is_some() { counter(rest) } else { (None, rest) };
    let operations = operations(rest)?;
    let halfmoves = number(&operations, "hmvc")?.or(halfmoves);
    let fullmoves: Option<u32> = number(&operations, "fmvn")?.or(fullmoves);
    setup.halfmoves = halfmoves.unwrap_or(0);
    setup.fullmoves = fullmoves.and_then(NonZeroU32::new).unwrap_or(NonZeroU32::MIN);
    let (position, castling_mode) = position(fen, setup)?;
    let task = task(&operations, &position, by);
    ensure!(
        matches!(task, Ok(None)) || !position.legal_moves().is_empty(),
        "the side to move has no legal move; take the line out"
    );
    let Some(task) = task? else { return Ok(None) };
    let id = operand(&operations, "id").map_or_else(name, str::to_owned);
    Ok(Some(item(id, position, castling_mode, task)))
}

/// An item whose FEN is written anew from the position, so that it is what was understood.
pub(super) fn item(id: String, position: Chess, castling_mode: CastlingMode, task: Task) -> Item {
    let fen = Fen::from_position(&position, EnPassantMode::Legal).to_string();
    Item { id, position, castling_mode, fen, task }
}

/// A number of a FEN (with its semicolon, if any) at the start of the text, and the rest.
fn counter(text: &str) -> (Option<u32>, &str) {
    let text = text.trim_start();
    let (word, rest) = text.split_at(text.find([' ', '\t', ';']).unwrap_or(text.len()));
    match word.parse() {
        Ok(n) => (Some(n), rest.trim_start().trim_start_matches(';')),
        Err(_) => (None, text),
    }
}

fn task(operations: &[Operation<'_>], position: &Chess, by: JudgeBy) -> Result<Option<Task>> {
    let wants = |other| by == JudgeBy::Auto || by == other;
    if wants(JudgeBy::Points)
        && let Some(task) = points(operations, position)?
    {
        return Ok(Some(task));
    }
    if wants(JudgeBy::Moves)
        && let Some(task) = best_moves(operations, position)?
    {
        return Ok(Some(task));
    }
    if wants(JudgeBy::Mate) { mate(operations) } else { Ok(None) }
}

/// The Strategic Test Suite gives points in `c8` and moves in `c9` (coordinates) or `c7` (SAN);
/// its first editions had only `c0 "f5=10, Be5+=2"`.
fn points(operations: &[Operation<'_>], position: &Chess) -> Result<Option<Task>> {
    let listed = operand(operations, "c8")
        .and_then(|c8| c8.split_whitespace().map(|p| p.parse().ok()).collect::<Option<Vec<u32>>>())
        .and_then(|points| {
            let c9 = operand(operations, "c9").map(|moves| ("c9", moves));
            let moves = c9.or_else(|| operand(operations, "c7").map(|moves| ("c7", moves)))?;
            Some((points, moves))
        });
    let listed = listed
        .map(|(points, (name, moves))| (name, moves.split_whitespace().collect(), points))
        .or_else(|| {
            let c0 = operand(operations, "c0")?;
            let (texts, points) = points_of_comment(c0, position)?;
            Some(("c0", texts, points))
        });
    let Some((name, texts, points)) = listed else { return Ok(None) };
    ensure!(
        texts.len() == points.len(),
        "{} moves in {name}, but {} points in c8; give each move its points",
        texts.len(),
        points.len()
    );
    let mut moves = Vec::with_capacity(texts.len());
    for (text, points) in texts.iter().zip(&points) {
        moves.push((parse_move(name, text, position)?, *points));
    }
    let max = points.iter().copied().max().unwrap_or(0);
    Ok((max > 0).then_some(Task::Points { moves, max }))
}

/// `None` unless the whole comment is a list of legal moves with points: `depth=12` is a comment.
fn points_of_comment<'a>(comment: &'a str, position: &Chess) -> Option<(Vec<&'a str>, Vec<u32>)> {
    let mut list = (Vec::new(), Vec::new());
    for part in comment.split(',') {
        let (text, points) = part.rsplit_once('=')?;
        parse_move("c0", text.trim(), position).ok()?;
        list.0.push(text.trim());
        list.1.push(points.trim().parse().ok()?);
    }
    Some(list)
}

fn best_moves(operations: &[Operation<'_>], position: &Chess) -> Result<Option<Task>> {
    let best = moves(operations, "bm", position)?;
    let avoid = moves(operations, "am", position)?;
    let asked = !best.is_empty() || !avoid.is_empty();
    Ok(asked.then_some(Task::BestMoves { best, avoid }))
}

fn moves(operations: &[Operation<'_>], name: &str, position: &Chess) -> Result<Vec<Move>> {
    let mut moves = Vec::new();
    for operation in operations.iter().filter(|o| o.opcode == name) {
        ensure!(
            !operation.operands.is_empty(),
            "{name} names no move; add one, or take the operation out"
        );
        if operation.operands.starts_with('#') {
            continue; // a mate, see `mate`
        }
        for text in operation.operands.split([' ', '\t', ',']).filter(|t| !t.is_empty()) {
            moves.push(parse_move(name, text, position)?);
        }
    }
    Ok(moves)
}

/// `dm 3`, or `bm #3` as in matetrack.
fn mate(operations: &[Operation<'_>]) -> Result<Option<Task>> {
    let by_bm = operations
        .iter()
        .filter(|o| o.opcode == "bm")
        .find_map(|o| o.operands.strip_prefix('#').map(|n| ("bm", n)));
    let Some((name, value)) = operand(operations, "dm").map(|n| ("dm", n)).or(by_bm) else {
        return Ok(None);
    };
    match value.parse::<i32>() {
        Ok(moves) if moves != 0 && moves != i32::MIN => Ok(Some(Task::Mate { moves })),
        _ => bail!(
            "{name} '{value}' is not a count of moves to mate, negative for the side that is \
             mated; write a number"
        ),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_text_is_too_strange(
            start in prop_oneof![
                Just(String::new()),
                Just("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - ".to_owned()),
            ],
            rest in "([bd]m|am|c[0789]|id|hmvc|[ ;\"=,#-]|[KQRa-h1-8Ox+]|\\PC){0,40}",
        ) {
            for by in [JudgeBy::Auto, JudgeBy::Moves, JudgeBy::Mate] {
                if let Ok(Some(item)) = parse_line(&format!("{start}{rest}"), by, String::new) {
                    prop_assert_eq!(item.fen.split(' ').count(), 6);
                }
            }
        }
    }
}
