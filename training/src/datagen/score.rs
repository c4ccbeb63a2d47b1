//! Scores as files hold them: centipawns for the side to move, or ±(32000 − n) for mate in n moves.

use crate::game::score::UciScore;
use crate::labelled::MATE_CENTIPAWNS;

/// Score of a mate in no moves.
const MATE: i32 = 32_000;

/// Longest mate that the format tells from a score in centipawns, moves.
const LONGEST_MATE: i32 = MATE - MATE_CENTIPAWNS as i32 - 1;

/// A score as files hold it.
pub fn pack(score: UciScore) -> i16 {
    let most = i32::from(MATE_CENTIPAWNS);
    let packed = match score {
        UciScore::Cp(centipawns) => centipawns.clamp(-most, most),
        UciScore::Mate(moves) if moves > 0 => MATE - moves.min(LONGEST_MATE),
        UciScore::Mate(moves) => moves.max(-LONGEST_MATE).abs() - MATE,
    };
    packed as i16
}

/// A score that a file holds.
pub fn unpack(packed: i16) -> UciScore {
    match i32::from(packed) {
        score if packed > MATE_CENTIPAWNS => UciScore::Mate(MATE - score),
        score if packed < -MATE_CENTIPAWNS => UciScore::Mate(-MATE - score),
        score => UciScore::Cp(score),
    }
}

/// A score for people: `+0.35`, `mate in 3`, `mated in 2`.
pub fn words(packed: i16) -> String {
    match unpack(packed) {
        UciScore::Cp(centipawns) => format!("{:+.2}", f64::from(centipawns) / 100.0),
        UciScore::Mate(moves) if packed > 0 => format!("mate in {moves}"),
        UciScore::Mate(moves) => format!("mated in {}", -moves),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_round_trip_within_the_format() {
        for score in [
            UciScore::Cp(0),
            UciScore::Cp(-31_000),
            UciScore::Cp(31_000),
            UciScore::Mate(1),
            UciScore::Mate(999),
            UciScore::Mate(-1),
            UciScore::Mate(-999),
            UciScore::Mate(0),
        ] {
            assert_eq!(unpack(pack(score)), score);
        }
        assert_eq!(pack(UciScore::Mate(3)), 31_997);
        assert_eq!(pack(UciScore::Mate(-2)), -31_998);
        assert_eq!(pack(UciScore::Cp(i32::MIN)), -31_000);
        assert_eq!(unpack(pack(UciScore::Mate(i32::MAX))), UciScore::Mate(999));
        assert_eq!(unpack(pack(UciScore::Mate(i32::MIN))), UciScore::Mate(-999));
    }

    #[test]
    fn scores_are_said_in_words() {
        assert_eq!(words(35), "+0.35");
        assert_eq!(words(-120), "-1.20");
        assert_eq!(words(31_997), "mate in 3");
        assert_eq!(words(-31_998), "mated in 2");
    }
}
