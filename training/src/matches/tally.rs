//! Counts of a match as its games come in, in any order.

use std::collections::BTreeMap;
use std::time::Duration;

use super::plan::MatchPlan;
use super::record::MatchGame;
use crate::game::ending::Termination;
use crate::statistics::elo::{Pentanomial, Trinomial};
use crate::statistics::sprt::{Decision, Sprt};

/// What one side did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SideTally {
    /// Games that counted.
    pub games: u64,
    /// Half points in them.
    pub half_points: u64,
    /// Moves made.
    pub moves: u64,
    /// Evaluations or nodes in them.
    pub nodes: u64,
    /// Sum of the depths that were told, and how many moves told one.
    pub depths: (u64, u64),
    /// Time used.
    pub time: Duration,
    /// Breaches of the protocol that were tolerated.
    pub breaches: u64,
    /// Games lost by anything but chess.
    pub failures: BTreeMap<Termination, u64>,
}

impl SideTally {
    /// Evaluations or nodes per move.
    pub fn nodes_per_move(&self) -> f64 {
        self.nodes as f64 / self.moves.max(1) as f64
    }

    /// Mean depth of the moves that told one.
    pub fn mean_depth(&self) -> f64 {
        self.depths.0 as f64 / self.depths.1.max(1) as f64
    }

    /// Evaluations or nodes per second of its own time; `None` where no time is known.
    pub fn speed(&self) -> Option<f64> {
        (!self.time.is_zero()).then(|| self.nodes as f64 / self.time.as_secs_f64())
    }
}

/// Results of one pairing, from its first side's view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PairingTally {
    /// All games.
    pub games: Trinomial,
    /// Pairs of which both games are finished.
    pub pairs: Pentanomial,
}

/// A sequential test as the match goes on. It takes the pairs in the order of the plan, up to the
/// first that is not finished, so that the order in which games happen to end decides nothing;
/// pairs behind the decision do not count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// The test.
    pub sprt: Sprt,
    /// Log-likelihood ratio of the pairs taken.
    pub llr: f64,
    /// What it says so far.
    pub decision: Decision,
    pairs: Pentanomial,
}

impl Trial {
    /// Games of the pairs taken.
    pub fn games(&self) -> u64 {
        self.pairs.games()
    }

    fn advance(&mut self, results: &BTreeMap<u64, u8>) {
        while self.decision == Decision::Continue {
            let next = self.pairs.games();
            let halves = [next, next + 1].map(|number| results.get(&number));
            let [Some(one), Some(two)] = halves else { return };
            let Some(pair) = Pentanomial::of_pair(one + two) else { return };
            self.pairs += pair;
            self.llr = self.sprt.llr_of_pairs(self.pairs);
            self.decision = self.sprt.decide(self.llr);
        }
    }
}

/// The counts.
#[derive(Clone, Debug)]
pub struct Tally {
    plan: MatchPlan,
    /// The sequential test, if there is one.
    pub trial: Option<Trial>,
    /// Half points of the pairing's first side, by game number.
    results: BTreeMap<u64, u8>,
    /// By pairing.
    pub pairings: Vec<PairingTally>,
    /// By side.
    pub sides: Vec<SideTally>,
    /// How games ended.
    pub endings: BTreeMap<Termination, u64>,
}

impl Tally {
    /// Nothing counted yet.
    pub fn new(plan: MatchPlan, sides: usize, sprt: Option<Sprt>) -> Self {
        let (llr, decision, pairs) = (0.0, Decision::Continue, Pentanomial::default());
        Self {
            trial: sprt.map(|sprt| Trial { sprt, llr, decision, pairs }),
            results: BTreeMap::new(),
            pairings: vec![PairingTally::default(); plan.pairings().len()],
            sides: vec![SideTally::default(); sides],
            endings: BTreeMap::new(),
            plan,
        }
    }

    /// Games counted.
    pub fn games(&self) -> u64 {
        self.results.len() as u64
    }

    /// Plies that the sides played.
    pub fn plies(&self) -> u64 {
        self.sides.iter().map(|side| side.moves).sum()
    }

    /// Whether nothing is left to play: all games are counted, or the test has decided.
    pub fn is_over(&self) -> bool {
        self.games() >= self.plan.games()
            || self.trial.is_some_and(|trial| trial.decision != Decision::Continue)
    }

    /// The games of the plan that are not counted yet, in order.
    pub fn missing(&self) -> Vec<u64> {
        (0..self.plan.games()).filter(|number| !self.results.contains_key(number)).collect()
    }

    /// The games of a pairing whose partner is not finished.
    pub fn unpaired(&self, pairing: usize) -> Trinomial {
        let mut alone = Trinomial::default();
        for (&number, &ours) in &self.results {
            if self.plan.fixture(number).pairing == pairing
                && !self.results.contains_key(&(number ^ 1))
                && let Some(game) = Trinomial::of_game(ours)
            {
                alone += game;
            }
        }
        alone
    }

    /// Counts a game. `false` = it is counted already, or there is no such game.
    pub fn add(&mut self, record: &MatchGame) -> bool {
        let Some(number) = record.number.checked_sub(1).filter(|&n| n < self.plan.games()) else {
            return false;
        };
        let fixture = self.plan.fixture(number);
        let white = record.ending.result.white_half_points();
        let first = self.plan.pairings()[fixture.pairing].0;
        let ours: u8 = if fixture.white == first { white } else { 2 - white };
        if self.results.contains_key(&number) {
            return false;
        }
        self.results.insert(number, ours);
        if let Some(trial) = &mut self.trial {
            trial.advance(&self.results);
        }
        let pairing = &mut self.pairings[fixture.pairing];
        if let Some(game) = Trinomial::of_game(ours) {
            pairing.games += game;
        }
        if let Some(other) = self.results.get(&(number ^ 1))
            && let Some(pair) = Pentanomial::of_pair(ours + other)
        {
            pairing.pairs += pair;
        }
        *self.endings.entry(record.ending.termination).or_default() += 1;
        for (side, points) in [(fixture.white, white), (fixture.black, 2 - white)] {
            self.sides[side].games += 1;
            self.sides[side].half_points += u64::from(points);
        }
        self.count_moves(record, [fixture.white, fixture.black]);
        self.sides[fixture.white].breaches += record.white_breaches.count;
        self.sides[fixture.black].breaches += record.black_breaches.count;
        if record.ending.termination.is_failure()
            && let Some(winner) = record.ending.result.winner()
        {
            let loser = winner.fold_wb(fixture.black, fixture.white);
            *self.sides[loser].failures.entry(record.ending.termination).or_default() += 1;
        }
        true
    }

    fn count_moves(&mut self, record: &MatchGame, seats: [usize; 2]) {
        let start = usize::from(record.begins_with().is_black());
        for (ply, played) in record.moves.iter().enumerate() {
            let side = &mut self.sides[seats[(start + ply) % 2]];
            side.moves += 1;
            // An engine may say anything.
            side.nodes = side.nodes.saturating_add(played.nodes.unwrap_or(0));
            if let Some(depth) = played.depth {
                side.depths.0 += u64::from(depth);
                side.depths.1 += 1;
            }
            side.time += Duration::from_micros(played.micros);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::Tournament;
    use super::super::record::Breaches;
    use super::super::record::MoveRecord;
    use super::*;
    use crate::game::ending::{Ending, GameResult};
    use crate::game::openings::Opening;
    use crate::game::state::start_fen;
    use crate::statistics::sprt::SprtModel;

    const SIDES: [&str; 3] = ["a", "b", "c"];

    /// A game of the plan with this result and one move of White's, which took a second.
    fn record(
        plan: &MatchPlan,
        number: u64,
        result: GameResult,
        termination: Termination,
    ) -> MatchGame {
        let fixture = plan.fixture(number);
        let played = MoveRecord {
            uci: "e2e4".to_owned(),
            score: None,
            depth: Some(3),
            nodes: Some(500),
            micros: 1_000_000,
        };
        MatchGame {
            number: number + 1,
            round: String::new(),
            white: SIDES[fixture.white].to_owned(),
            black: SIDES[fixture.black].to_owned(),
            opening: Opening { fen: start_fen(), moves: Vec::new(), chess960: false, name: None },
            moves: vec![played],
            ending: Ending { result, termination },
            detail: None,
            white_breaches: Breaches::default(),
            black_breaches: Breaches::default(),
            transcript: None,
        }
    }

    #[test]
    fn points_go_to_the_side_whatever_its_colour() {
        let plan = MatchPlan::new(Tournament::RoundRobin, 3, 2);
        let mut tally = Tally::new(plan.clone(), 3, None);
        // White wins every game but the first, which a loses on time.
        for number in 0..6 {
            let white_is_a = plan.fixture(number).white == 0;
            let (result, how) = match (number, white_is_a) {
                (0, true) => (GameResult::BlackWins, Termination::TimeForfeit),
                (0, false) => (GameResult::WhiteWins, Termination::TimeForfeit),
                _ => (GameResult::WhiteWins, Termination::Checkmate),
            };
            let game = record(&plan, number, result, how);
            assert!(tally.add(&game) && !tally.add(&game), "counted twice");
        }
        assert!(tally.is_over() && tally.missing().is_empty());
        // a lost both to b; the other pairs are split.
        let penta = |pairing: usize| tally.pairings[pairing].pairs.pairs;
        let first = if plan.fixture(1).white == 0 { [0, 0, 1, 0, 0] } else { [1, 0, 0, 0, 0] };
        assert_eq!(penta(0), first);
        assert_eq!((penta(1), penta(2)), ([0, 0, 1, 0, 0], [0, 0, 1, 0, 0]));
        assert_eq!(tally.sides.iter().map(|side| side.half_points).sum::<u64>(), 12);
        assert_eq!(tally.sides[0].failures.get(&Termination::TimeForfeit), Some(&1));
        assert!(tally.sides[1..].iter().all(|side| side.failures.is_empty()));
        for side in &tally.sides {
            assert_eq!((side.games, side.moves, side.nodes), (4, 2, 1000), "White twice");
            assert_eq!(side.speed(), Some(500.0));
        }
    }

    #[test]
    fn games_without_a_partner_are_known() {
        let plan = MatchPlan::new(Tournament::RoundRobin, 2, 4);
        let mut tally = Tally::new(plan.clone(), 2, None);
        for number in [0, 3] {
            tally.add(&record(&plan, number, GameResult::Draw, Termination::Stalemate));
        }
        assert_eq!(tally.missing(), [1, 2]);
        assert_eq!((tally.unpaired(0).draws, tally.pairings[0].pairs.total()), (2, 0));
        assert!(!tally.add(&record(&plan, 4, GameResult::Draw, Termination::Stalemate)));
    }

    #[test]
    fn a_trial_takes_pairs_in_order_and_stops_at_its_decision() {
        let plan = MatchPlan::new(Tournament::RoundRobin, 2, 400);
        let sprt =
            Sprt { elo0: 0.0, elo1: 50.0, alpha: 0.05, beta: 0.05, model: SprtModel::Logistic };
        // The first side wins three pairs of four and draws the fourth.
        let game = |number: u64| {
            let wins = number / 2 % 4 != 3;
            let result = match (wins, plan.fixture(number).white) {
                (false, _) => GameResult::Draw,
                (true, 0) => GameResult::WhiteWins,
                (true, _) => GameResult::BlackWins,
            };
            record(&plan, number, result, Termination::Checkmate)
        };
        let mut forward = Tally::new(plan.clone(), 2, Some(sprt));
        let mut backward = forward.clone();
        for number in 0..100 {
            forward.add(&game(number));
            backward.add(&game(99 - number));
            assert!(number == 99 || backward.trial.unwrap().games() == 0);
        }
        let trial = forward.trial.unwrap();
        assert_eq!(trial.decision, Decision::AcceptH1);
        assert!(trial.games() < 100 && trial.llr >= sprt.bounds().1);
        assert_eq!(backward.trial, forward.trial);
    }
}
