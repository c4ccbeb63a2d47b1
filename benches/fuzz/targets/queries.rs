//! Lines of `tesla analyse`, read and checked, and games of `tesla review`; nothing is searched.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tesla_engine::commands::analyse::query::{Defaults, Order, Query};
use tesla_engine::commands::review::game::games;
use tesla_engine::console::lines::{Line, next_line};
use tesla_engine::setup::mode::SearchMode;

fuzz_target!(|data: &[u8]| {
    let defaults = Defaults { nodes: 100, search: SearchMode::Tesla };
    let mut input = data;
    loop {
        let line = match next_line(&mut input) {
            Line::Text(line) => line,
            Line::TooLong => continue,
            Line::End => break,
        };
        match Query::read(&line).and_then(|query| query.order(defaults)) {
            Ok(Order::Analyse(analysis)) => assert!(!analysis.positions.is_empty()),
            Ok(Order::Terminate { id, .. } | Order::Version { id }) => assert!(!id.is_empty()),
            Err(refusal) => assert!(!refusal.error.is_empty()),
        }
    }
    if let Ok(games) = games(data) {
        assert!(games.iter().flatten().all(|game| game.positions().len() > 1));
    }
});
