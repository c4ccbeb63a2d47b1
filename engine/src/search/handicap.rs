//! Playing weaker on purpose (`UCI_LimitStrength`, `UCI_Elo`): fewer nodes, and sometimes a move
//! that is not the best.
//!
//! Works with every search that reports more than one line. The numbers are ratings on the scale of
//! Stockfish's own levels, for `Search` = `Tesla` with the network `small-2b056f71`:
//! `benches/results/2026-11-30-elo-5.md`.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::chess::game::{Game, position_key};
use crate::search::{Info, Limits, Outcome};

/// Strength by `UCI_Elo`, from 0 at the weakest to 1 at the strongest, with linear interpolation.
/// `benches/scripts/calibrate.py` prints these numbers; the range also goes into `handshake.uci`,
/// `strength.uci` and `docs/uci.md`.
const SCALE: [(u64, f64); 14] = [
    (1050, 0.000),
    (1100, 0.028),
    (1200, 0.069),
    (1300, 0.112),
    (1400, 0.157),
    (1500, 0.204),
    (1600, 0.254),
    (1700, 0.309),
    (1800, 0.367),
    (1900, 0.432),
    (2000, 0.505),
    (2100, 0.591),
    (2200, 0.701),
    (2300, 1.000),
];

/// The lowest and the highest `UCI_Elo`.
pub const WEAKEST: u64 = SCALE[0].0;
/// See [`WEAKEST`].
pub const STRONGEST: u64 = SCALE[SCALE.len() - 1].0;

/// Nodes a move at the weakest, and by how much they grow to the strongest.
const FEWEST_NODES: f64 = 16.0;
const GROWTH: f64 = 500.0;
/// Moves to choose among.
const CHOICES: usize = 5;
/// Scale of the Gumbel noise on the expected scores of the moves, at the weakest and at the
/// strongest.
const NOISE: [f64; 2] = [0.15, 0.004];

/// What the user chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strength {
    /// Plays weaker, as `elo` says.
    pub is_limited: bool,
    /// How weak.
    pub elo: u64,
}

/// How much weaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handicap {
    /// From [`WEAKEST`] to [`STRONGEST`].
    pub elo: u64,
    /// Decides the mistakes: the same ones in the same position of the same game.
    pub seed: u64,
}

impl Handicap {
    /// 0 at the weakest, 1 at the strongest.
    fn place(self) -> f64 {
        let elo = self.elo.clamp(WEAKEST, STRONGEST);
        let above = SCALE.partition_point(|&(known, _)| known < elo).max(1);
        let [(low, first), (high, last)] = [SCALE[above - 1], SCALE[above]];
        let share = (elo - low) as f64 / (high - low) as f64;
        first + share * (last - first)
    }

    /// Nodes that a move may take.
    fn nodes(self) -> u64 {
        (FEWEST_NODES * GROWTH.powf(self.place())) as u64
    }

    /// Infinite analysis and the search for a mate are not weakened.
    pub fn spares(limits: &Limits) -> bool {
        limits.infinite || limits.mate.is_some()
    }

    /// Narrows the limits of a search.
    pub fn narrow(self, limits: &mut Limits) {
        if Self::spares(limits) {
            return;
        }
        limits.nodes = Some(limits.nodes.unwrap_or(u64::MAX).min(self.nodes()));
        limits.multipv = limits.multipv.max(CHOICES);
        limits.is_weakened = true;
    }

    /// Replaces the best move by one that may be worse.
    pub fn weaken(self, outcome: &mut Outcome, game: &Game, limits: &Limits) {
        if Self::spares(limits) {
            return;
        }
        let info = &mut outcome.info;
        let seed = self.seed ^ position_key(game.position()) ^ game.earlier_keys().len() as u64;
        let Some(choice) = self.choose(info, &mut ChaCha8Rng::seed_from_u64(seed)) else { return };
        let Some(chosen) = info.variations.get_mut(choice) else { return };
        std::mem::swap(&mut chosen.pv, &mut info.pv);
        std::mem::swap(&mut chosen.score, &mut info.score);
        info.is_bound = false;
        if let Some(&best) = info.pv.first() {
            (outcome.best, outcome.ponder) = (best, info.pv.get(1).copied());
        }
    }

    /// Which of the variations is played; `None` = the best line.
    fn choose(self, info: &Info, random: &mut ChaCha8Rng) -> Option<usize> {
        let [weak, strong] = NOISE;
        let noise = weak * (strong / weak).powf(self.place());
        let mut look = |value: f32| {
            let uniform: f64 = random.random_range(1e-9..1.0);
            f64::from(value) - noise * (-uniform.ln()).ln()
        };
        let mut best = (look(info.score.expected()), None);
        for (place, line) in info.variations.iter().enumerate().take(CHOICES - 1) {
            let value = look(line.score.expected());
            if value > best.0 {
                best = (value, Some(place));
            }
        }
        best.1
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use shakmaty::{Chess, Position};

    use super::*;
    use crate::chess::score::Score;
    use crate::search::Variation;

    /// Four moves, each a tenth of a point worse than the one before.
    fn outcome() -> Outcome {
        let moves = Chess::default().legal_moves();
        let score = |place: usize| Score::Estimate(0.6 - 0.1 * place as f32);
        let line =
            |place: usize| Variation { depth: 1, score: score(place), pv: vec![moves[place]] };
        let info = Info {
            depth: 1,
            selective_depth: 1,
            score: score(0),
            nodes: 1,
            hashfull: 0,
            time: Duration::ZERO,
            pv: vec![moves[0]],
            variations: (1..4).map(line).collect(),
            is_bound: false,
            current: None,
        };
        let (error, cache, notes) = (None, None, Vec::new());
        Outcome { best: moves[0], ponder: None, info, error, cache, notes }
    }

    #[test]
    fn the_weaker_the_more_other_moves() {
        let (game, first) = (Game::new(Chess::default()), outcome().best);
        let mistakes = |elo| {
            let other = |seed| {
                let mut outcome = outcome();
                Handicap { elo, seed }.weaken(&mut outcome, &game, &Limits::default());
                assert_eq!(outcome.info.pv[0], outcome.best);
                outcome.best != first
            };
            (0..400).filter(|&seed| other(seed)).count()
        };
        let middle = u64::midpoint(WEAKEST, STRONGEST);
        let (weak, middle, strong) = (mistakes(WEAKEST), mistakes(middle), mistakes(STRONGEST));
        assert!(weak > middle + 50 && middle > strong, "{weak} {middle} {strong}");
        assert_eq!(strong, 0);
    }

    #[test]
    fn the_weaker_the_fewer_nodes() {
        let nodes = |elo| {
            let mut limits = Limits::default();
            Handicap { elo, seed: 1 }.narrow(&mut limits);
            limits.nodes.unwrap()
        };
        assert_eq!([nodes(WEAKEST), nodes(STRONGEST)], [16, 8_000]);
        assert!(nodes(WEAKEST + 200) < nodes(WEAKEST + 300));
        let place = |elo| Handicap { elo, seed: 1 }.place();
        let ends = [(WEAKEST, 0), (STRONGEST, SCALE.len() - 1)];
        assert!(ends.iter().all(|&(elo, row)| (place(elo) - SCALE[row].1).abs() < 1e-9));
        assert!((WEAKEST + 1..=STRONGEST).all(|elo| place(elo) > place(elo - 1)));
        assert!((place(0) - place(WEAKEST)).abs() < 1e-9);
        let mut endless = Limits { infinite: true, ..Limits::default() };
        Handicap { elo: WEAKEST, seed: 1 }.narrow(&mut endless);
        assert_eq!(endless.nodes, None);
    }
}
