//! The experience and its file: nothing is lost, nothing damaged is believed or overwritten, and
//! two do not share it unawares.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;
use shakmaty::{CastlingMode, Chess, Color, Position as _, PositionError, Setup, Square};

use super::experience::Experience;
use super::file::{ExperienceFile, FileError, read};
use super::packed::{Packed, PackedMove};
use super::record::{GameOver, HEADER, MoveMade, Record};
use super::{Memory, State, export};

/// A folder of its own, gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("tesla-experience-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self) -> PathBuf {
        self.0.join("some.experience")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A position for each number: its bits are knights. White moves in the even ones.
fn position(number: usize) -> Packed {
    let mut setup = Setup::empty();
    setup.board.set_piece_at(Square::A1, Color::White.king());
    setup.board.set_piece_at(Square::H8, Color::Black.king());
    for bit in (0..16).filter(|bit| number >> bit & 1 == 1) {
        setup.board.set_piece_at(Square::new(24 + bit), Color::White.knight());
    }
    setup.turn = Color::from_white(number.is_multiple_of(2));
    let position = setup.position::<Chess>(CastlingMode::Standard);
    let position = position
        .or_else(PositionError::ignore_too_much_material)
        .or_else(PositionError::ignore_impossible_check);
    Packed::new(&position.unwrap()).unwrap()
}

fn made(number: usize) -> Record {
    let (position, best) = (position(number), PackedMove(number as u16));
    Record::Move(MoveMade { position, best, state: State::ALL[number % 3] })
}

fn over(winner: Option<Color>, confident: bool, positions: &[usize]) -> Record {
    Record::Game(GameOver {
        winner,
        is_estimated: false,
        confident: [confident, false],
        moves: [1, 2, 3],
        positions: positions.iter().map(|&number| position(number)).collect(),
    })
}

/// Some moves, and now and then the end of a game.
fn history(count: usize) -> Vec<Record> {
    let result = |number: usize| match number % 3 {
        0 => None,
        1 => Some(Color::White),
        _ => Some(Color::Black),
    };
    (0..count)
        .map(|number| match number % 10 {
            9 => over(result(number), number % 20 == 9, &[(number - 3) % 256, (number - 2) % 256]),
            _ => made(number % 256),
        })
        .collect()
}

fn learnt(records: &[Record]) -> Experience {
    let mut experience = Experience::new(1_000_000);
    for record in records {
        experience.apply(record);
    }
    experience
}

/// What a file says, and the bytes that a crash had left behind it.
fn reopened(path: &Path) -> (Experience, usize) {
    let mut experience = Experience::new(1_000_000);
    let (_, opened) = ExperienceFile::open(path, |record| experience.apply(&record)).unwrap();
    (experience, opened.cut_bytes)
}

fn write(path: &Path, records: &[Record]) -> Vec<u8> {
    let (mut file, _) = ExperienceFile::open(path, |_| {}).unwrap();
    for record in records {
        file.append(record).unwrap();
    }
    std::fs::read(path).unwrap()
}

#[test]
fn what_was_written_is_there_again() {
    let folder = Folder::new();
    let records = history(60);
    write(&folder.file(), &records[..30]);
    assert_eq!(reopened(&folder.file()), (learnt(&records[..30]), 0));
    write(&folder.file(), &records[30..]);
    assert_eq!(reopened(&folder.file()), (learnt(&records), 0));
}

#[test]
fn a_file_cut_anywhere_keeps_its_whole_records_and_goes_on() {
    let folder = Folder::new();
    let records = history(12);
    let bytes = write(&folder.file(), &records);
    for length in HEADER.len()..bytes.len() {
        std::fs::write(folder.file(), &bytes[..length]).unwrap();
        let (experience, cut) = reopened(&folder.file());
        let whole = (0..=records.len()).rev().find(|&n| learnt(&records[..n]) == experience);
        let whole = whole.expect("what is left is a beginning of what was");
        assert!(whole + 1 >= records.len() * length / bytes.len() / 2, "cut at {length}: {whole}");
        assert_eq!(std::fs::read(folder.file()).unwrap(), bytes[..length - cut]);
        write(&folder.file(), &records[whole..]);
        assert_eq!(std::fs::read(folder.file()).unwrap(), bytes, "cut at {length}");
    }
    for length in 1..HEADER.len() {
        std::fs::write(folder.file(), &bytes[..length]).unwrap();
        assert!(matches!(read(&folder.file(), |_| {}), Err(FileError::NotOurs(_))));
    }
    std::fs::write(folder.file(), []).unwrap();
    assert_eq!(reopened(&folder.file()), (Experience::new(1_000_000), 0), "an empty file is new");
}

/// It is somebody's, so no other file takes its place; and what it held before is not known.
#[test]
fn an_empty_file_is_begun_in_with_a_sentence() {
    let folder = Folder::new();
    std::fs::write(folder.file(), []).unwrap();
    let other_name = folder.file().with_extension("link");
    std::fs::hard_link(folder.file(), &other_name).unwrap();
    let (memory, note) = Memory::open(&folder.file(), 1_000).unwrap();
    let note = note.unwrap();
    assert!(note.contains("was empty") && note.contains("put a copy"), "{note}");
    drop(memory);
    assert_eq!(std::fs::read(other_name).unwrap(), HEADER);
    let (_, note) = Memory::open(&folder.file(), 1_000).unwrap();
    assert_eq!(note, None);
}

#[test]
fn a_damaged_file_gets_a_sentence_and_stays_as_it_is() {
    let folder = Folder::new();
    let bytes = write(&folder.file(), &history(12));
    for place in 0..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[place] ^= 0x20;
        std::fs::write(folder.file(), &bytes).unwrap();
        let error = Memory::open(&folder.file(), 1_000).unwrap_err();
        match place {
            0..8 => assert!(matches!(error, FileError::NotOurs(_)), "{error}"),
            8..12 => assert!(matches!(error, FileError::Version { .. }), "{error}"),
            _ => assert!(error.to_string().contains("left as it is"), "{error}"),
        }
        assert_eq!(std::fs::read(folder.file()).unwrap(), bytes);
    }
}

#[test]
fn a_file_has_one_process_at_a_time() {
    let folder = Folder::new();
    let held = ExperienceFile::open(&folder.file(), |_| {}).unwrap();
    let error = ExperienceFile::open(&folder.file(), |_| {}).unwrap_err();
    assert!(matches!(error, FileError::Locked(_)), "{error}");
    drop(held);
    ExperienceFile::open(&folder.file(), |_| {}).unwrap();
}

#[test]
fn searches_of_one_process_learn_together() {
    let folder = Folder::new();
    // The same file by another name.
    let other = folder.0.join(".").join("some.experience");
    for round in 1..=3 {
        let (first, note) = Memory::open(&folder.file(), 100).unwrap();
        let (second, _) = Memory::open(&other, 100).unwrap();
        assert_eq!(note, None);
        first.record(&made(1));
        let seen = second.ask(|experience| experience.get(position(1)).unwrap().seen);
        assert_eq!(seen, round, "what was learnt before is there again");
    }
}

#[test]
fn a_file_is_written_anew_and_says_the_same() {
    let folder = Folder::new();
    let (memory, _) = Memory::open(&folder.file(), 1_000_000).unwrap();
    let mut longest = 0;
    for record in history(12_000) {
        memory.record(&record);
        longest = longest.max(std::fs::metadata(folder.file()).unwrap().len());
    }
    let size = std::fs::metadata(folder.file()).unwrap().len();
    assert!(size < longest, "it was never written anew: {size}");
    let live = memory.ask(|experience| experience.len() + experience.past().len());
    assert!(longest < 100 * 2 * (4_096 + 2 * live as u64), "{longest} bytes for {live} records");
    let before = memory.ask(Experience::clone);
    drop(memory);
    assert_eq!(reopened(&folder.file()).0, before);
    assert_eq!(before.past().len(), 1_200);
}

/// What a crash leaves while a file is written anew: the file as it was, and half of the next one.
#[test]
fn half_a_new_file_is_of_no_use() {
    let folder = Folder::new();
    let records = history(20);
    let bytes = write(&folder.file(), &records);
    let half = folder.0.join("some.experience.abc123.new");
    std::fs::write(&half, &bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(reopened(&folder.file()), (learnt(&records), 0));
    let (file, _) = ExperienceFile::open(&folder.file(), |_| {}).unwrap();
    let mut file = file.rewrite(learnt(&records).snapshot()).unwrap();
    assert!(!half.exists());
    file.append(&made(3)).unwrap();
    drop(file);
    let mut expected = learnt(&records);
    expected.apply(&made(3));
    assert_eq!(reopened(&folder.file()).0, expected, "what comes goes into the new file");
}

#[test]
fn the_bound_is_kept_and_the_most_seen_stay() {
    let mut experience = Experience::new(100);
    for number in 0..2_000 {
        experience.apply(&made(number));
        experience.apply(&made(7));
        assert!(experience.len() <= 100);
    }
    assert_eq!(experience.get(position(7)).unwrap().seen, 2_000 + 1);
    assert!(experience.get(position(1_999)).is_some(), "the newest of the least seen");
    assert!(experience.get(position(50)).is_none());
    let (oldest, newest) = (experience.len(), 40);
    experience.set_size(newest);
    assert!(experience.len() <= newest && experience.len() < oldest);
}

#[test]
fn results_are_those_of_the_side_to_move() {
    let mut experience = Experience::new(100);
    for record in
        [made(0), made(1), over(Some(Color::White), false, &[0, 1]), over(None, false, &[1])]
    {
        experience.apply(&record);
    }
    let fate = |number| {
        let entry = experience.get(position(number)).unwrap();
        (entry.wins, entry.draws, entry.losses)
    };
    assert_eq!((fate(0), fate(1)), ((1, 0, 0), (0, 1, 1)), "White moves in the first, Black next");
}

/// Part 9: the threshold after so many confident games of which these share is won.
fn threshold(wins: usize, games: usize, rounds: usize) -> i32 {
    let mut experience = Experience::new(100);
    for number in 0..games * rounds {
        let winner = (number % games < wins).then_some(Color::White);
        experience.apply(&over(winner, true, &[0]));
        // A game without confidence says nothing.
        experience.apply(&over(Some(Color::Black), false, &[0]));
    }
    experience.totals().threshold
}

#[test]
fn the_threshold_follows_the_games() {
    assert_eq!(threshold(20, 20, 1), 1_800, "all won: too cautious");
    assert_eq!(threshold(17, 20, 1), 2_000, "85 % is not above 85 %");
    assert_eq!(threshold(18, 20, 1), 1_800);
    assert_eq!(threshold(15, 20, 1), 2_000, "75 % is not below 75 %");
    assert_eq!(threshold(14, 20, 1), 2_200, "too bold");
    assert_eq!(threshold(10, 19, 1), 2_000, "too few games to judge");
    assert_eq!(threshold(0, 20, 50), 3_000);
    assert_eq!(threshold(20, 20, 50), 1_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever happened, a file cut at any byte holds a beginning of it.
    #[test]
    fn any_history_survives_any_cut(
        numbers in prop::collection::vec(0..200_usize, 1..40),
        cut in 0.0..1.0,
    ) {
        let folder = Folder::new();
        let records: Vec<Record> = numbers
            .iter()
            .map(|&number| match number % 5 {
                0 => over(Some(Color::Black), number % 2 == 0, &numbers),
                _ => made(number),
            })
            .collect();
        let bytes = write(&folder.file(), &records);
        let length = HEADER.len() + ((bytes.len() - HEADER.len()) as f64 * cut) as usize;
        std::fs::write(folder.file(), &bytes[..length]).unwrap();
        let (experience, _) = reopened(&folder.file());
        let found = (0..=records.len()).any(|count| learnt(&records[..count]) == experience);
        prop_assert!(found);
    }

    /// No bytes cause a panic or a huge allocation.
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let folder = Folder::new();
        std::fs::write(folder.file(), [&HEADER[..], &bytes].concat()).unwrap();
        let _ = read(&folder.file(), |_| {});
    }
}

/// What is exported are chosen moves of finished games, one game each, with their results.
#[test]
fn experience_becomes_labelled_games() {
    let start = Packed::new(&Chess::default()).unwrap();
    let e4 = Chess::default()
        .legal_moves()
        .into_iter()
        .find(|played| PackedMove::new(*played).uci() == "e2e4");
    let best = PackedMove::new(e4.unwrap());
    let made = |state| Record::Move(MoveMade { position: start, best, state });
    let game = |winner| {
        let positions = vec![start];
        Record::Game(GameOver {
            winner,
            is_estimated: false,
            confident: [false; 2],
            moves: [0, 0, 1],
            positions,
        })
    };
    let exported = |state, least| {
        let wins = [Some(Color::White), Some(Color::White), None].map(game);
        let mut records = vec![made(state)];
        records.extend(wins);
        export::labelled_games(&learnt(&records), least)
    };
    let (text, count) = exported(State::Uncertain, 3);
    assert_eq!(count, 1);
    assert!(text.contains("[FEN \"rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1\"]"));
    // Two wins, a draw and one draw more: three of four points.
    let cp = tesla_nn::evaluator::centipawns_from_score(0.75) / 100.0;
    assert!(text.ends_with(&format!("\n1. e4 {{{cp:+.2}/3}} 1-0\n\n")), "{text}");
    // A random move is no label, and too few games are not enough.
    assert_eq!(exported(State::Ignorant, 1).1, 0);
    assert_eq!(exported(State::Uncertain, 4).1, 0);
}
