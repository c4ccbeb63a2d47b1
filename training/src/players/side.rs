//! Who plays: a configuration of our own, or any UCI engine.

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tesla_engine::best_first::params::{Params, Preset};
use tesla_engine::setup::machine::Machine;
use tesla_engine::setup::options::{Change, is_program_only};
use tesla_engine::setup::settings::Settings;

use super::latency::Latency;
use crate::game::limit::Limit;

/// Memory of one of our own searches unless `option.Hash` says otherwise, MiB: every game that
/// runs has one for each side.
const OWN_HASH_MB: &str = "16";
/// What they keep back of each move's time, ms: no GUI and no connection takes any.
const OWN_OVERHEAD_MS: &str = "0";

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
    /// Restart the program for each game.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restart: bool,
    /// A simulated device between search and evaluator, for our own sides by time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// UCI options, in the order in which they are set; ours are the same as the engine's.
    #[serde(default, skip_serializing_if = "UciOptions::is_empty")]
    pub option: UciOptions,
    /// What ends its thought.
    #[serde(default)]
    pub limit: Limit,
}

/// UCI options by name, in the order in which they were given; a name in any case is given once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UciOptions(pub Vec<(String, String)>);

impl UciOptions {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds an option; `false` = it was given before.
    fn insert(&mut self, name: String, value: String) -> bool {
        let is_new = !self.0.iter().any(|(known, _)| known.eq_ignore_ascii_case(&name));
        if is_new {
            self.0.push((name, value));
        }
        is_new
    }
}

impl Serialize for UciOptions {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl<'de> Deserialize<'de> for UciOptions {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Options;
        impl<'de> Visitor<'de> for Options {
            type Value = UciOptions;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("option names with their values as text")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<UciOptions, A::Error> {
                let mut options = UciOptions::default();
                while let Some((name, value)) = map.next_entry::<String, String>()? {
                    if !options.insert(name.clone(), value) {
                        return Err(A::Error::custom(format!("option {name} is given twice")));
                    }
                }
                Ok(options)
            }
        }
        from.deserialize_map(Options)
    }
}

/// Reads the words behind `--side`; each side begins with `name=`.
///
/// # Errors
/// A sentence on the first word that is wrong.
pub fn parse_sides(words: &[String]) -> Result<Vec<Side>> {
    let mut sides: Vec<Side> = Vec::new();
    for word in words {
        let pair = word.split_once('=');
        if let Some(("name", name)) = pair {
            sides.push(Side { name: name.to_owned(), ..Side::default() });
            continue;
        }
        let side = sides.last_mut().with_context(|| {
            format!(
                "a side begins with its name, as in: --side name=Tesla nodes=200; '{word}' came \
                 first"
            )
        })?;
        let (key, value) = pair.with_context(|| {
            format!("side {}: '{word}' is not of the form key=value", side.name)
        })?;
        side.set(key, value)?;
    }
    Ok(sides)
}

/// Gives each side without a limit of its own the `common` one, and checks all that can be checked
/// before a game.
///
/// # Errors
/// A sentence on the first thing that is wrong.
pub fn complete_sides(sides: &mut [Side], common: Limit) -> Result<()> {
    let mut names = HashSet::new();
    for side in sides {
        side.limit = side.limit.or(common);
        side.check()?;
        let name = &side.name;
        ensure!(names.insert(name), "two sides are called {name}; give each a name of its own");
    }
    Ok(())
}

impl Side {
    fn set(&mut self, key: &str, value: &str) -> Result<()> {
        let Self { name, limit, .. } = self;
        let bad = |wanted: &str| anyhow!("side {name}: {key} cannot be '{value}'; {wanted}");
        let whole = "it is a whole number";
        let is_new = match key {
            "cmd" => self.cmd.replace(value.into()).is_none(),
            "arg" => {
                self.args.push(value.to_owned());
                true
            }
            "dir" => self.dir.replace(value.into()).is_none(),
            "preset" => {
                if !Params::PRESETS.iter().any(|preset| preset.name == value) {
                    let known =
                        Params::PRESETS.map(|Preset { name, is, .. }| format!("{name} ({is})"));
                    return Err(bad(&format!("it is {}", known.join(" or "))));
                }
                self.option.insert("TunablesFile".to_owned(), format!("<{value}>"))
            }
            "restart" => {
                self.restart = value.parse().map_err(|_| bad("it is true or false"))?;
                true
            }
            "latency" => {
                let latency = value.parse().map_err(|fault| anyhow!("side {name}: {fault}"))?;
                self.latency.replace(latency).is_none()
            }
            "nodes" => limit.nodes.replace(value.parse().map_err(|_| bad(whole))?).is_none(),
            "depth" => limit.depth.replace(value.parse().map_err(|_| bad(whole))?).is_none(),
            "movetime" => {
                let time = value.parse().map_err(|_| bad("it is a number of seconds"))?;
                limit.movetime.replace(time).is_none()
            }
            "nodestime" => {
                let per_ms = value.parse().map_err(|_| bad("it is a whole number above zero"))?;
                limit.nodestime.replace(per_ms).is_none()
            }
            "tc" => {
                let control = value.parse().map_err(|fault| anyhow!("side {name}: {fault}"))?;
                limit.tc.replace(control).is_none()
            }
            _ => match key.strip_prefix("option.") {
                Some(option) if !option.is_empty() => {
                    self.option.insert(option.to_owned(), value.to_owned())
                }
                _ => bail!(
                    "side {name}: there is no key '{key}'; use name, cmd, arg, dir, restart, \
                     preset, latency, nodes, depth, movetime, tc, nodestime or option.NAME"
                ),
            },
        };
        ensure!(is_new, "side {name}: {key} is given twice");
        Ok(())
    }

    /// Whether it plays in this process.
    pub fn is_own(&self) -> bool {
        self.cmd.is_none()
    }

    /// Whether it takes tunables from a file.
    pub fn has_tunables_file(&self) -> bool {
        self.is_own()
            && self.option.0.iter().any(|(name, _)| name.eq_ignore_ascii_case("TunablesFile"))
    }

    /// Checks all that can be checked before a game.
    ///
    /// # Errors
    /// A sentence on the first thing that is wrong.
    pub fn check(&self) -> Result<()> {
        let name = &self.name;
        ensure!(!name.trim().is_empty(), "a side has no name; give it one: --side name=Tesla");
        ensure!(
            !name.contains('='),
            "a side is called '{name}', which holds a '='; write each key=value as a word of its \
             own, without quotes around them all: --side name=Tesla nodes=200"
        );
        self.limit.check().map_err(|fault| anyhow!("side {name}: {fault}"))?;
        if self.is_own() {
            ensure!(
                !self.restart && self.args.is_empty() && self.dir.is_none(),
                "side {name}: arg, dir and restart go with cmd, the program of a UCI engine"
            );
            let given = &self.option.0;
            if let Some((option, _)) = given.iter().find(|(name, _)| is_program_only(name)) {
                bail!(
                    "side {name}: option {option} has no effect on a search in this process; \
                     leave it out, or name a UCI engine (cmd=PATH; of datagen, --teacher PATH)"
                );
            }
            let machine = self.machine()?;
            if let Some((option, value)) = given.iter().find(|(name, _)| machine.ignores(name)) {
                bail!(
                    "side {name}: option {option}={value} has no effect on the search {}; leave it \
                     out, or choose another search with option.Search",
                    machine.search
                );
            }
            ensure!(
                self.latency.is_none() || self.limit.is_timed(),
                "side {name}: latency needs a limit in time, such as movetime=0.1"
            );
            let keeps_tree = machine.search.keeps_tree();
            ensure!(
                keeps_tree || self.latency.is_none(),
                "side {name}: latency is for the searches Tesla and PUCT, which send batches; \
                 leave it out"
            );
            ensure!(
                keeps_tree || self.limit.nodestime.is_none(),
                "side {name}: nodestime is for the searches Tesla and PUCT, which count their \
                 evaluations; leave it out"
            );
        } else if self.latency.is_some() {
            bail!("side {name}: latency is for our own searches; leave it out");
        } else if self.limit.nodestime.is_some() {
            bail!(
                "side {name}: nodestime is for our own searches; give the engine its own option of \
                 that name, if it has one"
            );
        }
        Ok(())
    }

    /// The options of one of our own sides. What the engine would correct with a remark is refused
    /// here: a match must be what it says it is.
    ///
    /// # Errors
    /// When there is no such option or its value is refused.
    pub fn settings(&self) -> Result<Settings> {
        let mut settings = Settings::default();
        settings.set("Hash", OWN_HASH_MB)?;
        settings.set("Move Overhead", OWN_OVERHEAD_MS)?;
        for (option, value) in &self.option.0 {
            match settings.set(option, value) {
                Ok(Change::Clamped { range, .. }) => bail!("side {}: {range}", self.name),
                Ok(_) => {}
                Err(fault) => bail!("side {}: {fault}", self.name),
            }
        }
        Ok(settings)
    }

    /// Search, evaluator and device of one of our own sides.
    ///
    /// # Errors
    /// As [`Side::settings`].
    pub fn machine(&self) -> Result<Machine> {
        Ok(self.settings()?.machine())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn parse(text: &str) -> Result<Vec<Side>> {
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
        assert_eq!(sides[0].machine().unwrap().search.name(), "AlphaBeta");
        let settings = sides[0].settings().unwrap();
        assert_eq!((settings.hash_mb, settings.move_overhead), (16, Duration::ZERO));
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
        let quoted = ["name=A nodes=1 option.Hash=2".to_owned()];
        let error = parse_sides(&quoted).unwrap()[0].check().unwrap_err().to_string();
        assert!(error.contains("a word of its own"), "{error}");
        assert!(fault("name=A nods=3").contains("no key 'nods'"));
        assert!(fault("name=A nodes=many").contains("whole number"));
        assert!(fault("name=A tc=fast").contains("time control"));
        assert!(fault("name=A").contains("no limit"));
        assert!(fault("name=A nodes=1 option.Hash=0").contains("goes from"));
        assert!(fault("name=A nodes=1 option.Style=wild").contains("no option named"));
        for option in ["SyzygyPath=tb", "uci_limitstrength=true", "MultiPV=3"] {
            let sentence = fault(&format!("name=A nodes=1 option.{option}"));
            assert!(sentence.contains("has no effect"), "{sentence}");
            assert!(parse(&format!("name=A cmd=x nodes=1 option.{option}")).is_ok());
        }
        for (search, option) in [
            ("Tesla", "puct_base=100"),
            ("PUCT", "error_scale=0.5"),
            ("AlphaBeta", "error_scale=0.5"),
            ("Minimax", "branching=3"),
            ("AlphaBeta", "TunablesFile=<literal>"),
            ("Tesla", "TunablesFile=<lc0>"),
            ("Tesla", "MinimaxPruning=Ordered"),
            ("Minimax", "ExperienceFile=x"),
        ] {
            let side = format!("name=A nodes=1 option.{option} option.Search={search}");
            let sentence = format!("has no effect on the search {search}");
            assert!(fault(&side).contains(&sentence), "{side}");
        }
        for side in ["option.branching=3", "option.puct_base=9", "preset=literal"] {
            assert!(parse(&format!("name=A nodes=1 option.Search=PUCT {side}")).is_ok(), "{side}");
        }
        assert!(fault("name=A nodes=1 arg=x").contains("cmd"));
        assert!(fault("name=A nodes=1 nodes=2").contains("nodes is given twice"));
        assert!(fault("name=A nodes=1 option.Hash=2 option.hash=4").contains("given twice"));
        assert!(fault("name=A tc=1 nodestime=0").contains("above zero"));
        assert!(fault("name=A tc=1 nodestime=9 option.Search=AlphaBeta").contains("PUCT"));
        assert!(fault("name=A cmd=x tc=1 nodestime=9").contains("our own"));
        assert!(fault("name=A nodes=1 restart=maybe").contains("true or false"));
        assert!(fault("name=A movetime=1 latency=3").contains("300+1"));
        let minimax = "name=A movetime=1 latency=300+1 option.Search=Minimax";
        assert!(fault(minimax).contains("send batches"));
        assert!(fault("name=A nodes=1 latency=300+1").contains("limit in time"));
        assert!(fault("name=A cmd=x movetime=1 latency=300+1").contains("our own"));
        assert!(
            fault("name=A nodes=1 preset=wild").contains("literal (the rule of seed 003) or lc0")
        );
        let literal = parse("name=A nodes=1 preset=literal").unwrap();
        assert!(literal[0].machine().unwrap().params.average_share.abs() < f32::EPSILON);
    }
}
