//! Who met whom in several matches: a player is a configuration with a limit, whatever it is
//! called.

use std::collections::BTreeMap;

use super::heads::Program;
use super::sources::{Played, configuration};
use crate::game::limit::Limit;
use crate::players::side::Side;
use crate::statistics::bootstrap::{Bootstrap, BootstrapOptions, bootstrap};
use crate::statistics::elo::{self, Pentanomial, Trinomial};
use crate::statistics::estimate::Estimate;
use crate::statistics::rating::PairResult;

/// A side but for its name and its limit, what ran it, and whether it played Chess960.
type Configuration = (Side, Program, bool);

/// A configuration with its limit.
#[derive(Clone, Debug)]
pub(super) struct Player {
    /// What it was called first, told apart from others of that name.
    name: String,
    /// Number of the configuration.
    pub(super) line: usize,
    pub(super) limit: Limit,
}

/// All results between two players.
#[derive(Clone, Copy, Debug)]
pub(super) struct Meeting {
    pub(super) first: usize,
    pub(super) second: usize,
    /// All games.
    pub(super) games: Trinomial,
    /// Those whose partner was played.
    pub(super) pairs: Pentanomial,
    /// Those whose partner was not.
    pub(super) single: Trinomial,
}

impl Meeting {
    /// Whether a player met itself, under two names.
    pub(super) fn is_of_one(&self) -> bool {
        self.first == self.second
    }

    /// The two, of whom these are the names.
    pub(super) fn between(&self, one: &str, other: &str) -> String {
        if self.is_of_one() {
            format!("{one} against itself")
        } else {
            format!("{one} \u{2212} {other}")
        }
    }

    /// By how many Elo the first is stronger.
    pub(super) fn elo(&self) -> Estimate {
        elo::sample(self.pairs, self.games).elo()
    }
}

/// Players who are connected by games, with their ratings.
#[derive(Debug)]
pub(super) struct Pool {
    /// Numbers of the players, in the order of the ratings' numbers.
    pub(super) players: Vec<usize>,
    ratings: Bootstrap,
}

impl Pool {
    /// Players and ratings, the best first; the mean is 0.
    pub(super) fn rated(&self) -> Vec<(usize, Estimate)> {
        let mut rated: Vec<_> = self.players.iter().copied().zip(self.ratings.ratings()).collect();
        let key = |estimate: &Estimate| estimate.value.unwrap_or(f64::NEG_INFINITY);
        rated.sort_by(|a, b| key(&b.1).total_cmp(&key(&a.1)));
        rated
    }
}

/// All players of some matches.
#[derive(Debug, Default)]
pub(super) struct Players {
    configurations: Vec<Configuration>,
    /// Names of the configurations: those of their players.
    pub(super) lines: Vec<String>,
    pub(super) all: Vec<Player>,
    pub(super) meetings: Vec<Meeting>,
}

/// The name without the limit that people write behind it: `Tesla 200` at 200 nodes plays as
/// `Tesla`.
fn without_limit<'a>(name: &'a str, limit: &Limit) -> &'a str {
    let limits = [limit.nodes, limit.depth.map(u64::from)].into_iter().flatten();
    let short = |number: u64| name.strip_suffix(&number.to_string())?.strip_suffix(' ');
    limits.into_iter().find_map(short).unwrap_or(name).trim_end()
}

/// A side's options; files by name and folder only.
pub(super) fn options(side: &Side) -> String {
    let option = |(name, value): &(String, String)| format!("{name} {}", without_path(value));
    side.option.0.iter().map(option).collect::<Vec<_>>().join(", ")
}

/// The end of a path that tells its file from others: name and folder. Other text stays.
fn without_path(text: &str) -> &str {
    let is_end = |c: char| c == '/' || c == '\\';
    text.rmatch_indices(is_end).nth(1).map_or(text, |(at, _)| &text[at + 1..])
}

/// What tells configurations apart, in words.
fn traits((side, program, chess960): &Configuration) -> [String; 6] {
    // A network and an evaluator of another kind say themselves what they are.
    let text = |kind: &str, what: Option<&str>| match what {
        Some(what) if what.starts_with(kind) => what.to_owned(),
        Some(what) => format!("{kind} {what}"),
        None => format!("no {kind}"),
    };
    let command = side.cmd.as_ref().map(|command| command.display().to_string());
    let options = options(side);
    [
        if options.is_empty() { "no options".to_owned() } else { options },
        text("program", command.as_deref().map(without_path)),
        program.engine.clone().unwrap_or_else(|| "ours".to_owned()),
        text("network", program.network.as_deref()),
        text("search", program.search.as_deref()),
        if *chess960 { "Chess960" } else { "standard chess" }.to_owned(),
    ]
}

impl Players {
    /// Everybody in these matches, and all their results.
    pub(super) fn of(matches: &[Played]) -> Self {
        let mut all = Self::default();
        let mut meetings: BTreeMap<(usize, usize), Meeting> = BTreeMap::new();
        for played in matches {
            let sides = played.config.side.iter().zip(&played.programs);
            let chess960 = played.config.chess960;
            let numbers: Vec<usize> =
                sides.map(|(side, program)| all.number(side, program, chess960)).collect();
            for (index, &(first, second)) in played.config.plan().pairings().iter().enumerate() {
                let (tally, single) = (played.tally.pairings[index], played.tally.unpaired(index));
                let (one, other) = (numbers[first], numbers[second]);
                if tally.games.games() == 0 {
                    continue;
                }
                let is_flipped = one > other;
                let turn = |games: Trinomial| if is_flipped { games.flipped() } else { games };
                let pairs = if is_flipped { tally.pairs.flipped() } else { tally.pairs };
                let (first, second) = (one.min(other), one.max(other));
                let meeting = meetings.entry((first, second)).or_insert(Meeting {
                    first,
                    second,
                    games: Trinomial::default(),
                    pairs: Pentanomial::default(),
                    single: Trinomial::default(),
                });
                meeting.games += turn(tally.games);
                meeting.pairs += pairs;
                meeting.single += turn(single);
            }
        }
        all.meetings = meetings.into_values().collect();
        all.tell_apart();
        all
    }

    fn number(&mut self, side: &Side, program: &Program, chess960: bool) -> usize {
        let own = (configuration(side), program.clone(), chess960);
        let line =
            self.configurations.iter().position(|known| *known == own).unwrap_or_else(|| {
                self.configurations.push(own);
                self.configurations.len() - 1
            });
        let known = |player: &Player| player.line == line && player.limit == side.limit;
        self.all.iter().position(known).unwrap_or_else(|| {
            let name = without_limit(&side.name, &side.limit).to_owned();
            self.all.push(Player { name, line, limit: side.limit });
            self.all.len() - 1
        })
    }

    /// Names that several configurations have are told apart by whatever they differ in; then each
    /// configuration gets the names of its players.
    fn tell_apart(&mut self) {
        let traits: Vec<[String; 6]> = self.configurations.iter().map(traits).collect();
        let called = self.all.clone();
        for player in &mut self.all {
            let own = &traits[player.line];
            let alike = || called.iter().filter(|other| other.name == player.name);
            let differs =
                |&number: &usize| alike().any(|other| traits[other.line][number] != own[number]);
            let told: Vec<&str> =
                (0..own.len()).filter(differs).map(|number| own[number].as_str()).collect();
            if !told.is_empty() {
                player.name = format!("{} ({})", player.name, told.join("; "));
            }
        }
        let line = |line: usize| {
            let mut names: Vec<&str> = Vec::new();
            for player in self.all.iter().filter(|player| player.line == line) {
                if !names.contains(&player.name.as_str()) {
                    names.push(&player.name);
                }
            }
            names.join(" / ")
        };
        self.lines = (0..self.configurations.len()).map(line).collect();
    }

    /// What a player is called.
    pub(super) fn name(&self, player: usize) -> &str {
        &self.all[player].name
    }

    /// Groups of players that games connect, the largest first, each rated by one fit.
    pub(super) fn pools(&self) -> Vec<Pool> {
        let mut group: Vec<usize> = (0..self.all.len()).collect();
        for meeting in &self.meetings {
            let (one, other) = (group[meeting.first], group[meeting.second]);
            group.iter_mut().filter(|g| **g == other).for_each(|g| *g = one);
        }
        let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (player, group) in group.into_iter().enumerate() {
            members.entry(group).or_default().push(player);
        }
        let mut pools: Vec<Pool> =
            members.into_values().filter_map(|players| self.rate(players)).collect();
        pools.sort_by_key(|pool| std::cmp::Reverse(pool.players.len()));
        pools
    }

    fn rate(&self, players: Vec<usize>) -> Option<Pool> {
        let place = |player: usize| players.iter().position(|&p| p == player);
        let results: Vec<PairResult> = self
            .meetings
            .iter()
            // Games against oneself say nothing of others.
            .filter(|meeting| !meeting.is_of_one())
            .filter_map(|meeting| {
                let (first, second) = (place(meeting.first)?, place(meeting.second)?);
                Some(PairResult { first, second, pairs: meeting.pairs, games: meeting.single })
            })
            .collect();
        let fit = bootstrap(players.len(), &results, BootstrapOptions::default());
        Some(Pool { ratings: fit.ok().filter(|_| !results.is_empty())?, players })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_no_part_of_a_name() {
        let nodes = |nodes| Limit { nodes: Some(nodes), ..Limit::default() };
        for (name, short) in [
            ("Tesla 200", "Tesla"),
            ("Stockfish 16", "Stockfish 16"),
            ("b200", "b200"),
            ("200", "200"),
            ("a 1 200", "a 1"),
            ("", ""),
        ] {
            assert_eq!(without_limit(name, &nodes(200)), short);
        }
        assert_eq!(without_limit("A 7", &Limit { depth: Some(7), ..Limit::default() }), "A");
    }

    #[test]
    fn files_go_by_name_and_folder() {
        for (text, short) in [
            ("/data/runs/a/latest.safetensors", "a/latest.safetensors"),
            ("C:\\runs\\a\\latest.safetensors", "a\\latest.safetensors"),
            ("runs/a.toml", "runs/a.toml"),
            ("PUCT", "PUCT"),
            ("/", "/"),
            ("", ""),
        ] {
            assert_eq!(without_path(text), short);
        }
        let mut side = Side::default();
        side.option.0.push(("WeightsFile".to_owned(), "/x/y/z.safetensors".to_owned()));
        assert_eq!(options(&side), "WeightsFile y/z.safetensors");
    }

    #[test]
    fn another_network_or_program_is_another_player() {
        let side = Side { name: "A".to_owned(), ..Side::default() };
        let network =
            |network: &str| Program { network: Some(network.to_owned()), ..Program::default() };
        let mut players = Players::default();
        assert_eq!(players.number(&side, &network("x"), false), 0);
        assert_eq!(players.number(&side, &network("y"), false), 1);
        assert_eq!(
            players.number(&Side { name: "B".to_owned(), ..side.clone() }, &network("x"), false),
            0
        );
        players.tell_apart();
        assert_eq!(players.lines, ["A (network x)", "A (network y)"]);
        // One configuration may have a name for each limit.
        let slow = Side {
            name: "Slow".to_owned(),
            limit: Limit { nodes: Some(9), ..Limit::default() },
            ..side.clone()
        };
        assert_eq!(players.number(&slow, &network("x"), false), 2);
        players.tell_apart();
        assert_eq!(players.name(2), "Slow");
        assert_eq!(players.lines[0], "A (network x) / Slow");
        // What it is worth in Chess960 is another question.
        assert_eq!(players.number(&side, &network("x"), true), 3);
    }
}
