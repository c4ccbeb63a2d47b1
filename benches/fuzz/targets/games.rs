//! Labelled games: any bytes, compressed by us or taken as they are, are games or get a sentence,
//! and games are written as they were read.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use shakmaty::Position;
use tesla_training::labelled::{self, GameReader, GameRecord};

static PATH: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("tesla-fuzz-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder for the file");
    folder.join("some.games.zst")
});

fuzz_target!(|data: &[u8]| {
    let Some((&kind, data)) = data.split_first() else { return };
    if kind.is_multiple_of(8) {
        read(data);
    } else {
        read(&zstd::encode_all(data, 1).expect("compressed"));
    }
});

fn read(bytes: &[u8]) {
    fs::write(&*PATH, bytes).expect("the file");
    let Ok(reader) = GameReader::open(&PATH) else { return };
    // What is compressed well could be many games.
    for game in reader.take(50) {
        match game {
            Ok(game) => is_kept(&game),
            Err(problem) => assert!(!problem.to_string().is_empty()),
        }
    }
}

fn is_kept(game: &GameRecord) {
    let mut position = game.start.clone();
    for ply in &game.plies {
        let Some(played) = labelled::unpack(&position, ply.played) else { break };
        assert_eq!(labelled::pack(played), ply.played);
        position.play_unchecked(played);
    }
    let mut bytes = Vec::new();
    labelled::encode(game, &mut bytes).expect("what was read can be written");
}
