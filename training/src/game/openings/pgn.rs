//! Games of PGN as openings.

use anyhow::{Error, Result, anyhow, bail, ensure};
use tesla_engine::chess::pgn::Games;

use super::Opening;
use crate::game::pgn::{PgnGame, PgnRules};
use crate::game::state::{GameState, castling_mode, fen_of};

/// Reads the first `plies` moves of each game.
pub(super) fn parse(bytes: &[u8], chess960: bool, plies: Option<usize>) -> Result<Vec<Opening>> {
    let plies = plies.unwrap_or(usize::MAX);
    let mut rules = PgnRules { chess960, plies, variants: "neither standard nor Chess960" };
    let games = (1..).zip(Games::new(bytes, &mut rules));
    let openings = games.map(|(number, (start, game))| {
        let opening = game.map_err(Error::msg).and_then(|game| opening(game, chess960, plies));
        opening.map_err(|what| anyhow!("game {number} (line {}): {what}", line_of(bytes, start)))
    });
    openings.collect()
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
