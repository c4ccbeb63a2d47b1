//! What an experience file is made of, byte by byte. Numbers are little-endian.
//!
//! The file is [`HEADER`], then records. A record is the length of its body in bytes (32 bits), the same number with
//! every bit turned, the body, and a checksum of the body (32 bits, FNV-1a). The turned length tells a record that a
//! crash cut short, which can only be the last one, from a file that was damaged. A body begins with its kind.

use shakmaty::Color;

use super::State;
use super::packed::{BYTES, Packed, PackedMove};

/// What every file begins with: the name of the format and its version.
pub(super) const HEADER: [u8; 12] = *b"TESLAEXP\x01\0\0\0";

/// Bytes of the header that name the format; the rest is the version.
pub(super) const MAGIC: usize = 8;

/// Bytes before a body.
const BEFORE: usize = 8;
/// Bytes of the checksum behind it.
const BEHIND: usize = 4;

/// One thing that happened, or that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// A move was made.
    Move(MoveMade),
    /// A game ended.
    Game(GameOver),
    /// What is known of a position, when a file is written anew.
    Entry(Packed, Entry),
    /// A game that ended before the file was written anew, oldest first.
    Past(PastGame),
    /// Sums, when a file is written anew.
    Totals(Totals),
}

/// A move, and why it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MoveMade {
    /// Where.
    pub(super) position: Packed,
    /// Which.
    pub(super) best: PackedMove,
    /// Why.
    pub(super) state: State,
}

/// The end of a game, for all positions in which we moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GameOver {
    /// `None` = a draw.
    pub(super) winner: Option<Color>,
    /// Nobody told, and the rules had not decided it: guessed from the last value.
    pub(super) is_estimated: bool,
    /// Whether White and Black were ever confident.
    pub(super) confident: [bool; 2],
    /// Moves by state.
    pub(super) moves: [u32; 3],
    /// Where we moved, in order.
    pub(super) positions: Vec<Packed>,
}

impl GameOver {
    /// The side that moved first among ours.
    pub(super) fn our_side(&self) -> Color {
        self.positions.first().map_or(Color::White, |position| position.turn())
    }
}

/// What is known of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The move last made there.
    pub(super) best: PackedMove,
    /// Why it was made.
    pub(super) state: State,
    /// How often a move was made there.
    pub(super) seen: u32,
    /// Games won by the side to move, as far as their ends are known or guessed.
    pub(super) wins: u32,
    /// Games drawn.
    pub(super) draws: u32,
    /// Games lost.
    pub(super) losses: u32,
    /// Games that had ended when it was seen last.
    pub(super) last: u32,
}

/// The result of a game for the side that played it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum GameResult {
    /// Lost.
    Loss,
    /// Drawn.
    Draw,
    /// Won.
    Win,
}

/// A game in a few numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PastGame {
    /// For the side whose move came first among ours.
    pub(super) result: GameResult,
    /// See [`GameOver::is_estimated`].
    pub(super) is_estimated: bool,
    /// Moves by state.
    pub(super) moves: [u32; 3],
    /// The threshold it was played with, in thousandths of a pawn.
    pub(super) threshold: i32,
    /// Positions known when it ended.
    pub(super) positions: u32,
}

/// Sums over all games.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Totals {
    /// From which quick evaluation on we are confident, in thousandths of a pawn.
    pub(super) threshold: i32,
    /// Games that ended.
    pub(super) games: u32,
    /// Moves by state, those of games without an end included.
    pub(super) moves: [u64; 3],
    /// Games since the threshold was last judged in which a side was confident.
    pub(super) confident: u32,
    /// Those of them that it won.
    pub(super) confident_wins: u32,
}

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
            Self::Entry(position, entry) => {
                let [low, high] = entry.best.0.to_le_bytes();
                let body = body.byte(3).position(*position).byte(low).byte(high);
                let Entry { seen, wins, draws, losses, last, .. } = *entry;
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
                Self::Entry(position, Entry { best, state, seen, wins, draws, losses, last })
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
    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
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
pub(super) enum Ending {
    /// The file is whole.
    Whole,
    /// The last record was cut short by a crash; all before it is good.
    CutShort,
    /// What stands here was never written by us.
    Damaged,
}

/// Reads the bytes behind the header: calls `take` with each record; answers with how many bytes they took together
/// and what comes after.
pub(super) fn read_all(bytes: &[u8], mut take: impl FnMut(Record)) -> (usize, Ending) {
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
    // A file that grew before its bytes came to the disk ends in zeros; a body is never empty.
    if bytes.iter().all(|&byte| byte == 0) {
        return Err(Ending::CutShort);
    }
    let mut reader = Reader(bytes);
    let (Some(length), Some(turned)) = (reader.int(), reader.int()) else {
        return Err(Ending::CutShort);
    };
    if turned != !length {
        return Err(Ending::Damaged);
    }
    let Some((body, rest)) = reader.0.split_at_checked(length as usize) else {
        return Err(Ending::CutShort);
    };
    let Some(sum) = Reader(rest).int() else { return Err(Ending::CutShort) };
    let record = if sum == checksum(body) { Record::read(body) } else { None };
    record.map(|record| Some((record, BEFORE + body.len() + BEHIND))).ok_or(Ending::Damaged)
}

#[cfg(test)]
mod tests {
    use shakmaty::Chess;

    use super::*;

    fn samples() -> Vec<Record> {
        let position = Packed::new(&Chess::new()).unwrap();
        let (best, state) = (PackedMove(0x1234), State::Uncertain);
        let entry = Entry { best, state, seen: 1, wins: 2, draws: 3, losses: 4, last: 5 };
        vec![
            Record::Move(MoveMade { position, best, state }),
            Record::Game(GameOver {
                winner: Some(Color::Black),
                is_estimated: true,
                confident: [false, true],
                moves: [1, 2, 3],
                positions: vec![position; 3],
            }),
            Record::Entry(position, entry),
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
}
