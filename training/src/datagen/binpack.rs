//! Games of Stockfish's binpacks.
//!
//! A binpack holds positions, each with a move, a score and the game's result, and mostly one
//! game's positions in a row. Positions that follow from each other are put together to games. The
//! reader trusts its input and panics on damaged files, so each of its steps is caught.

use std::io::{Read, Seek};
use std::panic::{AssertUnwindSafe, catch_unwind};

use sfbinpack::chess::color::Color as PackedColor;
use sfbinpack::chess::coords::File;
use sfbinpack::chess::r#move::{Move as PackedMove, MoveType};
use sfbinpack::chess::position::Position as PackedPosition;
use sfbinpack::{ChunkReader, CompressedReaderError, TrainingDataEntry, read_chunk_into};
use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, Chess, Color, Position, PositionError, Role};

use super::pieces::{Pieces, Taken};
use super::score;
use crate::datagen::pieces::ReadError;
use crate::game::score::UciScore;
use crate::labelled::unpack;

/// Stockfish's score of positions that were filtered out: none.
const NO_SCORE: i16 = 32_002;

/// Score of a mate in no plies.
const MATE: i16 = 32_000;

/// Larger scores are mates, in plies; smaller ones are wins by tablebases and evaluations.
const NO_MATE: i16 = 31_508;

/// Reads a binpack game by game.
#[derive(Debug)]
pub struct BinpackGames<R> {
    file: R,
    /// Centipawns of one unit of score.
    unit: f64,
    chunk: Vec<u8>,
    reader: ChunkReader,
    /// Chunks read so far.
    chunks: usize,
    run: Option<Run>,
    is_over: bool,
}

/// Positions of one game so far.
#[derive(Debug)]
struct Run {
    pieces: Pieces,
    /// Result for the side to move in the next position.
    result: i16,
    ply: u16,
}

impl<R: Read + Seek> BinpackGames<R> {
    /// Reads from here; scores are so many centipawns a unit.
    pub fn new(file: R, unit: f64) -> Self {
        let (chunk, reader) = (Vec::new(), ChunkReader::default());
        Self { file, unit, chunk, reader, chunks: 0, run: None, is_over: false }
    }

    fn bad(&self, what: impl Into<String>) -> ReadError {
        ReadError::Bad { place: format!("chunk {}", self.chunks), what: what.into() }
    }

    /// The next position; `None` at the end of the file.
    fn entry(&mut self) -> Result<Option<TrainingDataEntry>, ReadError> {
        while !self.reader.has_next(&self.chunk) {
            let more = read_chunk_into(&mut self.file, &mut self.chunk);
            self.chunks += 1;
            match more {
                Ok(true) => self.reader = ChunkReader::default(),
                Ok(false) => return Ok(None),
                Err(error) => {
                    self.is_over = true;
                    return Err(match error {
                        CompressedReaderError::Io(error) => ReadError::Io(error),
                        error => self.bad(format!("{error} (is it a binpack, and is it whole?)")),
                    });
                }
            }
        }
        let (reader, chunk) = (&mut self.reader, &self.chunk);
        let entry = catch_unwind(AssertUnwindSafe(|| reader.next(chunk)));
        entry.map(Some).map_err(|_| {
            self.skip_chunk();
            self.bad("its bytes are not positions and moves")
        })
    }

    /// Nothing behind damage in a chunk can be read.
    fn skip_chunk(&mut self) {
        self.chunk.clear();
        self.reader = ChunkReader::default();
        self.run = None;
    }

    /// Takes a position; gives the game before it where another one begins.
    fn take(&mut self, entry: &TrainingDataEntry) -> Result<Option<Taken>, ReadError> {
        let before = self.run.take_if(|run| !run.is_followed_by(entry)).map(Run::finish);
        if self.run.is_none() {
            let start = start(&entry.pos).map_err(|what| self.give_up(what))?;
            let pieces = Pieces::new(start);
            self.run = Some(Run { pieces, result: entry.result, ply: entry.ply });
        }
        let score = self.score(entry.score);
        if let Some(run) = &mut self.run {
            let Some(played) = unpack(run.pieces.position(), packed(entry.mv)) else {
                return Err(self.give_up("it has an illegal move".to_owned()));
            };
            run.pieces.push(played, score);
            run.result = -entry.result;
            run.ply = entry.ply.wrapping_add(1);
        }
        Ok(before)
    }

    fn give_up(&mut self, what: String) -> ReadError {
        self.skip_chunk();
        self.bad(what)
    }

    fn score(&self, score: i16) -> Option<i16> {
        let packed = match score.unsigned_abs() {
            _ if score == NO_SCORE || score < -MATE => return None,
            size if size > NO_MATE.unsigned_abs() => {
                let moves = i32::from(MATE.unsigned_abs().saturating_sub(size).div_ceil(2));
                UciScore::Mate(if score > 0 { moves } else { -moves })
            }
            _ => UciScore::Cp((f64::from(score) * self.unit).round() as i32),
        };
        Some(score::pack(packed))
    }

    fn read(&mut self) -> Result<Option<Taken>, ReadError> {
        loop {
            let Some(entry) = self.entry()? else {
                self.is_over = true;
                return Ok(self.run.take().map(Run::finish));
            };
            if let Some(game) = self.take(&entry)? {
                return Ok(Some(game));
            }
        }
    }
}

impl<R: Read + Seek> Iterator for BinpackGames<R> {
    type Item = Result<Taken, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        self.read().transpose()
    }
}

impl Run {
    /// Whether `entry` is what this game goes on with.
    fn is_followed_by(&self, entry: &TrainingDataEntry) -> bool {
        self.ply == entry.ply
            && self.result == entry.result
            && is_same_board(self.pieces.position(), &entry.pos)
    }

    fn finish(self) -> Taken {
        // The result is for the side to move behind the last move.
        let sign = self.pieces.position().turn().fold_wb(1, -1);
        self.pieces.finish((1 + sign * self.result.signum()) as u8)
    }
}

fn is_same_board(ours: &Chess, theirs: &PackedPosition) -> bool {
    use sfbinpack::chess::piecetype::PieceType;
    let board = ours.board();
    let sides = [(Color::White, PackedColor::White), (Color::Black, PackedColor::Black)];
    let roles = [
        (Role::Pawn, PieceType::Pawn),
        (Role::Knight, PieceType::Knight),
        (Role::Bishop, PieceType::Bishop),
        (Role::Rook, PieceType::Rook),
        (Role::Queen, PieceType::Queen),
        (Role::King, PieceType::King),
    ];
    ours.turn().is_white() == (theirs.side_to_move() == PackedColor::White)
        && sides
            .iter()
            .all(|&(our, their)| u64::from(board.by_color(our)) == theirs.pieces_bb(their).bits())
        && roles.iter().all(|&(our, their)| {
            u64::from(board.by_role(our)) == theirs.pieces_bb_type(their).bits()
        })
}

/// The position that a game starts from.
fn start(position: &PackedPosition) -> Result<Chess, String> {
    let fen = catch_unwind(|| position.fen())
        .map_err(|_| "it has a position without sense".to_owned())?
        .map_err(|error| format!("{error:?}"))?;
    let setup = fen.parse::<Fen>().map_err(|error| format!("\"{fen}\": {error}"))?;
    setup
        .into_position(CastlingMode::Standard)
        // Stockfish keeps the square behind a double step where nothing can capture there.
        .or_else(PositionError::ignore_invalid_ep_square)
        .map_err(|error| format!("\"{fen}\": {error}"))
}

/// A move as our files hold it.
fn packed(m: PackedMove) -> u16 {
    let (from, mut to) = (m.from().index(), m.to().index());
    if m.mtype() == MoveType::Castle {
        to = if m.to().file() == File::H { to - 1 } else { to + 2 };
    }
    let promotion = match m.mtype() {
        MoveType::Promotion => u16::from(m.promoted_piece().piece_type().ordinal()),
        _ => 0,
    };
    (from & 63) as u16 | ((to & 63) as u16) << 6 | (promotion & 7) << 12
}

#[cfg(test)]
mod tests;
