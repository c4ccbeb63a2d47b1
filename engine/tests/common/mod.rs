//! What the tests of several searches share.

use shakmaty::{Chess, Position as _};
use tesla_engine::chess::game::Game;
use tesla_engine::search::Limits;

/// So many evaluations and no other limit.
pub(crate) fn nodes(count: u64) -> Limits {
    Limits { nodes: Some(count), ..Limits::default() }
}

/// A position reached from the start by these choices among the legal moves, unless the game is
/// over.
pub(crate) fn walk(choices: &[u8]) -> Option<Game> {
    let mut game = Game::new(Chess::new());
    for &choice in choices {
        let moves = game.position().legal_moves();
        game.play(*moves.get(usize::from(choice) % moves.len().max(1))?);
    }
    (!game.position().is_game_over()).then_some(game)
}
