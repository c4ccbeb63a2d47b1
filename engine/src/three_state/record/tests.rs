//! What is written is read again, and nothing else is believed.

use shakmaty::Chess;

use super::*;
use crate::three_state::State;

fn samples() -> Vec<Record> {
    let position = Packed::new(&Chess::new()).unwrap();
    let (best, state) = (PackedMove(0x1234), State::Uncertain);
    let entry = PositionRecord { best, state, seen: 1, wins: 2, draws: 3, losses: 4, last: 5 };
    vec![
        Record::Move(MoveMade { position, best, state }),
        Record::Game(GameOver {
            winner: Some(Color::Black),
            is_estimated: true,
            confident: [false, true],
            moves: [1, 2, 3],
            positions: vec![position; 3],
        }),
        Record::Position(position, entry),
        Record::Past(PastGame {
            result: GameResult::Win,
            is_estimated: false,
            moves: [7, 8, 9],
            threshold: -1_800,
            positions: 77,
        }),
        Record::Totals(Totals {
            threshold: 2_200,
            games: 6,
            moves: [u64::MAX, 1 << 40, 3],
            confident: 4,
            confident_wins: 2,
        }),
    ]
}

fn read(bytes: &[u8]) -> (Vec<Record>, usize, Ending) {
    let mut records = Vec::new();
    let (length, ending) = read_all(bytes, |record| records.push(record));
    (records, length, ending)
}

/// The samples as bytes, and where each ends.
fn written() -> (Vec<u8>, Vec<usize>) {
    let (mut bytes, mut ends) = (Vec::new(), Vec::new());
    for record in samples() {
        record.write(&mut bytes);
        ends.push(bytes.len());
    }
    (bytes, ends)
}

#[test]
fn records_come_back() {
    let (bytes, _) = written();
    assert_eq!(read(&bytes), (samples(), bytes.len(), Ending::Whole));
    assert_eq!(read(&[]), (Vec::new(), 0, Ending::Whole));
}

#[test]
fn a_cut_loses_the_last_record_only() {
    let (bytes, ends) = written();
    for length in 0..bytes.len() {
        let whole = ends.iter().take_while(|&&end| end <= length).count();
        let (records, taken, ending) = read(&bytes[..length]);
        assert_eq!(records, samples()[..whole], "cut at {length}");
        let at = if whole == 0 { 0 } else { ends[whole - 1] };
        let expected = if at == length { Ending::Whole } else { Ending::CutShort };
        assert_eq!((taken, ending), (at, expected), "cut at {length}");
    }
    // The bytes behind this one never came to the disk; fewer than four may be a checksum's.
    for came in 0..bytes.len() - 4 {
        for more in [0, 100] {
            let mut zeros = bytes[..came].to_vec();
            zeros.resize(bytes.len() + more, 0);
            let whole = ends.iter().take_while(|&&end| end <= came).count();
            let (records, _, ending) = read(&zeros);
            // A record that ends in zeros may have come whole.
            assert!(records.len() >= whole && records == samples()[..records.len()], "{came}");
            assert_eq!(ending, Ending::CutShort, "{came} and {more}");
        }
    }
    let mut zeros = bytes.clone();
    zeros.extend([0; 100]);
    assert_eq!(read(&zeros), (samples(), bytes.len(), Ending::CutShort));
}

#[test]
fn every_flipped_bit_is_damage() {
    let (bytes, _) = written();
    for place in 0..bytes.len() {
        for bit in 0..8 {
            let mut bytes = bytes.clone();
            bytes[place] ^= 1 << bit;
            assert_eq!(read(&bytes).2, Ending::Damaged, "byte {place}, bit {bit}");
        }
    }
}
