//! FENs and the lines of EPD files: what is taken can be played, written, evaluated and searched.
#![no_main]

use std::cell::RefCell;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use shakmaty::fen::Fen;
use shakmaty::{Chess, EnPassantMode, Position};
use tesla_engine::alphabeta::AlphaBeta;
use tesla_engine::best_first::BestFirst;
use tesla_engine::chess::game::{Game, key_after, position_key};
use tesla_engine::chess::notation::{from_fen, parse_move};
use tesla_engine::commands::perft;
use tesla_engine::console::output::Style;
use tesla_engine::minimax::{Minimax, Pruning};
use tesla_engine::search::clock::Budget;
use tesla_engine::search::{Limits, Search, StopToken, Task};
use tesla_nn::classical::ClassicalEvaluator;

thread_local! {
    static SEARCHES: RefCell<Vec<Box<dyn Search>>> = RefCell::new(vec![
        with_little_memory(BestFirst::new(Box::new(ClassicalEvaluator::new()))),
        with_little_memory(BestFirst::puct(Box::new(ClassicalEvaluator::new()))),
        with_little_memory(AlphaBeta::classical(1)),
        with_little_memory(Minimax::new(Pruning::default())),
    ]);
}

fn with_little_memory(mut search: impl Search + 'static) -> Box<dyn Search> {
    search.set_hash_mb(1);
    Box::new(search)
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let Some(line) = text.lines().next() else { return };
    for chess960 in [false, true] {
        if let Ok(position) = from_fen(line, chess960) {
            is_whole(&position);
        }
    }
    if let Some(entry) = perft::PerftLine::parse(line) {
        let _ = from_fen(&entry.fen, false);
    }
});

fn is_whole(position: &Chess) {
    let fen = Fen::from_position(position, EnPassantMode::Legal).to_string();
    let again = from_fen(&fen, position.castles().mode().is_chess960());
    assert_eq!(again.map(|again| position_key(&again)), Ok(position_key(position)), "{fen}");
    let style = Style { castling: position.castles().mode(), wdl: true };
    let moves = position.legal_moves();
    for &played in &moves {
        assert_eq!(parse_move(&style.written(played), position), Ok(played), "{fen}");
        let mut after = position.clone();
        after.play_unchecked(played);
        assert_eq!(key_after(position, position_key(position), played), position_key(&after));
    }
    if moves.is_empty() {
        return;
    }
    let (game, stop) = (Game::new(position.clone()), StopToken::default());
    let limits = Limits { nodes: Some(12), multipv: 2, ..Limits::default() };
    let budget = Budget::new(&limits, Duration::ZERO);
    let task = Task { game: &game, limits: &limits, budget: &budget, stop: &stop };
    SEARCHES.with_borrow_mut(|searches| {
        for search in searches {
            search.clear();
            let outcome = search.search(&task, &mut |info| drop(style.info(info, 0)));
            assert!(moves.contains(&outcome.best), "{fen}");
        }
    });
}
