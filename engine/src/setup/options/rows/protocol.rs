//! Options of the protocol, of the endgame tables and of the reports.

use std::time::Duration;

use super::{Kind, Row};
use crate::chess::tablebase::MOST_PIECES;
use crate::search::handicap::{STRONGEST, WEAKEST};
use crate::setup::settings::{EMPTY, given};

/// What `UCI_EngineAbout` says.
const ABOUT: &str = concat!(
    "Tesla ",
    env!("CARGO_PKG_VERSION"),
    ", best-first minimax search over a batched transformer; GPL-3.0-or-later"
);

pub(super) fn tablebase_rows() -> [Row; 3] {
    [
        Row {
            name: "SyzygyPath",
            help: "Folders of Syzygy endgame tables, separated by `:` (on Windows by `;`). \
                   Every search mode chooses among the root moves by them; Tesla, PUCT and \
                   AlphaBeta also probe them during the search.",
            kind: Kind::Text {
                default: EMPTY,
                set: |settings, path| {
                    settings.tablebase.path = given(path);
                    Ok(())
                },
            },
        },
        Row {
            name: "SyzygyProbeLimit",
            help: "Maximum number of pieces of a position that is probed; 0 probes none.",
            kind: Kind::Spin {
                default: MOST_PIECES as u64,
                min: 0,
                max: MOST_PIECES as u64,
                set: |settings, pieces| settings.tablebase.most_pieces = pieces as usize,
            },
        },
        Row {
            name: "Syzygy50MoveRule",
            help: "Whether a win that takes more than fifty moves without a capture or pawn move \
                   counts as a draw.",
            kind: Kind::Check {
                default: true,
                set: |settings, on| settings.tablebase.fifty_moves = on,
            },
        },
    ]
}

pub(super) fn protocol_rows() -> [Row; 5] {
    [
        Row {
            name: "Move Overhead",
            help: "Time reserved per move for the GUI and the connection, in ms.",
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
            help: "Plays at the strength of `UCI_Elo`: fewer nodes, and sometimes not the best \
                   move (see `Seed`). `Search` = `ThreeState` only searches fewer nodes.",
            kind: Kind::Check {
                default: false,
                set: |settings, on| settings.strength.is_limited = on,
            },
        },
        Row {
            name: "UCI_Elo",
            help: "Strength under `UCI_LimitStrength`: a rating on the scale of Stockfish's \
                   levels, from 1,518 games of `Search` = `Tesla`.",
            kind: Kind::Spin {
                default: 1_500,
                min: WEAKEST,
                max: STRONGEST,
                set: |settings, elo| settings.strength.elo = elo,
            },
        },
    ]
}

pub(super) fn telling_rows() -> [Row; 6] {
    [
        Row {
            name: "MultiPV",
            help: "Number of lines to report. AlphaBeta and Minimax search each; Tesla and \
                   PUCT report what the ordinary search knows; ThreeState reports one.",
            kind: Kind::Spin {
                default: 1,
                min: 1,
                max: 218,
                set: |settings, lines| settings.multipv = lines as usize,
            },
        },
        Row {
            name: "UCI_ShowWDL",
            help: "Adds win, draw and loss in permille to the score.",
            kind: Kind::Check { default: false, set: |settings, on| settings.show_wdl = on },
        },
        Row {
            name: "VerboseMoveStats",
            help: "Reports every root move at the end of a search, in lc0's format with Tesla's \
                   own figures appended. Tesla and PUCT only.",
            kind: Kind::Check {
                default: false,
                set: |settings, on| settings.move_stats.at_end = on,
            },
        },
        Row {
            name: "LogFile",
            help: "A file to append all input and output to, with the seconds since the option \
                   was set. One that holds something else is refused.",
            kind: Kind::Text {
                default: EMPTY,
                set: |settings, path| {
                    settings.log_file = given(path);
                    Ok(())
                },
            },
        },
        Row {
            name: "UCI_Opponent",
            help: "The opponent as `title rating computer or human name`, for example `GM \
                   2800 human Anna Muzychuk`; reported with `debug on`, no effect on play.",
            kind: Kind::Text {
                default: EMPTY,
                set: |settings, text| {
                    settings.opponent = given(text).map(|text| text.parse()).transpose()?;
                    Ok(())
                },
            },
        },
        Row {
            name: "UCI_EngineAbout",
            help: "For GUIs to show; no effect.",
            kind: Kind::Text { default: ABOUT, set: |_, _| Ok(()) },
        },
    ]
}

/// An option that GUIs set without seeing it listed; documented in the pages only.
pub(super) fn hidden_row() -> Row {
    Row {
        name: "LogLiveStats",
        help: "As `VerboseMoveStats`, with each `info`.",
        kind: Kind::Hidden { set: |settings, on| settings.move_stats.live = on },
    }
}
