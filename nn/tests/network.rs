//! The network on the CPU: batching, windows, weight files, and its device thread.
#![cfg(feature = "net")]
#![expect(clippy::unwrap_used, reason = "a test that cannot be set up has failed")]

#[path = "common/canaries.rs"]
mod common;

use std::collections::HashMap;

use burn::tensor::Device;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use shakmaty::{Chess, Position};
use tesla_nn::batch::Batch;
use tesla_nn::canary;
use tesla_nn::cpu::{Engine, Options};
use tesla_nn::device::DeviceChoice;
use tesla_nn::encode::{MOVE_SITUATIONS, RULE_ROWS, Window};
use tesla_nn::evaluator::{EvalError, Evaluator};
use tesla_nn::gpu::Storage;
use tesla_nn::model::{Model, ModelConfig, VALUE_BINS};
use tesla_nn::transformer::{
    AnchorPolicy, TransformerEvaluator, TransformerSettings, WeightsSource,
};
use tesla_nn::weights::{self, Loaded, WeightsError};

use common::{canaries, host};

fn tiny() -> (Model, ModelConfig, Device) {
    let device = Device::flex();
    device.seed(7);
    let config = ModelConfig::tiny();
    (config.init(&device), config, device)
}

fn start(batch_size: usize, threads: usize) -> TransformerEvaluator {
    let (model, config, _) = tiny();
    let bytes = weights::to_bytes(&model, &config).unwrap();
    let settings = TransformerSettings {
        device: DeviceChoice::Cpu,
        threads,
        batch_size,
        shared_by: None,
        cache_bytes: 0,
        gpu_cache_bytes: 0,
        storage: Storage::default(),
        anchors: AnchorPolicy::default(),
    };
    TransformerEvaluator::start(WeightsSource::Bytes(&bytes), settings).unwrap()
}

/// Bit by bit: games that share a device's batches are the games that each would play alone.
#[test]
fn batch_of_one_equals_batch_of_sixty_four() {
    let one = canary::requests();
    let many: Vec<_> = one.iter().cycle().take(64).cloned().collect();
    for threads in [1, 2, 3] {
        let mut evaluator = start(64, threads);
        evaluator.submit(many.clone());
        for request in &one {
            evaluator.submit(vec![request.clone()]);
        }
        let together = evaluator.collect().unwrap();
        let alone: Vec<_> = one.iter().flat_map(|_| evaluator.collect().unwrap()).collect();
        assert_eq!(together.len(), 64);
        for (index, answer) in together.iter().enumerate() {
            assert_eq!(*answer, alone[index % one.len()], "{threads} threads, place {index}");
        }
        assert_eq!(evaluator.collect(), Err(EvalError::NothingInFlight));
    }
}

#[test]
fn answers_are_probabilities_in_move_order() {
    let requests = canary::requests();
    let mut evaluator = start(0, 1);
    evaluator.submit(requests.clone());
    evaluator.submit(Vec::new());
    let answers = evaluator.collect().unwrap();
    for (request, answer) in requests.iter().zip(&answers) {
        assert_eq!(request.moves.len(), answer.moves.len());
        assert!((0.0..=1.0).contains(&answer.value) && answer.error > 0.0);
        assert!((answer.wdl.iter().sum::<f32>() - 1.0).abs() < 1e-4);
        assert!((answer.wdl[0] + answer.wdl[1] / 2.0 - answer.value).abs() < 1e-4);
        let total: f32 = answer.moves.iter().map(|m| m.policy).sum();
        assert!((total - 1.0).abs() < 1e-4);
    }
    assert_eq!(evaluator.collect(), Ok(Vec::new()));
}

/// The anchor of a window must not see the plies that follow it, so its readout is the whole
/// encode's; and padding a window to longer ones changes nothing.
#[test]
fn a_windows_anchor_is_the_whole_encode() {
    let (model, _, device) = tiny();
    let mut position = Chess::default();
    let mut long = Window::new(&position, 0, &position.legal_moves());
    let whole = long.clone();
    for index in [5, 3, 7, 2, 11, 4] {
        let moves = position.legal_moves();
        let played = moves[index % moves.len()];
        position.play_unchecked(played);
        long.push(played, &position, 0, &position.legal_moves());
    }
    let moves = whole.readouts[0].moves.len();
    let run = |windows: &[Window]| {
        let batch = Batch::pack(windows);
        let output = model.forward(&batch, &device);
        let readouts = batch.windows * batch.readouts;
        let values = host(output.value_logits.reshape([readouts * VALUE_BINS]));
        (values[..VALUE_BINS].to_vec(), host(output.policy_logits)[..moves].to_vec())
    };
    let alone = run(std::slice::from_ref(&whole));
    for windows in [vec![long.clone()], vec![whole.clone(), long.clone()], vec![long, whole]] {
        let (values, policy) = run(&windows);
        let close = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-4);
        assert!(close(&values, &alone.0) && close(&policy, &alone.1));
    }
}

/// With a word of the header replaced by one of the same length.
fn renamed(bytes: &[u8], word: &str, other: &str) -> Vec<u8> {
    let at = bytes.windows(word.len()).position(|window| window == word.as_bytes()).unwrap();
    let mut renamed = bytes.to_vec();
    renamed[at..at + word.len()].copy_from_slice(other.as_bytes());
    renamed
}

#[test]
fn weights_round_trip_and_damage_is_told_in_words() {
    let (model, config, device) = tiny();
    let bytes = weights::to_bytes(&model, &config).unwrap();
    let loaded = weights::load_bytes(&bytes, &device).unwrap();
    assert_eq!(loaded.config, config);
    assert!(weights::to_bytes(&loaded.model, &config).unwrap() == bytes, "f16 to f16 is exact");

    let fails = |bytes: &[u8]| weights::load_bytes(bytes, &device).map(|_| ()).unwrap_err();
    assert!(matches!(fails(&[]), WeightsError::Damaged(_)));
    assert!(matches!(fails(b"PK\x03\x04 certainly not weights"), WeightsError::Damaged(_)));
    for length in [7, 100, bytes.len() / 2, bytes.len() - 1] {
        assert!(matches!(fails(&bytes[..length]), WeightsError::Damaged(_)));
    }
    let last = bytes.len() - 1;
    // A bit of a weight, which is a number like any other.
    let mut flipped = bytes.clone();
    flipped[last - 1] ^= 1;
    assert!(fails(&flipped).to_string().contains("not what its header says"));
    // A file of before the header told the tensors' hash.
    let mut poisoned = renamed(&bytes, "payload", "paylaod");
    assert!(weights::load_bytes(&poisoned, &device).is_ok());
    poisoned[last] |= 0x7c;
    assert!(fails(&poisoned).to_string().contains("not numbers"));
    let text = String::from_utf8_lossy(&bytes[..600]).into_owned();
    let at = text.find(weights::FORMAT).unwrap();
    let mut foreign = bytes.clone();
    foreign[at] ^= 1;
    assert!(matches!(fails(&foreign), WeightsError::Foreign(_)));
}

/// As the engine loads them on a CPU.
fn loaded(bytes: &[u8]) -> Result<Engine, WeightsError> {
    Engine::load(bytes, Options::default())
}

#[test]
fn a_header_of_a_large_network_over_few_bytes_allocates_nothing() {
    let (model, config, device) = tiny();
    let wrong = ModelConfig { width: 8192, feed_forward: 8192, ..config };
    let bytes = weights::to_bytes(&model, &wrong).unwrap();
    let error = weights::load_bytes(&bytes, &device).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("bytes at least"), "{error}");
}

#[test]
fn weights_of_another_shape_are_told_in_words() {
    let (model, config, _) = tiny();
    for wrong in [
        ModelConfig { value_hidden: 2 * config.value_hidden, ..config.clone() },
        ModelConfig { width: 8192, feed_forward: 8192, ..config.clone() },
        ModelConfig { layers: config.layers + 1, ..config.clone() },
        ModelConfig { layers: 1, ..config.clone() },
    ] {
        let bytes = weights::to_bytes(&model, &wrong).unwrap();
        assert!(matches!(loaded(&bytes), Err(WeightsError::Misfit(_))), "{wrong:?}");
    }
    for wrong in [
        ModelConfig { heads: 3, ..config.clone() },
        ModelConfig { width: 0, ..config.clone() },
        ModelConfig { name: "x/../../pwned".to_owned(), ..config.clone() },
        ModelConfig { name: "a\u{1b}[31m".to_owned(), ..config.clone() },
        ModelConfig { name: String::new(), ..config.clone() },
        ModelConfig { move_hidden: 1025, ..config.clone() },
        ModelConfig { layers: usize::MAX, ..config },
    ] {
        let bytes = weights::to_bytes(&model, &wrong).unwrap();
        assert!(matches!(loaded(&bytes), Err(WeightsError::Foreign(_))), "{wrong:?}");
    }
}

#[test]
fn no_flipped_bit_is_a_panic() {
    let (model, config, _) = tiny();
    let bytes = weights::to_bytes(&model, &config).unwrap();
    let header = u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize + 8;
    for at in (0..header).step_by(5).chain((header..bytes.len()).step_by(4001)) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        // A weight may be another number, which only the hash in the file's name tells.
        let _ = loaded(&flipped);
    }
}

#[test]
fn a_hash_in_the_name_is_checked() {
    let (model, config, device) = tiny();
    let folder = std::env::temp_dir().join(format!("tesla-weights-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = weights::save(&model, &config, &folder).unwrap();
    assert!(weights::load_file(&path, &device).is_ok());
    let lying = folder.join("tesla-tiny-00000000.safetensors");
    std::fs::rename(&path, &lying).unwrap();
    let error = weights::load_file(&lying, &device).map(|_| ()).unwrap_err();
    assert!(matches!(error, WeightsError::HashMismatch { .. }));
    std::fs::remove_dir_all(&folder).unwrap();
    let error = weights::load_file(&lying, &device).map(|_| ()).unwrap_err();
    assert!(matches!(error, WeightsError::File(_)));
}

/// The weights file of a network that knows nothing of what its tables tell since 2026-11-24, and
/// the same as files of before, of that day's morning, of before the shallow search and of its
/// first form are, whose tables are shorter.
fn new_and_older_tables() -> [Vec<u8>; 5] {
    const RULES: [usize; 3] = [38, 74, 87];
    const SITUATIONS: [usize; 3] = [60, 1500, 4500];
    let (model, config, _) = tiny();
    let bytes = weights::to_exact_bytes(&model, &config).unwrap();
    let whole = SafeTensors::deserialize(&bytes).unwrap();
    let [rules, situations] = ["rules", "move_situation"].map(|name| whole.tensor(name).unwrap());
    let row = 4 * config.width;
    let first = rules.data()[..RULES[0] * row].to_vec();
    let padded = |rows: usize| [&first[..], &vec![0; rows * row - first.len()]].concat();
    let plain = situations.data()[..SITUATIONS[0] * 4 * config.move_hidden].to_vec();
    let repeated = |rows: usize| -> Vec<u8> {
        let plain = plain.chunks(4 * config.move_hidden);
        plain.flat_map(|row| row.repeat(rows / SITUATIONS[0])).collect()
    };
    let header = format!(
        r#"{{"format":"{}","config":{}}}"#,
        weights::FORMAT,
        serde_json::to_string(&config).unwrap()
    );
    let files = [
        (padded(RULE_ROWS), repeated(MOVE_SITUATIONS)),
        (first.clone(), plain.clone()),
        (padded(RULES[1]), plain.clone()),
        (padded(RULES[2]), repeated(SITUATIONS[1])),
        (padded(RULE_ROWS), repeated(SITUATIONS[2])),
    ];
    files.map(|(rules, situations)| {
        let table = |bytes, width: usize| {
            let shape = vec![<[u8]>::len(bytes) / 4 / width, width];
            TensorView::new(Dtype::F32, shape, bytes).unwrap()
        };
        let tensors = whole.tensors().into_iter().map(|(name, tensor)| {
            let tensor = match name.as_str() {
                "rules" => table(&rules, config.width),
                "move_situation" => table(&situations, config.move_hidden),
                _ => tensor,
            };
            (name, tensor)
        });
        let metadata = HashMap::from([("tesla".to_owned(), header.clone())]);
        safetensors::serialize(tensors, Some(metadata)).unwrap()
    })
}

#[test]
fn a_file_with_shorter_tables_answers_as_before() {
    let files = new_and_older_tables();
    let [new, older @ ..] = files.each_ref().map(Vec::len);
    assert!(older.is_sorted_by(|one, next| one < next) && older[3] < new);
    let device = Device::flex();
    let answers = files.map(|bytes| {
        let Loaded { model, .. } = weights::load_bytes(&bytes, &device).unwrap();
        let output = model.forward(&canaries(), &device);
        let mut on_cpu = Engine::load(&bytes, Options::default()).unwrap();
        let answers = on_cpu.evaluate(&canary::requests());
        (host(output.log_error), host(output.policy_logits), answers)
    });
    assert!(answers[1..].iter().all(|older| *older == answers[0]));
}

#[test]
fn a_deeper_network_answers_as_the_one_it_starts_from() {
    let (model, config, device) = tiny();
    let old = weights::to_exact_bytes(&model, &config).unwrap();
    let deeper = ModelConfig { layers: 5, ..config };
    let (grown, taken, total) = weights::graft(&old, &deeper, &device).unwrap();
    assert_eq!(taken, total);
    let (before, after) =
        (model.forward(&canaries(), &device), grown.forward(&canaries(), &device));
    assert_eq!(host(before.log_error), host(after.log_error));
    assert_eq!(host(before.policy_logits), host(after.policy_logits));
}

#[test]
fn a_network_with_more_hidden_units_answers_as_the_one_it_starts_from() {
    let (model, config, device) = tiny();
    let old = weights::to_exact_bytes(&model, &config).unwrap();
    let wider = ModelConfig {
        layers: 3,
        feed_forward: 96,
        value_hidden: 48,
        move_hidden: 40,
        ..config.clone()
    };
    let (grown, taken, total) = weights::graft(&old, &wider, &device).unwrap();
    assert_eq!(taken, total);
    let (before, after) =
        (model.forward(&canaries(), &device), grown.forward(&canaries(), &device));
    for (before, after) in [
        (before.log_error, after.log_error),
        (before.policy_logits, after.policy_logits),
        (before.action_delta, after.action_delta),
    ] {
        let [before, after] = [before, after].map(host);
        // Sums of more numbers round in another order.
        assert!(before.iter().zip(&after).all(|(a, b)| (a - b).abs() < 1e-5));
    }
    // The new units have weights to learn with.
    let weights = weights::to_exact_bytes(&grown, &wider).unwrap();
    let tensors = SafeTensors::deserialize(&weights).unwrap();
    let up = tensors.tensor("blocks.0.up.weight").unwrap();
    let columns: Vec<&[u8]> = up.data().chunks_exact(4).skip(64).step_by(96).collect();
    assert!(columns.iter().all(|column| column.iter().any(|&byte| byte != 0)));

    // Heads of another width share little, and nothing is taken in part.
    let other = ModelConfig { width: 48, ..config };
    let (_, taken, total) = weights::graft(&old, &other, &device).unwrap();
    assert!(taken < total / 2, "{taken} of {total}");
}

#[test]
fn a_network_of_wider_tokens_answers_as_the_one_it_starts_from() {
    let (model, config, device) = tiny();
    let old = weights::to_exact_bytes(&model, &config).unwrap();
    let wider = ModelConfig {
        width: 64,
        heads: 4,
        layers: 3,
        feed_forward: 96,
        value_hidden: 48,
        move_hidden: 40,
        ..config
    };
    let (grown, taken, total) = weights::graft(&old, &wider, &device).unwrap();
    assert_eq!(taken, total);
    let (before, after) =
        (model.forward(&canaries(), &device), grown.forward(&canaries(), &device));
    for (before, after) in [
        (before.log_error, after.log_error),
        (before.policy_logits, after.policy_logits),
        (before.action_delta, after.action_delta),
    ] {
        let [before, after] = [before, after].map(host);
        assert!(before.iter().zip(&after).all(|(a, b)| (a - b).abs() < 1e-4));
    }
    // Everything reads the new channels, so that the first step can teach what writes them.
    let weights = weights::to_exact_bytes(&grown, &wider).unwrap();
    let tensors = SafeTensors::deserialize(&weights).unwrap();
    for name in ["blocks.0.query.weight", "blocks.2.up.weight", "value_hidden.weight"] {
        let tensor = tensors.tensor(name).unwrap();
        let new_rows = tensor.data().len() / 2;
        assert!(tensor.data()[new_rows..].chunks_exact(4).all(|bytes| bytes != [0; 4]), "{name}");
    }
}

#[test]
fn a_graft_takes_what_fits_and_keeps_it() {
    let (model, config, device) = tiny();
    let old = weights::to_exact_bytes(&model, &config).unwrap();
    let (same, taken, total) = weights::graft(&old, &config, &device).unwrap();
    assert_eq!(taken, total);
    assert!(weights::to_exact_bytes(&same, &config).unwrap() == old);

    let narrower = ModelConfig { move_hidden: 8, ..config.clone() };
    let (grown, taken, total) = weights::graft(&old, &narrower, &device).unwrap();
    assert!(taken > total / 2 && taken < total, "{taken} of {total}");
    // The trunk is the old one, so the value is too; the move heads are fresh.
    let batch = canaries();
    let before = model.forward(&batch, &device);
    let after = grown.forward(&batch, &device);
    assert_eq!(host(before.log_error), host(after.log_error));
    assert_ne!(host(before.policy_logits), host(after.policy_logits));
    assert!(matches!(weights::graft(b"rubbish", &config, &device), Err(WeightsError::Damaged(_))));
}
