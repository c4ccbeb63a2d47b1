//! What a move leaves behind, in classes: what the opponent can take next, and what the mover
//! threatens to take after that.
//!
//! The exchange on the move's own square has its class elsewhere (`move_situation`); here is the
//! rest of the board: pieces left hanging, threats met or overlooked, attacks opened, mates. The
//! best of all moves by these classes is told to the readout: whether every move loses something,
//! and whether a safe one threatens more.

use shakmaty::{Bitboard, Board, Chess, Color, Move, Position, Rank, Role, Square, attacks};

use crate::classical::exchange::{
    DEAREST_FIRST, attacked, best_capture, best_capture_within, role_value,
};

/// Lower bounds, in centipawns, of the classes of what the opponent can take elsewhere: a pawn, a
/// minor piece, a rook, a queen.
const LOSSES: [i32; 4] = [50, 180, 420, 800];
/// Lower bounds of the classes of what the mover threatens to take: a pawn, a piece, a queen.
const GAINS: [i32; 3] = [50, 180, 800];
/// The class of a move that mates.
const MATE: usize = GAINS.len() + 1;

/// Classes of what the opponent can take.
const LOSS_CLASSES: usize = LOSSES.len() + 1;
/// Classes of what the mover threatens.
const GAIN_CLASSES: usize = MATE + 1;
/// All pairs of classes.
pub(super) const CLASSES: usize = LOSS_CLASSES * GAIN_CLASSES;

/// What the classes of an exchange on the move's square stand for, in centipawns.
const NETS: [i32; super::EXCHANGES] = [-300, -100, 0, 100, 400];
/// What the classes of what the opponent can take elsewhere stand for.
const TAKEN: [i32; LOSS_CLASSES] = [0, 100, 300, 500, 950];
/// A mate, beyond all material.
const MATED: i32 = 10_000;
/// Lower bounds of the classes of the best move: what its exchange nets less what the opponent can
/// take elsewhere afterwards.
const BEST: [i32; 7] = [-600, -350, -150, -50, 50, 250, MATED];
/// A move that loses no more than this is safe.
const SAFE: i32 = -50;

/// Rows that tell of the best move and of the largest threat that a safe move makes.
pub(super) const ROWS: usize = BEST.len() + 1 + GAIN_CLASSES;

/// Rows of a position in which nothing happens.
pub(super) const QUIET: [u8; 2] = [4, BEST.len() as u8 + 1];

/// What each piece of a position can be taken for. A move changes little of it: what it does not
/// touch is worked out once.
pub(super) struct Captures<'a> {
    board: &'a Board,
    /// The squares on which each depends; none where it is not known yet.
    within: [Bitboard; 64],
    best: [i32; 64],
}

impl<'a> Captures<'a> {
    pub(super) fn of(board: &'a Board) -> Self {
        Self { board, within: [Bitboard::EMPTY; 64], best: [0; 64] }
    }

    /// The most that `side` wins by an exchange on a square of `board`, which is this position's
    /// but for what stands on the squares that `changed`.
    fn best(&mut self, board: &Board, changed: Bitboard, square: Square, side: Color) -> i32 {
        let place = usize::from(square);
        if changed.contains(square) {
            return best_capture(board, square, side);
        }
        if self.within[place].is_empty() {
            (self.best[place], self.within[place]) = best_capture_within(self.board, square, side);
        }
        let knights = self.board.knights() | board.knights();
        let within = self.within[place] | (attacks::knight_attacks(square) & knights);
        if (within & changed).any() {
            return best_capture(board, square, side);
        }
        self.best[place]
    }
}

/// Squares on which two boards differ.
fn changed(a: &Board, b: &Board) -> Bitboard {
    let roles = Role::ALL.into_iter().map(|role| a.by_role(role) ^ b.by_role(role));
    roles.fold(a.white() ^ b.white(), |squares, role| squares | role)
}

/// The pair of classes of `played`, legal in `position`, which takes its piece to `to`, and whether
/// it is idle: gives no check, leaves no pawn on the seventh rank, and no exchange would gain
/// anything if the opponent passed. The position's `captures` are used again.
pub(super) fn class(
    position: &Chess,
    played: Move,
    to: Square,
    captures: &mut Captures<'_>,
) -> (usize, bool) {
    let mut after = position.clone();
    after.play_unchecked(played);
    let (board, mover) = (after.board(), position.turn());
    let checks = after.is_check();
    if checks && after.legal_moves().is_empty() {
        return (MATE, false);
    }
    // In check the opponent has other things to do.
    let changed = changed(position.board(), board);
    let mut largest = |side: Color, except: Option<Square>| {
        largest_capture(board, side, except, |square| captures.best(board, changed, square, !side))
    };
    let loss = if checks { 0 } else { largest(mover, Some(to)) };
    let gain = largest(!mover, None);
    let class = reached(&LOSSES, loss) * GAIN_CLASSES + reached(&GAINS, gain);
    (class, gain == 0 && !checks && before_promotion(board, mover).is_empty())
}

/// The pawns of `side` that stand one rank before their promotion.
pub(super) fn before_promotion(board: &Board, side: Color) -> Bitboard {
    let seventh = Bitboard::from_rank(side.fold_wb(Rank::Seventh, Rank::Second));
    board.by_color(side) & board.pawns() & seventh
}

/// The rows of a position, counted from the first of them, whose legal moves have these classes of
/// exchanges and of what happens afterwards.
pub(super) fn rows(moves: impl Iterator<Item = (usize, usize)>) -> [u8; 2] {
    let (mut best, mut threat) = (None, 0);
    for (exchange, after) in moves {
        let net = net(exchange, after);
        best = best.max(Some(net));
        if net >= SAFE {
            threat = threat.max(after % GAIN_CLASSES);
        }
    }
    // Without moves the game is over, and the evaluation of no interest.
    [reached(&BEST, best.unwrap_or(0)) as u8, (BEST.len() + 1 + threat) as u8]
}

/// What a move with these classes of its exchange and of what happens afterwards nets, in
/// centipawns: what its exchange does less what the opponent can take elsewhere.
pub(super) fn net(exchange: usize, after: usize) -> i32 {
    let (loss, gain) = (after / GAIN_CLASSES, after % GAIN_CLASSES);
    if gain == MATE { MATED } else { NETS[exchange] - TAKEN[loss] }
}

/// The most that the other side wins by one exchange on a square of `side`'s pieces, its king
/// left out and the square `except` too; `best` tells of a square.
fn largest_capture(
    board: &Board,
    side: Color,
    except: Option<Square>,
    mut best: impl FnMut(Square) -> i32,
) -> i32 {
    let threatened = board.by_color(side) & attacked(board, !side);
    let mut most = 0;
    for role in DEAREST_FIRST {
        if most >= role_value(role) {
            break;
        }
        for square in threatened & board.by_role(role) {
            if Some(square) != except {
                most = most.max(best(square));
            }
        }
    }
    most
}

/// The class of a value: how many bounds it has reached.
pub(super) fn reached(bounds: &[i32], value: i32) -> usize {
    bounds.iter().filter(|&&bound| value >= bound).count()
}

#[cfg(test)]
mod tests {
    use shakmaty::CastlingMode;
    use shakmaty::fen::Fen;
    use shakmaty::uci::UciMove;

    use super::super::{FORCING_RULE_ROWS, Window};
    use super::*;

    /// Classes of what the opponent can take and of what the mover threatens.
    fn classes(fen: &str, played: &str) -> [usize; 2] {
        let setup: Fen = fen.parse().unwrap();
        let position: Chess = setup.into_position(CastlingMode::Standard).unwrap();
        let played = played.parse::<UciMove>().unwrap().to_move(&position).unwrap();
        let (class, _) = class(&position, played, played.to(), &mut Captures::of(position.board()));
        [class / GAIN_CLASSES, class % GAIN_CLASSES]
    }

    #[test]
    fn hanging_pieces_are_seen_wherever_they_stand() {
        // A pawn attacks the knight: the king's move leaves it, the knight's own saves it.
        let threatened = "4k3/8/8/8/3p4/4N3/8/4K3 w - - 0 1";
        assert_eq!(classes(threatened, "e1d1"), [2, 0]);
        assert_eq!(classes(threatened, "e3g4"), [0, 0]);
        // A rook defends it against the bishop; a move away along the file keeps it defended.
        let defended = "4k3/8/8/2b5/8/4N3/8/1K2R3 w - - 0 1";
        assert_eq!(classes(defended, "e1e2"), [0, 0]);
        assert_eq!(classes(defended, "e1d1"), [2, 0]);
    }

    #[test]
    fn threats_opened_lines_and_mates_are_seen() {
        // The bishop leaves the line of its rook, which attacks the queen then.
        assert_eq!(classes("3q2k1/8/8/8/3B4/8/8/3RK3 w - - 0 1", "d4f2"), [0, 3]);
        assert_eq!(classes("3nk3/8/8/8/3B4/8/8/3RK3 w - - 0 1", "d4f2"), [0, 0]);
        // A mate, and a check that leaves the queen en prise: the king has to be answered first.
        assert_eq!(classes("6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1", "a1a8"), [0, MATE]);
        assert_eq!(classes("4k3/8/8/q7/1Q6/8/6K1/R7 w - - 0 1", "b4b8"), [0, 3]);
    }

    /// Classes of the best move and of the largest threat.
    fn outlook(fen: &str) -> [usize; 2] {
        let setup: Fen = fen.parse().unwrap();
        let position: Chess = setup.into_position(CastlingMode::Standard).unwrap();
        let window = Window::new(&position, 0, &[]);
        let [.., best, next, _, _] = window.readouts[0].rules.map(usize::from);
        [best - FORCING_RULE_ROWS, next - FORCING_RULE_ROWS - BEST.len() - 1]
    }

    #[test]
    fn the_best_move_tells_of_forks_met_and_made() {
        let quiet = QUIET.map(usize::from);
        assert_eq!(outlook("4k3/8/8/8/8/8/8/R3K3 w - - 0 1"), [quiet[0], 0]);
        // A pawn forks two knights: one of them is lost. With one attacked it just leaves.
        let [forked, _] = outlook("4k3/8/8/8/3p4/2N1N3/8/4K3 w - - 0 1");
        assert_eq!(forked, 2);
        let [single, _] = outlook("4k3/8/8/8/3p4/4N3/8/4K3 w - - 0 1");
        assert_eq!(single, quiet[0]);
        // A knight forks king and queen; a rook mates on the last rank.
        assert_eq!(outlook("q3k3/8/8/3N4/8/8/8/4K3 w - - 0 1"), [quiet[0], 3]);
        assert_eq!(outlook("6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1"), [BEST.len(), MATE]);
    }
}
