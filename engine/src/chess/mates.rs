//! Mates in two that the rules alone find: where looking costs far less than an evaluation, or
//! where so much rests on the position that it does not matter.
//!
//! A position is *lost in two plies* where every move allows a mate in one. Mostly the first move
//! that is tried does not, and the answer takes a microsecond. A mate in two is a move to such a
//! position; of a leaf only the checks are looked through, of the root and of positions with many
//! evaluations every move.
//!
//! Nothing here knows the game's earlier positions: whoever asks makes sure that none of them can
//! occur for the third time ([`is_repetitive`]). The fifty-move rule is respected.

use shakmaty::{Chess, Move, Position};

use crate::chess::score::Verdict;
use crate::chess::verdicts::{Checks, mating_move};

/// Plies of a mate in two, from the side that gives it: as far as this looks.
pub const LONGEST: u16 = 3;

/// Whether every one of the moves, all that are legal in `position`, allows a mate in one. `false`
/// where the game is over.
pub fn is_lost_in_two(position: &Chess, moves: &[Move]) -> bool {
    !moves.is_empty()
        && moves.iter().all(|&reply| {
            let after = after(position, reply);
            after.halfmoves() < 100 && mating_move(&after, &after.legal_moves()).is_some()
        })
}

/// A checking move after which the opponent is lost in two plies: a mate in two.
pub fn mate_by_check(position: &Chess, moves: &[Move]) -> Option<Move> {
    let checks = Checks::of(position);
    let may_check = |played: &Move| checks.may_check(*played);
    moves.iter().copied().filter(may_check).find(|&played| {
        let after = after(position, played);
        after.is_check() && is_lost(&after)
    })
}

/// The index of the first of these moves after which the opponent is lost in two plies.
pub fn mate_by_any(
    position: &Chess,
    mut moves: impl Iterator<Item = (usize, Move)>,
) -> Option<usize> {
    moves.find(|&(_, played)| is_lost(&after(position, played))).map(|(index, _)| index)
}

/// What the rules say of a position in which there is no mate in one, looking so many plies ahead:
/// lost in two, or a mate in two by a check.
pub fn look(position: &Chess, moves: &[Move], plies: u16) -> Option<Verdict> {
    if plies >= 2 && is_lost_in_two(position, moves) {
        return Some(Verdict::Loss(2));
    }
    (plies >= LONGEST && mate_by_check(position, moves).is_some()).then_some(Verdict::Win(LONGEST))
}

/// The moves that show such a verdict; none of any other.
pub fn line(position: &Chess, verdict: Verdict) -> Vec<Move> {
    let moves = position.legal_moves();
    let first = match verdict {
        Verdict::Win(1) => return mating_move(position, &moves).into_iter().collect(),
        Verdict::Loss(2) => moves.first().copied().filter(|_| is_lost_in_two(position, &moves)),
        Verdict::Win(LONGEST) => mate_by_check(position, &moves).or_else(|| {
            mate_by_any(position, moves.iter().copied().enumerate()).map(|index| moves[index])
        }),
        _ => None,
    };
    let Some(first) = first else { return Vec::new() };
    let rest = if verdict == Verdict::Loss(2) { Verdict::Win(1) } else { Verdict::Loss(2) };
    let mut line = vec![first];
    line.extend(self::line(&after(position, first), rest));
    line
}

/// Whether a position occurred twice already among those that can still come back: the earlier
/// keys of the game, and the moves since the last irreversible one.
pub fn is_repetitive(earlier: &[u64], halfmoves: u32) -> bool {
    let recent = &earlier[earlier.len().saturating_sub(halfmoves as usize)..];
    recent.iter().enumerate().any(|(index, key)| recent[index + 1..].contains(key))
}

fn is_lost(position: &Chess) -> bool {
    position.halfmoves() < 100 && is_lost_in_two(position, &position.legal_moves())
}

fn after(position: &Chess, played: Move) -> Chess {
    let mut after = position.clone();
    after.play_unchecked(played);
    after
}

#[cfg(test)]
mod tests {
    use shakmaty::CastlingMode;
    use shakmaty::fen::Fen;

    use super::*;

    fn position(fen: &str) -> Chess {
        fen.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap()
    }

    fn seen(fen: &str, plies: u16) -> Option<Verdict> {
        let position = position(fen);
        look(&position, &position.legal_moves(), plies)
    }

    /// The king has one move, and the second rook mates.
    const LADDER: &str = "7k/R7/8/8/8/8/8/1R4K1 b - - 0 1";

    #[test]
    fn sees_what_is_lost_in_two_and_no_more() {
        assert_eq!(seen(LADDER, 2), Some(Verdict::Loss(2)));
        assert_eq!(seen(LADDER, 1), None);
        // The king escapes over g7.
        assert_eq!(seen("7k/8/R7/8/8/8/8/1R4K1 b - - 0 1", 3), None);
        // Mated, and stalemated: the rules have decided already.
        assert_eq!(seen("R6k/1R6/8/8/8/8/8/6K1 b - - 0 1", 3), None);
        assert_eq!(seen("7k/5Q2/8/8/8/8/8/6K1 b - - 0 1", 3), None);
    }

    #[test]
    fn a_check_mates_in_two_and_the_line_shows_it() {
        let fen = "7k/8/R7/8/8/8/8/1R4K1 w - - 0 1";
        let ladder = position(fen);
        // Ra7 is quiet: only whoever looks at every move finds it.
        let moves = ladder.legal_moves();
        assert_eq!(seen(fen, LONGEST), None);
        assert!(mate_by_any(&ladder, moves.iter().copied().enumerate()).is_some());
        let line = line(&ladder, Verdict::Win(3));
        assert_eq!(line.len(), 3);
        let end = line.iter().fold(ladder, |position, &played| after(&position, played));
        assert!(end.is_checkmate());
        // Smothered: the queen is given on g8, then the knight mates.
        let smothered = "5r1k/6pp/7N/3Q4/8/8/8/6K1 w - - 0 1";
        assert_eq!(seen(smothered, LONGEST), Some(Verdict::Win(3)));
        assert_eq!(seen(smothered, 2), None);
    }

    #[test]
    fn the_fifty_move_rule_comes_first() {
        assert_eq!(seen(&LADDER.replace(" 0 1", " 98 90"), 2), Some(Verdict::Loss(2)));
        assert_eq!(seen(&LADDER.replace(" 0 1", " 99 90"), 2), None);
    }

    #[test]
    fn knows_where_a_position_may_come_back() {
        assert!(is_repetitive(&[5, 1, 2, 1], 3));
        assert!(!is_repetitive(&[1, 5, 2, 1], 3));
        assert!(!is_repetitive(&[1, 1], 0));
        assert!(is_repetitive(&[1, 1], 90));
    }
}
