//! Static exchange evaluation: what a capture wins once both sides have taken on its square with
//! their least valuable pieces, as long as it pays. Pins are ignored.

use shakmaty::{Bitboard, Board, Chess, Color, Move, Position, Role, Square, attacks};

use super::evaluate::pawn_attacks;

/// What can be taken, dearest first.
pub(crate) const DEAREST_FIRST: [Role; 5] =
    [Role::Queen, Role::Rook, Role::Bishop, Role::Knight, Role::Pawn];

/// Value of a role in centipawns for exchanges; the king's is beyond all others together.
pub const fn role_value(role: Role) -> i32 {
    match role {
        Role::Pawn => 100,
        Role::Knight => 320,
        Role::Bishop => 330,
        Role::Rook => 500,
        Role::Queen => 950,
        Role::King => 20_000,
    }
}

/// What a move takes at once: the captured piece and what a promoting pawn gains, in centipawns.
pub fn immediate_gain(played: Move) -> i32 {
    let promoted = played.promotion().map_or(0, |role| role_value(role) - role_value(Role::Pawn));
    played.capture().map_or(0, role_value) + promoted
}

/// Whether the exchange that `played` (legal in `position`) begins nets at least `threshold`
/// centipawns for the side to move.
pub fn nets_at_least(position: &Chess, played: Move, threshold: i32) -> bool {
    nets_from(position, played, threshold, None)
}

/// The same where [`all_attackers`] of its square are known, as they are with the piece there.
pub(crate) fn nets_from(
    position: &Chess,
    played: Move,
    threshold: i32,
    attackers: Option<Bitboard>,
) -> bool {
    let (Some(from), to) = (played.from(), played.to()) else { return threshold <= 0 };
    if played.is_castle() {
        return threshold <= 0;
    }
    // `balance` is what the side that just took has beyond the threshold if the other one stops.
    let mut balance = immediate_gain(played) - threshold;
    if balance < 0 {
        return false;
    }
    let mut standing = played.promotion().unwrap_or(played.role());
    balance -= role_value(standing);
    if balance >= 0 {
        return true; // even losing the piece that took leaves enough
    }
    let board = position.board();
    let mut occupied = board.occupied().without(from).with(to);
    if played.is_en_passant() {
        occupied = occupied.without(Square::from_coords(to.file(), from.rank()));
    }
    // En passant opens a line more.
    let known = attackers.filter(|_| !played.is_en_passant());
    let mut attackers = known.unwrap_or_else(|| all_attackers(board, to, occupied));
    let us = position.turn();
    let mut turn = us;
    loop {
        turn = !turn;
        attackers &= occupied;
        let Some((square, role)) = least_valuable(board, attackers & board.by_color(turn)) else {
            break; // `turn` cannot take back
        };
        standing = role;
        occupied = occupied.without(square);
        attackers |= behind(board, role, to, occupied);
        balance = -balance - 1 - role_value(standing);
        if balance >= 0 {
            // Taking with the king where the other side still attacks is illegal.
            let exposed = (attackers & occupied & board.by_color(!turn)).any();
            if standing == Role::King && exposed {
                break;
            }
            turn = !turn;
            break;
        }
    }
    turn != us
}

/// The largest threshold that [`nets_at_least`] grants, within ±1 centipawn.
pub fn net_gain(position: &Chess, played: Move) -> i32 {
    let (mut low, mut high) = (-1_000, immediate_gain(played) + 1);
    while high - low > 1 {
        let middle = i32::midpoint(low, high);
        if nets_at_least(position, played, middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The most that `side` wins by beginning an exchange on `square`, where a piece of the other side
/// stands, in centipawns; 0 where it had better not. Promotions and pins are ignored.
pub fn best_capture(board: &Board, square: Square, side: Color) -> i32 {
    capture(board, square, side).0
}

/// [`best_capture`], and the squares on which it depends: while nothing changes there, and no
/// knight near it, it stays.
pub(crate) fn best_capture_within(board: &Board, square: Square, side: Color) -> (i32, Bitboard) {
    let (best, left) = capture(board, square, side);
    // Lines as far as they open in the exchange; pawns and kings stand beside the square.
    let lines = attacks::queen_attacks(square, left);
    (best, lines | Bitboard::from_square(square))
}

/// [`best_capture`], and what is left on the board when nobody can take any more.
fn capture(board: &Board, square: Square, side: Color) -> (i32, Bitboard) {
    let mut occupied = board.occupied();
    let Some(victim) = board.role_at(square) else { return (0, occupied) };
    let mut attackers = all_attackers(board, square, occupied);
    // What each capture leaves the side that makes it, if the exchange ends with it.
    let mut nets = [0; 32];
    let mut count = 0;
    let (mut turn, mut standing) = (side, role_value(victim));
    while let Some((from, role)) = least_valuable(board, attackers & board.by_color(turn)) {
        if role == Role::King && (attackers & board.by_color(!turn)).any() {
            break; // the king may not take a defended piece
        }
        nets[count] = standing - if count == 0 { 0 } else { nets[count - 1] };
        count += 1;
        standing = role_value(role);
        occupied = occupied.without(from);
        attackers = (attackers | behind(board, role, square, occupied)) & occupied;
        turn = !turn;
    }
    // Backwards: each side goes on only where that is better than to stop.
    let best = nets[..count].iter().rev().copied().reduce(|after, net| net.min(-after));
    (best.unwrap_or(0).max(0), occupied)
}

/// The squares that `side` attacks.
pub fn attacked(board: &Board, side: Color) -> Bitboard {
    let (own, occupied) = (board.by_color(side), board.occupied());
    let mut squares = pawn_attacks(own & board.pawns(), side);
    let mut add = |pieces: Bitboard, reach: &dyn Fn(Square) -> Bitboard| {
        for square in own & pieces {
            squares |= reach(square);
        }
    };
    add(board.knights(), &attacks::knight_attacks);
    add(board.kings(), &attacks::king_attacks);
    add(board.bishops_and_queens(), &|square| attacks::bishop_attacks(square, occupied));
    add(board.rooks_and_queens(), &|square| attacks::rook_attacks(square, occupied));
    squares
}

/// All pieces of both sides that attack a square where so much is occupied.
pub(crate) fn all_attackers(board: &Board, to: Square, occupied: Bitboard) -> Bitboard {
    let [white, black] = [board.white(), board.black()];
    (attacks::pawn_attacks(Color::White, to) & board.pawns() & black)
        | (attacks::pawn_attacks(Color::Black, to) & board.pawns() & white)
        | (attacks::knight_attacks(to) & board.knights())
        | (attacks::king_attacks(to) & board.kings())
        | sliders_through(board, to, occupied)
}

fn sliders_through(board: &Board, to: Square, occupied: Bitboard) -> Bitboard {
    (attacks::bishop_attacks(to, occupied) & board.bishops_and_queens())
        | (attacks::rook_attacks(to, occupied) & board.rooks_and_queens())
}

/// Sliders that attack a square once a piece of this role has left for it: on the lines of the
/// role, others are as before.
fn behind(board: &Board, role: Role, to: Square, occupied: Bitboard) -> Bitboard {
    match role {
        Role::Knight => Bitboard::EMPTY,
        Role::Pawn | Role::Bishop => {
            attacks::bishop_attacks(to, occupied) & board.bishops_and_queens()
        }
        Role::Rook => attacks::rook_attacks(to, occupied) & board.rooks_and_queens(),
        Role::Queen | Role::King => sliders_through(board, to, occupied),
    }
}

fn least_valuable(board: &Board, candidates: Bitboard) -> Option<(Square, Role)> {
    if candidates.is_empty() {
        return None;
    }
    Role::ALL
        .into_iter()
        .find_map(|role| (candidates & board.by_role(role)).first().map(|square| (square, role)))
}

#[cfg(test)]
mod tests {
    use shakmaty::CastlingMode;
    use shakmaty::fen::Fen;
    use shakmaty::uci::UciMove;

    use super::*;

    fn check(fen: &str, played: &str, expected: i32) {
        let setup: Fen = fen.parse().unwrap();
        let position: Chess = setup.into_position(CastlingMode::Standard).unwrap();
        let played = played.parse::<UciMove>().unwrap().to_move(&position).unwrap();
        assert_eq!(net_gain(&position, played), expected, "{fen} {played}");
        assert!(nets_at_least(&position, played, expected));
        assert!(!nets_at_least(&position, played, expected + 1));
    }

    #[test]
    fn exchanges_count_out() {
        check("1k1r4/1pp4p/p7/4p3/8/P5P1/1PP4P/2K1R3 w - - 0 1", "e1e5", 100);
        // Knight takes pawn, defended by knight, bishop and queen; rook and queen behind.
        check("1k1r3q/1ppn3p/p4b2/4p3/8/P2N2P1/1PP1R1BP/2K1Q3 w - - 0 1", "d3e5", -220);
        // A quiet move to an attacked square loses the piece.
        check("4k3/8/3p4/8/8/8/8/4KQ2 w - - 0 1", "f1f2", 0);
        check("4k3/8/3p4/8/5Q2/8/8/4K3 w - - 0 1", "f4e5", -950);
        // En passant and promotion.
        check("4k3/8/8/3pP3/8/8/8/4K3 w - d6 0 1", "e5d6", 100);
        check("8/P3k3/8/8/8/8/8/4K3 w - - 0 1", "a7a8q", 850);
        check("1r6/P3k3/8/8/8/8/8/4K3 w - - 0 1", "a7b8q", 1350);
        // The king may not take a defended pawn back.
        check("8/8/3k4/4p3/3P1P2/8/8/4K3 w - - 0 1", "d4e5", 100);
    }
}
