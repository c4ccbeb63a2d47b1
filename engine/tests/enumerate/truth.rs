//! Known numbers of large closures: minutes of a core, so not every test run has them. They were
//! computed with shakmaty's moves and sets of 128-bit keys alone, as `by_keys_alone` does it again.

use std::collections::HashSet;

use shakmaty::zobrist::Zobrist128;
use shakmaty::{ByColor, Chess, Color, EnPassantMode, Position as _};
use tesla_engine::enumerate::Found;

use crate::naive::after;
use crate::{complete, position, request};

const NO_CASTLING: &str = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w - - 0 1";

/// After 1.a3 a rook, too, has a square more.
const A3_NO_CASTLING: &str = "rnbqkbnr/pppppppp/8/8/8/P7/1PPPPPPP/RNBQKBNR b - - 0 1";

/// Each legal move leads to a root or a position, and that was there before or was not.
fn balances(found: &Found) {
    let collisions = |color| found.root_collisions(color) + found.domain_collisions(color);
    assert_eq!(
        found.legal_moves(),
        found.roots() + found.new_positions() + collisions(Color::White) + collisions(Color::Black)
    );
}

#[test]
#[ignore = "ten seconds of a core"]
fn start_position_without_castling() {
    let found = complete(&request(&position(NO_CASTLING)));
    balances(&found);
    assert_eq!(found.positions, ByColor { white: 2_513_846, black: 2_513_750 });
    assert_eq!(found.legal_moves(), 114_783_512);
    assert_eq!((found.most_moves, found.fewest_moves), (34, 2));
    assert_eq!(found.roots(), 68_409_899);
}

#[test]
#[ignore = "a minute of a core and 2 GB"]
fn start_position() {
    let mut request = request(&Chess::default());
    request.resources.memory = 4 << 30;
    let found = complete(&request);
    balances(&found);
    assert_eq!(found.positions, ByColor { white: 12_727_457, black: 12_724_717 });
    assert_eq!(found.legal_moves(), 582_408_371);
    assert_eq!((found.most_moves, found.fewest_moves), (34, 2));
    assert_eq!(found.roots(), 345_282_223);
}

#[test]
#[ignore = "ten seconds of a core"]
fn after_a3_without_castling() {
    let found = complete(&request(&position(A3_NO_CASTLING)));
    balances(&found);
    assert_eq!(found.positions, ByColor { white: 3_770_697, black: 3_770_744 });
    assert_eq!(found.legal_moves(), 169_883_850);
    assert_eq!((found.most_moves, found.fewest_moves), (34, 2));
    assert_eq!(found.roots(), 99_813_064);
}

/// Positions of a closure by the side to move.
fn by_keys_alone(start: &Chess) -> ByColor<u64> {
    let key = |position: &Chess| position.zobrist_hash::<Zobrist128>(EnPassantMode::Legal).0;
    let mut seen = HashSet::from([key(start)]);
    let mut count = ByColor::default();
    let mut work = vec![start.clone()];
    while let Some(position) = work.pop() {
        *count.get_mut(position.turn()) += 1;
        for played in position.legal_moves().into_iter().filter(|played| !played.is_zeroing()) {
            let next = after(&position, played);
            if seen.insert(key(&next)) {
                work.push(next);
            }
        }
    }
    count
}

#[test]
#[ignore = "four minutes of a core and 2 GB"]
fn sides_to_move_by_keys_alone() {
    let white = |white, black| ByColor { white, black };
    assert_eq!(by_keys_alone(&position(NO_CASTLING)), white(2_513_846, 2_513_750));
    assert_eq!(by_keys_alone(&position(A3_NO_CASTLING)), white(3_770_697, 3_770_744));
    assert_eq!(by_keys_alone(&Chess::default()), white(12_727_457, 12_724_717));
}
