use std::fs;

use serde_json::json;

use super::*;
use crate::labelled::read_file;
use crate::labelled::tests::{Scratch, random_game};
use crate::train::config::TrainConfig;

/// Seven games, of which the fourth is the same as the second; shards of three.
const GAMES: u64 = 7;

fn game(number: u64) -> GameRecord {
    random_game(if number == 3 { 1 } else { number }, 20)
}

/// All that decides a run.
fn of_seed(seed: u64) -> Value {
    json!({"config": {"seed": seed}, "openings_sha256": ""})
}

fn open(scratch: &Scratch) -> Result<Store> {
    Store::open(&scratch.0, of_seed(1), GAMES, 3, 0.0)
}

fn shards(scratch: &Scratch) -> Vec<Vec<GameRecord>> {
    let files = labelled::find_files(&scratch.0).unwrap();
    files.iter().map(|file| read_file(file).unwrap()).collect()
}

fn finished() -> Vec<Vec<GameRecord>> {
    vec![vec![game(0), game(1), game(2)], vec![game(4), game(5)], vec![game(6)]]
}

#[test]
fn any_order_and_any_stop_gives_the_same_shards() {
    for order in [[0, 1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1, 0], [3, 0, 6, 1, 5, 2, 4]] {
        for stop in 0..7 {
            let scratch = Scratch::new("order");
            let mut store = open(&scratch).unwrap();
            for number in &order[..stop] {
                store.add(*number, game(*number)).unwrap();
            }
            drop(store);
            let mut store = open(&scratch).unwrap();
            let left: Vec<u64> = (0..GAMES).filter(|n| !order[..stop].contains(n)).collect();
            assert_eq!(store.missing(), left);
            assert!(!store.is_complete());
            for number in left {
                store.add(number, game(number)).unwrap();
            }
            assert!(store.is_complete());
            assert_eq!(store.counts(), (6, 1));
            assert_eq!(shards(&scratch), finished());
        }
    }
}

#[test]
fn held_out_games_are_the_same_in_every_run() {
    let scratch = Scratch::new("valid");
    let held_out: Vec<GameRecord> = (0..GAMES)
        .filter(|&number| number != 3 && is_held_out(&game(number), 0.5))
        .map(game)
        .collect();
    assert!(!held_out.is_empty() && held_out.len() < 6, "the test needs games of both kinds");
    let open = || Store::open(&scratch.0, of_seed(1), GAMES, 3, 0.5).unwrap();
    let mut store = open();
    for number in [5, 1, 0, 2, 6] {
        store.add(number, game(number)).unwrap();
    }
    drop(store);
    // Killed between the two files of the second shard.
    fs::write(scratch.0.join(valid_name(1)), b"of a shard that is not there").unwrap();
    let mut store = open();
    assert_eq!(store.missing(), [3, 4]);
    for number in [4, 3] {
        store.add(number, game(number)).unwrap();
    }
    assert!(store.is_complete());
    drop(store);
    let store = open();
    assert_eq!((store.counts(), store.held_out()), ((6, 1), held_out.len() as u64));
    let (mut valid, mut learnt) = (Vec::new(), Vec::new());
    for file in labelled::find_files(&scratch.0).unwrap() {
        let is_valid = file.file_name().unwrap().to_string_lossy().starts_with(HELD_OUT);
        let kind = if is_valid { &mut valid } else { &mut learnt };
        kind.extend(read_file(&file).unwrap());
    }
    assert_eq!((valid, learnt.len()), (held_out.clone(), 6 - held_out.len()));
    assert!(learnt.iter().all(|game| !is_held_out(game, 0.5)));
}

#[test]
fn a_lost_shard_is_made_again() {
    let scratch = Scratch::new("lost");
    let mut store = open(&scratch).unwrap();
    (0..GAMES).for_each(|number| store.add(number, game(number)).unwrap());
    drop(store);
    fs::remove_file(scratch.0.join(shard_name(0))).unwrap();
    // What a killed run leaves of a shard that it was writing.
    fs::write(scratch.0.join(shard_name(0) + ".a1B2c3.new"), b"half").unwrap();
    let mut store = open(&scratch).unwrap();
    assert_eq!(store.missing(), [0, 1, 2]);
    (0..3).for_each(|number| store.add(number, game(number)).unwrap());
    assert_eq!(store.counts(), (6, 1));
    assert_eq!(shards(&scratch), finished());
}

#[test]
fn a_torn_journal_loses_its_tail_only() {
    let scratch = Scratch::new("torn");
    let mut store = open(&scratch).unwrap();
    store.add(1, game(1)).unwrap();
    store.add(4, game(4)).unwrap();
    drop(store);
    let journal = scratch.0.join("games.jsonl");
    let bytes = fs::read(&journal).unwrap();
    fs::write(&journal, &bytes[..bytes.len() - 9]).unwrap();
    assert_eq!(open(&scratch).unwrap().missing(), [0, 2, 3, 4, 5, 6]);
}

#[test]
fn a_config_of_something_else_is_not_written_over() {
    let scratch = Scratch::new("config");
    let config = scratch.0.join(CONFIG);
    let run = serde_json::to_string(&TrainConfig::default()).unwrap();
    for (text, whose) in [(&*run, "of a training run"), ("{}", "no config of tesla-train")] {
        fs::write(&config, text).unwrap();
        let error = open(&scratch).unwrap_err().to_string();
        assert!(error.contains(whose) && error.contains("--out"), "{error}");
        assert_eq!(fs::read_to_string(&config).unwrap(), text);
        assert!(!scratch.0.join("games.jsonl").exists());
    }
    fs::remove_file(&config).unwrap();
    drop(open(&scratch).unwrap());
    assert_eq!(Owner::of(&fs::read(&config).unwrap()), Some(Owner::Datagen));
    assert_eq!(open(&scratch).unwrap().missing().len() as u64, GAMES);
}

#[test]
fn strangers_are_refused() {
    let scratch = Scratch::new("strangers");
    let store = open(&scratch).unwrap();
    let busy = open(&scratch).unwrap_err().to_string();
    assert!(busy.contains("another run"), "{busy}");
    drop(store);
    let other = Store::open(&scratch.0, of_seed(2), GAMES, 3, 0.0);
    let other = other.unwrap_err().to_string();
    assert!(other.contains("seed is 1 there and 2 here"), "{other}");
    let mut store = open(&scratch).unwrap();
    (0..3).for_each(|number| store.add(number, game(number)).unwrap());
    drop(store);
    fs::remove_file(scratch.0.join("games.jsonl")).unwrap();
    let stranger = open(&scratch).unwrap_err().to_string();
    assert!(stranger.contains("name another folder"), "{stranger}");
    let scratch = Scratch::new("nonsense");
    let mut store = open(&scratch).unwrap();
    store.add(0, game(0)).unwrap();
    drop(store);
    let journal = scratch.0.join("games.jsonl");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, text.replace("/pppp", "/xxxx").replace("\"start\":\"", "\"start\":\"x"))
        .unwrap();
    let damaged = open(&scratch).unwrap_err().to_string();
    assert!(damaged.contains("delete its line"), "{damaged}");
}
