//! A job as rows of the network's tables and lists of the tokens that it sees.

use shakmaty::{Board, Chess, Color, Move, Position, Square};

use super::node::Node;
use super::standing::Standing;
use crate::encode::tactics::mirrored;
use crate::encode::{
    ATTACK_STATES, MoveToken, PLAIN_RULE_ROWS, READOUT_SQUARE, RULE_FEATURES, Window, arrivals,
};

/// Rows of a child: one moved piece, two for castling, and the readout.
pub(crate) const CHILD_ROWS: usize = 3;

/// Most tokens that a job sees: 32 pieces, the readouts of its chain and its own. Chains end
/// sooner; a longer one would be encoded whole.
pub(crate) const MAX_SOURCES: usize = 48;

/// The position of a job.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject<'a> {
    /// One to evaluate; the answer is from its side to move.
    Asked {
        /// The position.
        position: &'a Chess,
        /// Its legal moves.
        moves: &'a [Move],
        /// How often it occurred before (0, 1 or 2).
        repetitions: u8,
    },
    /// One that was evaluated; only its tokens are wanted.
    Kept(&'a Standing),
}

impl Subject<'_> {
    fn board(&self) -> Board {
        match self {
            Self::Asked { position, .. } => position.board().clone(),
            Self::Kept(standing) => standing.board(),
        }
    }

    fn turn(&self) -> Color {
        match self {
            Self::Asked { position, .. } => position.turn(),
            Self::Kept(standing) => standing.turn,
        }
    }

    /// Its whole encode. The rows of the rule table are the costly part: they tell the fights that
    /// every legal move leads to.
    fn window(&self) -> Window {
        match self {
            Self::Asked { position, moves, repetitions } => {
                Window::new(position, *repetitions, moves)
            }
            Self::Kept(standing) => Window::told(&standing.board(), standing.turn, standing.rules),
        }
    }
}

/// One position to encode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job<'a> {
    /// The position.
    pub(crate) subject: Subject<'a>,
    /// A kept node and the move that led from it here. Without one the position is encoded whole.
    pub(crate) parent: Option<(&'a Node, Move)>,
    /// The position will be kept as a node for its children.
    pub(crate) keep: bool,
}

impl Job<'_> {
    /// Rows that it may take.
    pub(crate) fn most_rows(&self) -> usize {
        match self.subject {
            _ if self.parent.is_some() => CHILD_ROWS,
            Subject::Asked { position, .. } => whole_rows(position.board().occupied().count()),
            Subject::Kept(standing) => whole_rows(standing.pieces()),
        }
    }
}

/// Rows of a position that is encoded whole: its pieces and the readout.
pub(super) fn whole_rows(pieces: usize) -> usize {
    pieces + 1
}

/// A token that the job sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// In this slot of the cache.
    Cached(u32),
    /// One of the job's own tokens.
    New(u8),
    /// The job's own readout.
    Readout,
}

/// What the network needs of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Side to move at the chain's anchor.
    pub(crate) side: Color,
    /// New piece tokens: rows of the tables of piece-squares and of kinds and states.
    pub(crate) tokens: Vec<(u16, u8)>,
    /// Visible tokens: the standing pieces, then the readouts of the chain.
    pub(crate) sources: Vec<Source>,
    /// Their squares, seen from the anchor's side to move; 64 is a readout.
    pub(crate) squares: Vec<u8>,
    /// How many of the sources are pieces.
    pub(crate) pieces: usize,
    /// The piece sources' real squares.
    pub(crate) standing: Vec<Square>,
    /// Rows of the rule table.
    pub(crate) rules: [u8; RULE_FEATURES],
    /// Rows of the board summary.
    pub(crate) board: Vec<u16>,
    /// Moves; their tokens are places in the list of sources.
    pub(crate) moves: Vec<MoveToken>,
}

impl Plan {
    /// Plans `job`. A parent that is not the position's is no parent.
    pub(crate) fn new(job: &Job<'_>) -> Self {
        let window = job.subject.window();
        let child = job.parent.and_then(|(node, played)| Self::child(job, &window, node, played));
        child.unwrap_or_else(|| Self::whole(job, &window))
    }

    fn base(job: &Job<'_>, window: &Window, side: Color) -> Self {
        let flip = side != job.subject.turn();
        let readout = &window.readouts[0];
        let mut rules = readout.rules;
        let mut board = readout.board.clone();
        if flip {
            rules = turned_rules(rules);
            for row in &mut board {
                let state = *row % ATTACK_STATES as u16;
                *row = turned(*row / ATTACK_STATES as u16) * ATTACK_STATES as u16 + state;
            }
        }
        let turn = job.subject.turn().fold_wb(0, 56);
        let count = window.tokens.len();
        let squares = window.tokens.iter().map(|t| t.square() ^ if flip { 0b111_000 } else { 0 });
        let standing = window.tokens.iter().map(|t| Square::new(u32::from(t.square() ^ turn)));
        Self {
            side,
            tokens: Vec::new(),
            sources: Vec::with_capacity(count + 8),
            squares: squares.collect(),
            pieces: count,
            standing: standing.collect(),
            rules,
            board,
            moves: readout.moves.clone(),
        }
    }

    fn whole(job: &Job<'_>, window: &Window) -> Self {
        let mut plan = Self::base(job, window, job.subject.turn());
        for (index, token) in window.tokens.iter().enumerate() {
            plan.tokens
                .push((token.piece_square, token.kind() * ATTACK_STATES as u8 + token.state));
            plan.sources.push(Source::New(index as u8));
        }
        plan.see_itself();
        plan
    }

    /// Nothing when the position is not what `played` makes of the node's.
    fn child(job: &Job<'_>, window: &Window, node: &Node, played: Move) -> Option<Self> {
        let (kept, turn) = (&node.standing, job.subject.turn());
        if kept.turn == turn || kept.after(played) != job.subject.board() {
            return None;
        }
        let tokens = node.tokens.as_ref()?;
        if window.tokens.len() + tokens.readouts.len() >= MAX_SOURCES {
            return None;
        }
        let mut plan = Self::base(job, window, tokens.side);
        let flip = tokens.side != turn;
        let mut slots = [None; 64];
        for &(square, slot) in &tokens.pieces {
            slots[usize::from(square)] = Some(slot);
        }
        let (to, rook_to) = arrivals(played, kept.turn);
        for (index, &square) in plan.standing.iter().enumerate() {
            if square != to && Some(square) != rook_to {
                plan.sources.push(Source::Cached(slots[usize::from(square)]?));
                continue;
            }
            let token = window.tokens[index];
            let row = if flip { turned(token.piece_square) } else { token.piece_square };
            let kind = (row / 64) as u8;
            plan.sources.push(Source::New(plan.tokens.len() as u8));
            plan.tokens.push((row, kind * ATTACK_STATES as u8 + token.state));
        }
        for &slot in &tokens.readouts {
            plan.sources.push(Source::Cached(slot));
            plan.squares.push(READOUT_SQUARE);
        }
        plan.see_itself();
        Some(plan)
    }

    fn see_itself(&mut self) {
        self.sources.push(Source::Readout);
        self.squares.push(READOUT_SQUARE);
    }

    /// Whether it begins a chain.
    pub(crate) fn is_whole(&self) -> bool {
        self.sources.len() == self.pieces + 1
    }

    /// Slot of a source; the job's own tokens and then its readout are in the slots `own`.
    pub(crate) fn slot(&self, source: Source, own: &[u32]) -> u32 {
        match source {
            Source::Cached(slot) => slot,
            Source::New(token) => own[usize::from(token)],
            Source::Readout => own[self.tokens.len()],
        }
    }

    /// What is kept of the position that was planned.
    pub(super) fn standing(&self, position: &Chess) -> Standing {
        let is_turned = self.side != position.turn();
        let rules = if is_turned { turned_rules(self.rules) } else { self.rules };
        Standing::new(position, rules)
    }

    /// Rows of the batch that the job takes.
    pub(crate) fn rows(&self) -> usize {
        self.tokens.len() + 1
    }
}

/// Rows of the rule table as the other side sees them; turned twice they are the same again.
fn turned_rules(mut rules: [u8; RULE_FEATURES]) -> [u8; RULE_FEATURES] {
    rules[0] ^= 1;
    let castling = rules[1] - 2;
    rules[1] = 2 + (castling >> 2 | (castling & 0b11) << 2);
    let first = PLAIN_RULE_ROWS as u8;
    rules[5] = first + mirrored(rules[5] - first);
    rules
}

/// The piece-square as the other side sees it.
fn turned(piece_square: u16) -> u16 {
    let (kind, square) = (piece_square / 64, piece_square % 64);
    (kind + 6) % 12 * 64 + (square ^ 0b111_000)
}
