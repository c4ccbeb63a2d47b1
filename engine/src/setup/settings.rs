//! What the user chose, and why a choice cannot be used.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use crate::best_first::params::{ParamError, Params};
use crate::chess::tablebase;
use crate::search::handicap::{Handicap, Strength};
use crate::setup::machine::Machine;
use crate::setup::opponent::{NotAnOpponent, Opponent};

/// What a text option holds that means none.
pub(super) const EMPTY: &str = "<empty>";

/// What a text option names, unless it means none.
pub(super) fn given(text: &str) -> Option<String> {
    (!matches!(text, "" | EMPTY)).then(|| text.to_owned())
}

/// What the user chose. Defaults come from the register.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Memory for tree and table, in MiB.
    pub hash_mb: usize,
    /// What runs.
    pub machine: Machine,
    /// Tunables that were set by name: they hold over those of a file, whichever came first.
    pub named_tunables: BTreeMap<String, f32>,
    /// Time kept back per move for the GUI and the line.
    pub move_overhead: Duration,
    /// Castling is written as king takes rook.
    pub chess960: bool,
    /// `info` lines carry win, draw and loss in permille.
    pub show_wdl: bool,
    /// Lines to report.
    pub multipv: usize,
    /// When the statistics of every root move are reported.
    pub move_stats: MoveStats,
    /// Playing weaker on purpose.
    pub strength: Strength,
    /// A file for all output and input; `None` = none.
    pub log_file: Option<String>,
    /// The endgame tables.
    pub tablebase: tablebase::TablebaseSettings,
    /// Whom we play; `None` = unknown.
    pub opponent: Option<Opponent>,
}

/// When a search reports the statistics of every root move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MoveStats {
    /// At its end.
    pub at_end: bool,
    /// With each `info`.
    pub live: bool,
}

impl Settings {
    /// The search and the evaluator that the user chose.
    pub fn machine(&self) -> Machine {
        self.machine.clone().used()
    }

    /// Playing weaker, where that is asked for.
    pub fn handicap(&self) -> Option<Handicap> {
        let Strength { is_limited, elo } = self.strength;
        is_limited.then_some(Handicap { elo, seed: self.machine.three_state.seed })
    }

    /// Takes the tunables of a file, the defaults where the path is empty, but for those that were
    /// set by name.
    pub(super) fn read_tunables(&mut self, path: &str) -> Result<(), OptionError> {
        let read = match path {
            "" | EMPTY => Ok(Params::default()),
            path => Params::read(Path::new(path)),
        };
        let mut params = read.map_err(|error| OptionError::TunablesFile(error.to_string()))?;
        for (name, &value) in &self.named_tunables {
            params.set(name, value)?;
        }
        self.machine.params = params;
        Ok(())
    }
}

/// Why `setoption` changed nothing.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OptionError {
    /// No row has this name.
    #[error("there is no option named '{0}'; the UCI command uci lists them all")]
    Unknown(String),
    /// The command names no option.
    #[error("setoption needs a name, for example: setoption name Hash value 256")]
    NoName,
    /// A spin needs a number.
    #[error("{name} needs a whole number from {min} to {max}, not '{value}'")]
    NotANumber {
        /// The option.
        name: &'static str,
        /// What was given.
        value: String,
        /// Smallest value.
        min: u64,
        /// Largest value.
        max: u64,
    },
    /// A check or combo needs one of a few words.
    #[error("{name} must be one of {choices}, not '{value}'")]
    NotAChoice {
        /// The option.
        name: &'static str,
        /// What was given.
        value: String,
        /// What is allowed.
        choices: String,
    },
    /// A tunable needs a number within its range.
    #[error(transparent)]
    Tunable(#[from] ParamError),
    /// A description of the opponent that cannot be read.
    #[error(transparent)]
    Opponent(#[from] NotAnOpponent),
    /// A file of tunables that cannot be used, in a sentence.
    #[error("{0}; the tunables stay as they are")]
    TunablesFile(String),
}
