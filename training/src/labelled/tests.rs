use std::fs;
use std::io::Write as _;

use proptest::prelude::*;

use super::*;
use crate::datagen::dice::Dice;
use crate::game::state::fen_of;

/// A folder that is gone after the test.
pub(crate) struct Scratch(pub(crate) PathBuf);

impl Scratch {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("tesla-games-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A legal game of random moves and labels, with scores of other moves where the seed is odd; it
/// ends earlier where the rules end it, with one ply at least.
pub(crate) fn random_game(seed: u64, plies: usize) -> GameRecord {
    let mut dice = Dice::new(seed, 0);
    let mut position = Chess::default();
    for _ in 0..dice.below(12) {
        let mut next = position.clone();
        next.play_unchecked(dice.few(&position.legal_moves(), 1)[0]);
        if next.legal_moves().is_empty() {
            break; // some random openings mate
        }
        position = next;
    }
    let mut game = GameRecord {
        start: position.clone(),
        result: dice.below(3) as u8,
        plies: Vec::new(),
        others: Vec::new(),
    };
    for _ in 0..plies {
        let moves = position.legal_moves();
        let (&[played], &[best]) = (&dice.few(&moves, 1)[..], &dice.few(&moves, 1)[..]) else {
            break;
        };
        let mut score = || (dice.below(64_001) as i32 - 32_000) as i16;
        game.plies.push(Ply { played: pack(played), best: pack(best), score: score() });
        if seed % 2 == 1 {
            let others = moves.iter().filter(|&&m| m != best).take(1 + game.plies.len() % 3);
            let others = others.map(|&m| Candidate { played: pack(m), score: score() });
            game.others.push(others.collect());
        }
        position.play_unchecked(played);
    }
    game
}

pub(crate) fn write(path: &Path, games: &[GameRecord]) {
    let mut writer = GameWriter::create(path).unwrap();
    for game in games {
        writer.write(game).unwrap();
    }
    writer.finish().unwrap();
}

fn is_same(a: &GameRecord, b: &GameRecord) -> bool {
    // Positions are equal whatever their clocks say, and their FENs are not.
    a == b && fen_of(&a.start) == fen_of(&b.start)
}

/// A file of three games, and its bytes.
fn sample(scratch: &Scratch) -> (PathBuf, Vec<GameRecord>, Vec<u8>) {
    let path = scratch.0.join("sample.games.zst");
    let games: Vec<GameRecord> = (0..3).map(|seed| random_game(seed, 40)).collect();
    write(&path, &games);
    let bytes = fs::read(&path).unwrap();
    (path, games, bytes)
}

/// What reading these bytes says.
fn complaint(path: &Path, bytes: &[u8]) -> String {
    fs::write(path, bytes).unwrap();
    read_file(path).unwrap_err().to_string()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn games_round_trip(games in prop::collection::vec((any::<u64>(), 0..120_usize), 0..6)) {
        let scratch = Scratch::new("round");
        let path = scratch.0.join("a.games.zst");
        let games: Vec<GameRecord> =
            games.into_iter().map(|(seed, plies)| random_game(seed, plies)).collect();
        write(&path, &games);
        let read = read_file(&path).unwrap();
        prop_assert_eq!(read.len(), games.len());
        prop_assert!(read.iter().zip(&games).all(|(a, b)| is_same(a, b)));
    }

    #[test]
    fn flipped_bits_are_noticed(flips in prop::collection::vec(any::<u32>(), 1..4)) {
        let scratch = Scratch::new("flipped");
        let (path, games, mut bytes) = sample(&scratch);
        for flip in flips {
            let place = flip as usize / 8 % bytes.len();
            bytes[place] ^= 1 << (flip % 8);
        }
        fs::write(&path, &bytes).unwrap();
        if let Ok(read) = read_file(&path) {
            // Bits that say how to read, not what is there.
            prop_assert!(read.len() == games.len());
            prop_assert!(read.iter().zip(&games).all(|(a, b)| is_same(a, b)));
        }
    }

    #[test]
    fn rubbish_is_no_games(bytes in prop::collection::vec(any::<u8>(), 1..300)) {
        let scratch = Scratch::new("rubbish");
        let path = scratch.0.join("a.games.zst");
        fs::write(&path, &bytes).unwrap();
        prop_assert!(read_file(&path).is_err());
        // And none where it is well compressed either.
        fs::write(&path, zstd::encode_all(&bytes[..], 1).unwrap()).unwrap();
        prop_assert!(read_file(&path).is_err());
    }
}

#[test]
fn a_file_that_is_cut_short_is_damaged() {
    let scratch = Scratch::new("cut");
    let (path, _, bytes) = sample(&scratch);
    for length in 1..bytes.len() {
        let said = complaint(&path, &bytes[..length]);
        let expected = if length < 4 { "not a file of games" } else { "is damaged" };
        assert!(said.contains(expected), "{length}: {said}");
    }
}

#[test]
fn what_is_wrong_with_a_file_is_told() {
    let scratch = Scratch::new("wrong");
    let (path, games, _) = sample(&scratch);
    let zipped = |bytes: &[u8]| zstd::encode_all(bytes, 1).unwrap();
    assert!(complaint(&path, b"[Event \"?\"]\n\n1. e4 1-0\n").contains("name .games.zst files"));
    // Lengths that are not kept: of the FEN, of the game, and a window of 2 TiB.
    assert!(complaint(&path, &zipped(&[255])).contains("game 0"));
    let mut raw = Vec::new();
    encode(&games[0], &mut raw).unwrap();
    let plies = 1 + usize::from(raw[0]) + 1;
    raw[plies..plies + 2].copy_from_slice(&[255, 255]);
    assert!(complaint(&path, &zipped(&raw)).contains("it ends too early"));
    let window = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0xf8, 0x01, 0x00, 0x00];
    assert!(complaint(&path, &window).contains("game 0"));
    let mut none = Vec::new();
    encode(&games[0], &mut none).unwrap();
    none[plies + 6..plies + 8].copy_from_slice(&i16::MIN.to_le_bytes());
    assert!(complaint(&path, &zipped(&none)).contains("a score is -32768"));
    raw[plies - 1] = 3;
    raw[plies..plies + 2].copy_from_slice(&[0, 0]);
    assert!(complaint(&path, &zipped(&raw)).contains("its result is 3"));
    raw[1] = b'x';
    assert!(complaint(&path, &zipped(&raw)).contains("damaged"));
    assert!(read_file(Path::new("/no/such/file")).unwrap_err().to_string().contains("cannot read"));
    assert!(complaint(&path, b"").contains("cannot be decompressed"));
    write(&path, &[]);
    assert_eq!(read_file(&path).unwrap(), []);
}

#[test]
fn a_file_appears_when_it_is_whole() {
    let scratch = Scratch::new("whole");
    let (path, games, bytes) = sample(&scratch);
    let mut writer = GameWriter::create(&path).unwrap();
    writer.write(&games[1]).unwrap();
    assert_eq!(fs::read(&path).unwrap(), bytes);
    drop(writer);
    assert_eq!(fs::read_dir(&scratch.0).unwrap().count(), 1);
    let mut writer = GameWriter::create(&path).unwrap();
    let endless = GameRecord { plies: vec![games[0].plies[0]; 70_000], ..games[0].clone() };
    let error = writer.write(&endless).unwrap_err().to_string();
    assert!(error.contains("too long"), "{error}");
    writer.write(&games[2]).unwrap();
    writer.finish().unwrap();
    assert!(is_same(&read_file(&path).unwrap()[0], &games[2]));
}

#[test]
fn streams_of_others_follow_each_other() {
    let scratch = Scratch::new("others");
    let (path, games, bytes) = sample(&scratch);
    File::options().append(true).open(&path).unwrap().write_all(&bytes).unwrap();
    assert_eq!(read_file(&path).unwrap().len(), 2 * games.len());
}

#[test]
fn every_legal_move_round_trips() {
    for fen in [
        "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
        "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
        "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
        "rnbqkb1r/ppppp1pp/7n/4Pp2/8/8/PPPP1PPP/RNBQKBNR w KQkq f6 0 3",
    ] {
        let position: Chess =
            fen.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap();
        for m in position.legal_moves() {
            assert_eq!(unpack(&position, pack(m)), Some(m));
        }
        assert_eq!(unpack(&position, 0), None);
        // And no move has a second way to be written, castling to a rook for example.
        for packed in 0..=u16::MAX {
            assert!(unpack(&position, packed).is_none_or(|m| pack(m) == packed), "{packed}");
        }
    }
}
