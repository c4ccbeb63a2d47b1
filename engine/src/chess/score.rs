//! Scores as every search reports them.

use tesla_nn::evaluator::{centipawns_from_score, score_from_centipawns};

/// Proofs of so many plies and more come from endgame tables: won or lost for certain, the mate's
/// distance unknown. What is above it counts the plies to the table's position, or there to the
/// next capture or pawn move.
pub const TABLE_PLIES: u16 = 10_000;

/// How a table's win is reported, in centipawns, less the plies above [`TABLE_PLIES`].
const TABLE_CENTIPAWNS: u16 = 20_000;

/// What a position is worth to its side to move. Proofs are kept apart from estimates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Score {
    /// An expected score (win + half a draw) in `[0, 1]`.
    Estimate(f32),
    /// An advantage in centipawns, as a search that counts pieces finds it.
    Centipawns(i32),
    /// The side to move mates in this many plies (odd, 1 = mates with this move).
    Win(u16),
    /// The side to move is mated in this many plies (even, 0 = is mated now).
    Loss(u16),
    /// A proven draw.
    Draw,
}

impl Score {
    /// The expected score in `[0, 1]`; a proof counts as 1, 0 or ½.
    pub fn expected(self) -> f32 {
        match self {
            Self::Estimate(value) => value,
            Self::Centipawns(centipawns) => score_from_centipawns(centipawns as f32),
            Self::Win(_) => 1.0,
            Self::Loss(_) => 0.0,
            Self::Draw => 0.5,
        }
    }

    /// Orders scores of one side, the better one is higher: the faster mate, the slower loss.
    pub fn rank(self) -> (u8, u32) {
        match self {
            Self::Win(plies) => (2, u32::MAX - u32::from(plies)),
            Self::Loss(plies) => (0, u32::from(plies)),
            // Numbers that are not negative have the order of their bits.
            Self::Estimate(_) | Self::Centipawns(_) | Self::Draw => (1, self.expected().to_bits()),
        }
    }

    /// The score of the move that leads here, for the side that makes it.
    #[must_use]
    pub fn before_move(self) -> Self {
        match self {
            Self::Estimate(value) => Self::Estimate(1.0 - value),
            Self::Centipawns(centipawns) => Self::Centipawns(-centipawns),
            Self::Win(plies) => Self::Loss(plies + 1),
            Self::Loss(plies) => Self::Win(plies + 1),
            Self::Draw => Self::Draw,
        }
    }

    /// Text behind `score` in an `info` line: `cp 31`, `mate 3`, `mate -2`; a table's win is
    /// `cp 20000` and less.
    pub fn uci(self) -> String {
        let far = |plies: u16| TABLE_CENTIPAWNS.saturating_sub(plies - TABLE_PLIES);
        match self {
            Self::Win(plies) if plies >= TABLE_PLIES => format!("cp {}", far(plies)),
            Self::Loss(plies) if plies >= TABLE_PLIES => format!("cp -{}", far(plies)),
            Self::Estimate(value) => format!("cp {}", centipawns_from_score(value).round() as i32),
            Self::Centipawns(centipawns) => format!("cp {centipawns}"),
            Self::Win(plies) => format!("mate {}", plies.div_ceil(2)),
            Self::Loss(plies) => format!("mate -{}", plies.div_ceil(2)),
            Self::Draw => "cp 0".to_owned(),
        }
    }
}

/// What is proven of a position, for its side to move.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing yet.
    #[default]
    Open,
    /// It mates in this many plies.
    Win(u16),
    /// It is mated in this many plies.
    Loss(u16),
    /// A draw.
    Draw,
}

#[cfg(test)]
mod tests {
    use super::{Score, TABLE_PLIES};

    #[test]
    fn ranks_mates_around_estimates() {
        let falling = [
            Score::Win(1),
            Score::Win(5),
            Score::Estimate(1.0),
            Score::Centipawns(30),
            Score::Draw,
            Score::Estimate(0.0),
            Score::Loss(6),
            Score::Loss(0),
        ];
        assert!(falling.is_sorted_by(|better, worse| better.rank() > worse.rank()));
    }

    #[test]
    fn speaks_uci() {
        assert_eq!(Score::Win(1).uci(), "mate 1");
        assert_eq!(Score::Win(3).uci(), "mate 2");
        assert_eq!(Score::Loss(2).uci(), "mate -1");
        assert_eq!(Score::Loss(0).uci(), "mate -0");
        assert_eq!(Score::Win(TABLE_PLIES + 3).uci(), "cp 19997");
        assert_eq!(Score::Loss(TABLE_PLIES).uci(), "cp -20000");
        assert_eq!(Score::Draw.uci(), "cp 0");
        assert_eq!(Score::Estimate(0.528_504).uci(), "cp 31");
        assert_eq!(Score::Centipawns(-2_700).uci(), "cp -2700");
        assert_eq!(Score::Centipawns(-2_700).before_move(), Score::Centipawns(2_700));
        assert!((Score::Centipawns(31).expected() - 0.528_504).abs() < 1e-5);
    }
}
