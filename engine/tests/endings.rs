//! Endings against a bare king, which the program with its network wins in hardly any evaluations.

#![cfg(feature = "net")]

use std::time::Duration;

use shakmaty::Position as _;
use tesla_engine::chess::game::Game;
use tesla_engine::chess::notation::from_fen;
use tesla_engine::search::clock::Budget;
use tesla_engine::search::{Limits, StopToken, Task};
use tesla_engine::setup::factory;
use tesla_engine::setup::machine::Machine;
use tesla_engine::setup::settings::Settings;

/// A queen, a rook, two bishops, a rook and a pawn; either side may be the one that wins.
const WON: [&str; 7] = [
    "3KQ3/8/8/8/8/2k5/8/8 w - - 0 1",
    "8/2R5/1K6/8/8/3k4/8/8 w - - 0 1",
    "8/8/8/5R2/8/1k6/8/5K2 w - - 0 1",
    "7k/2r5/8/8/4K3/8/8/8 b - - 0 1",
    "6k1/8/8/4BB2/3K4/8/8/8 w - - 0 1",
    "8/8/8/4k3/8/8/1P6/R3K3 w - - 0 1",
    "4k3/8/8/3K4/8/8/8/4q3 w - - 0 1",
];

#[test]
fn what_is_won_against_a_bare_king_ends_in_mate() {
    let machine = Machine { device: "cpu".to_owned(), threads: 1, ..Settings::default().machine() };
    let mut search = factory::search(&machine).unwrap().search;
    search.set_hash_mb(16);
    let limits = Limits { nodes: Some(100), ..Limits::default() };
    for fen in WON {
        search.clear();
        let mut game = Game::new(from_fen(fen, false).unwrap());
        while !game.position().is_game_over() {
            assert!(game.position().halfmoves() < 100 && game.repetitions() < 2, "{fen}");
            let budget = Budget::new(&limits, Duration::ZERO);
            let task =
                Task { game: &game, limits: &limits, budget: &budget, stop: &StopToken::default() };
            let best = search.search(&task, &mut |_| {}).best;
            game.play(best);
        }
        assert!(game.position().is_checkmate(), "{fen}");
    }
}
