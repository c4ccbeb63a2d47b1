//! Labelled games on disk: zstd streams of games, little-endian.
//!
//! A game is: length of the FEN (u8), FEN (start position), result (u8: 0 Black won, 1 draw, 2
//! White won), number of records (u16), then per ply the move played (u16), the teacher's best
//! move (u16) and the teacher's score (i16, centipawns for the side to move, ±(32000 − n) = mate
//! in n). Moves are `from | to << 6 | promotion << 12` (0 none, 1 knight … 4 queen; a1 = 0,
//! castling as the king's two-square step).
//!
//! Where the teacher told scores of other moves too, the game begins with a zero byte (no FEN has
//! that length), and each ply's record is followed by their number (u8), and move (u16) and score
//! (i16) of each.

mod folder;
mod room;
pub mod unique;
mod writer;

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use shakmaty::fen::Fen;
use shakmaty::{
    CastlingMode, Chess, EnPassantMode, File as BoardFile, Move, Position, Role, Square,
};
use tesla_nn::files::{self, FileError};

pub use folder::{
    EXTENSION, HELD_OUT, find_files, find_learnable, holds_games, is_games_file, is_held_out_file,
};
pub(crate) use folder::{UNFINISHED, file_name};
pub use room::Room;
pub use writer::{GameWriter, encode};

/// Scores beyond this are mates: `32000 − moves`.
pub const MATE_CENTIPAWNS: i16 = 31_000;

/// First byte of a game with other moves' scores; without them it is the length of the FEN.
const WITH_OTHERS: u8 = 0;

/// Why a data file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A file cannot be read or written.
    #[error("labelled games: {0}")]
    File(#[from] FileError),
    /// Something else's file.
    #[error(
        "{path} is not a file of games: it cannot be decompressed ({what}); name .games.zst files"
    )]
    NotGames {
        /// The file.
        path: PathBuf,
        /// What zstd said.
        what: String,
    },
    /// The bytes are no games.
    #[error("game {game} of {path} is damaged: {what}; download or make the file again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Number of the game in the file, from 0.
        game: usize,
        /// What is wrong with it.
        what: String,
    },
    /// A folder or file without games.
    #[error("found no games in {0}; name .games.zst files or a folder that holds them")]
    Empty(PathBuf),
    /// A folder that a killed merge or import has left.
    #[error(
        "{0} holds half of a merge or an import that was killed (files that end in .part); delete \
         the folder's files, and run that command again"
    )]
    Unfinished(PathBuf),
    /// More than fits into memory.
    #[error(
        "the games of {path} do not fit into the {free_mb} MiB of memory that are free for them; \
         name fewer games, or free some memory"
    )]
    TooMany {
        /// The file.
        path: PathBuf,
        /// What there was for all games, MiB.
        free_mb: u64,
    },
    /// The format has no room for it.
    #[error("a game cannot be stored: {0}")]
    Unwritable(String),
}

/// One ply of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ply {
    /// Move played, packed.
    pub played: u16,
    /// The teacher's best move, packed.
    pub best: u16,
    /// The teacher's score for the side to move, centipawns or mate.
    pub score: i16,
}

impl Ply {
    /// The teacher's expected score in `[0, 1]` for the side to move.
    pub fn expected(self) -> f32 {
        expected(self.score)
    }
}

/// A move that the teacher scored though it is not the best one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The move, packed.
    pub played: u16,
    /// Its score for the side to move, centipawns or mate, as in [`Ply`].
    pub score: i16,
}

impl Candidate {
    /// The teacher's expected score in `[0, 1]` for the side to move.
    pub fn expected(self) -> f32 {
        expected(self.score)
    }
}

/// Expected score of what a file holds.
fn expected(score: i16) -> f32 {
    if score.abs() > MATE_CENTIPAWNS {
        return if score > 0 { 1.0 } else { 0.0 };
    }
    tesla_nn::evaluator::score_from_centipawns(f32::from(score))
}

/// One game.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GameRecord {
    /// Start position.
    pub start: Chess,
    /// 0 Black won, 1 draw, 2 White won.
    pub result: u8,
    /// The plies.
    pub plies: Vec<Ply>,
    /// By ply, other moves that the teacher scored, at most 255 each; empty where it told of its
    /// best move only.
    pub others: Vec<Vec<Candidate>>,
}

impl GameRecord {
    /// Memory that it takes, bytes.
    pub fn bytes(&self) -> usize {
        let others = self.others.iter();
        let others: usize = others.map(|o| size_of_val(o) + size_of_val(o.as_slice())).sum();
        // The vectors' own room, and what the lists of those who keep games hold beside them.
        2 * size_of::<Self>() + self.plies.len() + size_of_val(self.plies.as_slice()) + 2 * others
    }

    /// Other moves that the teacher scored in ply `index`.
    pub fn others_at(&self, index: usize) -> &[Candidate] {
        self.others.get(index).map_or(&[], Vec::as_slice)
    }
}

/// Packs a move as the files do.
pub fn pack(m: Move) -> u16 {
    let from = m.from().map_or(0, u16::from);
    let to = match m {
        Move::Castle { king, rook } => {
            let file = if king < rook { BoardFile::G } else { BoardFile::C };
            u16::from(Square::from_coords(file, king.rank()))
        }
        _ => u16::from(m.to()),
    };
    let promotion = m.promotion().map_or(0, |role| role as u16 - 1);
    from | to << 6 | promotion << 12
}

/// The legal move that `packed` names, if it is one. Does not list all moves.
pub fn unpack(position: &Chess, packed: u16) -> Option<Move> {
    let from = Square::new(u32::from(packed & 63));
    let to = Square::new(u32::from(packed >> 6 & 63));
    let promotion = match packed >> 12 {
        0 => None,
        1 => Some(Role::Knight),
        2 => Some(Role::Bishop),
        3 => Some(Role::Rook),
        4 => Some(Role::Queen),
        _ => return None,
    };
    let board = position.board();
    let role = board.role_at(from)?;
    let capture = board.role_at(to);
    let m = if role == Role::King && from.distance(to) == 2 && from.rank() == to.rank() {
        let file = if to > from { BoardFile::H } else { BoardFile::A };
        Move::Castle { king: from, rook: Square::from_coords(file, from.rank()) }
    } else if role == Role::Pawn && capture.is_none() && from.file() != to.file() {
        Move::EnPassant { from, to }
    } else {
        Move::Normal { role, from, capture, to, promotion }
    };
    // Only a pawn's move to the last rank says what it becomes, and each move is written in one
    // way.
    (m.promotion() == promotion && position.is_legal(m)).then_some(m)
}

/// Reads a file game by game. Start positions must be legal chess; moves are not tried.
pub struct GameReader {
    path: PathBuf,
    stream: BufReader<zstd::Decoder<'static, BufReader<File>>>,
    games: usize,
    is_over: bool,
}

impl std::fmt::Debug for GameReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GameReader").field("path", &self.path).finish_non_exhaustive()
    }
}

impl GameReader {
    /// Opens a file.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let stream = zstd::Decoder::new(files::open(path)?);
        let stream = stream.map_err(FileError::at("read", path))?;
        let (path, stream) = (path.to_owned(), BufReader::new(stream));
        Ok(Self { path, stream, games: 0, is_over: false })
    }

    fn read(&mut self) -> Result<Option<GameRecord>, RecordError> {
        let damaged =
            |what| RecordError::Damaged { path: self.path.clone(), game: self.games, what };
        let length = match self.stream.fill_buf() {
            Ok([]) => return Ok(None),
            Ok([length, ..]) => *length,
            Err(error) if self.games == 0 && !is_zstd(&self.path) => {
                let (path, what) = (self.path.clone(), error.to_string());
                return Err(RecordError::NotGames { path, what });
            }
            Err(error) => return Err(damaged(error.to_string())),
        };
        self.stream.consume(1);
        let game = read_game(&mut self.stream, length).map_err(damaged)?;
        self.games += 1;
        Ok(Some(game))
    }
}

/// Whether the file begins as zstd's do: then it is one that was damaged.
fn is_zstd(path: &Path) -> bool {
    let begins = || fill::<4>(&mut files::open(path).ok()?).ok();
    begins() == Some(zstd::zstd_safe::MAGICNUMBER.to_le_bytes())
}

/// Ends after the first error.
impl Iterator for GameReader {
    type Item = Result<GameRecord, RecordError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let game = self.read();
        self.is_over = !matches!(game, Ok(Some(_)));
        game.transpose()
    }
}

/// Reads all games of a file, checking each: start positions must be legal chess.
///
/// # Errors
/// When the file cannot be read, is cut short or holds no legal games, or more of them than fit
/// into memory.
pub fn read_file(path: &Path) -> Result<Vec<GameRecord>, RecordError> {
    read_within(path, &mut Room::of_machine())
}

/// The same; the games take their memory from `room`, for a small file may hold gigabytes of them.
///
/// # Errors
/// As [`read_file`].
pub fn read_within(path: &Path, room: &mut Room) -> Result<Vec<GameRecord>, RecordError> {
    let mut games = Vec::new();
    for game in GameReader::open(path)? {
        let game = game?;
        room.take(path, game.bytes())?;
        games.push(game);
    }
    Ok(games)
}

/// Reads a game that begins with this byte.
fn read_game(stream: &mut impl Read, first: u8) -> Result<GameRecord, String> {
    let has_others = first == WITH_OTHERS;
    let fen_length = if has_others { fill::<1>(stream)?[0] } else { first };
    let mut fen = vec![0; usize::from(fen_length)];
    stream.read_exact(&mut fen).map_err(|error| cut_short(&error))?;
    let start = Fen::from_ascii(&fen)
        .map_err(|error| error.to_string())?
        .into_position::<Chess>(CastlingMode::Standard)
        .map_err(|error| error.to_string())?;
    let [result, low, high] = fill(stream)?;
    let count = u16::from_le_bytes([low, high]);
    let (mut plies, mut others) = (Vec::with_capacity(count.into()), Vec::new());
    for _ in 0..count {
        let b: [u8; 6] = fill(stream)?;
        plies.push(Ply {
            played: u16::from_le_bytes([b[0], b[1]]),
            best: u16::from_le_bytes([b[2], b[3]]),
            score: read_score([b[4], b[5]])?,
        });
        if has_others {
            let [count] = fill(stream)?;
            let read = (0..count).map(|_| read_candidate(stream));
            others.push(read.collect::<Result<_, _>>()?);
        }
    }
    if result > 2 {
        return Err(format!("its result is {result}, not 0, 1 or 2"));
    }
    Ok(GameRecord { start, result, plies, others })
}

fn read_candidate(stream: &mut impl Read) -> Result<Candidate, String> {
    let b: [u8; 4] = fill(stream)?;
    Ok(Candidate { played: u16::from_le_bytes([b[0], b[1]]), score: read_score([b[2], b[3]])? })
}

/// The one number that has no opposite is nobody's score.
fn read_score(bytes: [u8; 2]) -> Result<i16, String> {
    match i16::from_le_bytes(bytes) {
        i16::MIN => Err(format!("a score is {}, which no position has", i16::MIN)),
        score => Ok(score),
    }
}

fn fill<const N: usize>(stream: &mut impl Read) -> Result<[u8; N], String> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).map_err(|error| cut_short(&error))?;
    Ok(bytes)
}

fn cut_short(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => "it ends too early".to_owned(),
        _ => error.to_string(),
    }
}

/// Key of a position for repetitions.
pub fn key(position: &Chess) -> u64 {
    position.zobrist_hash::<shakmaty::zobrist::Zobrist64>(EnPassantMode::Legal).0
}

#[cfg(test)]
pub(crate) mod tests;
