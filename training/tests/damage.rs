//! Damaged and wrong inputs of `tesla-train`: a sentence and exit code 2, never a panic.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[path = "support/program.rs"]
mod program;

use std::fs;
use std::path::Path;

use burn::tensor::Device;
use proptest::prelude::*;
use tesla_nn::model::ModelConfig;
use tesla_nn::weights;
use tesla_training::train::config::TrainConfig;
use tesla_training::train::trainer::Trainer;

use program::{Scratch, complaint, done};

/// Runs `words`, which must be refused in words that hold `part`.
fn refused(words: &[&str], part: &str) {
    let said = complaint("", words);
    assert!(said.contains(part), "{words:?}: {said}");
}

/// One game of 20 plies, knights to and fro.
fn games(path: &Path) {
    let fen = b"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
    let mut bytes = vec![fen.len() as u8];
    bytes.extend_from_slice(fen);
    bytes.extend_from_slice(&[1, 20, 0]);
    let packed = |from: u16, to: u16| (from | to << 6).to_le_bytes();
    for ply in 0..20 {
        let played = match ply % 4 {
            0 => packed(6, 21),
            1 => packed(62, 45),
            2 => packed(21, 6),
            _ => packed(45, 62),
        };
        bytes.extend(played);
        bytes.extend(played);
        bytes.extend(30_i16.to_le_bytes());
    }
    fs::write(path, zstd::encode_all(bytes.as_slice(), 3).unwrap()).unwrap();
}

fn tiny_weights() -> Vec<u8> {
    let shape = ModelConfig::tiny();
    weights::to_bytes(&shape.init(&Device::flex()), &shape).unwrap()
}

/// What a match writes is written over only where it is that match's own.
#[test]
fn a_match_empties_nobodys_file() {
    let folder = Scratch::new("strangers");
    let out = folder.join("out");
    fs::create_dir(&out).unwrap();
    let side = "--side name=A option.Evaluator=Classical --side name=B option.Evaluator=Classical";
    let line = format!("match --out {out} --games 2 --nodes 5 --max-moves 4 {side}");
    for name in ["games.pgn", "report.md", "times.jsonl"] {
        let path = Path::new(&out).join(name);
        fs::write(&path, "mine").unwrap();
        let said = complaint(&line, &[]);
        assert!(said.contains(name) && said.contains("name another folder"), "{said}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
        assert_eq!(fs::read_dir(&out).unwrap().count(), 1, "nothing is beside {name}");
        fs::remove_file(&path).unwrap();
    }
    done(&line, &[]);
    // A match that lost its results has its games still.
    fs::remove_file(Path::new(&out).join("results.jsonl")).unwrap();
    let games = fs::read(Path::new(&out).join("games.pgn")).unwrap();
    complaint(&line, &[]);
    assert_eq!(fs::read(Path::new(&out).join("games.pgn")).unwrap(), games);
    let said = complaint(&line.replace("name=A", "name="), &[]);
    assert!(said.contains("give it one"), "{said}");
}

#[test]
fn files_that_are_none_are_refused_in_words() {
    let folder = Scratch::new("refused");
    let (data, out) = (folder.join("a.games.zst"), folder.join("out"));
    games(Path::new(&data));
    let text = |name: &str, content: &[u8]| {
        fs::write(folder.0.join(name), content).unwrap();
        folder.join(name)
    };
    let train = |more: &[&str], part: &str| {
        refused(&[&["train", "--data", &data, "--out", &out][..], more].concat(), part);
    };
    train(&["--config", &folder.join("none.toml")], "cannot read");
    train(&["--config", &text("key.toml", b"stepz = 4\n")], "stepz");
    train(&["--config", &text("cut.toml", b"steps =")], "cannot be understood");
    train(&["--config", &text("bytes.toml", &[0xff, 0, 1])], "not UTF-8");
    train(&["--config", &text("zero.toml", b"workers = 0\n")], "workers");
    train(&["--window", "40"], "window");
    train(&["--shape", "tiny", "--valid", &data], "has learnt from all games of");
    train(&["--device", "gpu", "--steps", "1"], "choose auto or cpu");
    train(&["--start-from", &text("w.safetensors", b"no weights"), "--steps", "1"], "safetensors");
    refused(
        &["train", "--data", &folder.join("none"), "--out", &out],
        "labelled games: cannot read",
    );

    let whole = tiny_weights();
    let evaluate = |name: &str, content: &[u8], part: &str| {
        refused(&["evaluate", "--weights", &text(name, content), "--data", &data], part);
    };
    evaluate("short.safetensors", &whole[..whole.len() / 2], "safetensors");
    evaluate("empty.safetensors", b"", "safetensors");
    evaluate("wrong.safetensors", &[b'X'; 100], "safetensors");
    evaluate("tesla-tiny-00000000.safetensors", &whole, "promises hash");
    let fine = text("fine.safetensors", &whole);
    let puzzles = text("p.csv", b"id,fen,moves\n1,not a fen,e2e4 e7e5\n");
    refused(&["evaluate", "--weights", &fine, "--puzzles", &puzzles], "p.csv");
    refused(&["evaluate", "--weights", &fine, "--puzzles", &folder.join("none.csv")], "none.csv");
    let json = folder.join("no/such/folder.json");
    refused(
        &["evaluate", "--weights", &fine, "--data", &data, "--json", &json],
        "there is no folder",
    );
}

#[test]
fn a_checkpoint_tells_of_every_flipped_bit() {
    let folder = Scratch::new("flipped");
    let config = TrainConfig { steps: 2, ..TrainConfig::new(ModelConfig::tiny()) };
    let data = folder.join("a.games.zst");
    let out = folder.join("run");
    games(Path::new(&data));
    let train = ["train", "--data", &data, "--out", &out, "--shape", "tiny", "--batch", "2"];
    done("", &[&train[..], &["--steps", "2", "--warm-up", "0"]].concat());
    let checkpoint = folder.0.join("run").join("checkpoint");
    let names = ["weights.safetensors", "optimizer.safetensors", "progress.json", "SHA256SUMS"];
    let whole: Vec<Vec<u8>> =
        names.iter().map(|name| fs::read(checkpoint.join(name)).unwrap()).collect();
    let open = || {
        let opened = Trainer::open(config.clone(), Path::new(&out), &Device::flex());
        opened.map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(open(), Ok(()));
    proptest!(ProptestConfig::with_cases(48), |(
        which in 0..names.len(),
        place in any::<prop::sample::Index>(),
        bit in 0..8,
        cut in any::<bool>(),
    )| {
        let path = checkpoint.join(names[which]);
        let mut bytes = whole[which].clone();
        let place = place.index(bytes.len());
        if cut {
            bytes.truncate(place);
        } else {
            bytes[place] ^= 1_u8 << bit;
        }
        fs::write(&path, bytes).unwrap();
        let told = open();
        fs::write(&path, &whole[which]).unwrap();
        prop_assert!(told.as_ref().is_err_and(|said| said.contains("damaged")), "{told:?}");
    });
    assert_eq!(open(), Ok(()));
    fs::write(checkpoint.join(names[0]), b"no weights").unwrap();
    refused(&train, "damaged");
    fs::write(checkpoint.join(names[0]), &whole[0]).unwrap();
    fs::remove_file(checkpoint.join(names[1])).unwrap();
    refused(&train, "optimizer.safetensors");
    fs::write(folder.0.join("run").join("config.json"), b"{").unwrap();
    refused(&train, "damaged");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Weights have no hash inside: a flipped bit may pass, but nothing panics.
    #[test]
    fn no_damage_to_weights_panics(
        place in any::<prop::sample::Index>(),
        bit in 0..8,
        in_head in any::<bool>(),
    ) {
        let mut bytes = tiny_weights();
        // Half of the flips in the header, where they can mean something.
        let length = if in_head { 800 } else { bytes.len() };
        let place = place.index(length);
        bytes[place] ^= 1_u8 << bit;
        let _ = weights::load_bytes(&bytes, &Device::flex());
        prop_assert!(weights::load_bytes(&bytes[..place], &Device::flex()).is_err());
    }

    #[test]
    fn no_config_panics(text in "(?s)[a-z_]{0,12}( = |\\[|=)[-a-z0-9.'\\[\\]\n={}]{0,40}") {
        let path = std::env::temp_dir().join(format!("tesla-any-{}.toml", std::process::id()));
        fs::write(&path, &text).unwrap();
        if let Ok(config) = TrainConfig::default().overlaid(&path) {
            let _ = config.check();
        }
        fs::remove_file(&path).unwrap();
    }
}
