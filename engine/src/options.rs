//! The one register of UCI options: it prints itself, checks values and documents itself.
//!
//! A user's choice is one row here and nowhere else; a number that changes play is a tunable.

use std::fmt::Write as _;
use std::time::Duration;

use crate::roster::{EVALUATORS, SEARCHES};

/// What the user chose. Defaults come from the register.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Memory for tree and table, in MiB.
    pub hash_mb: usize,
    /// The search mode, one of [`SEARCHES`].
    pub search: &'static str,
    /// The evaluator, one of [`EVALUATORS`].
    pub evaluator: &'static str,
    /// Where the network runs: `auto`, `cpu`, `gpu` or an adapter's name.
    pub device: String,
    /// A network's file; `None` = the embedded one.
    pub weights_file: Option<String>,
    /// Positions per batch; `None` = the device's choice.
    pub batch_size: Option<usize>,
    /// Time kept back per move for the GUI and the line.
    pub move_overhead: Duration,
    /// Castling is written as king takes rook.
    pub chess960: bool,
    /// `info` lines carry win, draw and loss in permille.
    pub show_wdl: bool,
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
            move_overhead: Duration::ZERO,
            chess960: false,
            show_wdl: false,
        };
        for row in register(cfg!(feature = "net")) {
            match row.kind {
                Kind::Spin { default, set, .. } => set(&mut settings, default),
                Kind::Check { default, set } => set(&mut settings, default),
                Kind::Combo { default, set, .. } => set(&mut settings, default),
                Kind::Text { default, set } => set(&mut settings, default),
                Kind::Button => {}
            }
        }
        settings
    }
}

/// One option.
struct Row {
    name: &'static str,
    /// For people: one sentence, with the unit.
    help: &'static str,
    kind: Kind,
}

enum Kind {
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
        set: fn(&mut Settings, &str),
    },
    Button,
}

/// What a text option holds that means "the network inside the program".
const EMBEDDED: &str = "<embedded>";

/// All options; `network` tells whether the program was built with the transformer.
fn register(network: bool) -> Vec<Row> {
    let mut rows = memory_rows();
    rows.extend(mode_rows(network));
    rows.extend(protocol_rows());
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

fn mode_rows(network: bool) -> [Row; 5] {
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
            help: "Where the network runs: `auto`, `cpu`, `gpu` or an adapter's name.",
            kind: Kind::Text {
                default: "auto",
                set: |settings, name| name.clone_into(&mut settings.device),
            },
        },
        Row {
            name: "WeightsFile",
            help: "The network's file; `<embedded>` is the one inside the program.",
            kind: Kind::Text {
                default: EMBEDDED,
                set: |settings, path| {
                    let embedded = matches!(path, "" | "<empty>" | EMBEDDED);
                    settings.weights_file = (!embedded).then(|| path.to_owned());
                },
            },
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

fn protocol_rows() -> [Row; 4] {
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
            name: "UCI_ShowWDL",
            help: "Adds win, draw and loss in permille to the score.",
            kind: Kind::Check { default: false, set: |settings, on| settings.show_wdl = on },
        },
    ]
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
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
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
        let row = rows
            .into_iter()
            .find(|row| row.name.eq_ignore_ascii_case(name))
            .ok_or_else(|| OptionError::Unknown(name.to_owned()))?;
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
            Kind::Text { set, .. } => set(self, value),
            Kind::Button => return Ok(Change::ClearHash),
        }
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

/// The `option name …` lines that answer `uci`.
pub fn uci_lines() -> Vec<String> {
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
    register(cfg!(feature = "net")).into_iter().map(line).collect()
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
        assert_eq!(settings.search, SEARCHES[0]);
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
        assert_eq!(settings.set("clear hash", ""), Ok(Change::ClearHash));
        assert_eq!(settings.set("WeightsFile", "My Net.tesla"), Ok(Change::Taken));
        assert_eq!(settings.weights_file.as_deref(), Some("My Net.tesla"));
        assert_eq!(settings.set("WeightsFile", "<embedded>"), Ok(Change::Taken));
        assert_eq!(settings.weights_file, None);
    }

    #[test]
    fn the_readme_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
        let readme = std::fs::read_to_string(path).unwrap();
        let table = readme.split("<!-- options -->").nth(1).unwrap_or_default();
        let wanted = markdown();
        assert_eq!(
            table.trim(),
            wanted.trim(),
            "put this between the markers <!-- options --> of README.md:\n{wanted}"
        );
    }
}
