//! A match as it is written down: in a TOML file, on the command line, and in the results file.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, anyhow, ensure};
use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tesla_engine::chess::tablebase::{self, TablebaseSettings, Tables};
use tesla_nn::files::sha256;

use super::arbiter::Rules;
use super::plan::{MatchPlan, Tournament};
use crate::console::options::{options, shown_as_value};
use crate::disk::toml::{self};
use crate::game::adjudicate::{Adjudication, DrawRule, ResignRule};
use crate::game::limit::{Limit, MARGIN_MS};
use crate::game::openings::{Book, BookOptions, BookSource, Order};
use crate::players::devices::Devices;
use crate::players::programs::program_hash;
use crate::players::side::{Side, complete_sides};
use crate::players::signature::search_signatures;
use crate::statistics::sprt::Sprt;

/// Most games of a pairing.
const MOST_GAMES: u64 = 1_000_000;

/// In which order openings are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum BookOrder {
    /// As the file has them.
    Sequential,
    /// Shuffled by the seed.
    #[default]
    Random,
}

shown_as_value!(BookOrder, Tournament);

options! {
    /// All that decides a match; how many games run at once does not.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    config MatchConfig {
        /// For sides that have no limit of their own.
        limit: Limit = Limit::default();
        /// The sides.
        side: Vec<Side> = Vec::new();
    }
    /// What the command line may say of a match, beside its sides and their limit.
    options MatchOptions {
        /// Who plays whom.
        tournament: Tournament = Tournament::default(), as tournament: Tournament;
        /// Games of each pairing; an odd number is rounded up.
        games: u64 = 100, as games: u64;
        /// Opening book: built-in, startpos, or an EPD, FEN or PGN file; each opening is played
        /// with both colours.
        openings: BookSource = BookSource::BuiltIn, as openings: BookSource;
        /// In which order openings are taken.
        order: BookOrder = BookOrder::default(), as order: BookOrder;
        /// Seed of the order.
        seed: u64 = 1, as seed: u64;
        /// Openings to skip at the start of that order.
        skip: u64 = 0, as skip: u64;
        /// Maximum length of an opening taken from a PGN game, plies.
        plies: Option<usize> = Some(16), as plies: usize;
        /// Play Chess960.
        chess960: bool = false, as chess960: bool, num_args = 0, default_missing_value = "true";
        /// Draw when both sides score the game as even: movenumber=40,movecount=8,score=10.
        draw: Option<DrawRule> = None, as draw: DrawRule;
        /// Loss when a side scores its game as lost: movecount=4,score=600,twosided=true.
        resign: Option<ResignRule> = None, as resign: ResignRule;
        /// Folders of Syzygy tables, separated as the system separates paths: they end a game when
        /// a capture or pawn move leads to a position that they know.
        #[serde(skip_serializing_if = "Option::is_none")]
        tables: Option<String> = None, as tb: String;
        /// Draw after this many moves of each side.
        max_moves: Option<u32> = None, as max_moves: u32;
        /// Time by which a clock may be overrun, ms.
        margin_ms: u64 = MARGIN_MS, as margin: u64;
        /// How long to wait for an engine beyond its time, or for a move without a time limit,
        /// seconds.
        patience_s: u64 = 60, as patience: u64;
        /// Stop as soon as the result is clear (two sides only): elo0=0,elo1=5 and, if wanted,
        /// alpha=0.05, beta=0.05, model=normalized or logistic.
        sprt: Option<Sprt> = None, as sprt: Sprt = "";
    }
}

impl MatchConfig {
    /// Reads a match from a TOML file.
    ///
    /// # Errors
    /// When the file cannot be read or understood.
    pub fn read(path: &Path) -> Result<Self> {
        Ok(toml::read(path)?)
    }

    /// Gives each side its limit and checks all that can be checked without starting anything.
    ///
    /// # Errors
    /// A sentence on the first thing that is wrong.
    pub fn complete(mut self) -> Result<Self> {
        complete_sides(&mut self.side, self.limit)?;
        ensure!(
            self.side.len() > 1,
            "a match needs two sides, as in: --side name=A nodes=200 --side name=B cmd=stockfish \
             nodes=200"
        );
        ensure!(
            (1..=MOST_GAMES).contains(&self.games),
            "games must be from 1 to {MOST_GAMES}, not {}",
            self.games
        );
        ensure!(
            !self.chess960 || self.openings != BookSource::BuiltIn,
            "the built-in book has positions of standard chess only; give some of Chess960 with \
             --openings"
        );
        self.games = self.games.next_multiple_of(2);
        self.rules().adjudication.check()?;
        ensure!(
            self.sprt.is_none() || self.side.len() == 2,
            "sprt is a test between two sides, and there are {}; leave it out",
            self.side.len()
        );
        if let Some(sprt) = self.sprt {
            sprt.check().map_err(|fault| anyhow!("sprt: {fault}"))?;
        }
        Ok(self)
    }

    /// All games.
    pub fn plan(&self) -> MatchPlan {
        MatchPlan::new(self.tournament, self.side.len(), self.games)
    }

    /// The openings.
    ///
    /// # Errors
    /// When the book cannot be read, or is too small for sides that always answer alike.
    pub fn book(&self) -> Result<Book> {
        let order = match self.order {
            BookOrder::Sequential => Order::Sequential,
            BookOrder::Random => Order::Random { seed: self.seed },
        };
        let (chess960, plies, start) = (self.chess960, self.plies, self.skip);
        let book = self.openings.read(&BookOptions { chess960, plies, order, start })?;
        let size = book.openings().len() as u64;
        ensure!(
            start < size,
            "--skip {start} leaves none of the book's {size} openings; skip fewer, or give a \
             larger book with --openings"
        );
        // Each game played over again would count as news.
        if self.is_repeatable() {
            let (rounds, different) = (self.rounds(), book.different(self.rounds()));
            ensure!(
                rounds <= different,
                "the match needs {rounds} openings and has {different} that start from different \
                 positions: our own sides without clocks would play the same games again; give it \
                 a larger book with --openings, or fewer games"
            );
        }
        Ok(book)
    }

    /// Each takes one opening.
    fn rounds(&self) -> u64 {
        self.games / 2
    }

    /// Sentences on what the match is, but had better not be.
    pub fn warnings(&self, book: &Book) -> Vec<String> {
        let (rounds, different) = (self.rounds(), book.different(self.rounds()));
        let repeated = (rounds > different).then(|| {
            format!(
                "the match has {rounds} rounds and the book {different} different positions for \
                 them: openings will be repeated"
            )
        });
        repeated.into_iter().chain(self.side.iter().filter_map(clock_warning)).collect()
    }

    /// The endgame tables, where the match has some, and sentences on what was found.
    ///
    /// # Errors
    /// When there are none in the folders named.
    pub fn open_tables(&self) -> Result<(Option<Tables>, Vec<String>)> {
        let settings =
            TablebaseSettings { path: self.tables.clone(), ..TablebaseSettings::default() };
        let (tables, notes) = tablebase::open(&settings);
        ensure!(tables.is_some() || self.tables.is_none(), "--tb: {}", notes.join("; "));
        Ok((tables, notes))
    }

    /// What every game is played by, without the tables.
    pub fn rules(&self) -> Rules {
        Rules {
            tables: None,
            adjudication: Adjudication {
                draw: self.draw,
                resign: self.resign,
                max_moves: self.max_moves,
            },
            margin: Duration::from_millis(self.margin_ms),
            patience: Duration::from_secs(self.patience_s),
        }
    }

    /// Whether every side is ours and none plays by time: then all games can be foretold.
    pub fn is_repeatable(&self) -> bool {
        self.side.iter().all(|side| side.is_own() && !side.limit.is_timed())
    }

    /// All that decides the results, for the head of the results file: the match itself, the
    /// openings, our networks and our search, the engines, of which `names` has by side what they
    /// call themselves. What only decides how long it goes on or where files lie is left out: a
    /// match may be extended, and its book may move.
    pub fn fingerprint(&self, book: &Book, devices: &Devices, names: &[Option<String>]) -> Value {
        let openings = serde_json::to_vec(book.openings()).unwrap_or_default();
        let networks: Vec<Option<String>> =
            self.side.iter().map(|side| devices.network(side)).collect();
        let engines: Vec<Option<String>> = self
            .side
            .iter()
            .zip(names)
            .map(|(side, name)| Some(format!("{}, sha256 {}", name.as_ref()?, program_hash(side))))
            .collect();
        let mut config = json!(self);
        for key in ["games", "openings", "patience_s"] {
            if let Some(fields) = config.as_object_mut() {
                fields.remove(key);
            }
        }
        if self.tables.is_some() {
            // Which folders they lie in may change.
            config["tables"] = json!("some");
        }
        json!({
            "config": config,
            "engines": engines,
            "openings_sha256": sha256(&openings),
            "networks": networks,
            "search_signature": search_signatures(&self.side),
        })
    }
}

/// A sentence where a clock of evaluations gives back less than one batch takes.
fn clock_warning(side: &Side) -> Option<String> {
    let allowance = side.limit.counted_allowance()?;
    let fixed = side.machine().ok()?.params.fixed_cost;
    (fixed > 0.0 && allowance < f64::from(fixed) + 1.0).then(|| {
        format!(
            "side {}: by fixed_cost a move takes more than {fixed} evaluations, and its clock \
             gives back {allowance:.0}: it loses long games on time",
            side.name
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
        games = 3
        limit = { nodes = 100 }
        sprt = { elo0 = 0, elo1 = 5 }
        [[side]]
        name = "A"
        option = { Search = "AlphaBeta" }
        [[side]]
        name = "B"
        cmd = "stockfish"
        limit = { tc = "10+0.1" }
    "#;

    fn read(text: &str) -> Result<MatchConfig, String> {
        let config: MatchConfig = ::toml::from_str(text).map_err(|error| error.to_string())?;
        config.complete().map_err(|error| error.to_string())
    }

    #[test]
    fn a_match_is_read_and_completed() {
        let config = read(TEXT).unwrap();
        assert_eq!((config.games, config.plan().games()), (4, 4));
        assert_eq!(config.side[0].limit.nodes, Some(100));
        assert_eq!(config.side[1].limit.nodes, None);
        assert!(config.side[1].limit.is_timed() && !config.is_repeatable());
        let text = ::toml::to_string(&config).unwrap();
        assert_eq!(::toml::from_str::<MatchConfig>(&text).unwrap(), config);
    }

    #[test]
    fn what_had_better_not_be_is_warned_of() {
        let side = |tc: &str| {
            format!(
                "[[side]]\nname = \"{tc}\"\nlimit = {{ tc = \"{tc}\", nodestime = 5 }}\n\
                     option = {{ Evaluator = \"Classical\", fixed_cost = \"500\" }}\n"
            )
        };
        let config = read(&format!("{}{}", side("4+0.04"), side("20+0.2"))).unwrap();
        let warnings = config.warnings(&config.book().unwrap());
        assert!(warnings.len() == 1 && warnings[0].contains("gives back 200"), "{warnings:?}");
        let start = MatchConfig { openings: BookSource::StartPosition, ..config };
        let book = start.openings.read(&BookOptions::default()).unwrap();
        assert!(start.warnings(&book)[0].contains("50 rounds and the book 1 different"));
        assert!(start.book().unwrap_err().to_string().contains("needs 50 openings and has 1 that"));
    }

    #[test]
    fn the_configs_in_the_repository_are_whole() {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/configs"));
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if !std::fs::read_to_string(&path).unwrap().contains("tesla-train match --config") {
                continue; // a training run
            }
            let config = MatchConfig::read(&path).unwrap();
            assert!(config.complete().unwrap().side.len() > 1);
            count += 1;
        }
        assert!(count >= 2);
    }

    #[test]
    fn tables_are_there_or_missed() {
        let mut config = read(TEXT).unwrap();
        assert!(config.open_tables().unwrap().0.is_none());
        config.tables = Some("no/such/folder".to_owned());
        let error = config.open_tables().unwrap_err().to_string();
        assert!(error.contains("--tb") && error.contains("no/such/folder"), "{error}");
        let text = ::toml::to_string(&config).unwrap();
        assert_eq!(::toml::from_str::<MatchConfig>(&text).unwrap(), config);
        // The head of the results is read again as a match, by `report`; its folders may move.
        config.side.truncate(1);
        let devices = Devices::start(&config.side, 1, &|_| {}).unwrap();
        let heads = ["here", "there"].map(|folder| {
            config.tables = Some(folder.to_owned());
            config.fingerprint(&config.book().unwrap(), &devices, &[])["config"].clone()
        });
        assert_eq!(heads[0], heads[1]);
        assert!(serde_json::from_value::<MatchConfig>(heads[0].clone()).unwrap().tables.is_some());
    }

    #[test]
    fn faults_are_told() {
        let fault = |from: &str, to: &str| {
            assert!(TEXT.contains(from));
            read(&TEXT.replace(from, to)).unwrap_err()
        };
        assert!(fault("name = \"B\"", "name = \"A\"").contains("called A"));
        assert!(fault("games = 3", "games = 0").contains("games"));
        assert!(fault("games = 3", "gamez = 3").contains("gamez"));
        assert!(fault("nodes = 100", "nodez = 100").contains("nodez"));
        assert!(fault("elo1 = 5", "elo1 = -5").contains("elo1"));
        for rule in [
            "max_moves = 0",
            "draw = { move_number = 40, move_count = 0, score_cp = 10 }",
            "resign = { move_count = 0, score_cp = 600, two_sided = false }",
        ] {
            assert!(fault("games = 3", rule).contains("every game at once"), "{rule}");
        }
        let resign = "resign = { move_count = 3, score_cp = 600, two_sided = false, moves = 2 }";
        assert!(fault("games = 3", resign).contains("moves"));
        assert!(fault("limit = { nodes = 100 }", "").contains("no limit"));
        assert!(fault("10+0.1", "fast").contains("time control"));
        assert!(fault("AlphaBeta", "Magic").contains("Magic"));
        assert!(read("games = 2").unwrap_err().contains("two sides"));
        let third = "\n[[side]]\nname = \"C\"\n";
        assert!(read(&format!("{TEXT}{third}")).unwrap_err().contains("between two"));
    }
}
