//! Small files that hold more games than fit into memory: a sentence, never an abort.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[path = "support/games.rs"]
mod games;

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Output};

use burn::tensor::Device;
use tesla_nn::model::ModelConfig;
use tesla_nn::weights;
use tesla_training::datagen::statistics::Statistics;
use tesla_training::labelled::{RecordError, Room, read_within};
use tesla_training::train::dataset::Dataset;

use games::Folder;

/// How often the same hundred games are in the file.
const TIMES: usize = 20_000;
/// What the program may take, kB: less than they need, and enough for anything else.
const LIMIT_KB: u32 = 1 << 20;

/// A small file of 800 MB of valid games.
fn bomb(folder: &Folder) -> PathBuf {
    let path = folder.file("bomb.games.zst");
    let games = games::games(100, 1);
    let mut writer = zstd::Encoder::new(File::create(&path).unwrap(), 1).unwrap();
    for _ in 0..TIMES {
        writer.write_all(&games).unwrap();
    }
    writer.finish().unwrap();
    assert!(path.metadata().unwrap().len() < 1 << 20);
    path
}

/// What the program complains of under a limit of memory.
fn refused(words: &str) -> String {
    let program = env!("CARGO_BIN_EXE_tesla-train");
    let line = format!("ulimit -v {LIMIT_KB} && exec {program} {words}");
    let Output { status, stderr, .. } = Command::new("sh").args(["-c", &line]).output().unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(2), "{words}: {said}");
    said
}

#[test]
fn commands_that_keep_games_refuse_more_than_fit() {
    let folder = Folder::new("bomb");
    let data = bomb(&folder).display().to_string();
    let (out, network) = (folder.file("out"), folder.file("tiny.safetensors"));
    let shape = ModelConfig::tiny();
    std::fs::write(&network, weights::to_bytes(&shape.init(&Device::flex()), &shape).unwrap())
        .unwrap();
    let (out, network) = (out.display(), network.display());
    for words in [
        format!("inspect {data}"),
        format!("train --data {data} --out {out} --device cpu"),
        format!("evaluate --weights {network} --data {data} --device cpu"),
        format!("datagen --games 2 --nodes 5 --relabel {data} --out {out}-lines"),
    ] {
        let said = refused(&words);
        assert!(said.contains("do not fit into the"), "{words}: {said}");
    }
}

#[test]
fn a_budget_is_for_all_files_together() {
    let folder = Folder::new("room");
    for name in ["a.games.zst", "b.games.zst"] {
        games::write(&folder.file(name), &games::games(10, 1));
    }
    let one = folder.file("a.games.zst");
    let mut room = Room::of(u64::MAX);
    let read = read_within(&one, &mut room).unwrap();
    let needed: u64 = read.iter().map(|game| game.bytes() as u64).sum();
    let is_refused =
        |read: Result<Dataset, RecordError>| matches!(read, Err(RecordError::TooMany { .. }));
    assert!(!is_refused(Dataset::read_within(&one, "", Room::of(needed))));
    assert!(is_refused(Dataset::read_within(&one, "", Room::of(needed - 1))));
    assert!(is_refused(Dataset::read_within(&folder.0, "", Room::of(2 * needed - 1))));
    assert!(!is_refused(Dataset::read_within(&folder.0, "", Room::of(2 * needed))));
    let figures = |bytes| Statistics::of_files_within(std::slice::from_ref(&one), Room::of(bytes));
    assert!(matches!(figures(100), Err(RecordError::TooMany { .. })));
    assert_eq!(figures(1 << 20).unwrap().finish().games, 10);
}
