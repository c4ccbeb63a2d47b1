//! Endings that are won by force against a bare king, valued by how far the win is.
//!
//! A network says of all of them that they are won, and what little it tells them apart by fades
//! as the fifty-move clock runs: a search on it finds no way to a mate that is farther than it
//! sees. So the textbook's measure decides here, as in Stockfish's classical evaluation: the bare
//! king is driven to the edge, with bishop and knight to a corner of the bishop's colour, and the
//! other king comes close.

use std::collections::VecDeque;
use std::fmt;

use crossbeam_channel::Select;
use shakmaty::{Bitboard, Board, Chess, Color, Move, Position as _, Role, Square, attacks};

use crate::evaluator::{CacheFigures, CacheNote, EvalError, Evaluation, Evaluator, Request};

/// The most that a known win may come to: certainty is for proofs.
const MOST: f32 = 0.998;
/// What the pieces are worth of the range of scores; the rest is how far the win is.
const OF_MATERIAL: f32 = 0.25;
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
        let mut answers = self.evaluator.collect()?;
        for known in self.known.pop_front().unwrap_or_default() {
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
            Win::of(&position)
        };
        let moves = asked.moves.iter().map(after).collect();
        Some(Self { index, win, turn: asked.position.turn(), moves })
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
            // What leads out of it gains nothing for the winner.
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

/// A position that is won by force against a bare king.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Win {
    /// Who wins.
    pub winner: Color,
    /// The winner's score in `[0, 1]`, higher where the mate is nearer.
    pub score: f32,
    /// The least score of such an ending.
    least: f32,
}

impl Win {
    /// `None` where the position is none, or where the bare king may win a piece at once.
    pub fn of(position: &Chess) -> Option<Self> {
        let board = position.board();
        let bare = Color::ALL.into_iter().find(|&color| board.by_color(color).count() == 1)?;
        let (king, loser) = (board.king_of(!bare)?, board.king_of(bare)?);
        let ours = board.by_color(!bare).without(king);
        let net = Net::of(board, ours)?;
        if hanging(board, bare, ours) > usize::from(position.turn() != bare) {
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
        if knights.any() { bishops.first().map(Self::Corner) } else { None }
    }
}

/// Pieces that the bare king attacks and nobody guards.
fn hanging(board: &Board, bare: Color, ours: Bitboard) -> usize {
    let attacked = board.king_of(bare).map_or(Bitboard::EMPTY, attacks::king_attacks) & ours;
    let is_guarded = |square| board.attacks_to(square, !bare, board.occupied()).any();
    attacked.into_iter().filter(|&square| !is_guarded(square)).count()
}

/// What the pieces are worth, 1 for enough of them.
fn material(board: &Board, ours: Bitboard) -> f32 {
    let worth = |(role, worth)| (ours & board.by_role(role)).count() as f32 * worth;
    let minor = [(Role::Knight, 3.0), (Role::Bishop, 3.0)];
    let pieces = [(Role::Pawn, 1.0), (Role::Rook, 5.0), (Role::Queen, 9.0)];
    (minor.into_iter().chain(pieces).map(worth).sum::<f32>() / ENOUGH).min(1.0)
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
mod tests {
    use shakmaty::CastlingMode;
    use shakmaty::fen::Fen;

    use super::*;
    use crate::guess::Guesser;

    fn position(fen: &str) -> Chess {
        fen.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap()
    }

    fn score(fen: &str) -> Option<f32> {
        Win::of(&position(fen)).map(|win| win.score)
    }

    #[test]
    fn what_wins_against_a_bare_king_is_known() {
        // The bishops at a1 and b1 are of both colours.
        for rows in ["4K3/R7", "4K3/Q7", "P3K3/1R6", "4K3/NB6", "4K3/BB6", "P3K3/NB6", "4K3/QQQ5"] {
            let won = Win::of(&position(&format!("8/8/8/3k4/8/8/{rows} w - - 0 1"))).unwrap();
            let is_in_range = (0.8..MOST).contains(&won.score);
            assert!(won.winner == Color::White && is_in_range, "{rows} {won:?}");
        }
        for drawn_or_not_known in [
            "8/8/8/3k4/8/8/4K3/B7 w - - 0 1",
            "8/8/8/3k4/8/8/4K3/NN6 w - - 0 1",
            "8/8/8/3k4/8/8/4K3/B1B5 w - - 0 1",
            "8/8/8/3k4/8/8/P3K3/8 w - - 0 1",
            "8/8/8/3kp3/8/8/4K3/R7 w - - 0 1",
        ] {
            assert_eq!(score(drawn_or_not_known), None, "{drawn_or_not_known}");
        }
    }

    #[test]
    fn a_piece_that_is_lost_wins_nothing() {
        // With the move the king takes the rook; without it one piece may go, not two.
        assert_eq!(score("8/8/8/8/8/1k6/R7/4K3 b - - 0 1"), None);
        assert!(score("8/8/8/8/8/1k6/R7/4K3 w - - 0 1").is_some());
        assert!(score("8/8/8/8/8/1k6/RR6/4K3 b - - 0 1").is_some());
        assert_eq!(score("8/8/8/8/2N5/1k6/B7/4K3 b - - 0 1"), None);
        assert_eq!(score("8/8/8/8/NB6/1k6/8/7K w - - 0 1"), None);
    }

    #[test]
    fn it_is_worth_more_the_nearer_the_mate_is() {
        for closer in [
            ["8/8/8/3k4/8/8/8/R3K3 w - - 0 1", "8/3k4/8/8/8/8/8/R3K3 w - - 0 1"],
            ["3k4/8/8/8/8/8/8/R3K3 w - - 0 1", "3k4/8/3K4/8/8/8/8/R7 w - - 0 1"],
            ["3k4/8/3K4/8/8/8/8/R7 w - - 0 1", "3k4/8/3K4/8/8/8/8/Q7 w - - 0 1"],
            // The bishop stands on a dark square, as a1 and h8 are.
            ["k7/8/2K5/2N5/8/8/8/2B5 w - - 0 1", "7k/8/5K2/5N2/8/8/8/2B5 w - - 0 1"],
        ] {
            assert!(score(closer[0]) < score(closer[1]), "{closer:?}");
        }
    }

    /// Colours exchanged, the other side wins, by as much.
    #[test]
    fn colours_are_alike() {
        for fen in ["8/8/8/3k4/8/8/8/R3K3 w - - 0 1", "7k/8/5K2/5N2/8/8/8/2B5 b - - 0 1"] {
            let setup = position(fen).to_setup(shakmaty::EnPassantMode::Legal).into_mirrored();
            let mirrored = setup.position::<Chess>(CastlingMode::Standard).unwrap();
            let (won, other) = (Win::of(&position(fen)).unwrap(), Win::of(&mirrored).unwrap());
            assert!(won.winner == !other.winner && (won.score - other.score).abs() < 1e-6);
        }
    }

    #[test]
    fn only_such_endings_are_answered_for() {
        let won = position("8/8/8/3k4/8/8/8/R3K3 w - - 0 1");
        let lost = position("8/8/8/3k4/8/8/8/R3K3 b - - 0 1");
        let batch: Vec<Request> =
            [&Chess::new(), &won, &lost].into_iter().map(Request::single).collect();
        let (mut plain, mut known) = (Guesser::new(8), KnownWins::over(Box::new(Guesser::new(8))));
        plain.submit(batch.clone());
        known.submit(Vec::new());
        known.submit(batch.clone());
        assert_eq!(known.collect().unwrap(), Vec::new());
        let (plain, known) = (plain.collect().unwrap(), known.collect().unwrap());
        assert_eq!(plain[0], known[0]);
        for (answer, asked) in known[1..].iter().zip(&batch[1..]) {
            let is_winner = asked.position.turn() == Color::White;
            assert_eq!(answer.value > 0.9, is_winner);
            let of_wdl = answer.wdl[0] + answer.wdl[1] / 2.0;
            assert!((of_wdl - answer.value).abs() < 1e-6 && answer.error > 0.0);
            let sum: f32 = answer.moves.iter().map(|said| said.policy).sum();
            assert!((sum - 1.0).abs() < 1e-4, "{sum}");
            let likeliest = answer.moves.iter().max_by(|a, b| a.policy.total_cmp(&b.policy));
            let best = answer.moves.iter().map(|said| said.action_value).fold(0.0, f32::max);
            assert!((likeliest.unwrap().action_value - best).abs() < 1e-6);
        }
        assert_eq!(known[1].moves.len(), batch[1].moves.len());
    }
}
