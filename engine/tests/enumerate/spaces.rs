//! Space after space, against sets of whole positions that follow every move.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use shakmaty::fen::Fen;
use shakmaty::{Bitboard, CastlingMode, Chess, Color, Piece, Position as _, Role, Square};
use tesla_engine::enumerate::{
    Ended, EnumerateError, Hive, Roots, SpacesFound, SpacesRequest, Times, enumerate_spaces,
    write_roots,
};
use tesla_engine::search::StopToken;

use crate::folder::TestFolder;
use crate::naive::{Naive, after, hive_of};
use crate::resume::table;
use crate::small::ending;
use crate::{MEBIBYTE, complete, kept, position, resources};

/// Kings between unmoved pawns.
const PAWNS: &str = "4k3/pppppppp/8/8/8/8/PPPPPPPP/4K3 w - - 0 1";

/// Pawns and material: equal for all positions of a space.
type Space = (Bitboard, Bitboard, Vec<usize>);

fn space_of(position: &Chess) -> Space {
    let board = position.board();
    let pieces = Color::ALL
        .into_iter()
        .flat_map(|color| Role::ALL.map(|role| board.by_piece(Piece { color, role }).count()));
    (board.by_piece(Color::White.pawn()), board.by_piece(Color::Black.pawn()), pieces.collect())
}

/// Pieces, and squares that pawns have to go.
fn rank_of(position: &Chess) -> (usize, u32) {
    let board = position.board();
    let steps = |square: Square, color: Color| {
        let rank = u32::from(square.rank());
        color.fold_wb(7 - rank, rank)
    };
    let of = |color: Color| board.by_piece(color.pawn()).into_iter().map(move |s| steps(s, color));
    (board.occupied().count(), of(Color::White).chain(of(Color::Black)).sum())
}

/// All positions down to a rank, as anybody would find them.
#[derive(Default)]
struct Game {
    positions: HashSet<Chess>,
    spaces: HashSet<Space>,
    /// Roots and the space that led to each.
    found: HashSet<(Space, Chess)>,
    quiet: u64,
    zeroing: u64,
}

impl Game {
    /// `None` when there are more than `limit` positions.
    fn new(starts: &[Chess], lowest: (usize, u32), limit: usize) -> Option<Self> {
        let mut game = Self::default();
        let mut work: Vec<Chess> = Vec::new();
        let reach = |game: &mut Self, position: &Chess| {
            (rank_of(position) >= lowest && game.positions.insert(position.clone()))
                .then(|| position.clone())
        };
        work.extend(starts.iter().filter_map(|start| reach(&mut game, start)));
        while let Some(position) = work.pop() {
            game.spaces.insert(space_of(&position));
            for played in position.legal_moves() {
                let next = after(&position, played);
                if played.is_zeroing() {
                    game.zeroing += 1;
                    game.found.insert((space_of(&position), next.clone()));
                } else {
                    game.quiet += 1;
                }
                work.extend(reach(&mut game, &next));
            }
            if game.positions.len() > limit {
                return None;
            }
        }
        Some(game)
    }

    /// Roots by hive.
    fn hives(&self) -> Vec<(Hive, Roots)> {
        let mut hives: BTreeMap<String, (Hive, Roots)> = BTreeMap::new();
        let mut add = |root: &Chess, distinct, found| {
            let hive = hive_of(root);
            let (_, roots) = hives.entry(hive.to_string()).or_insert((hive, Roots::default()));
            (roots.distinct, roots.found) = (roots.distinct + distinct, roots.found + found);
        };
        let roots: HashSet<&Chess> = self.found.iter().map(|(_, root)| root).collect();
        for (_, root) in &self.found {
            add(root, 0, 1);
        }
        for root in roots {
            add(root, 1, 0);
        }
        hives.into_values().collect()
    }

    fn check(&self, found: &SpacesFound) {
        let mut hives = found.hives.clone();
        hives.sort_by_key(|(hive, _)| hive.to_string());
        assert_eq!(hives, self.hives());
        let positions = found.positions.white + found.positions.black;
        assert_eq!(positions, self.positions.len() as u64);
        assert_eq!(found.spaces, self.spaces.len() as u64);
        assert_eq!((found.quiet, found.zeroing), (self.quiet, self.zeroing));
    }
}

fn request(starts: &[Chess], folder: &Path, limit: u64) -> SpacesRequest {
    SpacesRequest {
        starts: starts.to_vec(),
        runs: Vec::new(),
        folder: folder.to_owned(),
        roots: false,
        limit: Some(limit),
        resources: resources(),
    }
}

fn closed(request: &SpacesRequest) -> SpacesFound {
    match enumerate_spaces(request, &StopToken::default()).unwrap() {
        Ended::Complete(found) => SpacesFound { times: Times::default(), ..found },
        Ended::Stopped => unreachable!("nobody stops it"),
    }
}

/// Compares with the naive game, in memory and with every set in files, at once and in steps.
fn check(starts: &[Chess], game: &Game) {
    let spaces = game.spaces.len() as u64;
    let test = TestFolder::new();
    let whole = closed(&request(starts, test.path(), spaces));
    game.check(&whole);
    assert_eq!(closed(&request(starts, test.path(), 0)), whole, "read back");
    let test = TestFolder::new();
    let mut spilt = request(starts, test.path(), spaces.div_ceil(3));
    spilt.resources.memory = MEBIBYTE / 64;
    let mut found = closed(&spilt);
    while found.spaces < spaces {
        spilt.limit = Some((spaces - found.spaces).min(spaces.div_ceil(3)));
        found = closed(&spilt);
    }
    // What a pile's roots are compared with is counted pass by pass.
    assert_eq!(found, whole);
}

/// A rook that may castle, to the last position; en passant.
#[test]
fn chosen_games() {
    for (fen, captures, steps) in [
        ("4k2r/8/8/8/8/8/8/4K3 b k - 0 1", 1, 0),
        ("k7/8/1p1p4/1PpP4/2P5/8/8/K7 w - c6 0 1", 1, 5),
        ("k7/8/8/8/Pp6/1P6/8/K7 b - a3 0 1", 0, 3),
        ("k7/8/8/8/1p1p4/1P6/2P5/K7 w - - 0 1", 0, 2),
    ] {
        let start = position(fen);
        let (pieces, left) = rank_of(&start);
        let lowest = (pieces - captures, left - steps);
        let game = Game::new(std::slice::from_ref(&start), lowest, 800_000);
        let game = game.unwrap_or_else(|| panic!("{fen} is too large"));
        assert!(game.spaces.len() > 1, "{fen}");
        check(&[start], &game);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 16,
        max_global_rejects: 8000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_game(one in ending(), other in ending(), deeper in 0_u32..4) {
        prop_assume!(one.is_some());
        let starts: Vec<Chess> = one.into_iter().chain(other).collect();
        let (pieces, steps) = starts.iter().map(rank_of).min().unwrap();
        let lowest = (pieces, steps.saturating_sub(deeper));
        let game = Game::new(&starts, lowest, 20_000);
        prop_assume!(game.is_some());
        check(&starts, &game.unwrap());
    }
}

/// Whichever comes first, the castling rights of both count.
#[test]
fn standard_chess_and_chess960_together() {
    let fens = ["4k2r/8/8/8/8/8/8/4K3 b k - 0 1", "4k1r1/8/8/8/8/8/8/4K3 b g - 0 1"];
    let chess960 = fens.map(|fen| {
        fen.parse::<Fen>().unwrap().into_position::<Chess>(CastlingMode::Chess960).unwrap()
    });
    let game = Game::new(&chess960, (2, 0), 800_000).unwrap();
    let [standard, chess960] = fens.map(position);
    assert_eq!(standard.castles().mode(), CastlingMode::Standard);
    check(&[standard.clone(), chess960.clone()], &game);
    check(&[chess960.clone(), standard.clone()], &game);
    let test = TestFolder::new();
    let mut request = request(&[standard, chess960], test.path(), 100);
    request.roots = true;
    closed(&request);
    write_roots(test.path(), &mut Vec::new()).unwrap();
}

/// Plays moves in UCI.
fn line(moves: &str) -> Chess {
    moves.split(' ').fold(position(PAWNS), |position, text| {
        let played = text.parse::<shakmaty::uci::UciMove>().unwrap().to_move(&position).unwrap();
        after(&position, played)
    })
}

/// The seed's example: 1.a3 d6 2.d3 a6 and 1.d3 a6 2.a3 d6 lead to the same root, from two spaces.
#[test]
fn a3_d6_and_d3_a6() {
    let starts = [line("a2a3 d7d6 d2d3"), line("d2d3 a7a6 a2a3")];
    let naive = starts.each_ref().map(|start| Naive::new(start, 100_000).unwrap());
    let root = line("a2a3 d7d6 d2d3 a7a6");
    assert_eq!(root, line("d2d3 a7a6 a2a3 d7d6"));
    let hive = hive_of(&root);
    assert!(naive.iter().all(|naive| naive.hives[&hive].contains(&root)));
    let shared = naive[0].hives[&hive].intersection(&naive[1].hives[&hive]).count() as u64;
    let [one, other] = naive.each_ref().map(|naive| naive.hives[&hive].len() as u64);
    let test = TestFolder::new();
    let found = closed(&request(&starts, test.path(), 2));
    let (_, roots) = found.hives.iter().find(|(there, _)| *there == hive).unwrap();
    assert_eq!(*roots, Roots { distinct: one + other - shared, found: one + other });
    let text = found.text();
    assert!(shared > 0 && text.contains(&format!("{hive} | ")), "{text}");
    let positions = naive.iter().map(|naive| naive.positions.len() as u64).sum::<u64>();
    assert_eq!(found.positions.white + found.positions.black, positions);
    assert_eq!((found.spaces, found.roots().distinct), (2, found.waiting));
}

/// Runs that are finished are gone on from.
#[test]
fn goes_on_from_finished_runs() {
    let starts = [line("a2a3 d7d6 d2d3"), line("d2d3 a7a6 a2a3")];
    let folders = [TestFolder::new(), TestFolder::new()];
    for (start, folder) in starts.iter().zip(&folders) {
        complete(&kept(start, folder.path()));
    }
    let test = TestFolder::new();
    let expected = closed(&request(&starts, test.path(), 9));
    let test = TestFolder::new();
    let mut from_runs = request(&starts, test.path(), 7);
    from_runs.runs = folders.iter().map(|folder| folder.path().to_owned()).collect();
    let found = closed(&from_runs);
    assert_eq!(found.reused, 2);
    assert_eq!(SpacesFound { reused: 0, ..found }, expected);
    // What is closed already is not counted against the limit.
    let test = TestFolder::new();
    let only_those = SpacesRequest { limit: Some(0), ..from_runs.clone() };
    let found = closed(&SpacesRequest { folder: test.path().to_owned(), ..only_those });
    assert_eq!((found.spaces, found.reused), (2, 2));
    assert!(found.waiting > 0);
    // Only finished ones, with their roots.
    let without = TestFolder::new();
    let mut run = kept(&starts[0], without.path());
    run.roots = false;
    complete(&run);
    from_runs.runs = vec![without.path().to_owned()];
    let error = enumerate_spaces(&from_runs, &StopToken::default()).unwrap_err();
    assert!(matches!(error, EnumerateError::NotKept { option: "--roots", .. }), "{error}");
}

#[test]
fn roots_are_kept() {
    let start = position("4k2r/8/8/8/8/8/8/4K3 b k - 0 1");
    let test = TestFolder::new();
    let mut request = request(std::slice::from_ref(&start), test.path(), 100);
    request.roots = true;
    closed(&request);
    let mut text = Vec::new();
    write_roots(test.path(), &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let read: HashSet<(String, Chess)> = text
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(hive, fen)| (hive.to_owned(), position(fen)))
        .collect();
    assert_eq!(read.len(), text.lines().count());
    let game = Game::new(&[start], (0, 0), 800_000).unwrap();
    let roots = game.found.iter().map(|(_, root)| (hive_of(root).to_string(), root.clone()));
    assert!(read == roots.collect());
}

#[test]
fn stopped_anywhere() {
    let start = line("a2a3 d7d6 d2d3");
    for memory in [MEBIBYTE, 256 * MEBIBYTE] {
        // Little memory goes through a pile several times, so in another order.
        let whole = TestFolder::new();
        let mut undisturbed = request(std::slice::from_ref(&start), whole.path(), 12);
        undisturbed.resources.memory = memory;
        let expected = closed(&undisturbed);
        let test = TestFolder::new();
        let mut stopped = request(std::slice::from_ref(&start), test.path(), 12);
        stopped.resources.memory = memory;
        stopped.resources.checkpoint = Duration::from_millis(20);
        let mut pause = 1;
        loop {
            let stop = StopToken::default();
            let other = stop.clone();
            let waker = thread::spawn(move || {
                thread::sleep(Duration::from_millis(pause));
                other.stop();
            });
            let ended = enumerate_spaces(&stopped, &stop).unwrap();
            waker.join().unwrap();
            if let Ended::Complete(_) = ended {
                break;
            }
            // What is closed by now need not be closed again.
            stopped.limit = Some(12 - closed_so_far(&stopped));
            pause += 20;
        }
        let found = closed(&SpacesRequest { limit: Some(0), ..stopped });
        assert_eq!(found, expected, "{memory}");
    }
}

fn closed_so_far(request: &SpacesRequest) -> u64 {
    closed(&SpacesRequest { limit: Some(0), ..request.clone() }).spaces
}

#[test]
fn one_command_does_not_go_on_with_the_others_folder() {
    let test = TestFolder::new();
    let start = line("a2a3");
    closed(&request(std::slice::from_ref(&start), test.path(), 1));
    let error = tesla_engine::enumerate::enumerate(
        &crate::Request { edges: false, roots: false, ..kept(&start, test.path()) },
        &StopToken::default(),
    )
    .unwrap_err();
    assert!(error.to_string().contains("enumerate spaces"), "{error}");
}

/// What a killed process closed since its last checkpoint is closed again, and counts once.
#[test]
fn killed_at_any_moment() {
    let command = |dir: &Path, spaces: u64| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tesla"));
        command.args(["enumerate", "spaces", "--fen", PAWNS, "--memory", "128"]);
        command.args(["--spaces", &spaces.to_string()]);
        command.args(["--threads", "2", "--checkpoint", "0.03", "--dir"]).arg(dir);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let whole = TestFolder::new();
    let began = Instant::now();
    let expected = table(&command(whole.path(), 40).output().unwrap());
    let time = began.elapsed();
    let test = TestFolder::new();
    let mut left = 40;
    for kill in 1..=5 {
        let mut child = command(test.path(), left).spawn().unwrap();
        thread::sleep(time * kill / 10);
        // Perhaps it was over before.
        let _ = child.kill();
        child.wait().unwrap();
        left = 40 - closed_so_far(&request(&[position(PAWNS)], test.path(), 0));
    }
    assert_eq!(table(&command(test.path(), left).output().unwrap()), expected);
}
