//! Tunables in a file: TOML, one `name = number` a line; what is not named keeps its default.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use tesla_nn::files::{FileError, read_text};

use super::{ParamError, Params};

/// A file of tunables inside the program, a baseline: `<name>` stands for it in place of a path.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// Its name, without the brackets.
    pub name: &'static str,
    /// What it is, as part of a sentence.
    pub is: &'static str,
    text: &'static str,
}

impl Preset {
    /// The preset that `<name>` stands for.
    fn of_path(path: &Path) -> Option<&'static Self> {
        let name = path.to_str()?.strip_prefix('<')?.strip_suffix('>')?;
        Params::PRESETS.iter().find(|preset| preset.name == name)
    }
}

/// Largest file, bytes.
const LARGEST: u64 = 1 << 20;

/// Why a file's tunables were not taken.
#[derive(Debug, thiserror::Error)]
pub enum TunablesError {
    /// The file cannot be read.
    #[error("the tunables: {0}")]
    File(#[from] FileError),
    /// It is no TOML.
    #[error("{path} is not a file of tunables ({what}); write one name = number a line")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What the parser said, in one line.
        what: String,
    },
    /// A value that is not a number.
    #[error("{path}: {name} needs a number")]
    NotANumber {
        /// The file.
        path: PathBuf,
        /// The tunable.
        name: String,
    },
    /// A tunable that is unknown or out of range.
    #[error("{path}: {fault}")]
    Refused {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: ParamError,
    },
}

impl Params {
    /// The files inside the program.
    pub const PRESETS: [Preset; 2] = [
        Preset {
            name: "literal",
            is: "the rule of seed 003",
            text: include_str!("../../../data/literal.toml"),
        },
        Preset {
            name: "lc0",
            is: "the constants of lc0, for PUCT",
            text: include_str!("../../../data/lc0.toml"),
        },
    ];

    /// The tunables of a file, or of a preset in brackets: `<literal>` or `<lc0>`.
    ///
    /// # Errors
    /// When it cannot be read, is no TOML, or names a tunable that is unknown or out of range.
    pub fn read(path: &Path) -> Result<Self, TunablesError> {
        match Preset::of_path(path) {
            Some(preset) => Self::parse(preset.text, path),
            None => Self::parse(&read_text(path, LARGEST)?, path),
        }
    }

    /// The tunables of a text; `path` is what faults name.
    ///
    /// # Errors
    /// When it is no TOML, or names a tunable that is unknown or out of range.
    pub fn parse(text: &str, path: &Path) -> Result<Self, TunablesError> {
        let path = || path.to_owned();
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
            TunablesError::Syntax { path: path(), what: error.message().replace('\n', " ") }
        })?;
        let mut params = Self::default();
        for (name, value) in table {
            let number = match value {
                toml::Value::Float(number) => number,
                toml::Value::Integer(number) => number as f64,
                _ => return Err(TunablesError::NotANumber { path: path(), name }),
            };
            params
                .set(&name, number as f32)
                .map_err(|fault| TunablesError::Refused { path: path(), fault })?;
        }
        Ok(params)
    }

    /// The tunables that differ from their defaults, as a file holds them, below `head` as a
    /// comment.
    pub fn to_file(&self, head: &str) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        for line in head.lines() {
            let _ = writeln!(text, "{}", format!("# {line}").trim_end());
        }
        for row in Self::TUNABLES {
            let value = self.get(row.name).unwrap_or(row.default);
            if value.to_bits() != row.default.to_bits() {
                let _ = writeln!(text, "{} = {value}", row.name);
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<Params, String> {
        Params::parse(text, Path::new("t.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn files_round_trip() {
        let mut params = Params::default();
        params.set("error_scale", 0.031_25).unwrap();
        params.set("batches_in_flight", 3.0).unwrap();
        let text = params.to_file("fitted\n\non our own trees");
        assert_eq!(
            text,
            "# fitted\n#\n# on our own trees\nerror_scale = 0.03125\nbatches_in_flight = 3\n"
        );
        assert_eq!(parse(&text), Ok(params));
        assert_eq!(parse(""), Ok(Params::default()));
    }

    #[test]
    fn the_literal_rule_is_plain_and_every_line_of_it_departs_from_the_shipped_one() {
        let literal = Params::read(Path::new("<literal>")).unwrap();
        let lines = Params::PRESETS[0].text.lines().filter(|line| line.contains(" = ")).count();
        let differ =
            Params::TUNABLES.iter().filter(|row| literal.get(row.name) != Some(row.default));
        assert_eq!(differ.count(), lines);
        assert_eq!((literal.inherit, literal.average_share, literal.policy_trust), (1.0, 0.0, 0.0));
    }

    #[test]
    fn lc0s_constants_are_all_of_puct_and_nothing_else() {
        let lc0 = Params::read(Path::new("<lc0>")).unwrap();
        assert_eq!(
            (lc0.puct_exploration, lc0.puct_growth, lc0.puct_base),
            (1.745, 3.894, 38_739.0)
        );
        assert_eq!(
            (lc0.puct_reduction, lc0.puct_temperature, lc0.puct_minimax),
            (0.33, 1.359, 0.0)
        );
        let of_puct = Params::TUNABLES.iter().filter(|row| row.name.starts_with("puct_"));
        let lines = Params::PRESETS[1].text.lines().filter(|line| line.contains(" = "));
        assert!(lines.map(|line| line.split(" = ").next()).eq(of_puct.map(|row| Some(row.name))));
    }

    #[test]
    fn every_fault_has_its_sentence() {
        let fault = |text: &str| parse(text).unwrap_err();
        assert!(fault("error_scale").contains("one name = number a line"));
        assert!(fault("error_scale = \"wide\"").contains("error_scale needs a number"));
        assert!(fault("error_scale = -1").contains("a number from"));
        assert!(fault("error_scale = nan").contains("a number from"));
        assert!(fault("eror_scale = 1").contains("no tunable named eror_scale"));
        let missing = Params::read(Path::new("no such file")).unwrap_err().to_string();
        assert!(missing.contains("cannot read"), "{missing}");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(
            text in "([a-z_]{1,12}( ?= ?)?[-0-9.e\"\\[\\]#\n ]{0,8}|\\PC){0,8}",
        ) {
            let _ = parse(&text);
        }
    }
}
