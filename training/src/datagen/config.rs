//! All that decides which games are made.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tesla_nn::files::sha256;

use super::line::Material;
use super::output::check_valid;
use super::span::Span;
use crate::console::options::{options, shown_as_displayed};
use crate::game::adjudicate::{Adjudication, DrawRule, ResignRule};
use crate::game::openings::{Book, BookOptions, BookSource, Order};
use crate::players::devices::Devices;
use crate::players::programs::program_hash;
use crate::players::side::Side;
use crate::players::signature::search_signatures;

/// What games are made of.
#[derive(Debug)]
pub struct Source {
    /// Where games begin.
    pub book: Book,
    /// Games that are labelled anew, where none are played.
    pub material: Option<Material>,
}

/// Most games of a run: their numbers are kept in memory.
const MOST_GAMES: u64 = 1_000_000_000;

/// Most games of a shard: they are kept in memory until it is whole.
pub const LARGEST_SHARD: u64 = 1_000_000;

options! {
    /// All that decides the games; how many are played at once does not.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    config DatagenConfig {
        /// Who plays and labels: a UCI engine, or one of our own searches.
        teacher: Side = Side::default();
    }
    /// What the command line may say of the games, beside their teacher.
    options DatagenOptions {
        /// Games of the run; games that turn out to be the same are dropped.
        games: u64 = 0, as games: u64 = "", required = true;
        /// Games of a shard; those that were dropped count.
        shard_games: u64 = 10_000, as shard_games: u64;
        /// Share of the games that go into files whose names begin with valid, which training
        /// leaves out, as in 0.02.
        #[serde(default, skip_serializing_if = "is_default")]
        valid: f64 = 0.0, as valid: f64;
        /// Decides openings and random moves, with the number of the game. With a teacher that
        /// always answers alike (nodes or depth, one thread) it decides the games.
        seed: u64 = 1, as seed: u64;
        /// Opening book, shuffled by the seed: built-in, startpos, or an EPD, FEN or PGN file.
        openings: BookSource = BookSource::BuiltIn, as openings: BookSource;
        /// Maximum length of an opening taken from a PGN game, plies.
        plies: Option<usize> = Some(16), as plies: usize;
        /// Random plies after the opening, before the first label; each game draws a number from
        /// this range.
        random_plies: Span<u16> = Span { low: 0, high: 8 },
        as random_plies: Span<u16>, value_name = "LOW..HIGH";
        /// Share of moves that are random instead of the best one; each game draws a number from
        /// this range.
        random: Span<f64> = Span { low: 0.0, high: 0.3 },
        as random: Span<f64>, value_name = "LOW..HIGH";
        /// Share of the random moves that are the best of several by the teacher's score.
        best_of_share: f64 = 0.5, as best_of_share: f64;
        /// The number of random moves of which such a move is the best.
        best_of: usize = 4, as best_of: usize;
        /// Share of the random moves that are drawn from our network's policy instead, so that the
        /// games hold what a search looks at.
        #[serde(default, skip_serializing_if = "is_default")]
        policy_share: f64 = 0.0, as policy_share: f64;
        /// Decided when the teacher says so: scores of at least `score`, in centipawns, for one
        /// side and against the other for `movecount` moves of each.
        resign: Option<ResignRule> =
            Some(ResignRule { move_count: 3, score_cp: 1501, two_sided: true }),
        as resign: ResignRule;
        /// Draw when the teacher scores the game as even: movenumber=40,movecount=8,score=10.
        draw: Option<DrawRule> = None, as draw: DrawRule;
        /// Maximum length of a game, labelled plies; the game is drawn then.
        max_plies: u16 = 260, as max_plies: u16;
        /// Moves of a position that the teacher scores (its option `MultiPV`), itself best first,
        /// for the action values; 218 = all of any position. The teacher's limit is for all of them
        /// together.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        multipv: u8 = one(), as multipv: u8;
        /// Play no games, but label those of these files anew: a file or a folder. Each position is
        /// judged from an empty hash, those of a tree's path in one hash.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        relabel: Option<PathBuf> = None, as relabel: PathBuf = "none";
        /// Plies in a row of each such game that are labelled, drawn by the seed; 0 = all.
        #[serde(default, skip_serializing_if = "is_default")]
        span: u16 = 0, as span: u16;
        /// Label paths of our own search's trees instead, of so many evaluations: from the root, a
        /// position of such a game, to a position drawn among all that the search evaluated.
        #[serde(default, skip_serializing_if = "is_default")]
        trees: u32 = 0, as trees: u32;
        /// Paths of each tree.
        #[serde(default = "eight", skip_serializing_if = "is_eight")]
        paths: u16 = eight(), as paths: u16;
        /// Trees begin where the game's score is at most so many centipawns for either side;
        /// 0 = anywhere.
        #[serde(default, skip_serializing_if = "is_default")]
        roots_within: u16 = 0, as roots_within: u16;
        /// How long to wait for the teacher beyond its time, seconds.
        patience_s: u64 = 60, as patience: u64;
    }
}

shown_as_displayed!(Span<u16>, Span<f64>);

fn one() -> u8 {
    1
}

fn eight() -> u16 {
    8
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_eight(value: &u16) -> bool {
    *value == eight()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_one(count: &u8) -> bool {
    *count == one()
}

fn is_default<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}

impl DatagenConfig {
    /// Checks all that can be checked before a game.
    ///
    /// # Errors
    /// A sentence on the first thing that is wrong.
    pub fn check(&self) -> Result<()> {
        let limit = &self.teacher.limit;
        ensure!(
            limit.nodes.is_some() || limit.depth.is_some() || limit.movetime.is_some(),
            "a teacher needs a limit for each move; give it --nodes, --depth or --movetime"
        );
        self.teacher.check()?;
        let counts = [
            ("--games", self.games, MOST_GAMES),
            ("--shard-games", self.shard_games, LARGEST_SHARD),
            ("--max-plies", u64::from(self.max_plies), u64::from(u16::MAX)),
            ("--best-of", self.best_of as u64, 256),
            ("--multipv", u64::from(self.multipv), 255),
        ];
        for (name, value, most) in counts {
            let is_known = (1..=most).contains(&value);
            ensure!(is_known, "{name} is {value}; it must be from 1 to {most}");
        }
        check_valid(self.valid)?;
        let is_share = |share| (0.0..=1.0).contains(&share);
        ensure!(
            is_share(self.random.low) && is_share(self.random.high),
            "--random is {}; it must be from 0 to 1",
            self.random
        );
        let shares =
            [("--best-of-share", self.best_of_share), ("--policy-share", self.policy_share)];
        for (name, share) in shares {
            ensure!(is_share(share), "{name} is {share}; it must be from 0 to 1");
        }
        self.adjudication().check()?;
        ensure!(
            self.multipv == 1 || !self.teacher.is_own(),
            "our own search scores its best move only; name a UCI engine with --teacher for \
             --multipv {}, or leave that out",
            self.multipv
        );
        ensure!(
            self.relabel.is_some() || self.span == 0 && self.trees == 0,
            "--span and --trees are for games that are labelled anew; name some with --relabel"
        );
        ensure!(
            self.trees > 0 || self.roots_within == 0 && self.paths == eight(),
            "--paths and --roots-within are for trees; ask for some with --trees"
        );
        ensure!(self.paths > 0, "--paths is 0; ask for at least one of each tree");
        let is_random =
            self.relabel.is_some() || self.random.high > 0.0 || self.random_plies.high > 0;
        ensure!(
            self.games == 1 || is_random || self.openings != BookSource::StartPosition,
            "all games would be the same: they start alike and no move is random; give \
             --openings, --random or --random-plies, or ask for one game"
        );
        Ok(())
    }

    /// The openings, shuffled by the seed.
    ///
    /// # Errors
    /// When the book cannot be read.
    pub fn book(&self) -> Result<Book> {
        let order = Order::Random { seed: self.seed };
        let options = BookOptions { chess960: false, plies: self.plies, order, start: 0 };
        self.openings.read(&options)
    }

    /// The games that are labelled anew, if any are.
    ///
    /// # Errors
    /// When they cannot be read, or are fewer than the run wants.
    pub fn material(&self) -> Result<Option<Material>> {
        let Some(path) = &self.relabel else { return Ok(None) };
        let material = Material::read(path)?;
        let (there, wanted) = (material.games(), self.games);
        ensure!(
            self.trees > 0 || wanted <= there as u64,
            "--relabel has {there} games; ask for as many with --games, not for {wanted}"
        );
        Ok(Some(material))
    }

    /// Whether the run asks our network, beside the teacher.
    pub fn asks_network(&self) -> bool {
        self.trees > 0 || self.relabel.is_none() && self.policy_share > 0.0
    }

    /// Our own search, whose trees give the paths, and whose network draws moves.
    pub fn searcher(&self) -> Side {
        Side { name: "searcher".to_owned(), ..Side::default() }
    }

    /// How games end before the rules end them; the longest game apart.
    pub fn adjudication(&self) -> Adjudication {
        Adjudication { draw: self.draw, resign: self.resign, max_moves: None }
    }

    /// How long to wait for the teacher.
    pub fn patience(&self) -> Duration {
        Duration::from_secs(self.patience_s)
    }

    /// All that decides the games, for the head of the journal: this config, the openings, our
    /// network and search, or the program, which calls itself `name`. Where files lie and how long
    /// we wait is left out.
    pub fn fingerprint(&self, source: &Source, devices: &Devices, name: Option<&str>) -> Value {
        let Source { book, material } = source;
        let openings = serde_json::to_vec(book.openings()).unwrap_or_default();
        let program = name.map(|name| format!("{name}, sha256 {}", program_hash(&self.teacher)));
        let mut config = json!(self);
        for key in ["openings", "relabel", "patience_s"] {
            if let Some(fields) = config.as_object_mut() {
                fields.remove(key);
            }
        }
        let mut fingerprint = json!({
            "config": config,
            "program": program,
            "openings_sha256": sha256(&openings),
            "network": devices.network(&self.teacher),
            "search_signature": search_signatures([&self.teacher]),
        });
        if let Some(material) = material {
            fingerprint["relabelled_sha256"] = json!(material.hash);
        }
        let searcher = self.searcher();
        if self.trees > 0 {
            fingerprint["tree_network"] = json!(devices.network(&searcher));
            fingerprint["tree_signature"] = json!(search_signatures([&searcher]));
        } else if self.asks_network() {
            fingerprint["policy_network"] = json!(devices.network(&searcher));
        }
        fingerprint
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Short games of our own classical search.
    pub(crate) fn small() -> DatagenConfig {
        let teacher = Side {
            name: "teacher".to_owned(),
            option: serde_json::from_str(r#"{ "Evaluator": "Classical", "Search": "AlphaBeta" }"#)
                .unwrap(),
            limit: serde_json::from_str(r#"{ "nodes": 60 }"#).unwrap(),
            ..Side::default()
        };
        DatagenConfig {
            teacher,
            games: 12,
            shard_games: 5,
            valid: 0.0,
            seed: 1,
            openings: BookSource::StartPosition,
            plies: None,
            random_plies: Span { low: 0, high: 6 },
            random: Span { low: 0.0, high: 0.4 },
            best_of_share: 0.5,
            best_of: 4,
            policy_share: 0.0,
            resign: "movecount=3,score=1501,twosided=true".parse().ok(),
            draw: None,
            max_plies: 30,
            multipv: 1,
            relabel: None,
            span: 0,
            trees: 0,
            paths: 8,
            roots_within: 0,
            patience_s: 60,
        }
    }

    #[test]
    fn faults_are_told() {
        type Change = fn(&mut DatagenConfig);
        let cases: [(&str, Change); 13] = [
            ("--span and --trees are", |config| config.span = 4),
            ("--roots-within are for trees", |config| config.roots_within = 300),
            ("--paths is 0", |config| {
                (config.trees, config.paths) = (400, 0);
                config.relabel = Some(PathBuf::from("games"));
            }),
            ("--multipv is 0", |config| config.multipv = 0),
            ("name a UCI engine", |config| config.multipv = 4),
            ("--games is 0", |config| config.games = 0),
            ("--shard-games is 0", |config| config.shard_games = 0),
            ("--random is 0.1..1.5", |config| config.random = Span { low: 0.1, high: 1.5 }),
            ("--best-of-share is -1", |config| config.best_of_share = -1.0),
            ("--policy-share is 2", |config| config.policy_share = 2.0),
            ("--best-of is 0", |config| config.best_of = 0),
            ("needs a limit", |config| config.teacher.limit.nodes = None),
            ("all games would be the same", |config| {
                config.random = Span { low: 0.0, high: 0.0 };
                config.random_plies = Span { low: 0, high: 0 };
            }),
        ];
        assert!(small().check().is_ok());
        for (sentence, change) in cases {
            let mut config = small();
            change(&mut config);
            let error = config.check().unwrap_err().to_string();
            assert!(error.contains(sentence), "{error}");
        }
    }
}
