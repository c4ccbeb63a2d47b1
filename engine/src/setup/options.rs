//! The one register of UCI options: it prints itself, checks values and documents itself.
//!
//! A user's choice is one row and nowhere else; a number that changes play is a tunable of
//! [`Params`], which can be set by its name as well.

mod opponent;
mod rows;

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

pub use self::opponent::{NotAnOpponent, Opponent};
use self::rows::{EMPTY, Kind, Row, register};
use crate::best_first::params::{ParamError, Params};
use crate::minimax::Pruning;
use crate::search::handicap::{Handicap, Strength};
use crate::{chess::tablebase, three_state};

/// What the user chose. Defaults come from the register.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Memory for tree and table, in MiB.
    pub hash_mb: usize,
    /// The search mode, one of [`roster::SEARCHES`](crate::setup::roster::SEARCHES).
    pub search: &'static str,
    /// The evaluator, one of [`roster::EVALUATORS`](crate::setup::roster::EVALUATORS).
    pub evaluator: &'static str,
    /// Where the network runs: `auto`, `cpu`, `gpu` or, for tests, `software`.
    pub device: String,
    /// A network's file; `None` = the embedded one.
    pub weights_file: Option<String>,
    /// Positions per batch; `None` = the device's choice.
    pub batch_size: Option<usize>,
    /// Memory for keys and values of evaluated positions, in MiB; 0 = all are encoded whole.
    pub kv_cache_mb: usize,
    /// Time kept back per move for the GUI and the line.
    pub move_overhead: Duration,
    /// Castling is written as king takes rook.
    pub chess960: bool,
    /// `info` lines carry win, draw and loss in permille.
    pub show_wdl: bool,
    /// The tunables.
    pub params: Params,
    /// What minimax leaves out.
    pub minimax_pruning: Pruning,
    /// The three-state decider's experience.
    pub three_state: three_state::Settings,
    /// Best moves that are told of.
    pub lines: usize,
    /// Every root move is told of at the end of a search.
    pub verbose: bool,
    /// Playing weaker on purpose.
    pub strength: Strength,
    /// A file for everything that is said and heard; `None` = none.
    pub log_file: Option<String>,
    /// The endgame tables.
    pub tablebase: tablebase::Settings,
    /// Whom we play; `None` = unknown.
    pub opponent: Option<Opponent>,
}

impl Default for Settings {
    fn default() -> Self {
        let mut settings = Self {
            hash_mb: 0,
            search: "",
            evaluator: "",
            device: String::new(),
            weights_file: None,
            batch_size: None,
            kv_cache_mb: 0,
            move_overhead: Duration::ZERO,
            chess960: false,
            show_wdl: false,
            params: Params::default(),
            minimax_pruning: Pruning::None,
            three_state: three_state::Settings::default(),
            lines: 1,
            verbose: false,
            strength: Strength::default(),
            log_file: None,
            tablebase: tablebase::Settings::default(),
            opponent: None,
        };
        for row in register(cfg!(feature = "net")) {
            match row.kind {
                Kind::Spin { default, set, .. } => set(&mut settings, default),
                Kind::Check { default, set } => set(&mut settings, default),
                Kind::Combo { default, set, .. } => set(&mut settings, default),
                Kind::Text { default, set } => {
                    let taken = set(&mut settings, default);
                    debug_assert!(taken.is_ok(), "{}: {taken:?}", row.name);
                }
                Kind::Button => {}
            }
        }
        settings
    }
}

/// What `setoption` did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The value was taken as given.
    Taken,
    /// The number was out of range, so the nearest allowed one was taken; a sentence for people.
    Clamped(String),
    /// A button was pressed: forget earlier searches.
    ClearHash,
}

/// Why `setoption` changed nothing.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OptionError {
    /// No row has this name.
    #[error("there is no option named '{0}'; send uci to see them all")]
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

impl Settings {
    /// Sets one option by name, as `setoption` does; names and choices in any case.
    ///
    /// # Errors
    /// When the option is unknown or the value unreadable; nothing has changed then.
    pub fn set(&mut self, name: &str, value: &str) -> Result<Change, OptionError> {
        if name.is_empty() {
            return Err(OptionError::NoName);
        }
        let rows = register(cfg!(feature = "net"));
        let spaced: Vec<&str> = name.split_whitespace().collect();
        let name = spaced.join(" ");
        let Some(row) = rows.into_iter().find(|row| row.name.eq_ignore_ascii_case(&name)) else {
            return self.set_tunable(&name, value);
        };
        let name = row.name;
        match row.kind {
            Kind::Spin { min, max, set, .. } => {
                let wanted: i128 = value.parse().map_err(|_| OptionError::NotANumber {
                    name,
                    value: value.to_owned(),
                    min,
                    max,
                })?;
                let taken = wanted.clamp(i128::from(min), i128::from(max));
                set(self, taken as u64);
                if taken != wanted {
                    let note = format!("{name} goes from {min} to {max}; {taken} is taken");
                    return Ok(Change::Clamped(note));
                }
            }
            Kind::Check { set, .. } => {
                let choice = choose(name, value, &["true", "false"])?;
                set(self, choice == "true");
            }
            Kind::Combo { values, set, .. } => set(self, choose(name, value, values)?),
            Kind::Text { set, .. } => set(self, value)?,
            Kind::Button => return Ok(Change::ClearHash),
        }
        Ok(Change::Taken)
    }

    /// Playing weaker, where that is asked for.
    pub fn handicap(&self) -> Option<Handicap> {
        let Strength { is_limited, elo } = self.strength;
        is_limited.then_some(Handicap { elo, seed: self.three_state.seed })
    }

    /// Takes the tunables of a file; the defaults where the path is empty.
    fn read_tunables(&mut self, path: &str) -> Result<(), OptionError> {
        let read = match path {
            "" | EMPTY => Ok(Params::default()),
            path => Params::read(Path::new(path)),
        };
        self.params = read.map_err(|error| OptionError::TunablesFile(error.to_string()))?;
        Ok(())
    }

    /// Tunables cross UCI as text, so that a tuner's value arrives unrounded.
    fn set_tunable(&mut self, name: &str, value: &str) -> Result<Change, OptionError> {
        if self.params.get(name).is_none() {
            return Err(OptionError::Unknown(name.to_owned()));
        }
        // What is no number fails the range check, which names the range.
        self.params.set(name, value.parse().unwrap_or(f32::NAN))?;
        Ok(Change::Taken)
    }
}

fn choose(
    name: &'static str,
    value: &str,
    values: &[&'static str],
) -> Result<&'static str, OptionError> {
    values.iter().copied().find(|choice| choice.eq_ignore_ascii_case(value)).ok_or_else(|| {
        OptionError::NotAChoice { name, value: value.to_owned(), choices: values.join(", ") }
    })
}

/// Which options answer `uci`; all can be set, whatever is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shown {
    /// What users choose. A GUI keeps every value that it was shown and sends it to the next version, whose tunables
    /// would then be the old ones.
    #[default]
    Choices,
    /// The tunables too, for tuners that set only what they were shown.
    All,
}

/// The `option name …` lines that answer `uci`.
pub fn uci_lines(shown: Shown) -> Vec<String> {
    let line = |row: Row| {
        let kind = match row.kind {
            Kind::Spin { default, min, max, .. } => {
                format!("spin default {default} min {min} max {max}")
            }
            Kind::Check { default, .. } => format!("check default {default}"),
            Kind::Combo { default, values, .. } => {
                format!("combo default {default} var {}", values.join(" var "))
            }
            Kind::Text { default, .. } => format!("string default {default}"),
            Kind::Button => "button".to_owned(),
        };
        format!("option name {} type {kind}", row.name)
    };
    let tunables = Params::TUNABLES.iter().filter(|_| shown == Shown::All).map(|tunable| {
        format!("option name {} type string default {}", tunable.name, tunable.default)
    });
    register(cfg!(feature = "net")).into_iter().map(line).chain(tunables).collect()
}

/// The README's table of options, in Markdown, for a program with the network built in.
pub fn markdown() -> String {
    let mut table = "| Option | Values | Default | Meaning |\n|---|---|---|---|\n".to_owned();
    for Row { name, help, kind } in register(true) {
        let (values, default) = match kind {
            Kind::Spin { default, min, max, .. } => {
                (format!("{min} to {max}"), default.to_string())
            }
            Kind::Check { default, .. } => ("true, false".to_owned(), default.to_string()),
            Kind::Combo { default, values, .. } => (values.join(", "), default.to_owned()),
            Kind::Text { default, .. } => ("text".to_owned(), format!("`{default}`")),
            Kind::Button => ("button".to_owned(), String::new()),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(table, "| {name} | {values} | {default} | {help} |");
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_come_from_the_register() {
        let settings = Settings::default();
        assert_eq!(settings.hash_mb, 256);
        assert_eq!(settings.search, "Tesla");
        assert_eq!(settings.move_overhead, Duration::from_millis(20));
        assert_eq!((settings.weights_file, settings.batch_size), (None, None));
    }

    #[test]
    fn values_are_checked() {
        let mut settings = Settings::default();
        assert_eq!(settings.set("hash", "16"), Ok(Change::Taken));
        assert_eq!(settings.hash_mb, 16);
        assert!(matches!(settings.set("Hash", "0"), Ok(Change::Clamped(_))));
        assert_eq!(settings.hash_mb, 1);
        assert!(matches!(settings.set("Hash", "-99999999999999999999"), Ok(Change::Clamped(_))));
        assert!(matches!(settings.set("Hash", "much"), Err(OptionError::NotANumber { .. })));
        assert!(matches!(settings.set("Search", "Magic"), Err(OptionError::NotAChoice { .. })));
        assert!(matches!(settings.set("UCI_Chess960", ""), Err(OptionError::NotAChoice { .. })));
        assert!(matches!(settings.set("Style", "wild"), Err(OptionError::Unknown(_))));
        assert_eq!(settings.set("", "1"), Err(OptionError::NoName));
        assert_eq!(settings.set("error_scale", "0.0625"), Ok(Change::Taken));
        assert!((settings.params.error_scale - 0.0625).abs() < 1e-9);
        assert!(matches!(settings.set("error_scale", "-1"), Err(OptionError::Tunable(_))));
        assert!(matches!(settings.set("error_scale", "nan"), Err(OptionError::Tunable(_))));
        assert_eq!(settings.set("clear  hash", ""), Ok(Change::ClearHash));
        assert_eq!(settings.set("WeightsFile", "My Net.tesla"), Ok(Change::Taken));
        assert_eq!(settings.weights_file.as_deref(), Some("My Net.tesla"));
        assert_eq!(settings.set("WeightsFile", "<embedded>"), Ok(Change::Taken));
        assert_eq!(settings.weights_file, None);
    }

    #[test]
    fn tunables_are_shown_only_when_asked_for() {
        let [choices, all] = [Shown::Choices, Shown::All].map(uci_lines);
        let tunable = |line: &String| {
            Params::TUNABLES.iter().any(|t| line.contains(&format!(" {} ", t.name)))
        };
        assert!(!choices.iter().any(tunable) && all[..choices.len()] == choices);
        assert!(all[choices.len()..].iter().all(tunable));
        assert_eq!(all.len() - choices.len(), Params::TUNABLES.len());
    }

    #[test]
    fn tunables_come_from_a_file() {
        let path = std::env::temp_dir().join(format!("tesla-tunables-{}", std::process::id()));
        std::fs::write(&path, "error_scale = 0.5").unwrap();
        let mut settings = Settings::default();
        settings.set("branching", "3").unwrap();
        let name = path.to_str().unwrap();
        assert_eq!(settings.set("TunablesFile", name), Ok(Change::Taken));
        std::fs::remove_file(&path).unwrap();
        let wanted = Params { error_scale: 0.5, ..Params::default() };
        assert_eq!(settings.params, wanted, "what a file does not name is as it ships");
        let gone = settings.set("TunablesFile", name).unwrap_err().to_string();
        assert!(gone.contains("stay as they are"), "{gone}");
        assert_eq!(settings.params, wanted);
        assert_eq!(settings.set("TunablesFile", "<empty>"), Ok(Change::Taken));
        assert_eq!(settings.params, Params::default());
    }

    /// What a page has between its markers.
    fn marked(page: &str) -> String {
        let path = format!("{}/../{page}", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        text.split("<!-- options -->").nth(1).unwrap_or_default().trim().to_owned()
    }

    #[test]
    fn the_pages_show_the_register() {
        let wanted = markdown();
        assert_eq!(
            marked("docs/uci.md"),
            wanted.trim(),
            "put this between the markers <!-- options --> of docs/uci.md:\n{wanted}"
        );
        let readme = marked("README.md");
        assert!(readme.lines().count() > 2, "README.md has lost its rows");
        let is_known = |row: &&str| wanted.lines().any(|line| line == *row);
        let unknown: Vec<&str> = readme.lines().filter(|row| !is_known(row)).collect();
        assert!(unknown.is_empty(), "README.md differs from docs/uci.md in {unknown:#?}");
    }
}
