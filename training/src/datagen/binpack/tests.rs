use std::io::Cursor;

use proptest::prelude::*;
use sfbinpack::CompressedTrainingDataEntryWriter;
use sfbinpack::chess::coords::Square as PackedSquare;
use sfbinpack::chess::piece::Piece;
use sfbinpack::chess::piecetype::PieceType;
use shakmaty::{CastlingMode, Move};

use super::*;
use crate::game::state::fen_of;
use crate::labelled::GameRecord;
use crate::labelled::tests::random_game;

fn theirs(m: Move, turn: Color) -> PackedMove {
    let square = |square: shakmaty::Square| PackedSquare::new(u32::from(square));
    let (from, to) = (square(m.from().unwrap()), square(m.to()));
    let color = turn.fold_wb(PackedColor::White, PackedColor::Black);
    match m {
        // As king takes rook, like shakmaty's.
        Move::Castle { .. } => PackedMove::castle(from, to),
        Move::EnPassant { .. } => PackedMove::en_passant(from, to),
        Move::Normal { promotion: Some(role), .. } => {
            let kind = PieceType::from_ordinal(role as u8 - 1);
            PackedMove::promotion(from, to, Piece::new(kind, color))
        }
        _ => PackedMove::normal(from, to),
    }
}

/// The games as a binpack.
fn packed(games: &[GameRecord]) -> Vec<u8> {
    let mut writer = CompressedTrainingDataEntryWriter::new_in_memory().unwrap();
    for game in games {
        let mut position = game.start.clone();
        let mut pos = PackedPosition::from_fen(&fen_of(&position)).unwrap();
        for (ply, label) in game.plies.iter().enumerate() {
            let played = unpack(&position, label.played).unwrap();
            let mv = theirs(played, position.turn());
            let sign = position.turn().fold_wb(1, -1);
            let result = sign * (i16::from(game.result) - 1);
            let entry = TrainingDataEntry { pos, mv, score: label.score, ply: ply as u16, result };
            writer.write_entry(&entry).unwrap();
            pos = pos.after_move(mv);
            position.play_unchecked(played);
        }
    }
    writer.into_bytes().unwrap()
}

/// A random game whose labels a binpack can hold.
fn labelled(seed: u64, plies: usize) -> GameRecord {
    let mut game = random_game(seed, plies);
    game.others.clear();
    for label in &mut game.plies {
        label.best = label.played;
        label.score /= 2;
    }
    game
}

fn read(bytes: Vec<u8>) -> Vec<Result<Taken, String>> {
    let games = BinpackGames::new(Cursor::new(bytes), 1.0);
    games.map(|game| game.map_err(|error| error.to_string())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn games_round_trip(games in prop::collection::vec((any::<u64>(), 1..150_usize), 1..5)) {
        let games: Vec<GameRecord> =
            games.into_iter().map(|(seed, plies)| labelled(seed, plies)).collect();
        let games: Vec<GameRecord> =
            games.into_iter().filter(|game| !game.plies.is_empty()).collect();
        let read: Result<Vec<Taken>, String> = read(packed(&games)).into_iter().collect();
        let read: Vec<GameRecord> =
            read.unwrap().into_iter().flat_map(|taken| taken.games).collect();
        prop_assert_eq!(read, games);
    }

    #[test]
    fn damage_is_told(flips in prop::collection::vec(any::<u32>(), 1..6), cut in 0..200_usize) {
        let mut bytes = packed(&[labelled(1, 80), labelled(2, 80)]);
        for flip in flips {
            let place = flip as usize / 8 % bytes.len();
            bytes[place] ^= 1 << (flip % 8);
        }
        bytes.truncate(bytes.len().saturating_sub(cut));
        // Games with other labels, or a sentence, but no panic and no end of them.
        for game in read(bytes) {
            let is_sound = game.map_or_else(|what| !what.is_empty(), |taken| taken.has_result);
            prop_assert!(is_sound);
        }
    }
}

#[test]
fn scores_are_translated() {
    let file = BinpackGames::new(Cursor::new(Vec::new()), 0.5);
    for (theirs, ours) in [
        (NO_SCORE, None),
        (100, Some(50)),
        (-31_000, Some(-15_500)),
        (31_999, Some(31_999)),
        (31_998, Some(31_999)),
        (31_995, Some(31_997)),
        (-31_996, Some(-31_998)),
    ] {
        assert_eq!(file.score(theirs), ours, "{theirs}");
    }
    let unscored = |score| {
        let mut game = labelled(4, 6);
        game.plies[3].score = score;
        let taken = read(packed(&[game])).remove(0).unwrap();
        (taken.games.len(), taken.gaps)
    };
    assert_eq!(unscored(5), (1, 0));
    assert_eq!(unscored(NO_SCORE), (2, 1));
}

#[test]
fn what_is_no_binpack_is_told() {
    for bytes in [&b"[Event]"[..], b"BINP\xff\xff\xff\xff", b"BINP\x28\0\0\0abc"] {
        let games = read(bytes.to_vec());
        assert!(matches!(&games[..], [Err(_)]), "{games:?}");
    }
    let nonsense = [&b"BINP\x28\0\0\0"[..], &[0x5a; 40]].concat();
    assert!(read(nonsense).iter().all(Result::is_err));
    assert_eq!(read(Vec::new()), []);
}

/// The beginning of a file that Stockfish's tools wrote, as `sfbinpack` publishes it with what is
/// in it.
#[test]
fn a_file_of_others_is_read() {
    let bytes = b"BINP\x26\0\0\0\x82\x82\x90\xd2\x08\xc0FRH:@\0Q\x10\x12q\x9b\x05\0\0\0\0\0\0\
                  \x0ah\x01\x91\0D\0\0\0\x02\x1d\x18\xf5\x08";
    let taken = read(bytes.to_vec()).remove(0).unwrap();
    let game = &taken.games[0];
    assert_eq!(fen_of(&game.start), "1q5b/1r5k/4p2p/1b2P1pN/3p4/6PP/1nP3B1/1Q2B1K1 w - - 0 35");
    let mut position = game.start.clone();
    let mut told = Vec::new();
    for ply in &game.plies {
        let played = unpack(&position, ply.played).unwrap();
        told.push((played.to_uci(CastlingMode::Standard).to_string(), ply.score));
        position.play_unchecked(played);
    }
    let expected = [("c2c4", -201), ("d4d3", 254), ("g2b7", -220)];
    assert_eq!(told, expected.map(|(played, score)| (played.to_owned(), score)));
    assert_eq!((taken.games.len(), taken.gaps, game.result), (1, 0, 1));
}
