//! What forcing play is worth, in classes: rows of the rule table that a readout always has.
//!
//! A small search over captures and evasions (`classical/quiet.rs`) sees at once what a network of
//! a few layers finds hard: which of several exchanges comes out ahead. Three classes tell of it:
//! the value after the captures that both sides want, what the side to move gains by them, and what
//! the opponent would gain if the side to move passed.

use shakmaty::{Chess, MoveList, Position, PositionError};

use super::aftermath::reached;
use crate::classical::{for_white, quiet_from, seen_by};

/// Upper bounds of the classes of the value after captures, in centipawns; symmetrical, so that the
/// other side's class is the mirrored one.
const VALUES: [i32; 14] =
    [-1000, -600, -400, -250, -150, -80, -30, 30, 80, 150, 250, 400, 600, 1000];
/// Upper bounds of the classes of what the side to move gains by captures or, in check, loses.
const GAINS: [i32; 11] = [-10_000, -150, -30, 30, 80, 150, 250, 400, 600, 1000, 10_000];
/// Upper bounds of the classes of what the opponent threatens to gain; one class more is for a side
/// in check, which cannot pass.
const THREATS: [i32; 7] = [30, 80, 150, 250, 400, 600, 1000];

/// Classes of the value.
const VALUE_ROWS: u8 = VALUES.len() as u8 + 1;
/// Classes of the gain.
const GAIN_ROWS: u8 = GAINS.len() as u8 + 1;
/// The class of a side in check.
const IN_CHECK: u8 = THREATS.len() as u8 + 1;

/// Rows of all classes together.
pub(super) const ROWS: usize = VALUE_ROWS as usize + GAIN_ROWS as usize + IN_CHECK as usize + 1;
/// Rows of a quiet position without threats.
pub(super) const QUIET: [u8; 3] = [VALUE_ROWS / 2, VALUE_ROWS + 3, VALUE_ROWS + GAIN_ROWS];

/// The rows of `position` with these legal moves, counted from the first of them; the value is its
/// side to move's.
pub(super) fn rows(position: &Chess, legal: &MoveList) -> [u8; 3] {
    // Passing changes the side to move alone.
    let (turn, board) = (position.turn(), for_white(position.board()));
    let standing = seen_by(turn, board);
    let quiet = quiet_from(position, legal, standing);
    let gain = class(&GAINS, quiet - standing);
    // It fails in check, and would with more pieces than a game gives.
    let passed = position.clone().swap_turn().or_else(PositionError::ignore_too_much_material);
    let threat = passed.map_or(IN_CHECK, |passed| {
        let standing = seen_by(!turn, board);
        class(&THREATS, quiet_from(&passed, &passed.legal_moves(), standing) - standing)
    });
    [class(&VALUES, quiet), VALUE_ROWS + gain, VALUE_ROWS + GAIN_ROWS + threat]
}

/// The row of the other side's value.
pub(crate) fn mirrored(value_row: u8) -> u8 {
    VALUE_ROWS - 1 - value_row
}

/// The class of a value, as a row.
fn class(bounds: &[i32], value: i32) -> u8 {
    reached(bounds, value) as u8
}

#[cfg(test)]
mod tests {
    use shakmaty::CastlingMode;
    use shakmaty::fen::Fen;

    use super::*;

    fn rows_of(fen: &str) -> [u8; 3] {
        let setup: Fen = fen.parse().unwrap();
        let position: Chess = setup.into_position(CastlingMode::Standard).unwrap();
        rows(&position, &position.legal_moves())
    }

    #[test]
    fn rows_tell_captures_threats_and_checks() {
        assert_eq!(rows_of("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"), QUIET);
        // A rook takes an undefended knight; with the other side to move the knight is threatened.
        let [value, gain, threat] = rows_of("4k3/8/8/3n4/8/8/8/3RK3 w - - 0 1");
        let [after, no_gain, threatened] = rows_of("4k3/8/8/3n4/8/8/8/3RK3 b - - 0 1");
        assert!(gain > QUIET[1] && threat == QUIET[2]);
        assert!(no_gain == QUIET[1] && threatened > QUIET[2]);
        assert!(value > QUIET[0] && after < QUIET[0]);
        // A king in check cannot pass.
        let [.., threat] = rows_of("4k3/8/8/8/8/8/8/4RK2 b - - 0 1");
        assert_eq!(usize::from(threat), ROWS - 1);
    }

    #[test]
    fn the_other_sides_value_is_mirrored() {
        for cp in [-5000, -400, -81, -29, 29, 79, 150, 5000] {
            let [ours, theirs] = [class(&VALUES, cp), class(&VALUES, -cp)];
            // A bound itself belongs to the class above it.
            let is_bound = VALUES.contains(&cp) || VALUES.contains(&-cp);
            assert!(is_bound || mirrored(ours) == theirs, "{cp}");
        }
        assert_eq!(mirrored(QUIET[0]), QUIET[0]);
    }
}
