//! Reading, judging and recording suites, on hand-written lines of each format.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use super::*;
use crate::disk::journal::{Journal, Resumed};
use crate::game::score::UciScore;
use shakmaty::san::San;
use shakmaty::{CastlingMode, Position};

/// A file that is gone after the test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, text: impl AsRef<[u8]>) -> Scratch {
        let path = std::env::temp_dir().join(format!("tesla-suite-{}-{name}", std::process::id()));
        fs::write(&path, text).unwrap();
        Scratch(path)
    }

    fn read(&self, options: &Options) -> Result<Suite> {
        read(&self.0, options)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn suite(name: &str, text: &str) -> Suite {
    Scratch::new(name, text).read(&Options::default()).unwrap()
}

/// The number of the wrong line, and what is wrong with it.
fn fault(name: &str, text: &str) -> (u64, String) {
    let error = Scratch::new(name, text).read(&Options::default()).unwrap_err().to_string();
    let (_, fault) = error.split_once(", line ").unwrap();
    let (line, fault) = fault.split_once(": ").unwrap();
    let fault = fault.strip_suffix(" (or skip such lines with --lenient)").unwrap();
    (line.parse().unwrap(), fault.to_owned())
}

fn answer(item: &Item, san: &str) -> ItemAnswer {
    let best = San::from_ascii(san.as_bytes()).unwrap().to_move(&item.position).unwrap();
    let time = Duration::from_millis(15);
    ItemAnswer { best, score: Some(UciScore::Cp(12)), depth: 9, nodes: 1000, time, pv: vec![best] }
}

fn points(item: &Item, san: &str) -> (f64, f64, bool) {
    let verdict = judge(item, &answer(item, san), &MateLimits::default());
    (verdict.points, verdict.max, verdict.solved)
}

const START: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -";

#[test]
fn best_moves_and_moves_to_avoid() {
    let text = format!(
        "\u{feff}# a comment\r\n\r\n{START} bm e4 d4+; id \"two; of them\";\r\n\
         {START} am f3 g4;id \"not\"\r\n{START} 3 9 ; bm e2e4; c0 \"mate\";\n{START}\n"
    );
    let suite = suite("bm.epd", &text);
    assert_eq!((suite.items.len(), suite.idle), (3, 1));
    let [two, not, counted] = &suite.items[..] else { panic!() };
    assert_eq!(two.id, "two; of them");
    assert_eq!(points(two, "d4"), (1.0, 1.0, true));
    assert_eq!(points(two, "c4"), (0.0, 1.0, false));
    assert_eq!(points(not, "c4"), (1.0, 1.0, true));
    assert_eq!(points(not, "g4"), (0.0, 1.0, false));
    assert_eq!(counted.fen, format!("{START} 3 9"));
    assert!(counted.id.ends_with("bm.epd:5") || counted.id.ends_with("bm:5"), "{}", counted.id);
}

#[test]
fn points_of_the_strategic_test_suite() {
    let text = format!(
        "{START} bm e4; id \"STS(v1.0) X.001\"; c0 \"e4=10, d4=9\"; c7 \"e4 d4\"; c8 \"10 9\"; \
         c9 \"e2e4 d2d4\";\n\
         {START} bm e4; c0 \"e4=10, Nf3+=2\";\n\
         {START} bm e4; c7 \"e4 Nf3\"; c8 \"100 4\";\n\
         {START} bm e4; c8 \"a comment\"; c0 \"Win; file=line 98\";\n\
         {START} bm e4; c0 \"depth=12\";\n\
         {START} am e4; c0 \"e4=10, Ke3=2\";\n"
    );
    let suite = suite("sts.epd", &text);
    for item in &suite.items[4..] {
        assert!(matches!(item.task, Task::BestMoves { .. }), "{:?}", item.task);
    }
    assert_eq!(points(&suite.items[0], "d4"), (9.0, 10.0, false));
    assert_eq!(points(&suite.items[0], "e4"), (10.0, 10.0, true));
    assert_eq!(points(&suite.items[0], "c4"), (0.0, 10.0, false));
    assert_eq!(points(&suite.items[1], "Nf3"), (2.0, 10.0, false));
    assert_eq!(points(&suite.items[2], "Nf3"), (4.0, 100.0, false));
    assert!(matches!(suite.items[3].task, Task::BestMoves { .. }));
}

#[test]
fn mates_and_what_is_judged_first() {
    let ladder = "8/6k1/R7/1R6/8/8/8/K7 w - -";
    let text = format!(
        "{ladder} dm 2; bm Rb7+; c7 \"Rb7 Kb2\"; c8 \"3 1\";\n\
         {ladder} bm #2;\n8/8/8/8/8/2k5/8/1K5r w - - hmvc 7; fmvn 60; dm -3;\n\
         8/8/8/8/8/8/2k5/K6R w - - wdl 2; c5 \"draw\";\n"
    );
    let file = Scratch::new("dm.epd", &text);
    let tasks = |judge| {
        let suite = file.read(&Options { judge, ..Options::default() }).unwrap();
        assert_eq!(suite.items.len() + suite.idle, 4);
        suite.items
    };
    let auto = tasks(JudgeBy::Auto);
    assert!(matches!(auto[0].task, Task::Points { max: 3, .. }));
    assert_eq!(auto[1].task, Task::Mate { moves: 2 });
    assert_eq!(auto[2].task, Task::Mate { moves: -3 });
    assert!(auto[2].fen.ends_with(" 7 60"), "{}", auto[2].fen);
    assert!(matches!(tasks(JudgeBy::Moves)[..], [Item { task: Task::BestMoves { .. }, .. }]));
    assert_eq!(tasks(JudgeBy::Points).len(), 1);
    let mates = tasks(JudgeBy::Mate);
    assert_eq!(mates.len(), 3);
    assert_eq!(points(&mates[0], "Rb7+"), (1.0, 1.0, true));
    assert_eq!(points(&mates[0], "Ka2"), (0.0, 1.0, false));
}

#[test]
fn errors_name_the_line_and_the_fault() {
    for (line, expected) in [
        (format!("{START} bm Qd5;"), "the move 'Qd5' of bm is not legal here"),
        (format!("{START} am e5;"), "the move 'e5' of am is not legal here"),
        (format!("{START} bm ;"), "bm names no move"),
        (format!("{START} bm e4; id \"x;"), "the string after 'id' is not closed"),
        (format!("{START} c7 \"e4\"; c8 \"1 2\";"), "1 moves in c7, but 2 points in c8"),
        ("8/8 w".into(), "it is neither EPD nor FEN: 2 of the four fields"),
        ("7k/6Q1/6K1/8/8/8/8/8 b - - dm 1;".into(), "the side to move has no legal move"),
    ] {
        let text = format!("{START} bm e4;\n\n{line}\n");
        let (number, fault) = fault("faults.epd", &text);
        assert!(number == 3 && fault.starts_with(expected), "{line}: {number}, {fault}");
    }
    let over = "7k/6Q1/6K1/8/8/8/8/8 b - - wdl -2;\n";
    assert_eq!(suite("over.epd", over).idle, 1, "nothing is asked there");
    for (line, part) in [
        (format!("{START} dm 0;"), "negative for the side that is mated"),
        (format!("{START} dm two;"), "dm 'two' is not a count"),
        (format!("{START} hmvc x; bm e4;"), "hmvc 'x'"),
        ("9/8/8/8/8/8/8/8 w - - bm e4;".into(), "is not a FEN"),
        ("8/8/8/8/8/8/8/8 w - - bm e4;".into(), "is not a chess position"),
    ] {
        let (_, fault) = fault("texts.epd", &line);
        assert!(fault.contains(part), "{fault}");
    }
}

#[test]
fn lenient_reading_skips_and_tells() {
    let text = format!("{START} bm e4;\nnonsense\n{START} bm e5;\n{START} bm d4;\n");
    let file = Scratch::new("lenient.epd", &text);
    let suite = file.read(&Options { lenient: true, ..Options::default() }).unwrap();
    assert_eq!(suite.items.len(), 2);
    assert_eq!(suite.skipped.iter().map(|s| s.line).collect::<Vec<_>>(), [2, 3]);
    let lenient = Options { lenient: true, ..Options::default() };
    let all_bad = Scratch::new("bad.epd", "x\ny\n").read(&lenient);
    let all_bad = all_bad.unwrap_err().to_string();
    assert!(all_bad.starts_with("none of the 2 lines of"), "{all_bad}");
    assert!(all_bad.contains("the first, line 1: it is neither EPD nor FEN"), "{all_bad}");
    let empty = Scratch::new("empty.epd", "\n# nothing\n").read(&lenient);
    assert!(empty.unwrap_err().to_string().contains("holds no positions"));
    let missing = read(&PathBuf::from("no/such/file"), &lenient).unwrap_err().to_string();
    assert!(missing.starts_with("cannot read no/such/file"), "{missing}");
}

#[test]
fn other_character_sets_cost_only_comments() {
    let mut bytes = format!("{START} bm e4; c0 \"").into_bytes();
    bytes.extend(b"Gr\xfcnfeld\";\n");
    let suite = Scratch::new("latin.epd", bytes).read(&Options::default()).unwrap();
    assert_eq!(suite.items.len(), 1);
}

#[test]
fn takes_the_first_or_a_sample() {
    let lines: Vec<String> =
        (0..50).map(|n| format!("{START} bm e4; id \"{n}\";\n{START}\n")).collect();
    let file = Scratch::new("sample.epd", lines.concat() + "nonsense\n");
    let ids = |selection| -> Vec<usize> {
        let options = Options { selection, lenient: true, ..Options::default() };
        file.read(&options).unwrap().items.iter().map(|i| i.id.parse().unwrap()).collect()
    };
    assert_eq!(ids(Selection::First(3)), [0, 1, 2]);
    assert_eq!(ids(Selection::First(99)).len(), 50);
    assert_eq!(ids(Selection::Sample { count: 99, seed: 1 }).len(), 50);
    let sample = ids(Selection::Sample { count: 10, seed: 1 });
    assert_eq!(sample.len(), 10);
    assert!(sample.is_sorted_by(|a, b| a < b), "{sample:?}");
    assert_eq!(sample, ids(Selection::Sample { count: 10, seed: 1 }));
    assert_ne!(sample, ids(Selection::Sample { count: 10, seed: 2 }));
    let mut drawn = [0; 50];
    for seed in 0..400 {
        for id in ids(Selection::Sample { count: 10, seed }) {
            drawn[id] += 1;
        }
    }
    // 80 each, standard deviation 8
    assert!(drawn.iter().all(|&n| (45..115).contains(&n)), "{drawn:?}");
    let first = Options { selection: Selection::First(1), ..Options::default() };
    assert_eq!(file.read(&first).unwrap().items.len(), 1, "the wrong last line is not reached");
}

const LICHESS: &str = "PuzzleId,FEN,Moves,Rating,RatingDeviation,Popularity,NbPlays,Themes,\
                       GameUrl,OpeningTags\n\
    a1,7k/8/8/8/8/8/R7/KR6 b - - 0 1,h8g8 b1b7 g8f8 a2a8,812,80,90,1234,\"mate mateIn2 short\",\
    https://lichess.org/x,\n";

#[test]
fn puzzles_of_both_headers() {
    let long = suite("long.csv", LICHESS);
    let short = suite(
        "short.csv",
        "id,fen,moves,rating,themes,nbplays,sources\n\
         a1,7k/8/8/8/8/8/R7/KR6 b - - 0 1,h8g8 b1b7 g8f8 a2a8,812,mate mateIn2 short,,\"a,b\"\n\
         \"a2\",7k/8/8/8/8/8/R7/KR6 b - - 0 1,h8g8 b1b7 g8f8 a2a8,,,,\n",
    );
    assert_eq!(long.items[0].task, short.items[0].task);
    assert_eq!(long.items[0].fen, "6k1/8/8/8/8/8/R7/KR6 w - - 1 2");
    let Task::Puzzle { line, rating, themes } = &long.items[0].task else { panic!() };
    assert_eq!((line.len(), *rating, &themes[1][..]), (3, Some(812), "mateIn2"));
    assert!(matches!(&short.items[1].task, Task::Puzzle { rating: None, .. }));
    assert_eq!(points(&long.items[0], "Rb7"), (0.0, 1.0, false), "the line is not at its end");
}

#[test]
fn wrong_puzzles_are_named() {
    let header = "id,fen,moves,rating\n";
    let fen = "7k/8/8/8/8/8/R7/KR6 b - - 0 1";
    let line = |rest: &str| fault("wrong.csv", &format!("{header}p,{fen},h8g8 b1b7,5\n{rest}\n"));
    for (wrong, expected) in [
        (format!("p,{fen},h8g8,5"), "the puzzle has 1 moves"),
        (format!("p,{fen},h8g8 b1c7,5"), "the move 'b1c7' of Moves is not legal"),
        (format!("p,{fen},h8g8 b1b7,many"), "Rating 'many' is not a number"),
        ("p,x".to_owned(), "not CSV (2 columns, the header has 4)"),
    ] {
        let (number, fault) = line(&wrong);
        assert!(number == 3 && fault.starts_with(expected), "{wrong}: {number}, {fault}");
    }
    let column = Scratch::new("column.csv", "id,fen\np,x\n").read(&Options::default());
    assert!(column.unwrap_err().to_string().contains("has no column 'Moves'"));
    let empty = Scratch::new("empty.csv", header).read(&Options::default());
    assert!(empty.unwrap_err().to_string().contains("holds no positions"));
}

fn record(item: &Item, san: &str) -> Record {
    let answer = answer(item, san);
    let verdict = judge(item, &answer, &MateLimits::default());
    Record::new(item, &[answer], verdict)
}

#[test]
fn a_journal_lets_a_run_go_on() {
    let text =
        format!("{START} bm e4; id \"a\";\n{START} bm d4; id \"b\";\n{START} bm c4; id \"c\";\n");
    let items = suite("run.epd", &text).items;
    let file = Scratch::new("run.jsonl", "");
    fs::remove_file(&file.0).unwrap();
    let run = serde_json::json!({"suite": "run.epd"});
    let open = || Journal::<Record>::open(&file.0, &run).unwrap();
    let Resumed { mut journal, records, .. } = open();
    assert!(records.is_empty());
    journal.append(&record(&items[0], "e4")).unwrap();
    journal.append(&record(&items[1], "e4")).unwrap();
    drop(journal);
    let whole = fs::read(&file.0).unwrap();
    fs::write(&file.0, &whole[..whole.len() - 9]).unwrap();
    let Resumed { mut journal, records, .. } = open();
    assert_eq!(records, [record(&items[0], "e4")], "the torn line is gone");
    let left = remaining(&items, &records);
    assert_eq!(left.iter().map(|i| i.id.as_str()).collect::<Vec<_>>(), ["b", "c"]);
    let twice = [items[0].clone(), items[1].clone(), items[0].clone()];
    let ids: Vec<&str> = remaining(&twice, &records).iter().map(|i| i.id.as_str()).collect();
    assert_eq!(ids, ["b", "a"]);
    for item in left {
        journal.append(&record(item, "d4")).unwrap();
    }
    let records = Journal::<Record>::read(&file.0).unwrap();
    assert_eq!(summarize(&records, Grouping::Whole)[0].solved, 2);
    assert_eq!(summarize(&records, Grouping::Whole)[0].nodes, 3000);
    assert_eq!(records[0].answers[0].best, "e2e4");
    assert_eq!(compare(&records, &records).both, 2);
}

#[test]
fn records_of_all_kinds_come_back_as_they_were() {
    let ladder = "8/6k1/R7/1R6/8/8/8/K7 w - -";
    let mut items = suite(
        "all.epd",
        &format!("{ladder} bm Rb7;\n{ladder} dm 2;\n{ladder} c7 \"Rb7\"; c8 \"7\";"),
    )
    .items;
    items.extend(suite("all.csv", LICHESS).items);
    for item in &items {
        for record in [record(item, "Rb7+"), Record::new(item, &[], Grade::no_move(item))] {
            let line = serde_json::to_string(&record).unwrap();
            assert_eq!(serde_json::from_str::<Record>(&line).unwrap(), record);
        }
    }
}

#[test]
fn an_illegal_answer_earns_nothing() {
    let items = suite("illegal.epd", &format!("{START} am f3;\n")).items;
    let mut answer = answer(&items[0], "e4");
    let black = items[0].position.clone().swap_turn().unwrap();
    answer.best = black.legal_moves()[0];
    let verdict = judge(&items[0], &answer, &MateLimits::default());
    assert_eq!((verdict.solved, verdict.detail), (false, Detail::NoMove));
}

#[test]
fn chess960_castles_by_its_own_rules() {
    let text = "1r1k3r/8/8/8/8/8/8/1R1K3R w HBhb - bm O-O;\n";
    let items = suite("frc.epd", text).items;
    assert_eq!(items[0].castling_mode, CastlingMode::Chess960);
    let record = record(&items[0], "O-O");
    assert!(record.verdict.solved);
    assert_eq!(record.answers[0].best, "d1h1");
    assert!(PuzzleRun::new(&items[0]).is_none());
}
