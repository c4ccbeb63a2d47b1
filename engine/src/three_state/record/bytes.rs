//! Records as bytes. Numbers are little-endian.
//!
//! A file is [`HEADER`], then records. A record is the length of its body in bytes (32 bits), the
//! same number with every bit turned, the body, and a checksum of the body (32 bits, FNV-1a). The
//! turned length tells a record that a crash cut short, which can only be the last one, from a file
//! that was damaged. A body begins with its kind.

use shakmaty::Color;

use super::{GameOver, GameResult, MoveMade, PastGame, PositionRecord, Record, Totals};
use crate::three_state::State;
use crate::three_state::packed::{BYTES, Packed, PackedMove};

/// What every file begins with: the name of the format and its version.
pub(in crate::three_state) const HEADER: [u8; 12] = *b"TESLAEXP\x01\0\0\0";

/// Bytes of the header that name the format; the rest is the version.
pub(in crate::three_state) const MAGIC: usize = 8;

/// Bytes before a body.
const BEFORE: usize = 8;
/// Bytes of the checksum behind it.
const BEHIND: usize = 4;
/// Fewest zeros at the end of a file that tell of a crash: fewer may be a checksum's.
const LEAST_ZEROS: usize = 4;

/// FNV-1a.
fn checksum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, &byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

/// Writes numbers behind each other.
struct Body(Vec<u8>);

impl Body {
    fn byte(mut self, byte: u8) -> Self {
        self.0.push(byte);
        self
    }

    fn int(mut self, number: u32) -> Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    fn ints<const N: usize>(self, numbers: [u32; N]) -> Self {
        numbers.into_iter().fold(self, Self::int)
    }

    fn position(mut self, position: Packed) -> Self {
        self.0.extend(position.0);
        self
    }
}

/// Takes numbers off the front.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (front, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*front)
    }

    fn byte(&mut self) -> Option<u8> {
        self.bytes::<1>().map(|[byte]| byte)
    }

    fn int(&mut self) -> Option<u32> {
        self.bytes().map(u32::from_le_bytes)
    }

    fn ints<const N: usize>(&mut self) -> Option<[u32; N]> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = self.int()?;
        }
        Some(numbers)
    }

    fn position(&mut self) -> Option<Packed> {
        self.bytes::<BYTES>().map(Packed)
    }

    fn packed_move(&mut self) -> Option<PackedMove> {
        self.bytes().map(|bytes| PackedMove(u16::from_le_bytes(bytes)))
    }

    fn state(&mut self) -> Option<State> {
        State::ALL.get(usize::from(self.byte()?)).copied()
    }

    fn result(&mut self) -> Option<GameResult> {
        [GameResult::Loss, GameResult::Draw, GameResult::Win]
            .get(usize::from(self.byte()?))
            .copied()
    }

    fn flag(&mut self) -> Option<bool> {
        self.byte().map(|byte| byte != 0)
    }
}

impl Record {
    fn body(&self) -> Vec<u8> {
        let body = Body(Vec::with_capacity(64));
        let body = match self {
            Self::Move(made) => {
                let [low, high] = made.best.0.to_le_bytes();
                body.byte(1).position(made.position).byte(low).byte(high).byte(made.state as u8)
            }
            Self::Game(over) => {
                let winner = over.winner.map_or(2, |side| u8::from(side.is_black()));
                let body = body.byte(2).byte(winner).byte(u8::from(over.is_estimated));
                let [white, black] = over.confident.map(u8::from);
                let body = body.byte(white).byte(black).ints(over.moves);
                over.positions.iter().fold(body, |body, &position| body.position(position))
            }
            Self::Position(position, entry) => {
                let [low, high] = entry.best.0.to_le_bytes();
                let body = body.byte(3).position(*position).byte(low).byte(high);
                let PositionRecord { seen, wins, draws, losses, last, .. } = *entry;
                body.byte(entry.state as u8).ints([seen, wins, draws, losses, last])
            }
            Self::Past(game) => {
                let body = body.byte(4).byte(game.result as u8).byte(u8::from(game.is_estimated));
                body.ints(game.moves).int(game.threshold as u32).int(game.positions)
            }
            Self::Totals(totals) => {
                let body = body.byte(5).int(totals.threshold as u32).int(totals.games);
                let wide =
                    |body: Body, number: u64| body.ints([number as u32, (number >> 32) as u32]);
                let body = totals.moves.into_iter().fold(body, wide);
                body.ints([totals.confident, totals.confident_wins])
            }
        };
        body.0
    }

    /// Reads a body; `None` where it is none of ours.
    fn read(body: &[u8]) -> Option<Self> {
        let mut reader = Reader(body);
        let record = match reader.byte()? {
            1 => {
                let (position, best) = (reader.position()?, reader.packed_move()?);
                Self::Move(MoveMade { position, best, state: reader.state()? })
            }
            2 => Self::Game(game_over(&mut reader)?),
            3 => {
                let (position, best, state) =
                    (reader.position()?, reader.packed_move()?, reader.state()?);
                let [seen, wins, draws, losses, last] = reader.ints()?;
                Self::Position(
                    position,
                    PositionRecord { best, state, seen, wins, draws, losses, last },
                )
            }
            4 => Self::Past(PastGame {
                result: reader.result()?,
                is_estimated: reader.flag()?,
                moves: reader.ints()?,
                threshold: reader.int()? as i32,
                positions: reader.int()?,
            }),
            5 => {
                let (threshold, games) = (reader.int()? as i32, reader.int()?);
                let moves: [u32; 6] = reader.ints()?;
                let wide =
                    |place: usize| u64::from(moves[place]) | u64::from(moves[place + 1]) << 32;
                let [confident, confident_wins] = reader.ints()?;
                let moves = [wide(0), wide(2), wide(4)];
                Self::Totals(Totals { threshold, games, moves, confident, confident_wins })
            }
            _ => return None,
        };
        reader.0.is_empty().then_some(record)
    }

    /// Appends the record to a file's bytes.
    pub(in crate::three_state) fn write(&self, bytes: &mut Vec<u8>) {
        let body = self.body();
        let length = body.len() as u32;
        bytes.extend(length.to_le_bytes());
        bytes.extend((!length).to_le_bytes());
        bytes.extend(&body);
        bytes.extend(checksum(&body).to_le_bytes());
    }
}

fn game_over(reader: &mut Reader<'_>) -> Option<GameOver> {
    let winner = match reader.byte()? {
        0 => Some(Color::White),
        1 => Some(Color::Black),
        2 => None,
        _ => return None,
    };
    let is_estimated = reader.flag()?;
    let confident = [reader.flag()?, reader.flag()?];
    let moves = reader.ints()?;
    let mut positions = Vec::with_capacity(reader.0.len() / BYTES);
    while !reader.0.is_empty() {
        positions.push(reader.position()?);
    }
    Some(GameOver { winner, is_estimated, confident, moves, positions })
}

/// Why the records of a file end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::three_state) enum Ending {
    /// The file is whole.
    Whole,
    /// The last record was cut short by a crash; all before it is good.
    CutShort,
    /// What stands here was never written by us.
    Damaged,
}

/// Reads the bytes behind the header: calls `take` with each record; answers with how many bytes
/// they took together and what comes after.
pub(in crate::three_state) fn read_all(
    bytes: &[u8],
    mut take: impl FnMut(Record),
) -> (usize, Ending) {
    let mut at = 0;
    loop {
        let rest = &bytes[at..];
        match first(rest) {
            Ok(None) => return (at, Ending::Whole),
            Ok(Some((record, length))) => {
                take(record);
                at += length;
            }
            Err(ending) => return (at, ending),
        }
    }
}

/// The first record and its bytes; `None` at the end.
fn first(bytes: &[u8]) -> Result<Option<(Record, usize)>, Ending> {
    if bytes.is_empty() {
        return Ok(None);
    }
    // A file that grew before its bytes came to the disk ends in zeros, from any byte of a record
    // on. A body is never empty.
    if bytes.iter().all(|&byte| byte == 0) {
        return Err(Ending::CutShort);
    }
    let broken = |length: usize| {
        let zeros = bytes.iter().rev().take_while(|&&byte| byte == 0).count();
        let begins_here = bytes.len() - zeros < length;
        if zeros >= LEAST_ZEROS && begins_here { Ending::CutShort } else { Ending::Damaged }
    };
    let mut reader = Reader(bytes);
    let (Some(length), Some(turned)) = (reader.int(), reader.int()) else {
        return Err(Ending::CutShort);
    };
    if turned != !length {
        return Err(broken(BEFORE));
    }
    let Some((body, rest)) = reader.0.split_at_checked(length as usize) else {
        return Err(Ending::CutShort);
    };
    let Some(sum) = Reader(rest).int() else { return Err(Ending::CutShort) };
    let record = if sum == checksum(body) { Record::read(body) } else { None };
    let length = BEFORE + body.len() + BEHIND;
    record.map(|record| Some((record, length))).ok_or_else(|| broken(length))
}
