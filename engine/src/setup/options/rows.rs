//! The rows of the register: one per option.

mod protocol;

use tesla_nn::memory;

use crate::minimax::Pruning;
use crate::setup::mode::{EvaluatorKind, SearchMode};
use crate::setup::settings::{EMPTY, OptionError, Settings, given};

/// One option.
pub(super) struct Row {
    pub(super) name: &'static str,
    /// For people: one sentence, with the unit.
    pub(super) help: &'static str,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    Spin {
        default: u64,
        min: u64,
        max: u64,
        set: fn(&mut Settings, u64),
    },
    Check {
        default: bool,
        set: fn(&mut Settings, bool),
    },
    /// Off by default; documented in the pages, but not listed by `uci`.
    Hidden {
        set: fn(&mut Settings, bool),
    },
    Combo {
        default: &'static str,
        values: &'static [&'static str],
        set: fn(&mut Settings, &'static str),
    },
    Text {
        default: &'static str,
        /// Fails where the text cannot be used; the default never does.
        set: fn(&mut Settings, &str) -> Result<(), OptionError>,
    },
    Button,
}

/// What a text option holds that means "the network inside the program".
const EMBEDDED: &str = "<embedded>";

/// All options; `network` = whether the program was built with the transformer.
pub(super) fn register(network: bool) -> Vec<Row> {
    let mut rows = memory_rows();
    rows.extend(mode_rows(network));
    rows.extend(network_rows());
    rows.extend(baseline_rows());
    rows.extend(protocol::tablebase_rows());
    rows.extend(protocol::protocol_rows());
    rows.extend(protocol::telling_rows());
    rows.push(protocol::hidden_row());
    rows
}

fn memory_rows() -> Vec<Row> {
    vec![
        Row {
            name: "Hash",
            help: "Memory for tree and table together, in MiB: a hard cap.",
            kind: Kind::Spin {
                default: 256,
                min: 1,
                max: 1_048_576,
                set: |settings, megabytes| settings.hash_mb = megabytes as usize,
            },
        },
        Row {
            name: "KVCache",
            help: "Memory for the network's key-value cache on a CPU, in MiB, in addition to \
                   `Hash`: a hard cap. Positions are evaluated from their parents' entries; 0 \
                   evaluates every position from scratch.",
            kind: Kind::Spin {
                default: memory::KV_CACHE_MB as u64,
                min: 0,
                max: 1_048_576,
                set: |settings, megabytes| settings.machine.kv_cache_mb = megabytes as usize,
            },
        },
        Row {
            name: "GPUKVCache",
            help: "The same in a GPU's memory, taken at once, at most two of its largest buffers.",
            kind: Kind::Spin {
                default: 2048,
                min: 0,
                max: 1_048_576,
                set: |settings, megabytes| settings.machine.gpu_kv_cache_mb = megabytes as usize,
            },
        },
        Row {
            name: "Clear Hash",
            help: "Forgets everything learnt from earlier searches.",
            kind: Kind::Button,
        },
        Row {
            name: "Threads",
            help: "Threads for the network on a CPU, 64 of them at most; 0 is one per core. The \
                   search has one of its own, which mostly waits while they work.",
            kind: Kind::Spin {
                default: 0,
                min: 0,
                max: 1024,
                set: |settings, threads| settings.machine.threads = threads as usize,
            },
        },
    ]
}

fn mode_rows(network: bool) -> [Row; 2] {
    // Without a network, the list starts at the evaluator that needs none.
    let evaluators = &EvaluatorKind::NAMES[usize::from(!network)..];
    [
        Row {
            name: "Search",
            help: "The search mode.",
            kind: Kind::Combo {
                default: SearchMode::NAMES[0],
                values: SearchMode::NAMES,
                set: |settings, name| {
                    settings.machine.search = SearchMode::named(name).unwrap_or_default();
                },
            },
        },
        Row {
            name: "Evaluator",
            help: "What evaluates positions: the network, or a classical evaluation without one.",
            kind: Kind::Combo {
                default: evaluators[0],
                values: evaluators,
                set: |settings, name| {
                    settings.machine.evaluator = EvaluatorKind::named(name).unwrap_or_default();
                },
            },
        },
    ]
}

fn network_rows() -> [Row; 5] {
    [
        Row {
            name: "Device",
            help: "Where the network runs: `auto`, `cpu`, `gpu`, one GPU of several as `gpu:1` or \
                   `gpu:4070` or, for tests, `software`.",
            kind: Kind::Text {
                default: "auto",
                set: |settings, name| {
                    name.clone_into(&mut settings.machine.device);
                    Ok(())
                },
            },
        },
        Row {
            name: "WeightsFile",
            help: "The network's file; `<embedded>` is the one inside the program.",
            kind: Kind::Text {
                default: EMBEDDED,
                set: |settings, path| {
                    settings.machine.weights_file = given(path).filter(|path| path != EMBEDDED);
                    Ok(())
                },
            },
        },
        Row {
            name: "TunablesFile",
            help: "A file of tunables as `tesla-train tune` writes them, read when the option \
                   is set. Tunables that are set by name hold over it, in any order; what \
                   neither names keeps its default. `<literal>` is the rule of seed 003 as far \
                   as tunables reach, `<lc0>` are lc0's constants for PUCT.",
            kind: Kind::Text { default: EMPTY, set: Settings::read_tunables },
        },
        Row {
            name: "GPUStorage",
            help: "How a GPU stores weights and cache: 32-bit floats, or 16-bit ones, which `auto` \
                   takes where it has them. All sums are 32-bit.",
            kind: Kind::Combo {
                default: "auto",
                values: &["auto", "f32", "f16"],
                set: |settings, name| settings.machine.gpu_storage = name,
            },
        },
        Row {
            name: "BatchSize",
            help: "Most positions in a batch; 0 lets the device choose.",
            kind: Kind::Spin {
                default: 0,
                min: 0,
                max: 4096,
                set: |settings, size| {
                    settings.machine.batch_size = (size > 0).then_some(size as usize);
                },
            },
        },
    ]
}

fn baseline_rows() -> [Row; 5] {
    [
        Row {
            name: "MinimaxPruning",
            help: "Pruning of `Search` = `Minimax`: none, alpha-beta, or alpha-beta with move \
                   ordering. The score is the same.",
            kind: Kind::Combo {
                default: Pruning::NAMES[0],
                values: Pruning::NAMES,
                set: |settings, name| settings.machine.minimax_pruning = Pruning::named(name),
            },
        },
        Row {
            name: "ExperienceFile",
            help: "The file in which `Search` = `ThreeState` keeps the positions it has met; \
                   without one they are lost at exit.",
            kind: Kind::Text {
                default: EMPTY,
                set: |settings, path| {
                    settings.machine.three_state.file = given(path);
                    Ok(())
                },
            },
        },
        Row {
            name: "ExperienceSize",
            help: "Maximum positions in `ExperienceFile`; the least visited and oldest are \
                   evicted first.",
            kind: Kind::Spin {
                default: 1_000_000,
                min: 1,
                max: 100_000_000,
                set: |settings, size| settings.machine.three_state.size = size as usize,
            },
        },
        Row {
            name: "BookFile",
            help: "An opening book, PGN, EPD or FEN, whose positions `Search` = `ThreeState` \
                   counts as known, so that it calculates in them instead of playing at random.",
            kind: Kind::Text {
                default: EMPTY,
                set: |settings, path| {
                    settings.machine.three_state.book = given(path);
                    Ok(())
                },
            },
        },
        Row {
            name: "Seed",
            help: "Seed of the random moves of `Search` = `ThreeState` and of the mistakes of \
                   `UCI_LimitStrength`.",
            kind: Kind::Spin {
                default: 1,
                min: 0,
                // GUIs read ranges as signed 32-bit numbers.
                max: 0x7fff_ffff,
                set: |settings, seed| settings.machine.three_state.seed = seed,
            },
        },
    ]
}
