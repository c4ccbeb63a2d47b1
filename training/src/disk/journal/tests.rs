use std::fs;

use proptest::prelude::*;
use serde::Deserialize;

use super::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Game {
    number: u64,
    text: String,
}

fn game(number: u64) -> Game {
    Game { number, text: format!("{{\"\u{e4}\n{}", "x".repeat(number as usize)) }
}

/// A file of its own for each test, removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("tesla-journal-{}-{name}", std::process::id()));
        let _ = fs::remove_file(&path);
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn fingerprint() -> Value {
    json!({"engines": [{"name": "a", "hash": 16}, {"name": "b"}], "margin": 0.1, "seed": 7})
}

fn resume(path: &Path) -> Result<Resumed<Journal<Game>, Game>> {
    Journal::resume(path, &fingerprint())
}

/// Plays what is missing of five games, in this order, and puts the file in order.
fn finish(resumed: Resumed<Journal<Game>, Game>, order: &[u64]) {
    let Resumed { mut journal, mut records, .. } = resumed;
    for &number in order {
        if !records.contains(&game(number)) {
            journal.append(&game(number)).unwrap();
            records.push(game(number));
        }
    }
    records.sort_by_key(|game| game.number);
    journal.replace(&fingerprint(), &records).unwrap();
}

/// The file of an undisturbed match of five games.
fn whole(path: &Path) -> Vec<u8> {
    let _ = fs::remove_file(path);
    finish(Journal::open(path, &fingerprint()).unwrap(), &[2, 0, 1, 4, 3]);
    fs::read(path).unwrap()
}

#[test]
fn a_file_cut_at_any_byte_ends_as_if_undisturbed() {
    let scratch = Scratch::new("cut");
    let path = &scratch.0;
    let expected = whole(path);
    for length in 0..=expected.len() {
        fs::write(path, &expected[..length]).unwrap();
        let resumed = resume(path).unwrap();
        let before = resumed.records.len() as u64;
        assert_eq!(resumed.records, (0..before).map(game).collect::<Vec<_>>());
        let last_line = expected[..length].iter().rposition(|&byte| byte == b'\n');
        assert_eq!(resumed.cut_bytes as usize, length - last_line.map_or(0, |at| at + 1));
        finish(resumed, &[3, 4, 0, 2, 1]);
        assert_eq!(fs::read(path).unwrap(), expected, "cut at {length}");
    }
}

#[test]
fn games_stand_as_they_ended() {
    let scratch = Scratch::new("simple");
    let path = &scratch.0;
    let mut journal = Journal::create(path, &fingerprint()).unwrap();
    for number in [2, 0] {
        journal.append(&game(number)).unwrap();
    }
    drop(journal);
    // The end of a crash of the whole machine: the length grew, the bytes did not come.
    let mut bytes = fs::read(path).unwrap();
    let length = bytes.len();
    bytes.extend([0; 100]);
    for tail in [&b""[..], b"\n"] {
        fs::write(path, [&bytes, tail].concat()).unwrap();
        let Resumed { mut journal, records, cut_bytes } = resume(path).unwrap();
        assert_eq!(records, [game(2), game(0)]);
        assert_eq!(cut_bytes as usize, 100 + tail.len());
        assert_eq!(fs::metadata(path).unwrap().len() as usize, length);
        journal.append(&game(1)).unwrap();
        drop(journal);
        assert_eq!(resume(path).unwrap().records, [game(2), game(0), game(1)]);
    }
}

#[test]
fn another_match_is_refused_by_the_field() {
    let scratch = Scratch::new("other");
    let path = &scratch.0;
    whole(path);
    let before = fs::read(path).unwrap();
    // A torn last line must survive the refusal.
    fs::write(path, &before[..before.len() - 3]).unwrap();
    for (pointer, value, field, there, here) in [
        ("/engines/0/hash", json!(32), "match.engines[0].hash", "16", "32"),
        ("/engines/1", json!({}), "match.engines[1].name", "\"b\"", "absent"),
        ("/engines", json!([]), "match.engines[0]", "{\"hash\":16,\"name\":\"a\"}", "absent"),
        ("/margin", json!(0.2), "match.margin", "0.1", "0.2"),
        ("/seed", json!("7"), "match.seed", "7", "\"7\""),
    ] {
        let mut now = fingerprint();
        *now.pointer_mut(pointer).unwrap() = value;
        let error = Journal::<Game>::resume(path, &now).unwrap_err().to_string();
        let name = field.rsplit('.').next().unwrap();
        let said = format!("different run: {name} is {there} there and {here} here ({field})");
        assert!(error.contains(&said), "{error}");
    }
    let mut now = fingerprint();
    now["input_sha256"] = json!("1f");
    let error = Journal::<Game>::resume(path, &now).unwrap_err().to_string();
    assert!(error.contains("(match.input_sha256 differs); name another file"), "{error}");
    let text =
        String::from_utf8(before.clone()).unwrap().replacen("\"version\":1", "\"version\":2", 1);
    fs::write(path, &text).unwrap();
    let error = resume(path).unwrap_err().to_string();
    assert!(error.contains("version is 2 there and 1 here"), "{error}");
    assert_eq!(fs::read_to_string(path).unwrap(), text);
}

#[test]
fn files_of_others_are_left_alone() {
    let scratch = Scratch::new("others");
    let path = &scratch.0;
    for text in ["hello", "hello\n", "{}\n", "{\"former\":", "[1]", "{\"format\":\"x\"}\n", "\0"] {
        fs::write(path, text).unwrap();
        let error = resume(path).unwrap_err();
        assert!(error.to_string().contains("is not a results file"), "{error}");
        assert_eq!(fs::read_to_string(path).unwrap(), text);
        let error = Journal::<Game>::create(path, &fingerprint()).unwrap_err();
        assert!(error.to_string().contains("exists already"), "{error}");
    }
    // Our own header, but edited by hand and without its end of line.
    let text = String::from_utf8(header(&fingerprint())).unwrap();
    fs::write(path, text.replace('\n', " ")).unwrap();
    assert!(resume(path).unwrap_err().to_string().contains("is not a results file"));
    fs::remove_file(path).unwrap();
    assert!(resume(path).unwrap_err().to_string().starts_with("cannot use"));
}

#[test]
fn damage_inside_is_named_and_kept() {
    let scratch = Scratch::new("damage");
    let path = &scratch.0;
    let text = String::from_utf8(whole(path)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    for (line, damage) in [(3, "garbage"), (2, ""), (4, "{\"number\":1}"), (6, "{\"number\":1}")] {
        let mut damaged = lines.clone();
        damaged[line - 1] = damage;
        let text = damaged.join("\n") + "\n";
        fs::write(path, &text).unwrap();
        let error = Journal::<Game>::resume(path, &fingerprint()).unwrap_err().to_string();
        assert!(error.starts_with(&format!("line {line} of the results file")), "{error}");
        assert_eq!(fs::read_to_string(path).unwrap(), text);
    }
}

#[test]
fn one_run_at_a_time() {
    let scratch = Scratch::new("lock");
    let journal = Journal::<Game>::create(&scratch.0, &fingerprint()).unwrap();
    assert!(resume(&scratch.0).unwrap_err().to_string().starts_with("another run is writing"));
    drop(journal);
    assert!(resume(&scratch.0).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Any order of endings, killed at any byte, any number of times.
    #[test]
    fn kills_and_orders_leave_no_trace(
        kills in prop::collection::vec((any::<u16>(), any::<u16>()), 0..4),
    ) {
        let scratch = Scratch::new("kills");
        let path = &scratch.0;
        let expected = whole(path);
        fs::write(path, b"").unwrap();
        for (cut, rotation) in kills.into_iter().chain([(u16::MAX, 3)]) {
            let mut order = [0, 1, 2, 3, 4];
            order.rotate_left(usize::from(rotation) % 5);
            finish(resume(path).unwrap(), &order);
            prop_assert_eq!(&fs::read(path).unwrap(), &expected);
            if cut != u16::MAX {
                fs::write(path, &expected[..usize::from(cut) % expected.len()]).unwrap();
            }
        }
    }
}
