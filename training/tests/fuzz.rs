//! Every kind of file that the tool reads, damaged at random: it is used, or refused in a sentence
//! with exit code 2; nothing panics. `TESLA_FUZZ_ROUNDS` sets how many damages of each kind are
//! tried.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[path = "support/program.rs"]
#[expect(dead_code, reason = "other tests use the rest")]
mod program;

use std::fs;

use rand::RngExt;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use tesla_engine::best_first::params::Params;

use program::{Scratch, done, program};

/// Damages of each kind of file, where nobody asks for more.
const ROUNDS: u32 = 12;

/// A kind of file: its name in the folder, and the command that reads it, `FILE` standing for it,
/// `DIR` for the folder it is in and `OUT` for one that is empty.
type Kind = (&'static str, &'static str);

const KINDS: [Kind; 12] = [
    ("games/a.games.zst", "inspect FILE --samples 2"),
    ("whole.games.zst", "merge FILE --out OUT"),
    ("games.pgn", "import FILE --out OUT --lenient"),
    ("strict.pgn", "import FILE --out OUT"),
    ("match/results.jsonl", "report DIR --out OUT.html"),
    ("tune/fit.json", "report DIR --out OUT.html"),
    ("train/loss.csv", "report DIR --out OUT.html"),
    ("figures.json", "report FILE --out OUT.html"),
    ("logged/observations.jsonl", "tune fit --out DIR"),
    ("tunables.toml", "tune fit --out LOGGED --from FILE"),
    ("suite.epd", "suite FILE --side name=A option.Evaluator=Classical nodes=1 --out OUT"),
    ("puzzles.csv", "suite FILE --side name=A option.Evaluator=Classical nodes=1 --out OUT"),
];

/// The bytes with something wrong: cut short, bits flipped, another beginning, bytes between, or
/// none.
fn damaged(whole: &[u8], rng: &mut ChaCha8Rng) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    let place = rng.random_range(0..bytes.len());
    match rng.random_range(0..10) {
        0 => bytes.clear(),
        1 | 2 => bytes.truncate(place),
        3 => bytes.splice(..bytes.len().min(8), *b"\x00MAGIC\xff\n").for_each(drop),
        4 | 5 => {
            let noise: Vec<u8> = (0..rng.random_range(1..40)).map(|_| rng.random()).collect();
            bytes.splice(place..place, noise).for_each(drop);
        }
        _ => {
            for _ in 0..rng.random_range(1..6) {
                let place = rng.random_range(0..bytes.len());
                bytes[place] ^= 1_u8 << rng.random_range(0..8);
            }
        }
    }
    bytes
}

/// One whole file of each kind.
fn prepare(scratch: &Scratch) {
    let [games, tune, logged, played] =
        ["games", "tune", "logged", "match"].map(|name| scratch.join(name));
    let options = "--option Evaluator=Classical";
    done(
        &format!("datagen --games 6 --nodes 60 --max-plies 60 --option Search=AlphaBeta {options}"),
        &["--out", &games],
    );
    let shard = fs::read_dir(&games)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_str().unwrap().ends_with(".games.zst"))
        .unwrap();
    fs::copy(&shard, scratch.0.join("whole.games.zst")).unwrap();
    done(
        &format!("tune log --positions 50 --most 150 {options}"),
        &["--data", &games, "--out", &tune],
    );
    // The shard alone, under its name in the list.
    fs::remove_dir_all(&games).unwrap();
    fs::create_dir(&games).unwrap();
    fs::copy(scratch.0.join("whole.games.zst"), scratch.0.join("games/a.games.zst")).unwrap();
    done("tune fit", &["--out", &tune]);
    fs::create_dir(&logged).unwrap();
    fs::rename(scratch.join("tune/observations.jsonl"), scratch.join("logged/observations.jsonl"))
        .unwrap();
    let sides = "--side name=A nodes=20 option.Evaluator=Classical --side name=B nodes=30 \
                 option.Evaluator=Classical";
    done(&format!("match --games 2 --max-moves 30 {sides}"), &["--out", &played]);
    let pgn = fs::read(scratch.join("match/games.pgn")).unwrap();
    fs::remove_file(scratch.join("match/games.pgn")).unwrap();
    let text = |name: &str, text: &[u8]| {
        fs::create_dir_all(scratch.0.join(name).parent().unwrap()).unwrap();
        fs::write(scratch.0.join(name), text).unwrap();
    };
    text("games.pgn", &pgn);
    text("strict.pgn", &pgn);
    text(
        "train/loss.csv",
        b"step,positions,rate,value,policy,action,error,rmse_points,norm,positions_per_second,\
          consistency,idle,skipped\n50,1000,0.005,4.1,2.8,0.7,-0.3,33,1,1361,0,0.06,0\n",
    );
    text(
        "figures.json",
        br#"{"network":"tiny-00","block_parameters":1,"parameters":2,"every":1,"games":null,
            "puzzles":[{"player":"policy","all":{"label":"all","items":2,"solved":1,"first_right":1,
            "low":0.1,"high":0.9},"bands":[],"rating":"700"}]}"#,
    );
    text("tunables.toml", Params::default().to_file("as shipped").as_bytes());
    text("suite.epd", b"6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - bm Rd8#; dm 1; id \"a\";\n");
    text(
        "puzzles.csv",
        b"PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,GameUrl,OpeningTags\n\
          a,6k1/5ppp/8/8/8/7P/5PP1/3R2K1 b - - 0 1,g8f8 d1d8,600,80,90,10,mateIn1,,\n",
    );
}

#[test]
fn damaged_files_are_used_or_refused_in_words() {
    let rounds = std::env::var("TESLA_FUZZ_ROUNDS").ok().and_then(|text| text.parse().ok());
    let scratch = Scratch::new("fuzz");
    prepare(&scratch);
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let (mut used, mut refused) = (0, 0);
    for (name, command) in KINDS {
        let path = scratch.0.join(name);
        let whole = fs::read(&path).unwrap();
        for round in 0..=rounds.unwrap_or(ROUNDS) {
            // The whole file first: else every damage could be refused for another reason.
            let bytes = if round == 0 { whole.clone() } else { damaged(&whole, &mut rng) };
            fs::write(&path, &bytes).unwrap();
            let out = scratch.join("out");
            let folder = path.parent().unwrap().to_str().unwrap();
            let line = command
                .replace("FILE", path.to_str().unwrap())
                .replace("DIR", folder)
                .replace("LOGGED", &scratch.join("logged"))
                .replace("OUT", &out);
            let output = program(&line, &[]).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            let shown = String::from_utf8_lossy(&bytes);
            assert!(!said.contains("panicked"), "{line}: {said}\n{shown}");
            match output.status.code() {
                Some(0) => used += 1,
                Some(2) if round > 0 => {
                    assert!(said.trim().len() > 20, "{line}: '{said}'");
                    refused += 1;
                }
                other => panic!("{line}: {other:?}, {said}\n{shown}"),
            }
            let _ = fs::remove_dir_all(&out);
            let _ = fs::remove_file(format!("{out}.html"));
            let _ = fs::remove_file(format!("{out}.games.zst"));
        }
        fs::write(&path, &whole).unwrap();
    }
    assert!(used > 0 && refused > 0, "{used} used, {refused} refused");
}
