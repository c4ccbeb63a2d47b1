//! Who plays: a configuration of our own, or any UCI engine.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use tesla_engine::options::{Change, Settings};
use tesla_engine::roster::Machine;

use super::limit::{Limit, LimitError};

/// Memory of one of our own searches unless `option.Hash` says otherwise, MiB: every game that
/// runs has one for each side.
const OWN_HASH_MB: &str = "16";

/// One side of a match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Side {
    /// Its name in tables and PGN.
    pub name: String,
    /// The program of a UCI engine; `None` = ours, in this process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cmd: Option<PathBuf>,
    /// The program's arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Where the program runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dir: Option<PathBuf>,
    /// Start the program anew for each game.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restart: bool,
    /// UCI options; ours are the same as the engine's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub option: BTreeMap<String, String>,
    /// What ends its thought.
    #[serde(default)]
    pub limit: Limit,
}

/// Why a side cannot play.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SideError {
    /// The words do not begin with a name.
    #[error("a side begins with its name, as in: --side name=Tesla nodes=200; '{0}' came first")]
    NoName(String),
    /// A word is not `key=value`.
    #[error("side {side}: '{word}' is not of the form key=value")]
    NotAPair {
        /// The side's name.
        side: String,
        /// The word.
        word: String,
    },
    /// A key is none of ours.
    #[error(
        "side {side}: there is no key '{key}'; use name, cmd, arg, dir, restart, nodes, depth, \
         movetime, tc or option.NAME"
    )]
    UnknownKey {
        /// The side's name.
        side: String,
        /// The key.
        key: String,
    },
    /// A value cannot be read.
    #[error("side {side}: {key} cannot be '{value}'; {wanted}")]
    BadValue {
        /// The side's name.
        side: String,
        /// The key.
        key: String,
        /// Its value.
        value: String,
        /// What is expected.
        wanted: &'static str,
    },
    /// A limit is missing or makes no sense.
    #[error("side {side}: {fault}")]
    Limit {
        /// The side's name.
        side: String,
        /// What is wrong.
        fault: LimitError,
    },
    /// One of our own options was refused.
    #[error("side {side}: {fault}")]
    Option {
        /// The side's name.
        side: String,
        /// What is wrong.
        fault: String,
    },
    /// Only programs have arguments.
    #[error("side {0}: arg, dir and restart go with cmd, the program of a UCI engine")]
    NotAProgram(String),
}

/// Reads the words behind `--side`; each side begins with `name=`.
///
/// # Errors
/// A sentence on the first word that is wrong.
pub fn parse_sides(words: &[String]) -> Result<Vec<Side>, SideError> {
    let mut sides: Vec<Side> = Vec::new();
    for word in words {
        let pair = word.split_once('=');
        if let Some(("name", name)) = pair {
            sides.push(Side { name: name.to_owned(), ..Side::default() });
            continue;
        }
        let side = sides.last_mut().ok_or_else(|| SideError::NoName(word.clone()))?;
        let (key, value) = pair
            .ok_or_else(|| SideError::NotAPair { side: side.name.clone(), word: word.clone() })?;
        side.set(key, value)?;
    }
    Ok(sides)
}

impl Side {
    fn set(&mut self, key: &str, value: &str) -> Result<(), SideError> {
        let bad = |side: &Self, wanted| SideError::BadValue {
            side: side.name.clone(),
            key: key.to_owned(),
            value: value.to_owned(),
            wanted,
        };
        let whole = "it is a whole number";
        match key {
            "cmd" => self.cmd = Some(value.into()),
            "arg" => self.args.push(value.to_owned()),
            "dir" => self.dir = Some(value.into()),
            "restart" => {
                self.restart = value.parse().map_err(|_| bad(self, "it is true or false"))?;
            }
            "nodes" => self.limit.nodes = Some(value.parse().map_err(|_| bad(self, whole))?),
            "depth" => self.limit.depth = Some(value.parse().map_err(|_| bad(self, whole))?),
            "movetime" => {
                let time = value.parse().map_err(|_| bad(self, "it is a number of seconds"))?;
                self.limit.movetime = Some(time);
            }
            "tc" => {
                let control = value.parse();
                self.limit.tc = Some(control.map_err(|fault| self.limit_error(fault))?);
            }
            _ => match key.strip_prefix("option.") {
                Some(name) if !name.is_empty() => {
                    self.option.insert(name.to_owned(), value.to_owned());
                }
                _ => {
                    let (side, key) = (self.name.clone(), key.to_owned());
                    return Err(SideError::UnknownKey { side, key });
                }
            },
        }
        Ok(())
    }

    fn limit_error(&self, fault: LimitError) -> SideError {
        SideError::Limit { side: self.name.clone(), fault }
    }

    /// Whether it plays in this process.
    pub fn is_own(&self) -> bool {
        self.cmd.is_none()
    }

    /// Checks all that can be checked before a game.
    ///
    /// # Errors
    /// A sentence on the first thing that is wrong.
    pub fn check(&self) -> Result<(), SideError> {
        self.limit.check().map_err(|fault| self.limit_error(fault))?;
        if self.is_own() {
            if self.restart || !self.args.is_empty() || self.dir.is_some() {
                return Err(SideError::NotAProgram(self.name.clone()));
            }
            self.settings()?;
        }
        Ok(())
    }

    /// The options of one of our own sides. What the engine would mend with a remark is refused
    /// here: a match must be what it says it is.
    ///
    /// # Errors
    /// When there is no such option or its value is refused.
    pub fn settings(&self) -> Result<Settings, SideError> {
        let fault = |fault: String| SideError::Option { side: self.name.clone(), fault };
        let mut settings = Settings::default();
        settings.set("Hash", OWN_HASH_MB).map_err(|error| fault(error.to_string()))?;
        for (name, value) in &self.option {
            match settings.set(name, value) {
                Ok(Change::Clamped(remark)) => return Err(fault(remark)),
                Ok(_) => {}
                Err(error) => return Err(fault(error.to_string())),
            }
        }
        Ok(settings)
    }

    /// Search, evaluator and device of one of our own sides.
    ///
    /// # Errors
    /// As [`Side::settings`].
    pub fn machine(&self) -> Result<Machine, SideError> {
        Ok(Machine::of(&self.settings()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Vec<Side>, SideError> {
        let words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        let sides = parse_sides(&words)?;
        sides.iter().try_for_each(Side::check)?;
        Ok(sides)
    }

    #[test]
    fn two_sides() {
        let sides = parse(
            "name=A nodes=200 option.Search=AlphaBeta option.BatchSize=8 \
             name=B cmd=stockfish arg=--x tc=1+0.1 option.Skill=3 restart=true",
        )
        .unwrap();
        assert_eq!(sides.len(), 2);
        assert!(sides[0].is_own() && !sides[1].is_own());
        assert_eq!(sides[0].machine().unwrap().batch_size, Some(8));
        assert_eq!(sides[0].machine().unwrap().search, "AlphaBeta");
        assert_eq!(sides[0].settings().unwrap().hash_mb, 16);
        assert_eq!(sides[1].args, ["--x"]);
        assert!(sides[1].restart && sides[1].limit.is_timed());
        let text = toml::to_string(&sides[1]).unwrap();
        assert_eq!(toml::from_str::<Side>(&text).unwrap(), sides[1]);
    }

    #[test]
    fn every_fault_has_its_sentence() {
        let fault = |text: &str| parse(text).unwrap_err().to_string();
        assert!(fault("nodes=3").contains("begins with its name"));
        assert!(fault("name=A nodes").contains("key=value"));
        assert!(fault("name=A nods=3").contains("no key 'nods'"));
        assert!(fault("name=A nodes=many").contains("whole number"));
        assert!(fault("name=A tc=fast").contains("time control"));
        assert!(fault("name=A").contains("no limit"));
        assert!(fault("name=A nodes=1 option.Hash=0").contains("goes from"));
        assert!(fault("name=A nodes=1 option.Style=wild").contains("no option named"));
        assert!(fault("name=A nodes=1 arg=x").contains("cmd"));
        assert!(fault("name=A nodes=1 restart=maybe").contains("true or false"));
    }
}
