//! Captures resolved: the static value after the exchanges that the side to move wants.

use shakmaty::{Chess, Move, MoveList, Position};

use super::evaluate::centipawns;
use super::exchange::{immediate_gain, nets_at_least, role_value};

/// Value of being mated now; a mate later is nearer to 0 by its plies.
pub(super) const MATED: i32 = -20_000;
/// Plies of captures searched.
const PLIES: u8 = 8;
/// Plies at which a check is still answered by all evasions.
const CHECK_PLIES: u8 = 2;
/// Positions searched for one value: enough for nearly all exchanges, a bound for the rest.
const POSITIONS: u32 = 64;
/// What a capture may gain beyond its material, in centipawns, before it is not worth a look.
const DELTA: i32 = 150;

/// The value in centipawns for the side to move when both sides may go on taking: a small
/// alpha-beta search over captures and queen promotions that do not lose material on their
/// square, and over all evasions of a check for the first two plies. Mates are −20 000 plus plies.
///
/// Bounded to 64 positions.
pub fn quiet_centipawns(position: &Chess) -> i32 {
    quiet_within(position, POSITIONS)
}

/// The same with another bound on the positions searched.
pub(super) fn quiet_within(position: &Chess, positions: u32) -> i32 {
    let mut left = positions;
    resolve(position, (MATED, -MATED), 0, &mut left)
}

/// What is known of a position.
#[derive(Clone, Copy)]
struct Known<'a> {
    legal: &'a MoveList,
    /// Its static value.
    standing: i32,
}

/// The same of a position whose legal moves and static value are known.
pub(crate) fn quiet_from(position: &Chess, legal: &MoveList, standing: i32) -> i32 {
    let mut left = POSITIONS;
    resolve_known(position, Known { legal, standing }, (MATED, -MATED), 0, &mut left)
}

fn resolve(position: &Chess, bounds: (i32, i32), ply: u8, left: &mut u32) -> i32 {
    let legal = position.legal_moves();
    let standing = if legal.is_empty() { 0 } else { centipawns(position) };
    resolve_known(position, Known { legal: &legal, standing }, bounds, ply, left)
}

fn resolve_known(
    position: &Chess,
    Known { legal, standing }: Known<'_>,
    (mut alpha, beta): (i32, i32),
    ply: u8,
    left: &mut u32,
) -> i32 {
    *left = left.saturating_sub(1);
    let checked = position.is_check();
    if legal.is_empty() {
        return if checked { MATED + i32::from(ply) } else { 0 };
    }
    let all = checked && ply < CHECK_PLIES;
    if (!all && standing >= beta) || ply >= PLIES || *left == 0 {
        return standing;
    }
    let mut best = if all { MATED } else { standing };
    alpha = alpha.max(best);
    let needed = if all { MATED } else { alpha - standing - DELTA };
    for played in wanted(position, legal, all, needed) {
        let mut child = position.clone();
        child.play_unchecked(played);
        best = best.max(-resolve(&child, (-beta, -alpha), ply + 1, left));
        alpha = alpha.max(best);
        if alpha >= beta || *left == 0 {
            break;
        }
    }
    best
}

/// The moves worth a look, most promising first: all of them or those that take at least `needed`
/// centipawns and do not lose them again.
fn wanted(position: &Chess, legal: &MoveList, all: bool, needed: i32) -> MoveList {
    let mut wanted = MoveList::new();
    for &candidate in legal {
        let gains = is_forcing(candidate)
            && immediate_gain(candidate) >= needed
            && nets_at_least(position, candidate, 0);
        if all || gains {
            wanted.push(candidate);
        }
    }
    wanted.sort_by_key(|&candidate| {
        role_value(candidate.role()) - 32 * immediate_gain(candidate).min(10_000)
    });
    wanted
}

/// Captures, and promotions to a queen.
fn is_forcing(candidate: Move) -> bool {
    match candidate.promotion() {
        Some(role) => role == shakmaty::Role::Queen,
        None => candidate.is_capture(),
    }
}

#[cfg(test)]
mod tests {
    use shakmaty::CastlingMode;
    use shakmaty::fen::Fen;

    use super::*;

    fn position(fen: &str) -> Chess {
        fen.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap()
    }

    #[test]
    fn hanging_pieces_are_seen() {
        let hanging = position("rnb1kbnr/pppp1ppp/8/4p1q1/4P3/3P4/PPP2PPP/RNBQKBNR w KQkq - 0 1");
        assert!(quiet_centipawns(&hanging) > centipawns(&hanging) + 600);
        let quiet = Chess::default();
        assert_eq!(quiet_centipawns(&quiet), centipawns(&quiet));
    }

    #[test]
    fn mates_and_stalemates_are_seen() {
        assert_eq!(quiet_centipawns(&position("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1")), MATED);
        assert_eq!(quiet_centipawns(&position("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1")), 0);
    }
}
