//! Counts of a match as its games come in, in any order.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use shakmaty::Color;

use super::ending::Termination;
use super::plan::Plan;
use super::record::GameRecord;
use super::sprt::{Decision, Sprt};
use super::stats::{Pentanomial, Trinomial};

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

/// The counts.
#[derive(Clone, Debug)]
pub struct Tally {
    plan: Plan,
    /// Half points of the pairing's first side, by game number.
    results: BTreeMap<u64, u8>,
    /// By pairing.
    pub pairings: Vec<PairingTally>,
    /// By side.
    pub sides: Vec<SideTally>,
    /// How games ended.
    pub endings: BTreeMap<Termination, u64>,
    /// Plies that the sides played.
    pub plies: u64,
}

impl Tally {
    /// Nothing counted yet.
    pub fn new(plan: Plan, sides: usize) -> Self {
        Self {
            results: BTreeMap::new(),
            pairings: vec![PairingTally::default(); plan.pairings().len()],
            sides: vec![SideTally::default(); sides],
            endings: BTreeMap::new(),
            plies: 0,
            plan,
        }
    }

    /// Games counted.
    pub fn games(&self) -> u64 {
        self.results.len() as u64
    }

    /// The games of the plan that are not counted yet, in order.
    pub fn missing(&self) -> Vec<u64> {
        let counted: BTreeSet<u64> = self.results.keys().copied().collect();
        (0..self.plan.games()).filter(|number| !counted.contains(number)).collect()
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
    pub fn add(&mut self, record: &GameRecord) -> bool {
        let Some(number) = record.number.checked_sub(1).filter(|&n| n < self.plan.games()) else {
            return false;
        };
        let fixture = self.plan.fixture(number);
        let white = match record.ending.result.winner() {
            Some(Color::White) => 2,
            None => 1,
            Some(Color::Black) => 0,
        };
        let first = self.plan.pairings()[fixture.pairing].0;
        let ours: u8 = if fixture.white == first { white } else { 2 - white };
        if self.results.contains_key(&number) {
            return false;
        }
        self.results.insert(number, ours);
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
        self.plies += record.moves.len() as u64;
        for (side, points) in [(fixture.white, white), (fixture.black, 2 - white)] {
            self.sides[side].games += 1;
            self.sides[side].half_points += u64::from(points);
        }
        self.count_moves(record, [fixture.white, fixture.black]);
        if record.ending.termination.is_failure()
            && let Some(winner) = record.ending.result.winner()
        {
            let loser = winner.fold_wb(fixture.black, fixture.white);
            *self.sides[loser].failures.entry(record.ending.termination).or_default() += 1;
        }
        true
    }

    fn count_moves(&mut self, record: &GameRecord, seats: [usize; 2]) {
        let start = usize::from(record.begins_with().is_black());
        for (ply, played) in record.moves.iter().enumerate() {
            let side = &mut self.sides[seats[(start + ply) % 2]];
            side.moves += 1;
            side.nodes += played.nodes.unwrap_or(0);
            if let Some(depth) = played.depth {
                side.depths.0 += u64::from(depth);
                side.depths.1 += 1;
            }
            side.time += Duration::from_micros(played.micros);
        }
    }

    /// What the test says of the pairs in the order of the plan, up to the first that is not
    /// finished: the LLR, the decision, and the number of games it took. Pairs behind a decision
    /// do not count, so that the order in which games happen to end decides nothing.
    pub fn test(&self, sprt: &Sprt) -> (f64, Decision, u64) {
        let mut pairs = Pentanomial::default();
        let mut llr = 0.0;
        for pair in 0..self.plan.games() / 2 {
            let halves = [2 * pair, 2 * pair + 1].map(|number| self.results.get(&number));
            let [Some(one), Some(two)] = halves else { break };
            if let Some(result) = Pentanomial::of_pair(one + two) {
                pairs += result;
            }
            llr = sprt.llr_of_pairs(pairs);
            let decision = sprt.decide(llr);
            if decision != Decision::Continue {
                return (llr, decision, 2 * pair + 2);
            }
        }
        (llr, Decision::Continue, pairs.games())
    }
}
