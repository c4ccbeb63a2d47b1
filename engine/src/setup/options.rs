//! The one register of UCI options: it prints itself, checks values and documents itself.
//!
//! A user's choice is one row and nowhere else; a number that changes play is a tunable of
//! [`Params`], which can be set by its name as well.

mod rows;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use self::rows::{Kind, Row, register};
use crate::best_first::params::{ParamError, Params};
use crate::chess::tablebase;
use crate::search::handicap::Strength;
use crate::setup::machine::Machine;
use crate::setup::settings::{MoveStats, OptionError, Settings};

impl Default for Settings {
    fn default() -> Self {
        let mut settings = Self {
            hash_mb: 0,
            machine: Machine::default(),
            named_tunables: BTreeMap::new(),
            move_overhead: Duration::ZERO,
            chess960: false,
            show_wdl: false,
            multipv: 1,
            move_stats: MoveStats::default(),
            strength: Strength::default(),
            log_file: None,
            tablebase: tablebase::TablebaseSettings::default(),
            opponent: None,
        };
        for row in register(cfg!(feature = "net")) {
            match row.kind {
                Kind::Spin { default, set, .. } => set(&mut settings, default),
                Kind::Check { default, set } => set(&mut settings, default),
                Kind::Hidden { set } => set(&mut settings, false),
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

/// What only the program on its command line obeys; a search in another process ignores it.
const PROGRAM_ONLY: [&str; 9] = [
    "SyzygyPath",
    "SyzygyProbeLimit",
    "Syzygy50MoveRule",
    "UCI_LimitStrength",
    "UCI_Elo",
    "MultiPV",
    "UCI_Opponent",
    "Ponder",
    "LogFile",
];

/// Whether an option is for a game by UCI, and without effect on a search of its own. Names in any
/// case.
pub fn is_program_only(name: &str) -> bool {
    PROGRAM_ONLY.iter().any(|only| only.eq_ignore_ascii_case(name))
}

/// What `setoption` did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The value was taken as given.
    Taken,
    /// The number was out of range, so the nearest allowed one was taken.
    Clamped {
        /// From where to where it goes, for people.
        range: String,
        /// What was taken.
        taken: u64,
    },
    /// A button was pressed: forget earlier searches.
    ClearHash,
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
                    let range = format!("{name} goes from {min} to {max}");
                    return Ok(Change::Clamped { range, taken: taken as u64 });
                }
            }
            Kind::Check { set, .. } | Kind::Hidden { set } => {
                let choice = choose(name, value, &["true", "false"])?;
                set(self, choice == "true");
            }
            Kind::Combo { values, set, .. } => set(self, choose(name, value, values)?),
            Kind::Text { set, .. } => set(self, value)?,
            Kind::Button => return Ok(Change::ClearHash),
        }
        Ok(Change::Taken)
    }

    /// Tunables cross UCI as text, so that a tuner's value arrives unrounded.
    fn set_tunable(&mut self, name: &str, value: &str) -> Result<Change, OptionError> {
        let row = Params::TUNABLES.iter().find(|row| row.name.eq_ignore_ascii_case(name));
        let name = row.map(|row| row.name).ok_or_else(|| OptionError::Unknown(name.to_owned()))?;
        // What is not a number fails the range check, which names the range.
        let number = value.parse().unwrap_or(f32::NAN);
        self.machine.params.set(name, number).map_err(|error| match error {
            ParamError::OutOfRange { name, min, max, .. } => {
                ParamError::OutOfRange { name, min, max, value: value.to_owned() }
            }
            unknown @ ParamError::Unknown(_) => unknown,
        })?;
        self.named_tunables.insert(name.to_owned(), number);
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
    /// What users choose. A GUI keeps every value that it was shown and sends it to the next
    /// version, whose tunables would then be the old ones.
    #[default]
    Choices,
    /// The tunables too, for tuners that set only what they were shown.
    All,
}

/// The `option name …` lines that answer `uci`.
pub fn uci_lines(shown: Shown) -> Vec<String> {
    let line = |row: Row| {
        let kind = match row.kind {
            Kind::Hidden { .. } => return None,
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
        Some(format!("option name {} type {kind}", row.name))
    };
    let tunables = Params::TUNABLES.iter().filter(|_| shown == Shown::All).map(|tunable| {
        format!("option name {} type string default {}", tunable.name, tunable.default)
    });
    register(cfg!(feature = "net")).into_iter().filter_map(line).chain(tunables).collect()
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
            Kind::Hidden { .. } => continue,
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
        assert_eq!(settings.machine.search.name(), "Tesla");
        assert_eq!(settings.move_overhead, Duration::from_millis(20));
        assert_eq!((settings.machine.weights_file, settings.machine.batch_size), (None, None));
    }

    #[test]
    fn values_are_checked() {
        let mut settings = Settings::default();
        assert_eq!(settings.set("hash", "16"), Ok(Change::Taken));
        assert_eq!(settings.hash_mb, 16);
        assert!(matches!(settings.set("Hash", "0"), Ok(Change::Clamped { .. })));
        assert_eq!(settings.hash_mb, 1);
        assert!(matches!(
            settings.set("Hash", "-99999999999999999999"),
            Ok(Change::Clamped { .. })
        ));
        assert!(matches!(settings.set("Hash", "much"), Err(OptionError::NotANumber { .. })));
        assert!(matches!(settings.set("Search", "Magic"), Err(OptionError::NotAChoice { .. })));
        assert!(matches!(settings.set("UCI_Chess960", ""), Err(OptionError::NotAChoice { .. })));
        assert!(matches!(settings.set("Style", "wild"), Err(OptionError::Unknown(_))));
        assert_eq!(settings.set("", "1"), Err(OptionError::NoName));
        assert_eq!(settings.set("error_scale", "0.0625"), Ok(Change::Taken));
        assert!((settings.machine.params.error_scale - 0.0625).abs() < 1e-9);
        assert!(matches!(settings.set("error_scale", "-1"), Err(OptionError::Tunable(_))));
        assert!(matches!(settings.set("error_scale", "nan"), Err(OptionError::Tunable(_))));
        assert_eq!(settings.set("clear  hash", ""), Ok(Change::ClearHash));
        assert_eq!(settings.set("WeightsFile", "My Net.tesla"), Ok(Change::Taken));
        assert_eq!(settings.machine.weights_file.as_deref(), Some("My Net.tesla"));
        assert_eq!(settings.set("WeightsFile", "<embedded>"), Ok(Change::Taken));
        assert_eq!(settings.machine.weights_file, None);
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
        let wanted = Params { error_scale: 0.5, branching: 3.0, ..Params::default() };
        assert_eq!(settings.machine.params, wanted, "what was set by name holds");
        let gone = settings.set("TunablesFile", name).unwrap_err().to_string();
        assert!(gone.contains("stay as they are"), "{gone}");
        assert_eq!(settings.machine.params, wanted);
        // The order makes no difference.
        let mut other = Settings::default();
        std::fs::write(&path, "error_scale = 0.5\nbranching = 5").unwrap();
        other.set("TunablesFile", name).unwrap();
        assert_eq!((other.machine.params.error_scale, other.machine.params.branching), (0.5, 5.0));
        other.set("branching", "3").unwrap();
        assert_eq!(other.machine.params, wanted);
        settings.set("TunablesFile", name).unwrap();
        assert_eq!(settings.machine.params, wanted);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(settings.set("TunablesFile", "<empty>"), Ok(Change::Taken));
        assert_eq!(settings.machine.params, Params { branching: 3.0, ..Params::default() });
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
