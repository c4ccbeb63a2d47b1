//! Networks in 16-bit integers against the same networks in floats.
#![cfg(feature = "net")]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use std::fs;
use std::path::Path;

use shakmaty::{Chess, Move, Position};
use tesla_nn::canary;
use tesla_nn::cpu::{Arithmetic, Engine, Options};
use tesla_nn::evaluator::{Evaluation, Handle, Request};

/// Largest difference of a value or an action value, as a probability to win, and of its error.
const VALUES: f32 = 0.002;
/// Largest difference of a move's policy.
const POLICY: f32 = 0.004;
/// Root of the mean square of either.
const USUAL: f64 = 0.000_3;

/// The networks of this repository.
fn shipped() -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../models");
    let mut paths: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "safetensors"));
    paths.sort();
    assert!(!paths.is_empty());
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

fn engine(bytes: &[u8], arithmetic: Arithmetic, threads: usize) -> Engine {
    let options = Options { threads, cache_bytes: 1 << 26, arithmetic, ..Options::default() };
    Engine::load(bytes, options).unwrap()
}

/// Positions of a game by arbitrary moves, and the moves that led to them.
fn game(mut position: Chess, seed: usize, plies: usize) -> Vec<(Chess, Option<Move>)> {
    let mut line = vec![(position.clone(), None)];
    for ply in 0..plies {
        let moves = position.legal_moves();
        if moves.is_empty() {
            break;
        }
        let played = moves[(seed * 7919 + ply * ply * 31 + ply) % moves.len()];
        position.play_unchecked(played);
        line.push((position.clone(), Some(played)));
    }
    line
}

/// Evaluates a game, every position as its predecessor's child.
fn along(engine: &mut Engine, line: &[(Chess, Option<Move>)]) -> Vec<Evaluation> {
    let mut parent: Option<Handle> = None;
    let mut answers = Vec::new();
    for (position, played) in line {
        let parent_move = parent.zip(*played);
        let request = Request { parent: parent_move, keep: true, ..Request::single(position) };
        let answer = engine.evaluate(&[request]).remove(0);
        parent = Some(answer.handle);
        answers.push(answer);
    }
    answers
}

/// Largest differences of values and policies, and the squares of all of them.
#[derive(Default)]
struct Differences {
    values: f32,
    policy: f32,
    squares: [f64; 2],
    counts: [f64; 2],
}

impl Differences {
    fn add(&mut self, floats: &Evaluation, short: &Evaluation) {
        let mut value = |a: f32, b: f32| {
            self.values = self.values.max((a - b).abs());
            self.squares[0] += f64::from(a - b).powi(2);
            self.counts[0] += 1.0;
        };
        value(floats.value, short.value);
        value(floats.error, short.error);
        assert_eq!(floats.moves.len(), short.moves.len());
        for (a, b) in floats.moves.iter().zip(&short.moves) {
            value(a.action_value, b.action_value);
        }
        for (a, b) in floats.moves.iter().zip(&short.moves) {
            self.policy = self.policy.max((a.policy - b.policy).abs());
            self.squares[1] += f64::from(a.policy - b.policy).powi(2);
            self.counts[1] += 1.0;
        }
    }

    fn usual(&self) -> [f64; 2] {
        [0, 1].map(|i| (self.squares[i] / self.counts[i].max(1.0)).sqrt())
    }
}

#[test]
fn integers_say_nearly_what_floats_say() {
    for bytes in shipped() {
        let mut floats = engine(&bytes, Arithmetic::Floats, 1);
        let mut short = engine(&bytes, Arithmetic::Fastest, 1);
        let mut differences = Differences::default();
        for (seed, request) in canary::requests().into_iter().cycle().take(24).enumerate() {
            let line = game(request.position, seed, 40);
            let answers = along(&mut floats, &line).into_iter().zip(along(&mut short, &line));
            for (a, b) in answers {
                differences.add(&a, &b);
            }
        }
        let Differences { values, policy, counts, .. } = differences;
        let usual = differences.usual();
        println!(
            "{} in {}: values {values:.6} at most, {:.6} rms; policy {policy:.6}, {:.6}; \
             {counts:?}",
            short.name(),
            short.arithmetic(),
            usual[0],
            usual[1]
        );
        assert!(values < VALUES && policy < POLICY, "{values}, {policy}");
        assert!(usual.iter().all(|&usual| usual < USUAL), "{usual:?}");
    }
}

/// Bit by bit, for whole positions and for children.
#[test]
fn an_answer_in_integers_does_not_depend_on_its_batch() {
    let bytes = shipped().pop().unwrap();
    let parents = canary::parents();
    let mut alone = engine(&bytes, Arithmetic::Fastest, 1);
    let single: Vec<Evaluation> = parents
        .iter()
        .map(|request| alone.evaluate(std::slice::from_ref(request)).remove(0))
        .collect();
    let children = canary::children(&single.iter().map(|answer| answer.handle).collect::<Vec<_>>());
    let single_children: Vec<Evaluation> = children
        .iter()
        .map(|request| alone.evaluate(std::slice::from_ref(request)).remove(0))
        .collect();
    for threads in [1, 2, 3] {
        let mut together = engine(&bytes, Arithmetic::Fastest, threads);
        let many: Vec<Request> = parents.iter().cycle().take(64).cloned().collect();
        let answers = together.evaluate(&many);
        for (index, answer) in answers.iter().enumerate() {
            let handle = answer.handle;
            let expected = Evaluation { handle, ..single[index % parents.len()].clone() };
            assert_eq!(*answer, expected, "{threads} threads, place {index}");
        }
        let handles: Vec<Handle> = answers.iter().map(|answer| answer.handle).collect();
        let children = canary::children(&handles[..parents.len()]);
        let many: Vec<Request> = children.iter().cycle().take(64).cloned().collect();
        for (index, answer) in together.evaluate(&many).iter().enumerate() {
            let handle = answer.handle;
            let expected = Evaluation { handle, ..single_children[index % children.len()].clone() };
            assert_eq!(*answer, expected, "{threads} threads, child {index}");
        }
    }
}
