//! Experience files: any bytes are refused with a sentence and left as they are, or accepted and
//! extended.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use shakmaty::{Chess, KnownOutcome};
use tesla_engine::chess::game::Game;
use tesla_engine::search::clock::Budget;
use tesla_engine::search::{Limits, Search, StopToken, Task};
use tesla_engine::three_state::{ThreeState, ThreeStateSettings};

static PATH: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("tesla-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder for the file");
    folder.join("experience")
});

fuzz_target!(|data: &[u8]| {
    fs::write(&*PATH, data).expect("the file");
    let settings = ThreeStateSettings {
        file: Some(PATH.to_string_lossy().into_owned()),
        size: 1_000,
        seed: 1,
        book: None,
    };
    match ThreeState::open(&settings) {
        Ok((search, _)) => goes_on(search, &settings),
        Err(problem) => {
            assert!(!problem.to_string().is_empty());
            assert_eq!(fs::read(&*PATH).expect("the file"), data);
        }
    }
});

/// A move is made and a game ended; what was learnt is found again.
fn goes_on(mut search: ThreeState, settings: &ThreeStateSettings) {
    let (game, stop) = (Game::new(Chess::default()), StopToken::default());
    let limits = Limits { nodes: Some(20), depth: Some(1), ..Limits::default() };
    let budget = Budget::new(&limits, Duration::ZERO);
    let task = Task { game: &game, limits: &limits, budget: &budget, stop: &stop };
    search.search(&task, &mut |_| {});
    search.game_over(KnownOutcome::Draw);
    let known = search.positions();
    drop(search);
    let (search, note) = ThreeState::open(settings).expect("its own file");
    assert_eq!(search.positions(), known);
    assert_eq!(note, None);
}
