//! Lines of UCI, read as the front end reads them; nothing is searched.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tesla_engine::chess::game::Game;
use tesla_engine::chess::notation as position;
use tesla_engine::commands::genfens::GenfensOrder;
use tesla_engine::console::lines::{Line, next_line};
use tesla_engine::console::output::Style;
use tesla_engine::search::clock::Budget;
use tesla_engine::uci::command::Command;
use tesla_engine::uci::go;

fuzz_target!(|data: &[u8]| {
    let mut input = data;
    let mut game = Game::new(shakmaty::Chess::default());
    loop {
        let line = match next_line(&mut input) {
            Line::Text(line) => line,
            Line::TooLong => continue,
            Line::End => break,
        };
        match Command::parse(&line) {
            Command::Position(text) => {
                for chess960 in [false, true] {
                    match position::parse(text, chess960) {
                        Ok(parsed) => game = parsed,
                        Err(problem) => assert!(!problem.to_string().is_empty()),
                    }
                }
            }
            Command::Go(text) => asked(text, &game),
            Command::GenFens(text) => drop(GenfensOrder::parse(text)),
            _ => {}
        }
    }
});

/// What `go` asks for is about legal moves and a budget that keeps to the clock.
fn asked(text: &str, game: &Game) {
    let go = go::parse(text, game.position());
    let legal = shakmaty::Position::legal_moves(game.position());
    assert!(go.limits.search_moves.iter().all(|played| legal.contains(played)));
    let castling = shakmaty::Position::castles(game.position()).mode();
    for &played in &go.limits.search_moves {
        let written = Style { castling, wdl: false }.written(played);
        assert_eq!(position::parse_move(&written, game.position()), Ok(played));
    }
    let budget = Budget::new(&go.limits, std::time::Duration::from_millis(20));
    assert!(budget.soft() <= budget.hard());
}
