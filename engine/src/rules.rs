//! What the rules of chess decide without an evaluator: mate, stalemate, bare kings, repetition,
//! the fifty-move rule; and a mate in one, which is seen as quickly.

use shakmaty::{Chess, Move, Position};

use crate::node::{PATH, Verdict};

/// How often a position occurred before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Visits {
    /// On the search path, the root included.
    pub on_path: usize,
    /// On the path and in the game.
    pub in_all: usize,
}

impl Visits {
    /// Once inside the tree or twice in all is a draw.
    pub fn is_draw(self) -> bool {
        self.on_path >= 1 || self.in_all >= 2
    }
}

/// Looks for `key` among its ancestors' keys, which end with its parent's; only every second one
/// since the last irreversible move can be the same position.
pub fn repetitions(keys: &[u64], path_start: usize, key: u64, halfmoves: u32) -> Visits {
    let mut visits = Visits::default();
    let mut back = 4;
    while back <= keys.len().min(halfmoves as usize) {
        let place = keys.len() - back;
        if keys[place] == key {
            visits.in_all += 1;
            visits.on_path += usize::from(place >= path_start);
        }
        back += 2;
    }
    visits
}

/// The verdict of the rules, or of a mate in one, and the flags that go with it.
pub fn decide(position: &Chess, moves: &[Move], visits: Visits) -> Option<(Verdict, u8)> {
    if moves.is_empty() {
        return Some((if position.is_check() { Verdict::Loss(0) } else { Verdict::Draw }, 0));
    }
    if position.is_insufficient_material() {
        return Some((Verdict::Draw, 0));
    }
    if position.halfmoves() >= 100 || visits.is_draw() {
        return Some((Verdict::Draw, PATH));
    }
    mating_move(position, moves).map(|_| (Verdict::Win(1), 0))
}

/// A move that mates at once.
pub fn mating_move(position: &Chess, moves: &[Move]) -> Option<Move> {
    moves.iter().copied().find(|&played| {
        let mut after = position.clone();
        after.play_unchecked(played);
        after.is_checkmate()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_repetitions_on_the_path_and_in_the_game() {
        let keys = [7, 1, 2, 3, 7, 4, 5, 6];
        let all = Visits { on_path: 1, in_all: 2 };
        assert_eq!(repetitions(&keys, 2, 7, 50), all);
        assert_eq!(repetitions(&keys, 5, 7, 50), Visits { on_path: 0, in_all: 2 });
        assert_eq!(repetitions(&keys, 2, 7, 4), Visits { on_path: 1, in_all: 1 });
        assert_eq!(repetitions(&keys, 2, 7, 3), Visits::default());
        assert!(all.is_draw() && !Visits { on_path: 0, in_all: 1 }.is_draw());
    }

    #[test]
    fn finds_the_mating_move() {
        let fen: shakmaty::fen::Fen = "6k1/5ppp/8/8/8/8/8/R5K1 w - - 0 1".parse().unwrap();
        let position: Chess = fen.into_position(shakmaty::CastlingMode::Standard).unwrap();
        let mate = mating_move(&position, &position.legal_moves()).unwrap();
        assert_eq!(mate.to(), shakmaty::Square::A8);
        assert_eq!(mating_move(&Chess::new(), &Chess::new().legal_moves()), None);
    }
}
