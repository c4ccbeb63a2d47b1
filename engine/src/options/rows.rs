//! The rows of the register: one per option.

use std::time::Duration;

use super::{OptionError, Settings};
use crate::handicap::{STRONGEST, WEAKEST};
use crate::minimax::Pruning;
use crate::roster::{EVALUATORS, SEARCHES};
use crate::tablebase::MOST_PIECES;

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

/// What `UCI_EngineAbout` says.
const ABOUT: &str = concat!(
    "Tesla ",
    env!("CARGO_PKG_VERSION"),
    ", best-first minimax search over a batched transformer; GPL-3.0-or-later"
);

/// What a text option holds that means none.
pub(super) const EMPTY: &str = "<empty>";

/// All options; `network` tells whether the program was built with the transformer.
pub(super) fn register(network: bool) -> Vec<Row> {
    let mut rows = memory_rows();
    rows.extend(mode_rows(network));
    rows.extend(baseline_rows());
    rows.extend(tablebase_rows());
    rows.extend(protocol_rows());
    rows.extend(telling_rows());
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
            help: "Memory for the network's keys and values of evaluated positions, from which \
                   their children are evaluated, in MiB beside `Hash`: a hard cap; 0 evaluates \
                   every position from scratch.",
            kind: Kind::Spin {
                default: 512,
                min: 0,
                max: 1_048_576,
                set: |settings, megabytes| settings.kv_cache_mb = megabytes as usize,
            },
        },
        Row {
            name: "Clear Hash",
            help: "Forgets everything learnt from earlier searches.",
            kind: Kind::Button,
        },
        Row {
            name: "Threads",
            help: "Accepted for match runners and without effect: one thread searches, and the \
                   device uses all the cores it has.",
            kind: Kind::Spin { default: 1, min: 1, max: 1024, set: |_, _| {} },
        },
    ]
}

fn mode_rows(network: bool) -> [Row; 6] {
    [
        Row {
            name: "Search",
            help: "The search mode.",
            kind: Kind::Combo {
                default: SEARCHES[0],
                values: SEARCHES,
                set: |settings, name| settings.search = name,
            },
        },
        Row {
            name: "Evaluator",
            help: "What judges positions: the network, or piece counting that needs none.",
            kind: Kind::Combo {
                // Without a network, the list starts at the evaluator that needs none.
                default: if network { EVALUATORS[0] } else { EVALUATORS[1] },
                values: if network { EVALUATORS } else { &EVALUATORS[1..] },
                set: |settings, name| settings.evaluator = name,
            },
        },
        Row {
            name: "Device",
            help: "Where the network runs: `auto`, `cpu`, `gpu` or, for tests, `software`.",
            kind: Kind::Text {
                default: "auto",
                set: |settings, name| {
                    name.clone_into(&mut settings.device);
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
                    let embedded = matches!(path, "" | EMPTY | EMBEDDED);
                    settings.weights_file = (!embedded).then(|| path.to_owned());
                    Ok(())
                },
            },
        },
        Row {
            name: "TunablesFile",
            help: "A file of tunables as `tesla-train tune` writes them, read when it is named; \
                   what it does not name is as it ships.",
            kind: Kind::Text { default: EMPTY, set: Settings::read_tunables },
        },
        Row {
            name: "BatchSize",
            help: "Positions per batch; 0 lets the device choose.",
            kind: Kind::Spin {
                default: 0,
                min: 0,
                max: 4096,
                set: |settings, size| settings.batch_size = (size > 0).then_some(size as usize),
            },
        },
    ]
}

fn baseline_rows() -> [Row; 4] {
    [
        Row {
            name: "MinimaxPruning",
            help: "What `Search` = `Minimax` leaves out without changing the value: nothing, what \
                   alpha-beta proves irrelevant, or that with the moves ordered.",
            kind: Kind::Combo {
                default: Pruning::NAMES[0],
                values: Pruning::NAMES,
                set: |settings, name| settings.minimax_pruning = Pruning::named(name),
            },
        },
        Row {
            name: "ExperienceFile",
            help: "Where `Search` = `ThreeState` keeps the positions it met; without a file it \
                   forgets them at the end.",
            kind: Kind::Text {
                default: EMPTY,
                set: |settings, path| {
                    let is_none = matches!(path, "" | EMPTY);
                    settings.three_state.file = (!is_none).then(|| path.to_owned());
                    Ok(())
                },
            },
        },
        Row {
            name: "ExperienceSize",
            help: "Most positions in it; the least seen and oldest make room for new ones.",
            kind: Kind::Spin {
                default: 1_000_000,
                min: 1,
                max: 100_000_000,
                set: |settings, size| settings.three_state.size = size as usize,
            },
        },
        Row {
            name: "Seed",
            help: "Decides the random moves of `Search` = `ThreeState`.",
            kind: Kind::Spin {
                default: 1,
                min: 0,
                max: 0xffff_ffff,
                set: |settings, seed| settings.three_state.seed = seed,
            },
        },
    ]
}

fn tablebase_rows() -> [Row; 3] {
    [
        Row {
            name: "SyzygyPath",
            help: "Folders of Syzygy endgame tables, with `:` between them, on Windows `;`. At the root they choose \
                   among the moves in every search mode; Tesla, PUCT and AlphaBeta also ask them while they search.",
            kind: Kind::Text {
                default: EMPTY,
                set: |settings, path| {
                    let is_none = matches!(path, "" | EMPTY);
                    settings.tablebase.path = (!is_none).then(|| path.to_owned());
                    Ok(())
                },
            },
        },
        Row {
            name: "SyzygyProbeLimit",
            help: "Most pieces of a position that is looked up; 0 looks up none.",
            kind: Kind::Spin {
                default: MOST_PIECES as u64,
                min: 0,
                max: MOST_PIECES as u64,
                set: |settings, pieces| settings.tablebase.most_pieces = pieces as usize,
            },
        },
        Row {
            name: "Syzygy50MoveRule",
            help: "Whether a win that takes more than fifty moves without a capture or pawn move counts as a draw.",
            kind: Kind::Check {
                default: true,
                set: |settings, on| settings.tablebase.fifty_moves = on,
            },
        },
    ]
}

fn protocol_rows() -> [Row; 5] {
    [
        Row {
            name: "Move Overhead",
            help: "Time kept back per move for the GUI and the line, in ms.",
            kind: Kind::Spin {
                // Stockfish keeps back 10 ms, lc0 200 ms. We end within one batch, which on a CPU
                // takes a few ms more than an alpha-beta node.
                default: 20,
                min: 0,
                max: 5_000,
                set: |settings, ms| settings.move_overhead = Duration::from_millis(ms),
            },
        },
        Row {
            name: "Ponder",
            help: "Tells the GUI that Tesla can think on the opponent's time.",
            kind: Kind::Check { default: false, set: |_, _| {} },
        },
        Row {
            name: "UCI_Chess960",
            help: "Fischer random chess: castling is written as king takes rook.",
            kind: Kind::Check { default: false, set: |settings, on| settings.chess960 = on },
        },
        Row {
            name: "UCI_LimitStrength",
            help: "Plays weaker, as `UCI_Elo` says: fewer nodes, and at times not the best move (`Seed` decides which). \
                   `Search` = `ThreeState` has only fewer nodes.",
            kind: Kind::Check {
                default: false,
                set: |settings, on| settings.strength.is_limited = on,
            },
        },
        Row {
            name: "UCI_Elo",
            help: "How weak, with `UCI_LimitStrength`: higher is stronger. No rating yet: it is not calibrated by games.",
            kind: Kind::Spin {
                default: 1_500,
                min: WEAKEST,
                max: STRONGEST,
                set: |settings, elo| settings.strength.elo = elo,
            },
        },
    ]
}

fn telling_rows() -> [Row; 5] {
    [
        Row {
            name: "MultiPV",
            help: "Best moves that are told of, each with its line. Tesla and PUCT tell what they know of them and \
                   search as ever, AlphaBeta and Minimax search each; ThreeState tells of one.",
            kind: Kind::Spin {
                default: 1,
                min: 1,
                max: 218,
                set: |settings, lines| settings.lines = lines as usize,
            },
        },
        Row {
            name: "UCI_ShowWDL",
            help: "Adds win, draw and loss in permille to the score.",
            kind: Kind::Check { default: false, set: |settings, on| settings.show_wdl = on },
        },
        Row {
            name: "VerboseMoveStats",
            help: "At the end of a search, a line for every root move: value and error scale (expected score), chance \
                   to overtake the best, work (evaluations), policy. Tesla and PUCT only.",
            kind: Kind::Check { default: false, set: |settings, on| settings.verbose = on },
        },
        Row {
            name: "LogFile",
            help: "A file to which everything that is said and heard is appended, with seconds since it was named.",
            kind: Kind::Text {
                default: EMPTY,
                set: |settings, path| {
                    let is_none = matches!(path, "" | EMPTY);
                    settings.log_file = (!is_none).then(|| path.to_owned());
                    Ok(())
                },
            },
        },
        Row {
            name: "UCI_EngineAbout",
            help: "For GUIs to show; without effect.",
            kind: Kind::Text { default: ABOUT, set: |_, _| Ok(()) },
        },
    ]
}
