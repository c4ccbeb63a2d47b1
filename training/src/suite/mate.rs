//! Mates: what an engine announces, and whether its move is right.

use serde::{Deserialize, Serialize};
use shakmaty::{Chess, Move, Position};

use super::item::ItemAnswer;
use super::solver::Solver;
use crate::game::score::UciScore;

/// How far moves are checked by trying everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MateLimits {
    /// Longest mate that is checked, moves; at most 8 count.
    pub moves: u32,
    /// Positions searched per answer before giving up; some five million a second.
    pub nodes: u64,
}

impl Default for MateLimits {
    fn default() -> Self {
        MateLimits { moves: 3, nodes: 10_000_000 }
    }
}

/// Bound of the recursion, moves. Trying everything gets nowhere near in practice.
const DEEPEST: u32 = 8;

/// What the engine announced, against the suite's count of moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// No mate.
    None,
    /// A mate for the wrong side.
    WrongSide,
    /// A mate in more moves.
    Longer,
    /// A mate in just as many.
    Exact,
    /// A mate in fewer moves. The suite may be wrong there, or the engine.
    Shorter,
    /// A mate in fewer moves that the move played is shown not to give.
    False,
}

/// Whether the move keeps the mate (or, for the side that is mated, delays it as long as can be).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MoveCheck {
    /// It does; everything was tried.
    Right,
    /// It does not; everything was tried.
    Wrong,
    /// Too long to be tried.
    Unknown,
}

/// What the principal variation says about the announced mate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PvCheck {
    /// Nothing: no mate announced, or the line is cut short.
    Open,
    /// It ends in the mate, in no more moves than announced.
    Mates,
    /// It is as long as announced, or the game is over, without this mate.
    NoMate,
    /// It has an illegal move, or starts with another than the best.
    Illegal,
}

/// An answer to a mate problem. The move and the announcement are two measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MateVerdict {
    /// What was announced.
    pub claim: Claim,
    /// Whether the move is right.
    pub move_check: MoveCheck,
    /// What the variation says.
    pub pv: PvCheck,
}

impl MateVerdict {
    /// A mate in no more moves than the suite has, and nothing shown against it.
    pub fn announced(&self) -> bool {
        matches!(self.claim, Claim::Exact | Claim::Shorter)
            && matches!(self.pv, PvCheck::Open | PvCheck::Mates)
            && self.move_check != MoveCheck::Wrong
    }

    /// By the move where it could be checked, else by the announcement.
    pub fn solved(&self) -> bool {
        match self.move_check {
            MoveCheck::Right => true,
            MoveCheck::Wrong => false,
            MoveCheck::Unknown => self.announced(),
        }
    }
}

/// Judges a legal answer to "mate in `moves`" (negative: mated in).
pub(super) fn judge(
    position: &Chess,
    moves: i32,
    answer: &ItemAnswer,
    limits: &MateLimits,
) -> MateVerdict {
    let claimed = match answer.score {
        Some(UciScore::Mate(n)) if n != 0 => Some(n),
        _ => None,
    };
    let claim = match claimed {
        None => Claim::None,
        Some(n) if n.signum() != moves.signum() => Claim::WrongSide,
        Some(n) => match n.unsigned_abs().cmp(&moves.unsigned_abs()) {
            std::cmp::Ordering::Less => Claim::Shorter,
            std::cmp::Ordering::Equal => Claim::Exact,
            std::cmp::Ordering::Greater => Claim::Longer,
        },
    };
    let pv = claimed.map_or(PvCheck::Open, |n| check_pv(position, n, answer));
    let mut verdict = MateVerdict { claim, move_check: MoveCheck::Unknown, pv };
    if let (Claim::Shorter, Some(n @ 1..)) = (claim, claimed) {
        match check_move(position, n, answer.best, limits) {
            MoveCheck::Unknown => {}
            MoveCheck::Wrong => verdict.claim = Claim::False,
            MoveCheck::Right => return MateVerdict { move_check: MoveCheck::Right, ..verdict },
        }
    }
    verdict.move_check = check_move(position, moves, answer.best, limits);
    verdict
}

fn check_pv(position: &Chess, claimed: i32, answer: &ItemAnswer) -> PvCheck {
    if answer.pv.first().is_some_and(|&m| m != answer.best) {
        return PvCheck::Illegal;
    }
    let mates = claimed > 0;
    let plies = 2 * claimed.unsigned_abs() as usize - usize::from(mates);
    let mut current = position.clone();
    for &m in answer.pv.iter().take(plies) {
        if !current.is_legal(m) {
            return PvCheck::Illegal;
        }
        current.play_unchecked(m);
    }
    if current.is_checkmate() {
        // The mated side is to move.
        let solver_mates = current.turn() != position.turn();
        return if solver_mates == mates { PvCheck::Mates } else { PvCheck::NoMate };
    }
    let over = answer.pv.len() >= plies || current.legal_moves().is_empty();
    if over { PvCheck::NoMate } else { PvCheck::Open }
}

fn check_move(position: &Chess, moves: i32, m: Move, limits: &MateLimits) -> MoveCheck {
    let rest = moves.unsigned_abs().saturating_sub(1);
    if rest >= limits.moves.min(DEEPEST) {
        return MoveCheck::Unknown;
    }
    let mut after = position.clone();
    after.play_unchecked(m);
    let mut solver = Solver::new(limits.nodes);
    let right = if moves > 0 {
        solver.is_mated(&after, rest)
    } else {
        solver.mates(&after, rest).map(|mates| !mates)
    };
    match right {
        Some(true) => MoveCheck::Right,
        Some(false) => MoveCheck::Wrong,
        None => MoveCheck::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use shakmaty::CastlingMode;
    use shakmaty::fen::Fen;
    use shakmaty::uci::UciMove;

    use super::*;

    /// Kings opposed, rook to mate on the back rank at once.
    const ONE: &str = "6k1/8/6K1/8/8/8/8/R7 w - - 0 1";
    /// Two rooks: a1a6 and then b1b7 cut the king off; mate in two by ladder.
    const TWO: &str = "8/6k1/R7/1R6/8/8/8/K7 w - - 0 1";

    fn at(fen: &str) -> Chess {
        Fen::from_ascii(fen.as_bytes()).unwrap().into_position(CastlingMode::Standard).unwrap()
    }

    fn line(position: &Chess, text: &str) -> Vec<Move> {
        let mut current = position.clone();
        let mut line = Vec::new();
        for text in text.split_whitespace() {
            let m = UciMove::from_ascii(text.as_bytes()).unwrap().to_move(&current).unwrap();
            current.play_unchecked(m);
            line.push(m);
        }
        line
    }

    fn judged(fen: &str, moves: i32, score: UciScore, pv: &str) -> MateVerdict {
        let position = at(fen);
        let pv = line(&position, pv);
        let answer = ItemAnswer {
            best: pv[0],
            score: Some(score),
            depth: 1,
            nodes: 1,
            time: Duration::ZERO,
            pv,
        };
        judge(&position, moves, &answer, &MateLimits::default())
    }

    #[test]
    fn judges_the_move_and_the_announcement() {
        let found = judged(ONE, 1, UciScore::Mate(1), "a1a8");
        assert_eq!(
            found,
            MateVerdict { claim: Claim::Exact, move_check: MoveCheck::Right, pv: PvCheck::Mates }
        );
        assert!(found.announced() && found.solved());
        let silent = judged(ONE, 1, UciScore::Cp(900), "a1a8");
        assert!(silent.solved() && !silent.announced());
        assert_eq!(silent.claim, Claim::None);
        let wrong = judged(ONE, 1, UciScore::Mate(1), "a1b1");
        assert_eq!(wrong.pv, PvCheck::NoMate);
        assert!(!wrong.solved() && !wrong.announced());
        assert_eq!(judged(ONE, 1, UciScore::Mate(-1), "a1a8").claim, Claim::WrongSide);
        assert_eq!(judged(ONE, 1, UciScore::Mate(3), "a1a8").claim, Claim::Longer);
    }

    #[test]
    fn checks_a_mate_in_two_by_its_move() {
        let right = judged(TWO, 2, UciScore::Cp(500), "b5b7");
        assert_eq!((right.move_check, right.pv), (MoveCheck::Right, PvCheck::Open));
        let cut = judged(TWO, 2, UciScore::Mate(2), "b5b7 g7f8");
        assert_eq!((cut.pv, cut.announced()), (PvCheck::Open, true));
        let whole = judged(TWO, 2, UciScore::Mate(2), "b5b7 g7f8 a6a8");
        assert_eq!(whole.pv, PvCheck::Mates);
        let wrong = judged(TWO, 2, UciScore::Mate(2), "a1b1");
        assert_eq!((wrong.move_check, wrong.solved()), (MoveCheck::Wrong, false));
        assert!(!wrong.announced(), "announced with a move that does not keep it");
    }

    #[test]
    fn long_mates_stand_by_their_announcement() {
        let fen = "8/8/8/8/8/2k5/8/K6R w - - 0 1";
        let claimed = judged(fen, 16, UciScore::Mate(14), "h1h3");
        assert_eq!((claimed.claim, claimed.move_check), (Claim::Shorter, MoveCheck::Unknown));
        assert!(claimed.solved());
        assert!(!judged(fen, 16, UciScore::Mate(20), "h1h3").solved());
        assert!(!judged(fen, 16, UciScore::Cp(500), "h1h3").solved());
        let impossible = judged(fen, 16, UciScore::Mate(2), "h1h3");
        assert_eq!((impossible.claim, impossible.solved()), (Claim::False, false));
    }

    #[test]
    fn the_mated_side_must_hold_out() {
        // After g8f8 the rook mates; after g8h8 as well: all moves are mated in one.
        let one = "6k1/8/6K1/8/8/8/8/R7 b - - 0 1";
        let all = judged(one, -1, UciScore::Mate(-1), "g8h8 a1a8");
        assert_eq!(
            (all.claim, all.move_check, all.pv),
            (Claim::Exact, MoveCheck::Right, PvCheck::Mates)
        );
        // Kh8 is mated by Ra8 at once, Kf8 holds out longer.
        let two = "6k1/8/5K2/8/8/8/8/R7 b - - 0 1";
        assert_eq!(judged(two, -3, UciScore::Cp(-900), "g8f8").move_check, MoveCheck::Wrong);
        assert_eq!(judged(two, -2, UciScore::Mate(-2), "g8h8").move_check, MoveCheck::Right);
    }

    #[test]
    fn sees_bad_variations() {
        let position = at(ONE);
        let mut answer = ItemAnswer {
            best: line(&position, "a1a8")[0],
            score: Some(UciScore::Mate(2)),
            depth: 1,
            nodes: 1,
            time: Duration::ZERO,
            pv: line(&position, "a1a2 g8h8"),
        };
        let verdict = |answer: &ItemAnswer| judge(&position, 2, answer, &MateLimits::default());
        assert_eq!(verdict(&answer).pv, PvCheck::Illegal, "starts with another move");
        answer.pv = vec![answer.best, answer.best];
        assert_eq!(verdict(&answer).pv, PvCheck::Illegal, "moves after the mate");
        answer.pv.truncate(1);
        assert_eq!(verdict(&answer).pv, PvCheck::Mates, "sooner than announced");
    }

    #[test]
    fn gives_up_at_the_node_limit() {
        let position = at(TWO);
        let limits = MateLimits { moves: 3, nodes: 5 };
        let m = line(&position, "b5b7")[0];
        assert_eq!(check_move(&position, 2, m, &limits), MoveCheck::Unknown);
    }
}
