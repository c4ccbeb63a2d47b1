//! Children made from their parents' keys and values, against burn and against whole encodes.
#![cfg(feature = "net")]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

use burn::tensor::{Device, Tensor};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use shakmaty::{Chess, Move, Position};
use tesla_nn::batch::Batch;
use tesla_nn::canary;
use tesla_nn::cpu::{Arithmetic, Engine, Options};
use tesla_nn::decode::decode;
use tesla_nn::encode::Window;
use tesla_nn::evaluator::{CacheFigures, CacheNote, Evaluation, Handle, Request};
use tesla_nn::model::{Model, ModelConfig, VALUE_BINS};
use tesla_nn::transformer::AnchorPolicy;
use tesla_nn::weights;

#[path = "incremental/device.rs"]
mod device;
#[path = "incremental/launches.rs"]
mod launches;

/// Weights as a training run might leave them: a fresh network's move heads and biases say little.
fn network(config: &ModelConfig, seed: u64) -> (Model, Vec<u8>) {
    let device = Device::flex();
    device.seed(seed);
    let bytes = weights::to_bytes(&config.init(&device), config).unwrap();
    (weights::load_bytes(&bytes, &device).unwrap().model, bytes)
}

/// Exact as burn is.
const FLOATS: Options = Options {
    threads: 1,
    cache_bytes: 0,
    anchors: anchors(u32::MAX, 1),
    arithmetic: Arithmetic::Floats,
};

fn engine(bytes: &[u8], threads: usize, cache_bytes: usize) -> Engine {
    // Only a chain that is as long as it may be ends with a new anchor.
    let options = Options { threads, cache_bytes, ..FLOATS };
    Engine::load(bytes, options).unwrap()
}

const fn anchors(work: u32, staleness: usize) -> AnchorPolicy {
    AnchorPolicy { work, staleness }
}

/// A position of a line, and the move that led to it.
#[derive(Clone, Debug)]
struct Ply {
    position: Chess,
    played: Option<Move>,
}

/// A line of up to nine positions from a canary position, which castle, capture en passant and
/// promote.
fn line(start: usize, choices: &[usize]) -> Vec<Ply> {
    let starts = canary::requests();
    let mut position = starts[start % starts.len()].position.clone();
    let mut line = vec![Ply { position: position.clone(), played: None }];
    for &choice in choices {
        let moves = position.legal_moves();
        // Special moves first: they are rare among random ones.
        let special: Vec<Move> = moves
            .iter()
            .copied()
            .filter(|m| m.is_castle() || m.is_en_passant() || m.is_promotion())
            .collect();
        let played = match (special.is_empty(), moves.len()) {
            (_, 0) => break,
            (false, _) if choice % 2 == 0 => special[choice / 2 % special.len()],
            (_, count) => moves[choice % count],
        };
        position.play_unchecked(played);
        if position.is_game_over() {
            break;
        }
        line.push(Ply { position: position.clone(), played: Some(played) });
    }
    line
}

fn request(ply: &Ply, parent: Option<Handle>, session: u32) -> Request {
    let parent = parent.zip(ply.played);
    Request { parent, keep: true, session, ..Request::single(&ply.position) }
}

/// What burn says of every position of a line, as one window.
fn burns(model: &Model, line: &[Ply]) -> Vec<Evaluation> {
    let host = |tensor: Tensor<1>| -> Vec<f32> { tensor.into_data().try_to_vec().unwrap() };
    let first = &line[0].position;
    let mut window = Window::new(first, 0, &first.legal_moves());
    for ply in &line[1..] {
        window.push(ply.played.unwrap(), &ply.position, 0, &ply.position.legal_moves());
    }
    let batch = Batch::pack(&[window]);
    let output = model.forward(&batch, &Device::flex());
    let values = host(output.value_logits.reshape([batch.readouts * VALUE_BINS]));
    let (errors, policy, deltas) =
        (host(output.log_error), host(output.policy_logits), host(output.action_delta));
    (0..line.len())
        .map(|ply| {
            let moves = batch.move_offsets[ply]..batch.move_offsets[ply + 1];
            let bins = &values[ply * VALUE_BINS..(ply + 1) * VALUE_BINS];
            decode(bins, errors[ply], moves.map(|row| [policy[row], deltas[row]]))
        })
        .collect()
}

fn agree(a: &Evaluation, b: &Evaluation, tolerance: f32) -> bool {
    let (a, b) = (std::slice::from_ref(a), std::slice::from_ref(b));
    canary::difference(a, b) < tolerance && a[0].moves.len() == b[0].moves.len()
}

/// An engine that keeps positions for their children.
trait Keeper {
    fn evaluate(&mut self, requests: &[Request]) -> Vec<Evaluation>;
    fn note(&mut self, session: u32, note: &CacheNote);
    fn figures(&self) -> CacheFigures;
}

impl Keeper for Engine {
    fn evaluate(&mut self, requests: &[Request]) -> Vec<Evaluation> {
        self.evaluate(requests)
    }

    fn note(&mut self, session: u32, note: &CacheNote) {
        self.note(session, note);
    }

    fn figures(&self) -> CacheFigures {
        self.figures()
    }
}

/// Evaluates a line of which all is forgotten before ply `forget`, and now and then for want of
/// room: the answers must be burn's, from the last whole encode on.
fn along_forgetting(
    engine: &mut impl Keeper,
    model: &Model,
    line: &[Ply],
    forget: usize,
    tolerance: f32,
) -> Result<(), TestCaseError> {
    let (mut parent, mut begun) = (None, 0);
    for (index, ply) in line.iter().enumerate() {
        if index == forget {
            engine.note(0, &CacheNote::Retain(Vec::new()));
        }
        let before = engine.figures();
        let answer = engine.evaluate(&[request(ply, parent, 0)]).remove(0);
        parent = Some(answer.handle);
        begun = chain_start(begun, index, engine.figures().since(&before));
        let expected = burns(model, &line[begun..=index]).pop().unwrap();
        prop_assert!(agree(&answer, &expected, tolerance), "ply {index}, chain from {begun}");
        prop_assert!(engine.figures().used <= engine.figures().limit);
    }
    Ok(())
}

/// The answers along a line, one batch a ply.
fn along(engine: &mut impl Keeper, line: &[Ply], session: u32) -> Vec<Evaluation> {
    let mut parent = None;
    line.iter()
        .map(|ply| {
            let answer = engine.evaluate(&[request(ply, parent, session)]).remove(0);
            parent = Some(answer.handle);
            answer
        })
        .collect()
}

/// Where the chain of a line's position begins, after what was `done` to evaluate it.
fn chain_start(begun: usize, index: usize, done: CacheFigures) -> usize {
    match (done.whole, done.anchored) {
        (0, 0) => begun,
        // The parent's position was still known, and was encoded whole.
        (0, _) => index - 1,
        _ => index,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Whole encodes and children of any legal line are burn's, within rounding.
    #[test]
    fn any_line_is_burns(
        start in 0..6_usize,
        choices in proptest::collection::vec(0..60_usize, 0..9),
    ) {
        let (model, bytes) = network(&ModelConfig::tiny(), 7);
        let line = line(start, &choices);
        let mut engine = engine(&bytes, 1, 1 << 24);
        let answers = along(&mut engine, &line, 0);
        for (ply, (ours, theirs)) in answers.iter().zip(&burns(&model, &line)).enumerate() {
            prop_assert!(agree(ours, theirs, 2e-5), "ply {}: {:?} {:?}", ply, ours, theirs);
        }
        let figures = engine.figures();
        prop_assert_eq!((figures.whole, figures.anchored), (1, 0));
        let rows = (line.len() as u64 - 1) * 3;
        let first = u64::from(line[0].position.board().occupied().count() as u32) + 1;
        prop_assert!(figures.tokens <= first + rows);
    }

    /// With a cache that holds next to nothing, and with one that is emptied at random, lines are
    /// evaluated all the same: as burn does, from the last whole encode on.
    #[test]
    fn anything_may_be_forgotten(
        start in 0..6_usize,
        choices in proptest::collection::vec(0..60_usize, 1..9),
        cache in 0..60_000_usize,
        forget in 0..9_usize,
    ) {
        let (model, bytes) = network(&ModelConfig::tiny(), 7);
        let line = line(start, &choices);
        along_forgetting(&mut engine(&bytes, 1, cache), &model, &line, forget, 2e-5)?;
    }
}

/// Bit by bit: searches that share a device get what each would get alone, also where the cache is
/// too small for them and positions become anchors.
#[test]
fn other_searches_change_nothing() {
    let (_, bytes) = network(&ModelConfig::tiny(), 3);
    let options = Options { cache_bytes: 80_000, anchors: anchors(1, 1), ..FLOATS };
    let lines: Vec<Vec<Ply>> =
        (0..16).map(|i| line(i, &[i * 7, 3 + i, i * 5, 11, 2 * i, 9, i, 4])).collect();
    let mut together = Engine::load(&bytes, Options { threads: 3, ..options }).unwrap();
    let mut alone: Vec<Engine> =
        lines.iter().map(|_| Engine::load(&bytes, options).unwrap()).collect();
    let mut parents = vec![[None, None]; lines.len()];
    for _ in 0..4 {
        for ply in 0..9 {
            let alive: Vec<usize> = (0..lines.len()).filter(|&i| lines[i].len() > ply).collect();
            let ask = |session: usize, parent: Option<Handle>| {
                let asked = &lines[session][ply];
                let moves = asked.position.legal_moves();
                // The position and a child or two, as a search asks for them.
                let mut batch = vec![request(asked, parent, session as u32)];
                batch.extend(moves.iter().take(session % 3).map(|&m| {
                    let position = asked.position.clone().play(m).unwrap();
                    request(&Ply { position, played: None }, None, session as u32)
                }));
                batch
            };
            let batches: Vec<Vec<Request>> =
                alive.iter().map(|&session| ask(session, parents[session][0])).collect();
            let mut answers = together.evaluate(&batches.concat()).into_iter();
            for (&session, batch) in alive.iter().zip(&batches) {
                let own = alone[session].evaluate(&ask(session, parents[session][1]));
                let shared: Vec<Evaluation> = answers.by_ref().take(batch.len()).collect();
                parents[session] = [Some(shared[0].handle), Some(own[0].handle)];
                for (mut shared, own) in shared.into_iter().zip(own) {
                    shared.handle = own.handle;
                    assert_eq!(shared, own, "session {session}, ply {ply}");
                }
            }
        }
        for session in 0..lines.len() as u32 {
            let line: Vec<[Handle; 2]> =
                parents[session as usize].iter().flatten().map(|&handle| [handle; 2]).collect();
            together.note(session, &CacheNote::Protect(vec![line[0][0]]));
            alone[session as usize].note(session, &CacheNote::Protect(vec![line[1][0]]));
        }
    }
    let sums = alone.iter().map(Engine::figures).fold([0; 4], |sum, figures| {
        let own = [figures.tokens, figures.evicted, figures.anchored, figures.whole];
        std::array::from_fn(|i| sum[i] + own[i])
    });
    let figures = together.figures();
    assert_eq!([figures.tokens, figures.evicted, figures.anchored, figures.whole], sums);
    assert!(figures.evicted > 0 && figures.anchored > 0, "{figures}");
    together.note(0, &CacheNote::ForgetAll);
    assert_eq!(together.figures().used, 0);
}

/// A chain is as long as the network was trained for, then a new one begins some plies above; and
/// a node with enough evaluations below it becomes an anchor, from which its children are as fresh
/// as a whole encode's.
#[test]
fn new_chains_begin_at_anchors() {
    let (model, bytes) = network(&ModelConfig::tiny(), 5);
    let mut long = line(0, &[1, 3, 5, 7, 9, 11, 13, 15]);
    let mut position = long.last().unwrap().position.clone();
    for choice in [3, 5, 7] {
        let played = position.legal_moves()[choice];
        position.play_unchecked(played);
        long.push(Ply { position: position.clone(), played: Some(played) });
    }
    let mut deep = engine(&bytes, 1, 1 << 24);
    let answers = along(&mut deep, &long, 0);
    assert_eq!((deep.figures().whole, deep.figures().anchored), (1, 1));
    assert_eq!(deep.figures().rebuilt, 4);
    // The tenth position is a child of the ninth, rebuilt from the fifth, encoded whole.
    let expected = burns(&model, &long[4..]);
    for (ours, theirs) in answers[9..].iter().zip(&expected[5..]) {
        assert!(agree(ours, theirs, 2e-5));
    }
    let options = Options { cache_bytes: 1 << 24, anchors: anchors(3, 1), ..FLOATS };
    let mut eager = Engine::load(&bytes, options).unwrap();
    let root = along(&mut eager, &long[..2], 0)[1].handle;
    let children: Vec<Ply> = long[1]
        .position
        .legal_moves()
        .iter()
        .take(4)
        .map(|&m| Ply { position: long[1].position.clone().play(m).unwrap(), played: Some(m) })
        .collect();
    for (index, child) in children.iter().enumerate() {
        let answer = eager.evaluate(&[request(child, Some(root), 0)]).remove(0);
        let from = usize::from(index >= 2);
        let mut path = long[from..2].to_vec();
        path.push(child.clone());
        assert!(agree(&answer, burns(&model, &path).last().unwrap(), 2e-5), "child {index}");
        assert_eq!(eager.figures().anchored, u64::from(index >= 2));
    }
}

/// A parent that is not the position's is no parent.
#[test]
fn wrong_parents_are_noticed() {
    let (_, bytes) = network(&ModelConfig::tiny(), 7);
    let lines = [line(0, &[1, 3, 5]), line(1, &[1, 3, 5])];
    let mut engine = engine(&bytes, 1, 1 << 24);
    let root = engine.evaluate(&[request(&lines[0][0], None, 0)]).remove(0).handle;
    let child = &lines[1][1];
    let expected = engine.evaluate(&[request(child, None, 0)]).remove(0);
    let wrong = [Handle(root.0), Handle(12_345)];
    for parent in wrong {
        let answer = engine.evaluate(&[request(child, Some(parent), 0)]).remove(0);
        assert_eq!(answer.value.to_bits(), expected.value.to_bits());
    }
    // Another session's node is nobody's here.
    let answer = engine.evaluate(&[request(&lines[0][1], Some(root), 1)]).remove(0);
    assert!(answer.value.is_finite());
    assert_eq!(engine.figures().whole, 5);
}
