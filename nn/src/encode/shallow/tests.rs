use shakmaty::fen::Fen;
use shakmaty::{CastlingMode, EnPassantMode, Square};

use super::super::aftermath::Captures;
use super::super::fight::Situation;
use super::*;

fn position(fen: &str) -> Chess {
    fen.parse::<Fen>().unwrap().into_position(CastlingMode::Standard).unwrap()
}

fn search(fen: &str) -> (Shallow, Vec<String>) {
    let position = position(fen);
    let legal = position.legal_moves();
    let names = legal.iter().map(|m| m.to_uci(CastlingMode::Standard).to_string()).collect();
    (Shallow::search(&position, &legal, |_| Hint::default()), names)
}

#[test]
fn nothing_happens_at_the_start() {
    let position = Chess::default();
    let found = Shallow::search(&position, &position.legal_moves(), |_| Hint::default());
    assert_eq!((found.gain, found.by_captures, found.rows()), (0, 0, QUIET));
    assert!((0..20).all(|index| found.class(index) == usize::from(index != found.best)));
}

#[test]
fn forks_mates_and_false_promises_are_seen() {
    // A knight forks king and queen: captures alone gain nothing.
    let (fork, moves) = search("q3k3/8/8/3N4/8/8/8/4K3 w - - 0 1");
    assert_eq!((fork.gain, fork.by_captures), (950, 0));
    assert_eq!(moves[fork.best], "d5c7");
    assert!(fork.rows()[0] > QUIET[0] && fork.rows()[1] > QUIET[1]);
    // A pawn forks two knights: one is lost, the other takes back.
    let (forked, moves) = search("4k3/8/8/8/3p4/2N1N3/8/4K3 w - - 0 1");
    assert_eq!(forked.gain, -220, "a pawn for a knight");
    let class = |name| forked.class(moves.iter().position(|other| *other == name).unwrap());
    let classes = ["e1d2", "c3b1", "e1d1"].map(class);
    assert_eq!(classes, [0, 2, 2], "guards both, moves one away, leaves both");
    // A pawn may be taken, but then a rook mates on the last rank.
    let (guarded, moves) = search("3r2k1/5ppp/8/8/8/8/p4PPP/R5K1 w - - 0 1");
    assert_eq!((guarded.gain, guarded.by_captures), (0, 100));
    assert!(guarded.rows()[1] < QUIET[1]);
    let takes = moves.iter().position(|name| name == "a1a2").unwrap();
    assert_eq!(guarded.class(takes), 3);
    // And a mate of our own.
    assert!(search("6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1").0.gain > 10_000);
}

#[test]
fn what_is_not_attacked_bounds_nothing() {
    // With the fork known, a king's move seems no better for the queen that it does not attack.
    let position = position("q3k3/8/8/3N4/8/8/8/4K3 w - - 0 1");
    let legal = position.legal_moves();
    let first =
        |index: usize| Hint { promise: i32::from(legal[index].to() == Square::C7), is_idle: false };
    let found = Shallow::search(&position, &legal, first);
    let kings = (0..legal.len()).filter(|&index| legal[index].role() == Role::King);
    assert!(kings.map(|index| found.class(index)).all(|class| class == 3));
}

/// The gain when every reply, passing among them, is searched with an open window.
fn by_all_replies(position: &Chess) -> i32 {
    let mut search = Search { positions: u32::MAX, left: 0, refutation: None };
    let open = |standing| Bounds::of(standing, MATED, -MATED);
    let gains = position.legal_moves().into_iter().map(|played| {
        let mut after = position.clone();
        after.play_unchecked(played);
        let gained = immediate_gain(played);
        let node = Node::of(&after);
        let mut best = None;
        if !after.is_check() {
            best = Some(-search.captures(&node.passed(), open(gained)));
        }
        let mut visit = |step| {
            if let Some((next, gain)) = node.after(step) {
                best = best.max(Some(-search.captures(&next, open(gained - gain))));
            }
            false
        };
        node.any(Bitboard::FULL, &mut visit);
        -best.unwrap_or(MATED)
    });
    gains.max().unwrap_or(MATED)
}

/// The share of the positions of random games that `is_other` is true of, with a number below 64.
fn share(mut is_other: impl FnMut(&Chess, usize) -> bool) -> f64 {
    let mut random = 1_u64;
    let mut next = |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize % below
    };
    let (mut positions, mut others) = (0, 0);
    for _ in 0..40 {
        let mut position = Chess::default();
        for _ in 0..60 {
            let legal = position.legal_moves();
            if legal.is_empty() || position.is_insufficient_material() {
                break;
            }
            positions += 1;
            others += u32::from(is_other(&position, next(64)));
            position.play_unchecked(legal[next(legal.len())]);
        }
    }
    assert!(positions > 2_000);
    f64::from(others) / f64::from(positions)
}

/// Windows, shortcuts and the order of the moves change what is found where a capture that seems to
/// gain too little gives check or promotes, which is rare.
#[test]
fn all_replies_find_the_same() {
    let others = share(|position, seed| {
        let order = |index: usize| Hint { promise: ((index * 37) ^ seed) as i32, is_idle: false };
        let legal = position.legal_moves();
        let found = Shallow::search_within(u32::MAX, position, &legal, order);
        found.gain != by_all_replies(position)
    });
    assert!(others < 0.02, "{others}");
}

/// The order in which replies are tried makes a difference, which is rare.
#[test]
fn both_sides_find_the_same() {
    let found = |position: &Chess, see: fn(Square) -> Square| {
        let legal = position.legal_moves();
        let found = Shallow::search(position, &legal, |_| Hint::default());
        let squares = legal.get(found.best).map(|best| (best.from().map(see), see(best.to())));
        (found.rows(), squares)
    };
    let others = share(|position, _| {
        let setup = position.to_setup(EnPassantMode::Legal).into_mirrored();
        let mirrored: Chess = setup.position(CastlingMode::Standard).unwrap();
        found(position, |square| square) != found(&mirrored, Square::flip_vertical)
    });
    assert!(others < 0.02, "{others}");
}

#[test]
fn an_idle_moves_bound_is_only_lower() {
    let (mut idle, mut lower) = (0, 0);
    let others = share(|position, _| {
        let legal = position.legal_moves();
        let mut captures = Captures::of(position.board());
        let hints: Vec<_> = legal
            .iter()
            .map(|&m| Situation::of(position, m, &[0; 64], &mut captures).hint())
            .collect();
        idle += hints.iter().filter(|hint| hint.is_idle).count();
        let [short, long] = [true, false].map(|may| {
            Shallow::search(position, &legal, |index| Hint {
                is_idle: may && hints[index].is_idle,
                ..hints[index]
            })
        });
        lower += (0..legal.len()).filter(|&index| short.gains[index] < long.gains[index]).count();
        let is_higher = (0..legal.len()).any(|index| short.gains[index] > long.gains[index]);
        is_higher || (short.rows(), short.best) != (long.rows(), long.best)
    });
    assert!(others == 0.0 && idle > 10_000 && lower > 100, "{others}, {idle} idle, {lower}");
}
