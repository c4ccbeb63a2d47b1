//! Where the numbers of the seed come from, which are not those of legal moves.
//!
//! Its table for the start position has at most 34 and at least 16 moves in a position. With legal
//! moves there are positions with 2, where a king is in check. A closure of moves that pay no
//! regard to checks, and without castling, has nearly the seed's numbers, row by row;
//! `docs/baselines.md` says what is left.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::process::Command;

use shakmaty::{Bitboard, Board, ByColor, Color, Role, Square, attacks};

/// A move of a pawn or a piece that stands on `from`, whatever it captures.
type Step = (Square, Square);

/// All that the seed's rows are made from.
#[derive(Default)]
struct Counts {
    positions: ByColor<u64>,
    quiet: ByColor<u64>,
    zeroing: ByColor<u64>,
    roots: ByColor<Vec<u64>>,
    most: usize,
    fewest: Option<usize>,
}

/// Moves of one side, those of pawns and captures last: quiet ones, then the others.
fn pseudo_legal(board: &Board, turn: Color) -> (Vec<Step>, Vec<Step>) {
    let (us, them, occupied) = (board.by_color(turn), board.by_color(!turn), board.occupied());
    let (mut quiet, mut zeroing) = (Vec::new(), Vec::new());
    for from in us & !board.pawns() {
        let targets = board.attacks_from(from) & !us;
        quiet.extend((targets & !them).into_iter().map(|to| (from, to)));
        zeroing.extend((targets & them).into_iter().map(|to| (from, to)));
    }
    // All pawns stand where they began, so none is promoted.
    let forward = turn.fold_wb(8, -8);
    for from in us & board.pawns() {
        let once = Bitboard::from(from).shift(forward) & !occupied;
        let twice = once.shift(forward) & !occupied;
        let captures = attacks::pawn_attacks(turn, from) & them;
        zeroing.extend((once | twice | captures).into_iter().map(|to| (from, to)));
    }
    (quiet, zeroing)
}

fn after(board: &Board, (from, to): Step) -> Board {
    let mut next = board.clone();
    let piece = next.remove_piece_at(from).unwrap();
    next.set_piece_at(to, piece);
    next
}

/// What differs between the positions: all else stays in its place.
fn key(board: &Board, turn: Color) -> ([Bitboard; 4], Color) {
    let pieces = [Role::Knight, Role::Rook].map(|role| Color::ALL.map(|color| role.of(color)));
    (std::array::from_fn(|i| board.by_piece(pieces[i / 2][i % 2])), turn)
}

/// The closure from the start; roots by their hashes, as often as they were met.
fn closure() -> Counts {
    let mut counts = Counts::default();
    let mut seen = HashSet::from([key(&Board::new(), Color::White)]);
    let mut work = vec![(Board::new(), Color::White)];
    while let Some((board, turn)) = work.pop() {
        let (quiet, zeroing) = pseudo_legal(&board, turn);
        let moves = quiet.len() + zeroing.len();
        *counts.positions.get_mut(turn) += 1;
        *counts.quiet.get_mut(turn) += quiet.len() as u64;
        *counts.zeroing.get_mut(turn) += zeroing.len() as u64;
        counts.most = counts.most.max(moves);
        counts.fewest = Some(counts.fewest.map_or(moves, |fewest| fewest.min(moves)));
        for step in zeroing {
            let mut hasher = DefaultHasher::new();
            after(&board, step).hash(&mut hasher);
            counts.roots.get_mut(turn).push(hasher.finish());
        }
        for step in quiet {
            let next = after(&board, step);
            if seen.insert(key(&next, !turn)) {
                work.push((next, !turn));
            }
        }
    }
    counts
}

#[test]
#[ignore = "half a minute of a core and 3 GB"]
fn the_seed_pays_no_regard_to_check() {
    let mut counts = closure();
    let roots = Color::ALL.map(|color| {
        let roots = counts.roots.get_mut(color);
        roots.sort_unstable();
        roots.dedup();
        roots.len() as u64
    });
    let Counts { positions, quiet, zeroing, most, fewest, .. } = counts;
    let white = |white, black| ByColor { white, black };
    assert_eq!((most, fewest), (34, Some(16)));
    assert_eq!(positions, white(2_827_486, 2_827_390));
    assert_eq!(quiet, white(25_132_784, 25_132_784));
    assert_eq!(zeroing, white(47_811_556, 47_809_684));
    assert_eq!(roots, [42_811_338, 42_809_816]);
}

/// Rooks have two squares each, knights what is left of the four ranks between the pawns and of the
/// eight squares. Every quiet move of either changes the colour of one piece's square, so a
/// placement tells whose turn it is: so many positions there can be at most.
const BOUND: u64 = 16 * (36 * 35 / 2) * (34 * 33 / 2);

#[test]
fn the_seed_counts_positions_twice() {
    let dark = |board: &Board| (board.knights() | board.rooks()) & Bitboard::DARK_SQUARES;
    let mut board = Board::new();
    let mut turn = Color::White;
    for choice in 0..1_000_usize {
        assert_eq!(dark(&board).count() % 2 == 0, turn.is_white(), "{board}");
        let (quiet, _) = pseudo_legal(&board, turn);
        board = after(&board, quiet[choice * choice % quiet.len()]);
        turn = !turn;
    }
    let (found, new_positions) = (5_654_876, 5_656_865);
    assert!(found <= BOUND && BOUND < new_positions);
}

#[test]
fn the_table_of_the_seed_has_one_row_too_large() {
    let rows =
        |white_roots| [white_roots, 22_312_637, 5_016_112, 22_312_785, 85_622_011, 5_656_865];
    let legal_moves = 145_937_007;
    assert_ne!(rows(5_656_866).iter().sum::<u64>(), legal_moves);
    assert_eq!(rows(5_016_597).iter().sum::<u64>(), legal_moves);
}

/// The seed's rows and their order. The numbers are those of a naive closure
/// (`small::chosen_closures`).
const TABLE: &str = "\
FEN: \"7k/5p1p/5P1P/8/8/2p5/1pPp4/bKb5 w - - 0 1\"

Stat | Metric |
---|---|
Maximum Moves in a position | 16 |
Minimum | 0 |
Legal moves in this position | 40'373 |
Number of white root collisions | 432 |
Number of white domain collisions | 9'098 |
Number of black root collisions | 302 |
Number of black domain collisions | 8'824 |
Number of new roots | 17'280 |
Number of new positions | 4'437 |

Running time:
- real ";

#[test]
fn the_program_prints_the_table_of_the_seed() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tesla"));
    let fen = "7k/5p1p/5P1P/8/8/2p5/1pPp4/bKb5 w - - 0 1";
    let output = command.args(["enumerate", "--fen", fen]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with(TABLE), "{text}");
    assert!(text.ends_with("4-7-b | 139 |\n4-8-w | 17'000 |\n3-8-w | 141 |\n"), "{text}");
}
