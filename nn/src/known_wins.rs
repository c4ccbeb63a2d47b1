//! Endings that are won by force against a bare king, valued by how far the king is driven.
//!
//! A network says of all of them that they are won, and what little it tells them apart by fades
//! as the fifty-move clock runs: a search on it finds no way to a mate that is farther than it
//! sees. So the textbook's measure decides here, as in Stockfish's classical evaluation: the bare
//! king is driven to the edge, with bishop and knight to a corner of the bishop's colour, and the
//! other king comes close. It knows no clock: draws by the rules are the search's to see.

use std::collections::VecDeque;
use std::fmt;

use crossbeam_channel::Select;
use shakmaty::{Bitboard, Board, Chess, Color, Move, Position as _, Role, Square, attacks};

use crate::evaluator::{CacheFigures, CacheNote, EvalError, Evaluation, Evaluator, Request};

/// The most that a known win may come to: certainty is for proofs.
const MOST: f32 = 0.998;
/// What the pieces are worth of the range of scores; the rest is how far it has come.
const OF_MATERIAL: f32 = 0.25;
/// Pieces, in pawns.
const WORTH: [(Role, f32); 5] = [
    (Role::Pawn, 1.0),
    (Role::Knight, 3.0),
    (Role::Bishop, 3.0),
    (Role::Rook, 5.0),
    (Role::Queen, 9.0),
];
/// Pieces that count, in pawns: three queens.
const ENOUGH: f32 = 27.0;
/// Error of the score, in score units.
const ERROR: f32 = 0.01;
/// Temperature of the policy over the moves' scores, as a share of their range: one that is worse
/// by this is about a third as likely.
const TEMPERATURE: f32 = 0.06;

/// An evaluator whose answers are replaced in such endings.
pub struct KnownWins {
    evaluator: Box<dyn Evaluator>,
    /// What is known of each batch in flight.
    known: VecDeque<Vec<Known>>,
}

impl fmt::Debug for KnownWins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("KnownWins").field(&self.description()).finish()
    }
}

/// What is known of one position of a batch.
struct Known {
    index: usize,
    win: Win,
    /// Its side to move.
    turn: Color,
    /// By legal move; `None` where it leads out of what is known.
    moves: Box<[Option<Win>]>,
}

impl KnownWins {
    /// Over this evaluator.
    pub fn over(evaluator: Box<dyn Evaluator>) -> Self {
        Self { evaluator, known: VecDeque::new() }
    }
}

impl Evaluator for KnownWins {
    fn description(&self) -> String {
        self.evaluator.description()
    }

    fn batch_size(&self) -> usize {
        self.evaluator.batch_size()
    }

    fn fixed_cost(&self) -> f32 {
        self.evaluator.fixed_cost()
    }

    fn submit(&mut self, batch: Vec<Request>) {
        let known = batch.iter().enumerate().filter_map(|(index, asked)| Known::of(index, asked));
        self.known.push_back(known.collect());
        self.evaluator.submit(batch);
    }

    fn in_flight(&self) -> usize {
        self.evaluator.in_flight()
    }

    fn collect(&mut self) -> Result<Vec<Evaluation>, EvalError> {
        // A batch that is lost takes its part along: others may follow it.
        let batch = self.known.pop_front().unwrap_or_default();
        let mut answers = self.evaluator.collect()?;
        for known in batch {
            if let Some(answer) = answers.get_mut(known.index) {
                known.replace(answer);
            }
        }
        Ok(answers)
    }

    fn watch<'a>(&'a self, select: &mut Select<'a>) -> bool {
        self.evaluator.watch(select)
    }

    fn note(&mut self, session: u32, note: CacheNote) {
        self.evaluator.note(session, note);
    }

    fn cache_figures(&self) -> Option<CacheFigures> {
        self.evaluator.cache_figures()
    }
}

impl Known {
    fn of(index: usize, asked: &Request) -> Option<Self> {
        let win = Win::of(&asked.position)?;
        let after = |&played: &Move| {
            let mut position = asked.position.clone();
            position.play_unchecked(played);
            if position.is_stalemate() { None } else { Win::of(&position) }
        };
        let moves: Box<[_]> = asked.moves.iter().map(after).collect();
        let turn = asked.position.turn();
        // A fork, or pieces that guard each other no more: the winner needs one good move, and the
        // bare king must have none.
        let mut stays = moves.iter().map(Option::is_some);
        let is_won =
            if turn == win.winner { stays.any(|kept| kept) } else { stays.all(|kept| kept) };
        is_won.then_some(Self { index, win, turn, moves })
    }

    fn replace(self, answer: &mut Evaluation) {
        let Self { win, turn, moves, .. } = self;
        let draw = 2.0 * (1.0 - win.score);
        (answer.value, answer.error) = (win.seen_by(turn), ERROR);
        answer.wdl = [1.0 - draw, draw, 0.0];
        if turn != win.winner {
            answer.wdl.reverse();
        }
        let mut most = 0.0_f32;
        for (said, known) in answer.moves.iter_mut().zip(moves) {
            // What leads out of it is worth no more than the least of it.
            let least = || said.action_value.min(win.least);
            said.action_value = known.map_or_else(least, |win| win.seen_by(turn));
            most = most.max(said.action_value);
        }
        let temperature = TEMPERATURE * (MOST - win.least);
        for said in &mut answer.moves {
            said.policy = ((said.action_value - most) / temperature).exp();
        }
        let total: f32 = answer.moves.iter().map(|said| said.policy).sum();
        for said in &mut answer.moves {
            said.policy /= total;
        }
    }
}

/// Pieces that force mate on a bare king, which wins none of them with its next move.
#[derive(Clone, Copy, Debug)]
struct Win {
    /// Who wins.
    winner: Color,
    /// The winner's score in `[0, 1]`, higher where the mate is nearer.
    score: f32,
    /// The least score of such an ending.
    least: f32,
}

impl Win {
    fn of(position: &Chess) -> Option<Self> {
        let board = position.board();
        let bare = Color::ALL.into_iter().find(|&color| board.by_color(color).count() == 1)?;
        let (king, loser) = (board.king_of(!bare)?, board.king_of(bare)?);
        let ours = board.by_color(!bare).without(king);
        let net = Net::of(board, ours)?;
        // One that hangs can move away.
        if hanging_pieces(board, (bare, loser), ours) > usize::from(position.turn() != bare) {
            return None;
        }
        let near = (7 - king.distance(loser)) as f32 / 6.0;
        let (driven, of_near, least) = match net {
            Net::Edge => (edge(loser), 0.2, 0.9),
            // It takes longer, and more of the difference.
            Net::Corner(bishop) => (corner(loser, bishop), 0.15, 0.8),
        };
        let progress = (1.0 - of_near) * driven + of_near * near;
        let share = OF_MATERIAL * material(board, ours) + (1.0 - OF_MATERIAL) * progress;
        Some(Self { winner: !bare, score: least + (MOST - least) * share, least })
    }

    /// The score for this side.
    fn seen_by(self, side: Color) -> f32 {
        if side == self.winner { self.score } else { 1.0 - self.score }
    }
}

/// Where the bare king is mated.
enum Net {
    /// At the edge, best in a corner.
    Edge,
    /// In a corner of this bishop's colour.
    Corner(Square),
}

impl Net {
    /// `None` where these pieces force no mate.
    fn of(board: &Board, ours: Bitboard) -> Option<Self> {
        let bishops = ours & board.bishops();
        let knights = ours & board.knights();
        if (ours & board.rooks_and_queens()).any()
            || (bishops & Bitboard::LIGHT_SQUARES).any() && (bishops & Bitboard::DARK_SQUARES).any()
        {
            return Some(Self::Edge);
        }
        // A pawn is a shorter way than this mate.
        let is_bare_mate = knights.any() && (ours & board.pawns()).is_empty();
        if is_bare_mate { bishops.first().map(Self::Corner) } else { None }
    }
}

/// Pieces that the bare king attacks and nobody guards.
fn hanging_pieces(board: &Board, (bare, king): (Color, Square), ours: Bitboard) -> usize {
    let attacked = attacks::king_attacks(king) & ours;
    let is_guarded = |square| board.attacks_to(square, !bare, board.occupied()).any();
    attacked.into_iter().filter(|&square| !is_guarded(square)).count()
}

/// What the pieces are worth, 1 for enough of them.
fn material(board: &Board, ours: Bitboard) -> f32 {
    let worth = |(role, worth)| (ours & board.by_role(role)).count() as f32 * worth;
    (WORTH.into_iter().map(worth).sum::<f32>() / ENOUGH).min(1.0)
}

/// 0 in the centre, 1 in a corner.
fn edge(king: Square) -> f32 {
    let from_edge = |line: u32| line.min(7 - line) as f32;
    let (file, rank) = (from_edge(king.file() as u32), from_edge(king.rank() as u32));
    1.0 - (file * file + rank * rank) / 18.0
}

/// 0 in the corners of the other colour, 1 in those of the bishop's.
fn corner(king: Square, bishop: Square) -> f32 {
    let (file, rank) = (king.file() as i32, king.rank() as i32);
    let file = if bishop.is_dark() { file } else { 7 - file };
    (7 - file - rank).abs() as f32 / 7.0
}

#[cfg(test)]
mod tests;
