//! What a move lost, and what that is called.

use std::fmt;

use shakmaty::Color;

use super::Assessment;

/// Losses from which a move is an inaccuracy, a mistake and a blunder, points: Lichess's 0.1, 0.2
/// and 0.3 of its winning chances, which go from -1 to 1.
const THRESHOLDS: [f32; 3] = [5.0, 10.0, 15.0];

/// What a move lost of the expected score, points.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Loss(pub f32);

/// What a loss is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judgement {
    /// From 5 points on, `?!`.
    Inaccuracy,
    /// From 10 points on, `?`.
    Mistake,
    /// From 15 points on, `??`.
    Blunder,
}

/// All moves of a game, by side: White's first.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    sides: [Side; 2],
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Side {
    moves: u32,
    lost: f32,
    judged: [u32; 3],
}

impl Loss {
    /// Of the move between two positions: each value is for its side to move. A position that looks
    /// better than the move before it promised has lost nothing.
    pub fn of(before: Assessment, after: Assessment) -> Self {
        Self((before.value - (100.0 - after.value)).max(0.0))
    }
}

impl Judgement {
    /// What this loss is called; small ones have no name.
    pub fn of(loss: Loss) -> Option<Self> {
        let names = [Self::Inaccuracy, Self::Mistake, Self::Blunder];
        let mut from_the_worst = THRESHOLDS.iter().zip(names).rev();
        from_the_worst.find(|(least, _)| loss.0 >= **least).map(|(_, name)| name)
    }

    /// As people write it behind the move.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Inaccuracy => "?!",
            Self::Mistake => "?",
            Self::Blunder => "??",
        }
    }

    /// Its number among PGN's annotation glyphs.
    pub fn nag(self) -> u8 {
        match self {
            Self::Inaccuracy => 6,
            Self::Mistake => 2,
            Self::Blunder => 4,
        }
    }
}

impl Summary {
    /// Adds a move of this side.
    pub fn add(&mut self, mover: Color, loss: Loss) {
        let side = &mut self.sides[usize::from(mover.is_black())];
        side.moves += 1;
        side.lost += loss.0;
        if let Some(judgement) = Judgement::of(loss) {
            side.judged[judgement as usize] += 1;
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "side   moves  points lost a move  inaccuracies  mistakes  blunders")?;
        for (name, side) in ["White", "Black"].into_iter().zip(&self.sides) {
            let average = side.lost / side.moves.max(1) as f32;
            let [inaccuracies, mistakes, blunders] = side.judged;
            write!(
                f,
                "\n{name:<5}  {:>5}  {average:>18.1}  {inaccuracies:>12}  {mistakes:>8}  \
                 {blunders:>8}",
                side.moves
            )?;
        }
        Ok(())
    }
}
