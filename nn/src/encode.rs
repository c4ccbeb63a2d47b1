//! Positions and moves as the transformer sees them.
//!
//! A *window* is an anchor position and, optionally, the plies that follow it. Its tokens are
//! pieces, seen from the anchor's side to move: the anchor's pieces first, then the piece (two for
//! castling) that each ply moved. Each position of the window has a *readout*, which sees the
//! pieces still standing and the readouts before it. A window without plies is a whole encode.

mod aftermath;
mod fight;
mod shallow;
pub(crate) mod tactics;

use shakmaty::{
    Board, CastlingSide, Chess, Color, EnPassantMode, Move, MoveList, Piece, Position, Role, Square,
};

use self::aftermath::Captures;
use self::fight::{Situation, attack_state, move_feature};
use self::shallow::Shallow;
use crate::evaluator::clock_class;

/// Piece kinds (own pawn … own king, enemy pawn … enemy king) times squares.
pub const PIECE_SQUARES: usize = 12 * 64;
/// How a piece stands in the fight: safe, attacked by something cheaper (or a king in check),
/// attacked and undefended, attacked and defended.
pub const ATTACK_STATES: usize = 4;
/// Rows of the readout's fresh board summary: piece-squares times attack states.
pub const BOARD_FEATURES: usize = PIECE_SQUARES * ATTACK_STATES;
/// Most pieces on a legal board.
pub const MAX_PIECES: usize = 32;
/// Rule features that a readout always has: side, castling, en passant, fifty moves, repetition;
/// value, gain and threat of forcing play; the best move and its threat, one ply ahead; gain and
/// surprise of a shallow search.
pub const RULE_FEATURES: usize = 12;
/// Rows of the rule-feature table: 2 + 16 + 9 + 8 + 3, those of forcing play, those of moves, those
/// of the shallow search.
pub const RULE_ROWS: usize = MOVES_RULE_ROWS + shallow::ROWS;
/// Rows of the table before those of forcing play.
pub(crate) const PLAIN_RULE_ROWS: usize = 38;
/// Rows of the table before those of moves.
const FORCING_RULE_ROWS: usize = PLAIN_RULE_ROWS + tactics::ROWS;
/// Rows of the table before those of the shallow search.
const MOVES_RULE_ROWS: usize = FORCING_RULE_ROWS + aftermath::ROWS;
/// Rows of the table in networks of before 2026-11-24, of that day's morning and of before the
/// shallow search.
pub(crate) const OLDER_RULE_ROWS: [usize; 3] =
    [PLAIN_RULE_ROWS, FORCING_RULE_ROWS, MOVES_RULE_ROWS];
/// Rows of a readout without special rules or forcing play.
pub(crate) const PLAIN_RULES: [u8; RULE_FEATURES] =
    placed([0, 2, 18, 27, 35], tactics::QUIET, aftermath::QUIET, shallow::QUIET);

/// Rows of the rule table: the plain ones, and those of forcing play, of moves and of the shallow
/// search, each counted from the first of its kind.
const fn placed(
    [side, castling, en_passant, clock, repetitions]: [u8; 5],
    [value, gain, threat]: [u8; 3],
    [best, next]: [u8; 2],
    [found, surprise]: [u8; 2],
) -> [u8; RULE_FEATURES] {
    let forcing = PLAIN_RULE_ROWS as u8;
    let moves = FORCING_RULE_ROWS as u8;
    let search = MOVES_RULE_ROWS as u8;
    [
        side,
        castling,
        en_passant,
        clock,
        repetitions,
        forcing + value,
        forcing + gain,
        forcing + threat,
        moves + best,
        moves + next,
        search + found,
        search + surprise,
    ]
}
/// Destinations: 64 squares (seen from the mover's side) times no promotion, N, B, R, Q.
pub const TARGETS: usize = 64 * 5;
/// Mover's role × captured role or none × threat at the destination (none, any, cheaper piece) ×
/// defended by a friend × gives check directly.
pub const MOVE_FEATURES: usize = 6 * 6 * 3 * 2 * 2;
/// What the exchange nets (five classes) × pieces it threatens (none, one, more) × attack state of
/// the mover where it stood × what the opponent can take elsewhere and what the mover threatens
/// afterwards × its class by the shallow search.
pub const MOVE_SITUATIONS: usize = STATIC_MOVE_SITUATIONS * shallow::CLASSES;
/// Classes of what an exchange nets.
const EXCHANGES: usize = 5;
/// Rows of the table without what happens afterwards.
const PLAIN_MOVE_SITUATIONS: usize = EXCHANGES * 3 * ATTACK_STATES;
/// Rows of the table without the shallow search.
const STATIC_MOVE_SITUATIONS: usize = PLAIN_MOVE_SITUATIONS * aftermath::CLASSES;
/// Rows of the table when the shallow search told three classes of moves.
pub(crate) const THREE_CLASS_MOVE_SITUATIONS: usize = STATIC_MOVE_SITUATIONS * 3;
/// Rows of the table in networks of before 2026-11-24, of before the shallow search, and of its
/// first form.
pub(crate) const OLDER_MOVE_SITUATIONS: [usize; 3] =
    [PLAIN_MOVE_SITUATIONS, STATIC_MOVE_SITUATIONS, THREE_CLASS_MOVE_SITUATIONS];
/// The square that stands for a readout in the attention bias.
pub const READOUT_SQUARE: u8 = 64;
/// Squares and the readout, as the attention bias counts them.
pub const PLACES: usize = READOUT_SQUARE as usize + 1;

/// One piece token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieceToken {
    /// `kind * 64 + square`, both relative to the anchor's side to move.
    pub piece_square: u16,
    /// Attack state when the token was made.
    pub state: u8,
}

impl PieceToken {
    /// The square, relative to the anchor's side to move.
    pub fn square(self) -> u8 {
        (self.piece_square % 64) as u8
    }

    /// The kind, `0..12`.
    pub fn kind(self) -> u8 {
        (self.piece_square / 64) as u8
    }
}

/// One legal move of a position of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MoveToken {
    /// Token of the moving piece.
    pub piece: u8,
    /// Token of the captured piece, if any.
    pub captured: Option<u8>,
    /// `promotion * 64 + destination`, the square seen from the mover's side.
    pub target: u16,
    /// Row of the move-feature table.
    pub feature: u16,
    /// Row of the move-situation table.
    pub situation: u16,
}

/// One position of the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Readout {
    /// Rows of the rule-feature table.
    pub rules: [u8; RULE_FEATURES],
    /// Rows of the board-feature table: every standing piece, fresh.
    pub board: Vec<u16>,
    /// Bit per token: pieces standing in this position.
    pub visible: u64,
    /// The legal moves, in the order they were given; may be empty.
    pub moves: Vec<MoveToken>,
}

/// A token that a ply of the window added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moved {
    token: u8,
    visible: u64,
}

/// An anchor and the plies that follow it, ready to be packed into a batch.
#[derive(Clone, Debug)]
pub struct Window {
    /// Side to move at the anchor.
    side: Color,
    /// Token that stands on each (real) square.
    standing: [Option<u8>; 64],
    /// Pieces of the anchor, then pieces as they moved.
    pub tokens: Vec<PieceToken>,
    /// How many of the tokens belong to the anchor.
    pub anchor_pieces: usize,
    moved: Vec<Moved>,
    /// One readout per position, the anchor's first.
    pub readouts: Vec<Readout>,
}

impl Window {
    /// The whole encode of `position`, which occurred `repetitions` times before.
    pub fn new(position: &Chess, repetitions: u8, moves: &[Move]) -> Self {
        let mut window = Self::anchored(position.board(), position.turn());
        window.read_out(position, repetitions, moves);
        window
    }

    /// The whole encode of a position whose rows of the rule table are known, as [`Self::new`]
    /// makes it without moves.
    pub(crate) fn told(board: &Board, turn: Color, rules: [u8; RULE_FEATURES]) -> Self {
        let mut window = Self::anchored(board, turn);
        let board = window.tokens.iter().copied().map(board_row).collect();
        let visible = window.visible();
        window.readouts.push(Readout { rules, board, visible, moves: Vec::new() });
        window
    }

    /// An anchor without its readout.
    fn anchored(board: &Board, side: Color) -> Self {
        let mut window = Self {
            side,
            standing: [None; 64],
            tokens: Vec::with_capacity(MAX_PIECES),
            anchor_pieces: 0,
            moved: Vec::new(),
            readouts: Vec::with_capacity(1),
        };
        for (square, piece) in board {
            window.standing[usize::from(square)] = Some(window.tokens.len() as u8);
            window.tokens.push(window.token(board, square, piece));
        }
        window.anchor_pieces = window.tokens.len();
        window
    }

    /// Appends the ply `played`, which led to `position` (whose legal moves are `moves`).
    pub fn push(&mut self, played: Move, position: &Chess, repetitions: u8, moves: &[Move]) {
        let first = self.tokens.len();
        let mover = !position.turn();
        for square in departures(played, mover).into_iter().flatten() {
            self.standing[usize::from(square)] = None;
        }
        let (to, rook_to) = arrivals(played, mover);
        for square in [Some(to), rook_to].into_iter().flatten() {
            self.place(position.board(), square);
        }
        let visible = self.visible();
        for token in first..self.tokens.len() {
            self.moved.push(Moved { token: token as u8, visible });
        }
        self.read_out(position, repetitions, moves);
    }

    /// Whether another ply fits beside the token masks.
    pub fn has_room(&self) -> bool {
        self.tokens.len() + 2 <= 64
    }

    /// Bit per token that `token` attends to.
    pub fn seen_by(&self, token: usize) -> u64 {
        if token < self.anchor_pieces {
            return if self.anchor_pieces == 64 { u64::MAX } else { (1 << self.anchor_pieces) - 1 };
        }
        self.moved.iter().find(|moved| usize::from(moved.token) == token).map_or(0, |m| m.visible)
    }

    fn place(&mut self, board: &Board, square: Square) {
        let Some(piece) = board.piece_at(square) else { return };
        self.standing[usize::from(square)] = Some(self.tokens.len() as u8);
        self.tokens.push(self.token(board, square, piece));
    }

    fn visible(&self) -> u64 {
        self.standing.iter().flatten().fold(0, |mask, &token| mask | 1 << token)
    }

    fn token(&self, board: &Board, square: Square, piece: Piece) -> PieceToken {
        let kind = kind(piece, self.side);
        PieceToken {
            piece_square: u16::from(kind) * 64 + u16::from(oriented(square, self.side)),
            state: attack_state(board, square, piece),
        }
    }

    fn read_out(&mut self, position: &Chess, repetitions: u8, moves: &[Move]) {
        let board = position.board();
        let anew = |(square, piece)| self.token(board, square, piece);
        // An anchor's are its tokens.
        let fresh: Vec<PieceToken> = match self.readouts[..] {
            [] => self.tokens.clone(),
            _ => board.into_iter().map(anew).collect(),
        };
        let mut states = [0; 64];
        for token in &fresh {
            states[usize::from(token.square() ^ self.side.fold_wb(0, 56))] = token.state;
        }
        let mut captures = Captures::of(board);
        let situation = |&m: &Move| Situation::of(position, m, &states, &mut captures);
        let legal = position.legal_moves();
        let situations: Vec<_> = legal.iter().map(situation).collect();
        let outlook = aftermath::rows(situations.iter().map(|s| (s.exchange, s.after)));
        let shallow = Shallow::search(position, &legal, |index| situations[index].hint());
        let is_whole = legal.as_slice() == moves;
        let tokens = moves.iter().enumerate().filter_map(|(index, &m)| {
            let index = if is_whole { index } else { legal.iter().position(|&l| l == m)? };
            self.move_token(position, m, situations[index], shallow.class(index))
        });
        let readout = Readout {
            rules: self.rules(position, repetitions, &legal, [outlook, shallow.rows()]),
            board: fresh.into_iter().map(board_row).collect(),
            visible: self.visible(),
            moves: tokens.collect(),
        };
        self.readouts.push(readout);
    }

    fn rules(
        &self,
        position: &Chess,
        repetitions: u8,
        legal: &MoveList,
        [moves, search]: [[u8; 2]; 2],
    ) -> [u8; RULE_FEATURES] {
        let castles = position.castles();
        let right = |color, side, bit: u8| if castles.has(color, side) { bit } else { 0 };
        let castling = right(self.side, CastlingSide::KingSide, 1)
            | right(self.side, CastlingSide::QueenSide, 2)
            | right(!self.side, CastlingSide::KingSide, 4)
            | right(!self.side, CastlingSide::QueenSide, 8);
        let en_passant =
            position.ep_square(EnPassantMode::Legal).map_or(0, |sq| 1 + u8::from(sq.file()));
        let is_flipped = position.turn() != self.side;
        let [value, gain, threat] = tactics::rows(position, legal);
        let value = if is_flipped { tactics::mirrored(value) } else { value };
        let clock = 27 + clock_class(position.halfmoves());
        let plain =
            [u8::from(is_flipped), 2 + castling, 18 + en_passant, clock, 35 + repetitions.min(2)];
        placed(plain, [value, gain, threat], moves, search)
    }

    fn move_token(
        &self,
        position: &Chess,
        m: Move,
        situation: Situation,
        class: usize,
    ) -> Option<MoveToken> {
        let mover = position.turn();
        let from = m.from()?;
        let piece = self.standing[usize::from(from)]?;
        let captured = captured_square(m, mover).and_then(|sq| self.standing[usize::from(sq)]);
        let (to, _) = arrivals(m, mover);
        let promotion = match m.promotion() {
            None => 0,
            Some(role) => role_index(role),
        };
        Some(MoveToken {
            piece,
            captured,
            target: u16::from(promotion) * 64 + u16::from(oriented(to, mover)),
            feature: move_feature(position, m, to, situation),
            situation: situation.row(class),
        })
    }
}

/// Row of the table of the board summary.
fn board_row(token: PieceToken) -> u16 {
    token.piece_square * ATTACK_STATES as u16 + u16::from(token.state)
}

/// Where the moving piece (the king, when castling) stands afterwards, and the castling rook.
pub(crate) fn arrivals(m: Move, mover: Color) -> (Square, Option<Square>) {
    match m.castling_side() {
        Some(side) => (side.king_to(mover), Some(side.rook_to(mover))),
        None => (m.to(), None),
    }
}

/// The squares that a move empties, for a while at least: those of the pieces that move, and of the
/// one that is captured.
pub(crate) fn departures(m: Move, mover: Color) -> [Option<Square>; 2] {
    match m {
        Move::Castle { king, rook } => [Some(king), Some(rook)],
        _ => [m.from(), captured_square(m, mover)],
    }
}

fn captured_square(m: Move, mover: Color) -> Option<Square> {
    match m {
        Move::Normal { capture: Some(_), to, .. } => Some(to),
        Move::EnPassant { to, .. } => Some(mover.fold_wb(
            Square::new(u32::from(to).saturating_sub(8)),
            Square::new((u32::from(to) + 8).min(63)),
        )),
        _ => None,
    }
}

/// The square as `side` sees it: its own first rank at the bottom.
fn oriented(square: Square, side: Color) -> u8 {
    u8::from(square) ^ side.fold_wb(0, 56)
}

fn role_index(role: Role) -> u8 {
    role as u8 - 1
}

fn kind(piece: Piece, side: Color) -> u8 {
    role_index(piece.role) + if piece.color == side { 0 } else { 6 }
}
