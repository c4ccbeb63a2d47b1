//! Which game is which: a game's number alone decides who plays whom, from where, with which
//! colours, so that any order of playing and any interruption gives the same match.

use serde::{Deserialize, Serialize};

/// Who meets whom.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Tournament {
    /// Everybody plays everybody.
    #[default]
    RoundRobin,
    /// The first side plays all others.
    Gauntlet,
}

/// All games of a match. Games come in pairs: the same opening with both colours. A round has one
/// pair of every pairing, all from the same opening.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MatchPlan {
    pairings: Vec<(usize, usize)>,
    rounds: u64,
}

/// One game of the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixture {
    /// From 0.
    pub number: u64,
    /// Index of the pairing.
    pub pairing: usize,
    /// From 0; also the number of the opening.
    pub round: u64,
    /// Index of the side with the white pieces.
    pub white: usize,
    /// Index of the side with the black pieces.
    pub black: usize,
}

impl MatchPlan {
    /// `games` for each pairing of `sides`; an odd number is rounded up to whole pairs.
    pub fn new(tournament: Tournament, sides: usize, games: u64) -> Self {
        let pairings = match tournament {
            Tournament::RoundRobin => {
                (0..sides).flat_map(|a| (a + 1..sides).map(move |b| (a, b))).collect()
            }
            Tournament::Gauntlet => (1..sides).map(|b| (0, b)).collect(),
        };
        Self { pairings, rounds: games.div_ceil(2) }
    }

    /// Number of games.
    pub fn games(&self) -> u64 {
        self.rounds * self.pairings.len() as u64 * 2
    }

    /// Who plays whom, as indices of sides; results are from the first one's view.
    pub fn pairings(&self) -> &[(usize, usize)] {
        &self.pairings
    }

    /// The game with this number, which is below [`MatchPlan::games`].
    pub fn fixture(&self, number: u64) -> Fixture {
        let pair = number / 2;
        let count = self.pairings.len() as u64;
        let pairing = (pair % count) as usize;
        let (first, second) = self.pairings[pairing];
        // Colours also alternate from round to round, for matches that are broken off.
        let round = pair / count;
        let (white, black) =
            if (number + round).is_multiple_of(2) { (first, second) } else { (second, first) };
        Fixture { number, pairing, round, white, black }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn every_pairing_has_its_games_with_both_colours() {
        for (tournament, sides, pairings) in [
            (Tournament::RoundRobin, 2, 1),
            (Tournament::RoundRobin, 5, 10),
            (Tournament::Gauntlet, 4, 3),
        ] {
            let plan = MatchPlan::new(tournament, sides, 5);
            assert_eq!(plan.pairings().len(), pairings);
            assert_eq!(plan.games(), pairings as u64 * 6);
            let mut seen = HashMap::new();
            for number in 0..plan.games() {
                let game = plan.fixture(number);
                let (a, b) = plan.pairings()[game.pairing];
                assert!((game.white, game.black) == (a, b) || (game.black, game.white) == (a, b));
                *seen.entry((game.round, game.white, game.black)).or_insert(0) += 1;
                assert!(game.round < 3);
            }
            assert_eq!(seen.len() as u64, plan.games());
            assert!(seen.values().all(|&count| count == 1));
        }
    }

    #[test]
    fn a_pair_has_one_opening() {
        let plan = MatchPlan::new(Tournament::RoundRobin, 3, 8);
        for pair in 0..plan.games() / 2 {
            let [one, two] = [plan.fixture(2 * pair), plan.fixture(2 * pair + 1)];
            assert_eq!((one.round, one.pairing), (two.round, two.pairing));
            assert_eq!((one.white, one.black), (two.black, two.white));
        }
    }
}
