//! The same on a device: with tensors, on burn's CPU device, against our own kernels and whole
//! windows.

use std::sync::OnceLock;

use tesla_nn::device::{DeviceChoice, choose};
use tesla_nn::gpu::{Adapter, DeviceEngine, DeviceOptions, Storage};

use super::*;

/// What tensors and kernels may differ by.
const TOLERANCE: f32 = 2e-4;

/// Only a chain that is as long as it may be ends with a new anchor.
pub(super) const PATIENT: DeviceOptions = DeviceOptions {
    cache_bytes: 1 << 24,
    sessions: 1,
    anchors: anchors(u32::MAX, 1),
    storage: Storage::F32,
};

/// Where a network runs.
#[derive(Clone, Debug)]
pub(super) enum On {
    /// burn's tensors, the reference.
    Tensors,
    /// The kernel of our own, on whatever adapter there is.
    Gpu(Adapter),
}

/// All that this machine has; without Vulkan that is the reference.
#[expect(clippy::print_stdout, reason = "says what is skipped")]
pub(super) fn everywhere() -> Vec<On> {
    static ADAPTER: OnceLock<Option<Adapter>> = OnceLock::new();
    let adapter = ADAPTER.get_or_init(|| {
        let chosen =
            choose(DeviceChoice::Software).map_err(|why| println!("skipped on GPUs: {why}"));
        chosen.ok().and_then(|chosen| chosen.adapter)
    });
    std::iter::once(On::Tensors).chain(adapter.clone().map(On::Gpu)).collect()
}

pub(super) fn device(on: &On, bytes: &[u8], options: DeviceOptions) -> DeviceEngine {
    match on {
        On::Tensors => DeviceEngine::on_tensors(bytes, &Device::flex(), options).unwrap(),
        On::Gpu(adapter) => DeviceEngine::on_gpu(bytes, adapter, options).unwrap(),
    }
}

impl Keeper for DeviceEngine {
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

fn bits(answers: &[Evaluation]) -> Vec<u32> {
    let all = answers.iter().flat_map(|answer| {
        let moves = answer.moves.iter().flat_map(|m| [m.policy, m.action_value]);
        [answer.value, answer.error].into_iter().chain(moves)
    });
    all.map(f32::to_bits).collect()
}

/// The positions of all lines at this ply, and some of their siblings.
fn family(lines: &[Vec<Ply>], ply: usize, parents: &[Option<Handle>]) -> Vec<Request> {
    let alive = lines.iter().zip(parents).enumerate().filter(|(_, (line, _))| line.len() > ply);
    let batch = alive.flat_map(|(number, (line, &parent))| {
        let mut batch = vec![request(&line[ply], parent, 0)];
        if let (Some(parent), Some(before)) = (parent, ply.checked_sub(1)) {
            let before = &line[before].position;
            let siblings = before.legal_moves().into_iter().take(number % 4).map(|m| {
                let position = before.clone().play(m).unwrap();
                let keep = number % 3 > 0;
                let played = Some(m);
                Request { keep, ..request(&Ply { position, played }, Some(parent), 0) }
            });
            batch.extend(siblings.filter(|sibling| !sibling.moves.is_empty()));
        }
        batch
    });
    batch.collect()
}

pub(super) fn lines() -> Vec<Vec<Ply>> {
    (0..16).map(|i| line(i, &[i * 7, 3 + i, i * 5, 11, 2 * i, 9, i, 4])).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whole encodes and children of any legal line are the kernels', and so is what is kept.
    #[test]
    fn any_line_is_the_kernels(
        start in 0..6_usize,
        choices in proptest::collection::vec(0..60_usize, 0..9),
    ) {
        let (_, bytes) = network(&ModelConfig::tiny(), 7);
        let line = line(start, &choices);
        let mut kernels = engine(&bytes, 1, 1 << 24);
        let expected = along(&mut kernels, &line, 0);
        let figures = kernels.figures();
        for on in everywhere() {
            let mut tensors = device(&on, &bytes, PATIENT);
            for (answer, expected) in along(&mut tensors, &line, 0).iter().zip(&expected) {
                prop_assert!(agree(answer, expected, TOLERANCE), "{on:?} {answer:?} {expected:?}");
            }
            prop_assert_eq!(CacheFigures { limit: figures.limit, ..tensors.figures() }, figures);
        }
    }

    /// With a cache that holds next to nothing, lines are evaluated all the same: as burn does,
    /// from the last whole encode on.
    #[test]
    fn any_little_cache_will_do(
        start in 0..6_usize,
        choices in proptest::collection::vec(0..60_usize, 1..9),
        cache_bytes in 0..120_000_usize,
        forget in 0..9_usize,
    ) {
        let (model, bytes) = network(&ModelConfig::tiny(), 7);
        let line = line(start, &choices);
        for on in everywhere() {
            let mut tensors = device(&on, &bytes, DeviceOptions { cache_bytes, ..PATIENT });
            along_forgetting(&mut tensors, &model, &line, forget, TOLERANCE)?;
        }
    }
}

/// Batches of whole encodes, children that are kept and children that are not, and nodes that are
/// new anchors; more children than one pass has room for.
#[test]
fn mixed_batches_are_the_kernels() {
    let (_, bytes) = network(&ModelConfig::tiny(), 3);
    let options = Options { cache_bytes: 1 << 24, anchors: anchors(2, 2), ..FLOATS };
    let lines = lines();
    for on in everywhere() {
        let mut kernels = Engine::load(&bytes, options).unwrap();
        let mut tensors = device(&on, &bytes, DeviceOptions { anchors: anchors(2, 2), ..PATIENT });
        let mut parents = [vec![None; lines.len()], vec![None; lines.len()]];
        for ply in 0..9 {
            let asked = parents.each_ref().map(|parents| family(&lines, ply, parents));
            let answers = [kernels.evaluate(&asked[0]), tensors.evaluate(&asked[1])];
            assert!(ply == 0 || asked[0].len() > 24);
            for (place, (ours, theirs)) in answers[1].iter().zip(&answers[0]).enumerate() {
                assert!(agree(ours, theirs, TOLERANCE), "{on:?}, ply {ply}, place {place}");
            }
            for ((parents, asked), answers) in parents.iter_mut().zip(&asked).zip(&answers) {
                let mut found = asked.iter().zip(answers);
                for (line, parent) in lines.iter().zip(parents) {
                    let Some(wanted) = line.get(ply) else { continue };
                    let own = found.find(|(asked, _)| asked.position == wanted.position);
                    *parent = own.map(|(_, answer)| answer.handle);
                }
            }
        }
        let (figures, expected) = (tensors.figures(), kernels.figures());
        assert_eq!(CacheFigures { limit: figures.limit, ..expected }, figures);
        assert!(figures.anchored > 8 && figures.whole < figures.evaluations / 4, "{figures}");
        tensors.note(0, &CacheNote::ForgetAll);
        assert_eq!(tensors.figures().used, 0);
    }
}

/// A batch of one is the same request in a batch of 64, parents and children; bit by bit by the
/// kernel.
#[test]
fn the_rest_of_a_batch_changes_next_to_nothing() {
    let (_, bytes) = network(&ModelConfig::tiny(), 5);
    for on in everywhere() {
        let mut tensors = device(&on, &bytes, PATIENT);
        let parents = canary::parents();
        let handles: Vec<Handle> =
            tensors.evaluate(&parents).iter().map(|answer| answer.handle).collect();
        let children = canary::children(&handles);
        assert_eq!(children.len(), parents.len());
        let all = [canary::requests(), children].concat();
        let many: Vec<Request> = all.iter().cycle().take(64).cloned().collect();
        let together = tensors.evaluate(&many);
        for (index, request) in all.iter().enumerate() {
            let alone = tensors.evaluate(std::slice::from_ref(request)).remove(0);
            for other in together.iter().skip(index).step_by(all.len()) {
                assert!(agree(&alone, other, TOLERANCE), "{on:?}, request {index}");
                let same = bits(std::slice::from_ref(&alone)) == bits(std::slice::from_ref(other));
                assert!(same || matches!(on, On::Tensors), "{on:?}, request {index}");
            }
        }
    }
}

/// Bit by bit: nothing depends on whether a batch is read back before or after the next is queued,
/// also where the cache is too small and nodes go.
#[test]
fn reading_late_changes_nothing() {
    let (_, bytes) = network(&ModelConfig::tiny(), 3);
    let lines = lines();
    let options = DeviceOptions { cache_bytes: 900_000, anchors: anchors(1, 1), ..PATIENT };
    let run = |on: &On, reads_late: bool| {
        let mut tensors = device(on, &bytes, options);
        let mut parents = vec![None; lines.len()];
        let mut answers = Vec::new();
        // Two halves of the lines take turns, so that parents are answered before they are needed.
        let mut pending: Option<(usize, usize)> = None;
        for round in 0..3 {
            for (ply, half) in (0..9).flat_map(|ply| [(ply, 0), (ply, 1)]) {
                let own = half * 8..half * 8 + 8;
                if (ply, half) == (0, 0) && round > 0 {
                    let line = parents[..2].iter().flatten().copied().collect();
                    tensors.note(0, &CacheNote::Protect(line));
                }
                tensors.launch(&family(&lines[own.clone()], ply, &parents[own]));
                let due = if reads_late { pending.replace((ply, half)) } else { Some((ply, half)) };
                let Some((ply, half)) = due else { continue };
                let found = tensors.answer();
                let own = half * 8..half * 8 + 8;
                // Handles say which line; every answer of a line's own position is its parent.
                let asked = family(&lines[own.clone()], ply, &parents[own.clone()]);
                for index in own {
                    let Some(wanted) = lines[index].get(ply) else { continue };
                    let place = asked.iter().position(|asked| asked.position == wanted.position);
                    parents[index] = place.map(|place| found[place].handle);
                }
                answers.extend(bits(&found));
            }
        }
        if reads_late {
            answers.extend(bits(&tensors.answer()));
        }
        (answers, tensors.figures())
    };
    for on in everywhere() {
        let (early, late) = (run(&on, false), run(&on, true));
        assert!(early.1.evicted > 0 && early.1.anchored > 0, "{}", early.1);
        assert_eq!(early.1, late.1);
        assert!(early.0 == late.0);
    }
}

/// Searches that share a device get what each would get alone, also where the cache is too small.
#[test]
fn sessions_do_not_see_each_other() {
    for on in everywhere() {
        sessions_alone_and_together(&on);
    }
}

fn sessions_alone_and_together(on: &On) {
    let (_, bytes) = network(&ModelConfig::tiny(), 3);
    let lines = lines();
    let options = DeviceOptions {
        cache_bytes: 2_200_000,
        sessions: lines.len(),
        anchors: anchors(1, 1),
        ..PATIENT
    };
    let mut together = device(on, &bytes, options);
    let mut alone: Vec<DeviceEngine> = lines.iter().map(|_| device(on, &bytes, options)).collect();
    let mut parents = vec![[None, None]; lines.len()];
    for ply in (0..3).flat_map(|_| 0..9) {
        let alive: Vec<usize> = (0..lines.len()).filter(|&i| lines[i].len() > ply).collect();
        // Some sessions miss batches of the others.
        let alive: Vec<usize> = alive.into_iter().filter(|i| (i + ply) % 5 > 0).collect();
        let ask = |session: usize, which: usize| {
            request(&lines[session][ply], parents[session][which], session as u32)
        };
        let batch: Vec<Request> = alive.iter().map(|&session| ask(session, 0)).collect();
        let answers = together.evaluate(&batch);
        let own: Vec<Evaluation> = alive
            .iter()
            .map(|&session| alone[session].evaluate(&[ask(session, 1)]).remove(0))
            .collect();
        for ((&session, shared), own) in alive.iter().zip(answers).zip(own) {
            assert!(agree(&shared, &own, TOLERANCE), "session {session}, ply {ply}");
            parents[session] = [Some(shared.handle), Some(own.handle)];
        }
    }
    let sums = alone.iter().map(DeviceEngine::figures).fold([0; 5], |sum, figures| {
        let CacheFigures { tokens, evicted, anchored, whole, used, .. } = figures;
        let own = [tokens, evicted, anchored, whole, used];
        std::array::from_fn(|i| sum[i] + own[i])
    });
    let CacheFigures { tokens, evicted, anchored, whole, used, .. } = together.figures();
    assert_eq!([tokens, evicted, anchored, whole, used], sums);
    assert!(evicted > 0 && anchored > 0, "{}", together.figures());
    // One search too many keeps nothing and is answered all the same.
    let stranger = along(&mut together, &lines[1], 99);
    assert_eq!(together.figures().whole, whole + lines[1].len() as u64);
    let expected =
        along(&mut device(on, &bytes, DeviceOptions { cache_bytes: 0, ..options }), &lines[1], 0);
    for (ours, theirs) in stranger.iter().zip(&expected) {
        assert!(agree(ours, theirs, TOLERANCE));
    }
    // Until another has ended.
    together.note(0, &CacheNote::Forget);
    along(&mut together, &lines[1], 99);
    assert!(together.figures().whole < whole + 2 * lines[1].len() as u64);
}

/// Nothing is queued, nothing is kept, nothing is asked for.
#[test]
fn empty_batches_are_answered() {
    let (_, bytes) = network(&ModelConfig::tiny(), 3);
    for on in everywhere() {
        let mut tensors = device(&on, &bytes, PATIENT);
        assert!(tensors.keeps() && tensors.answer().is_empty());
        for _ in 0..3 {
            tensors.launch(&[]);
        }
        tensors.launch(&canary::parents());
        for _ in 0..3 {
            assert!(tensors.answer().is_empty());
        }
        assert_eq!(tensors.answer().len(), canary::requests().len());
        let used = tensors.figures().used;
        tensors.close_cache();
        assert!(used > 0 && !tensors.keeps() && tensors.figures().used == 0);
        assert_eq!(tensors.evaluate(&canary::parents())[0].handle, Handle(0));
    }
}

/// Networks of other widths, depths and heads, none of them a multiple of what the kernel takes at
/// once; and the shapes that are trained. In 16-bit floats too, where the GPU has them.
#[test]
fn any_shape_is_the_kernels() {
    let odd = ModelConfig {
        name: "odd".to_owned(),
        width: 48,
        layers: 3,
        heads: 4,
        feed_forward: 90,
        value_hidden: 35,
        move_hidden: 22,
    };
    let deep = ModelConfig { layers: 10, ..ModelConfig::small() };
    let wide = ModelConfig { width: 16, heads: 1, move_hidden: 200, ..ModelConfig::tiny() };
    for config in [odd, wide, deep, ModelConfig::base()] {
        let (_, bytes) = network(&config, 9);
        let family = |keeper: &mut dyn Keeper| {
            let parents = keeper.evaluate(&canary::parents());
            let handles: Vec<Handle> = parents.iter().map(|answer| answer.handle).collect();
            [parents, keeper.evaluate(&canary::children(&handles))].concat()
        };
        let expected = family(&mut engine(&bytes, 1, 1 << 26));
        for on in everywhere().iter().filter(|on| matches!(on, On::Gpu(_))) {
            for (storage, tolerance) in [(Storage::F32, 2e-5), (Storage::F16, 2e-3)] {
                let options = DeviceOptions { cache_bytes: 1 << 26, storage, ..PATIENT };
                let answers = family(&mut device(on, &bytes, options));
                let difference = canary::difference(&expected, &answers);
                assert!(difference < tolerance, "{} in {storage:?}: {difference}", config.name);
            }
        }
    }
}

/// More positions than there is room for at once, where nothing is kept.
#[test]
fn any_number_of_positions_is_answered() {
    let (_, bytes) = network(&ModelConfig::tiny(), 3);
    for on in everywhere() {
        for cache_bytes in [0, 500_000] {
            let mut device = device(&on, &bytes, DeviceOptions { cache_bytes, ..PATIENT });
            let requests = canary::requests();
            let many: Vec<Request> = requests.iter().cycle().take(700).cloned().collect();
            let answers = device.evaluate(&many);
            for (index, request) in requests.iter().enumerate() {
                let alone = device.evaluate(std::slice::from_ref(request)).remove(0);
                for other in answers.iter().skip(index).step_by(requests.len()) {
                    assert!(agree(&alone, other, TOLERANCE), "{on:?}");
                }
            }
        }
    }
}
