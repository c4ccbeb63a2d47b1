//! What a batch costs on a GPU: launches, uploads and downloads. Without Vulkan there is none.

use tesla_nn::gpu::{DeviceEngine, DeviceOptions, Storage};

use super::device::{On, PATIENT, device, everywhere, lines};
use super::*;

/// Launches, uploads and downloads of a batch.
fn cost(gpu: &mut DeviceEngine, requests: &[Request]) -> (Vec<Evaluation>, [u64; 3]) {
    let counts = |gpu: &DeviceEngine| {
        let traffic = gpu.traffic();
        [traffic.launches, traffic.uploads, traffic.downloads]
    };
    let before = counts(gpu);
    let answers = gpu.evaluate(requests);
    let after = counts(gpu);
    (answers, [0, 1, 2].map(|i| after[i] - before[i]))
}

fn gpus() -> Vec<On> {
    everywhere().into_iter().filter(|on| matches!(on, On::Gpu(_))).collect()
}

fn children_of(parents: &[Evaluation], count: usize) -> Vec<Request> {
    let handles: Vec<Handle> = parents.iter().map(|answer| answer.handle).collect();
    canary::children(&handles).into_iter().cycle().take(count).collect()
}

/// A batch of children is one launch, one upload, one download; whole encodes beside them cost a
/// launch more.
#[test]
fn a_batch_is_one_launch() {
    let (_, bytes) = network(&ModelConfig::tiny(), 3);
    for on in gpus() {
        for storage in [Storage::F32, Storage::F16] {
            let gpu = &mut device(&on, &bytes, DeviceOptions { storage, ..PATIENT });
            let (parents, whole) = cost(gpu, &canary::parents());
            assert_eq!(whole, [1, 1, 1]);
            let children = children_of(&parents, 300);
            assert_eq!(cost(gpu, &children).1, [1, 1, 1]);
            assert_eq!(cost(gpu, &[canary::requests(), children].concat()).1, [2, 1, 1]);
            assert_eq!(cost(gpu, &[]).1, [0, 0, 0]);
        }
    }
}

/// Evaluates lines as a search does, all at once, ply by ply; what they are called on the device.
fn names(gpu: &mut DeviceEngine, lines: &[Vec<Ply>]) -> Vec<Vec<Handle>> {
    let mut names: Vec<Vec<Handle>> = vec![Vec::new(); lines.len()];
    for ply in 0..lines.iter().map(Vec::len).max().unwrap_or(0) {
        let alive: Vec<usize> = (0..lines.len()).filter(|&i| lines[i].len() > ply).collect();
        let ask = |&i: &usize| request(&lines[i][ply], names[i].last().copied(), 0);
        let batch: Vec<Request> = alive.iter().map(ask).collect();
        for (i, answer) in alive.iter().zip(gpu.evaluate(&batch)) {
            names[*i].push(answer.handle);
        }
    }
    names
}

/// All children of the ends of lines, none of them kept.
fn ends(lines: &[Vec<Ply>], names: &[Vec<Handle>]) -> Vec<Request> {
    let below = lines.iter().zip(names).flat_map(|(line, names)| {
        let (end, &name) = (&line[line.len() - 1].position, &names[line.len() - 1]);
        let child = move |played: Move| {
            let position = end.clone().play(played).unwrap();
            Request { parent: Some((name, played)), ..Request::single(&position) }
        };
        end.legal_moves().into_iter().map(child)
    });
    below.filter(|child| !child.moves.is_empty()).take(256).collect()
}

/// Lines of nine positions that are one to their fifth.
fn branches(count: usize) -> Vec<Vec<Ply>> {
    (0..count).map(|i| line(0, &[1, 3, 5, 7, 2 * i + 1, 4 + i, 11, i])).collect()
}

/// Positions whose keys and values were evicted are made again in the same batch, with the
/// children that need them and with whole encodes: three launches at most, still one upload and one
/// download, and the answers are those of a cache that forgot nothing.
#[test]
fn remade_positions_cost_two_launches_more_at_most() {
    let (_, bytes) = network(&ModelConfig::tiny(), 3);
    let options = DeviceOptions { cache_bytes: 1 << 26, ..PATIENT };
    let apart: Vec<Vec<Ply>> = lines().into_iter().filter(|line| line.len() > 5).collect();
    for on in gpus() {
        for lines in [apart.clone(), branches(2), branches(12)] {
            for dropped in 1..=5 {
                let gpu = &mut device(&on, &bytes, options);
                let names = names(gpu, &lines);
                let mut batch = ends(&lines, &names);
                let expected = gpu.evaluate(&batch);
                // What the search still asks for is not evicted while it is on its way.
                for _ in 0..2 {
                    gpu.evaluate(&canary::requests()[..1]);
                }
                let evicted = names.iter().flat_map(|line| line[line.len() - dropped..].to_vec());
                gpu.note(0, &CacheNote::DropTokens(evicted.collect()));
                let before = gpu.figures();
                batch.extend(canary::requests());
                let (answers, cost) = cost(gpu, &batch);
                let done = gpu.figures().since(&before);
                assert!(done.rebuilt + done.anchored >= dropped as u64, "{done}");
                assert!(cost[0] <= 3 && cost[1..] == [1, 1], "{dropped} plies: {cost:?}");
                let difference = canary::difference(&expected, &answers[..expected.len()]);
                assert!(done.anchored > 0 || difference < 2e-5, "{difference}");
            }
        }
    }
}
