//! Games of PGN as openings.

use std::io::Seek as _;

use anyhow::{Error, Result, anyhow, bail, ensure};

use super::Opening;
use crate::game::pgn::{PgnGame, PgnRules, reader, unreadable_word};
use crate::game::state::{GameState, castling_mode, fen_of};

/// Reads the first `plies` moves of each game.
pub(super) fn parse(bytes: &[u8], chess960: bool, plies: Option<usize>) -> Result<Vec<Opening>> {
    let mut reader = reader(bytes);
    let plies = plies.unwrap_or(usize::MAX);
    let mut rules = PgnRules { chess960, plies, variants: "neither standard nor Chess960" };
    let mut openings = Vec::new();
    let mut start = 0;
    loop {
        let game = reader.read_game(&mut rules);
        let end = reader.stream_position().map_or(bytes.len(), |end| end as usize);
        let opening = match game {
            Ok(None) => return Ok(openings),
            Ok(Some(game)) => {
                game.map_err(Error::msg).and_then(|game| opening(game, chess960, plies))
            }
            Err(error) => Err(error.into()),
        };
        let text = bytes.get(start..end).unwrap_or_default();
        // First, because a skipped word is often why the next move is not legal.
        let opening = match unreadable_word(text) {
            None => opening,
            Some(word) => Err(anyhow!("\"{word}\" is not a move")),
        };
        openings.push(opening.map_err(|what| {
            let (game, line) = (openings.len() + 1, line_of(bytes, start));
            anyhow!("game {game} (line {line}): {what}")
        })?);
        start = end;
    }
}

/// Number of the line, from 1, where the first text after `start` stands.
fn line_of(bytes: &[u8], start: usize) -> usize {
    let blank = bytes.iter().skip(start).take_while(|byte| byte.is_ascii_whitespace()).count();
    1 + bytes.iter().take(start + blank).filter(|&&byte| byte == b'\n').count()
}

/// The game as an opening.
fn opening(game: PgnGame, chess960: bool, plies: usize) -> Result<Opening> {
    let PgnGame { tags, start, moves, .. } = game;
    // A blank line within a game splits it; the second half must not pass as an opening.
    let is_empty = tags.fen.is_none() && moves.is_empty() && plies > 0;
    ensure!(!is_empty, "it has neither moves nor a FEN tag");
    let moves = moves.into_iter().map(|played| played.to_uci(castling_mode(chess960))).collect();
    let opening = Opening { fen: fen_of(&start), moves, chess960, name: tags.opening };
    match GameState::new(&opening) {
        Ok(_) => Ok(opening),
        Err(error) => bail!("{error}; a limit of plies may help"),
    }
}
