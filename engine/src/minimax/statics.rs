//! What a position is worth where the search goes no further.

use shakmaty::{Chess, Color, Position, Role};

/// A static value, from the side to move; always below [`MATE_BOUND`](super::MATE_BOUND) either
/// way.
pub trait StaticValue {
    /// The value of a position in which the game goes on.
    fn of(&self, position: &Chess) -> i32;
}

/// Seed 002's evaluation: material alone, in centipawns.
#[derive(Clone, Copy, Debug)]
pub struct Material;

/// Seed 002's values, pawn to queen. The king's 20,000 are left out: both sides always have theirs.
const VALUES: [(Role, i32); 5] = [
    (Role::Pawn, 100),
    (Role::Knight, 320),
    (Role::Bishop, 330),
    (Role::Rook, 500),
    (Role::Queen, 900),
];

impl StaticValue for Material {
    fn of(&self, position: &Chess) -> i32 {
        let board = position.board();
        let count = |color: Color, role| (board.by_color(color) & board.by_role(role)).count();
        let us = position.turn();
        let side = |color| -> i32 {
            VALUES.iter().map(|&(role, value)| count(color, role) as i32 * value).sum()
        };
        side(us) - side(!us)
    }
}

/// Seed 004's: only the end of the game has a score, so what is not over is worth nothing yet.
#[derive(Clone, Copy, Debug)]
pub struct EndsOnly;

impl StaticValue for EndsOnly {
    fn of(&self, _: &Chess) -> i32 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn material_is_counted_from_the_side_to_move() {
        let value = |fen: &str| {
            let fen: shakmaty::fen::Fen = fen.parse().unwrap();
            Material.of(&fen.into_position(shakmaty::CastlingMode::Standard).unwrap())
        };
        assert_eq!(Material.of(&Chess::new()), 0);
        assert_eq!(value("4k3/pb6/8/8/8/8/8/QRN1K3 w - - 0 1"), 900 + 500 + 320 - 100 - 330);
        assert_eq!(value("4k3/pb6/8/8/8/8/8/QRN1K3 b - - 0 1"), 100 + 330 - 900 - 500 - 320);
    }
}
