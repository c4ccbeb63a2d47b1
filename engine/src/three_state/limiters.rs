//! The four rate limiters of seed 000, Part 4, and the depth that they allow together.

use std::fmt;

/// Each part in tenths; the bands are the seed's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Limiters {
    /// Time for this move.
    pub(super) economic: u32,
    /// Whether the position is worth it: the nearer to equal, the more.
    pub(super) objective: u32,
    /// Positions searched in this game so far, of a budget.
    pub(super) explored: u32,
    /// Number of legal moves.
    pub(super) topology: u32,
}

/// Positions that a game may cost.
pub(super) const POSITION_BUDGET: u64 = 1_000_000;

impl Limiters {
    /// From the seconds planned for the move (`None` without a clock: there is plenty), its quick
    /// evaluation in thousandths of a pawn, the positions searched in this game, and the number of
    /// legal moves.
    pub(super) fn new(seconds: Option<f64>, value: i32, explored: u64, moves: usize) -> Self {
        Self {
            economic: match seconds.unwrap_or(f64::INFINITY) {
                time if time > 30.0 => 10,
                time if time > 10.0 => 6,
                _ => 2,
            },
            objective: match value.unsigned_abs() {
                0..500 => 10,
                500..1_500 => 6,
                _ => 2,
            },
            explored: match explored {
                few if few < POSITION_BUDGET / 2 => 10,
                some if some < POSITION_BUDGET / 10 * 9 => 5,
                _ => 1,
            },
            topology: match moves {
                41.. => 10,
                21..=40 => 6,
                _ => 3,
            },
        }
    }

    /// R, in hundredths: the parts with their weights 0.3, 0.3, 0.2 and 0.2.
    pub(super) fn rate(self) -> u32 {
        3 * self.economic + 3 * self.objective + 2 * self.explored + 2 * self.topology
    }

    /// The depth in plies that R allows.
    pub(super) fn depth(self) -> u32 {
        match self.rate() {
            71.. => 6,
            41..=70 => 3,
            _ => 1,
        }
    }
}

impl fmt::Display for Limiters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tenths = |part: u32| f64::from(part) / 10.0;
        write!(
            f,
            "R {:.2} economic {:.1} objective {:.1} explored {:.1} topology {:.1}",
            f64::from(self.rate()) / 100.0,
            tenths(self.economic),
            tenths(self.objective),
            tenths(self.explored),
            tenths(self.topology),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_are_the_seeds() {
        let economic = |seconds| Limiters::new(seconds, 0, 0, 30).economic;
        assert_eq!([None, Some(30.1), Some(30.0), Some(10.0)].map(economic), [10, 10, 6, 2]);
        let objective = |value| Limiters::new(None, value, 0, 30).objective;
        assert_eq!([0, -499, 500, 1_499, -1_500].map(objective), [10, 10, 6, 6, 2]);
        let explored = |count| Limiters::new(None, 0, count, 30).explored;
        assert_eq!([0, 499_999, 500_000, 899_999, 900_000].map(explored), [10, 10, 5, 5, 1]);
        let topology = |moves| Limiters::new(None, 0, 0, moves).topology;
        assert_eq!([1, 20, 21, 40, 41].map(topology), [3, 3, 6, 6, 10]);
    }

    #[test]
    fn rates_become_depths() {
        // Plenty of time, near equal, nothing searched yet, few moves: 0.3 + 0.3 + 0.2 + 0.06.
        let most = Limiters::new(None, 0, 0, 10);
        assert_eq!((most.rate(), most.depth()), (86, 6));
        // 0.7 and 0.4 themselves are not above 0.7 and 0.4.
        let part = |economic, objective, explored, topology| Limiters {
            economic,
            objective,
            explored,
            topology,
        };
        assert_eq!((part(6, 10, 5, 6).rate(), part(6, 10, 5, 6).depth()), (70, 3));
        assert_eq!((part(2, 2, 10, 4).rate(), part(2, 2, 10, 4).depth()), (40, 1));
        assert_eq!((part(2, 10, 10, 6).rate(), part(2, 10, 10, 6).depth()), (68, 3));
        let text = part(2, 10, 10, 6).to_string();
        assert_eq!(text, "R 0.68 economic 0.2 objective 1.0 explored 1.0 topology 0.6");
    }
}
