//! Ending a game by the engines' own scores, with the rules of fastchess (and cutechess, where
//! said).
//!
//! Ask the rules of chess first ([`GameState::outcome`]); adjudication comes after them. A
//! mate score counts as huge. A move without a score counts for nothing and sets the mover's
//! counters back, as a book move does in cutechess.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use shakmaty::{Color, Position};

use super::ending::{Ending, Termination};
use super::state::GameState;
use crate::console::options::shown_as_displayed;
use crate::game::score::Score;

/// Draw when both engines see an even game.
///
/// Text form: `movenumber=40,movecount=8,score=10`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrawRule {
    /// Full moves that must be over, counted as the FEN of the start position counts.
    pub move_number: u32,
    /// Consecutive moves of each side with a score near zero. A capture or a pawn move starts
    /// the count afresh, with itself as the first.
    pub move_count: u32,
    /// Largest absolute score that is near zero, in centipawns.
    pub score_cp: u32,
}

/// Loss when an engine sees its own game lost.
///
/// Text form: `movecount=4,score=600,twosided=true`; `twosided` may be left out and is false then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResignRule {
    /// Consecutive moves with a lost score.
    pub move_count: u32,
    /// A score of minus this or less is lost, in centipawns.
    pub score_cp: u32,
    /// Ask the winner too: its last `move_count` scores must all be won, as in cutechess.
    pub two_sided: bool,
}

/// The rules in force; the default has none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adjudication {
    /// Draws by score.
    #[serde(default)]
    pub draw: Option<DrawRule>,
    /// Losses by score.
    #[serde(default)]
    pub resign: Option<ResignRule>,
    /// Draw after so many moves of each engine; the opening's do not count.
    #[serde(default)]
    pub max_moves: Option<u32>,
}

/// Why a rule's text was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// A part is not `key=value`.
    #[error("\"{part}\" is not of the form key=value; write for example {example}")]
    NotAPair {
        /// The part.
        part: String,
        /// A whole rule.
        example: &'static str,
    },
    /// A key that the rule does not have.
    #[error("\"{key}\" is unknown here; write for example {example}")]
    UnknownKey {
        /// The key.
        key: String,
        /// A whole rule.
        example: &'static str,
    },
    /// A key given twice.
    #[error("\"{0}\" is given twice")]
    Twice(String),
    /// A key left out.
    #[error("\"{key}\" is missing; write for example {example}")]
    Missing {
        /// The key.
        key: &'static str,
        /// A whole rule.
        example: &'static str,
    },
    /// A value that cannot be.
    #[error("{key}={value}: {wanted} is needed")]
    BadValue {
        /// The key.
        key: String,
        /// The value.
        value: String,
        /// What would do.
        wanted: &'static str,
    },
}

/// `key=value` pairs that a rule has not taken yet.
struct Pairs<'a> {
    pairs: Vec<(&'a str, &'a str)>,
    example: &'static str,
}

impl<'a> Pairs<'a> {
    fn split(text: &'a str, example: &'static str) -> Result<Self, RuleError> {
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for part in text.split(',').map(str::trim) {
            let Some((key, value)) = part.split_once('=') else {
                return Err(RuleError::NotAPair { part: part.to_owned(), example });
            };
            if pairs.iter().any(|(earlier, _)| *earlier == key) {
                return Err(RuleError::Twice(key.to_owned()));
            }
            pairs.push((key, value));
        }
        Ok(Self { pairs, example })
    }

    fn take(&mut self, key: &str) -> Option<&'a str> {
        let at = self.pairs.iter().position(|(name, _)| *name == key)?;
        Some(self.pairs.swap_remove(at).1)
    }

    fn number(&mut self, key: &'static str, least: u32) -> Result<u32, RuleError> {
        let example = self.example;
        let value = self.take(key).ok_or(RuleError::Missing { key, example })?;
        value.parse().ok().filter(|&number| number >= least).ok_or_else(|| RuleError::BadValue {
            key: key.to_owned(),
            value: value.to_owned(),
            wanted: if least == 0 { "a whole number from 0" } else { "a whole number from 1" },
        })
    }

    fn flag(&mut self, key: &'static str) -> Result<bool, RuleError> {
        match self.take(key) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(value) => Err(RuleError::BadValue {
                key: key.to_owned(),
                value: value.to_owned(),
                wanted: "true or false",
            }),
        }
    }

    fn finish(self) -> Result<(), RuleError> {
        match self.pairs.first() {
            None => Ok(()),
            Some((key, _)) => {
                Err(RuleError::UnknownKey { key: (*key).to_owned(), example: self.example })
            }
        }
    }
}

impl FromStr for DrawRule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let mut pairs = Pairs::split(text, "movenumber=40,movecount=8,score=10")?;
        let rule = Self {
            move_number: pairs.number("movenumber", 0)?,
            move_count: pairs.number("movecount", 1)?,
            score_cp: pairs.number("score", 0)?,
        };
        pairs.finish().map(|()| rule)
    }
}

impl fmt::Display for ResignRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { move_count, score_cp, two_sided } = self;
        write!(f, "movecount={move_count},score={score_cp},twosided={two_sided}")
    }
}

impl fmt::Display for DrawRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { move_number, move_count, score_cp } = self;
        write!(f, "movenumber={move_number},movecount={move_count},score={score_cp}")
    }
}

shown_as_displayed!(DrawRule, ResignRule);

impl FromStr for ResignRule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let mut pairs = Pairs::split(text, "movecount=4,score=600,twosided=true")?;
        let rule = Self {
            move_count: pairs.number("movecount", 1)?,
            score_cp: pairs.number("score", 1)?,
            two_sided: pairs.flag("twosided")?,
        };
        pairs.finish().map(|()| rule)
    }
}

impl Score {
    /// Centipawns, with mates beyond all of them. `Mate(0)` is being mated.
    fn huge_mates(self) -> i64 {
        match self {
            Self::Cp(cp) => i64::from(cp),
            Self::Mate(moves) if moves > 0 => i64::MAX,
            Self::Mate(_) => -i64::MAX,
        }
    }
}

/// The counters of one game.
#[derive(Clone, Debug)]
pub struct Adjudicator {
    rules: Adjudication,
    /// Moves in a row, of both sides, with a score near zero.
    even: u64,
    /// Moves in a row of White and of Black with a lost score.
    lost: [u32; 2],
    /// The same with a won score.
    won: [u32; 2],
}

impl Adjudicator {
    /// Starts a game under `rules`.
    pub fn new(rules: Adjudication) -> Self {
        Self { rules, even: 0, lost: [0; 2], won: [0; 2] }
    }

    /// Takes the score of the move just played, which `after` already holds, and says whether
    /// the game ends. A loss goes before a draw. Call it once for every move of an engine, for
    /// none of the opening's.
    pub fn observe(&mut self, after: &GameState, score: Option<Score>) -> Option<Ending> {
        let mover = !after.position().turn();
        let score = score.map(Score::huge_mates);
        if let Some(rule) = self.rules.resign
            && self.resigns(rule, mover, score)
        {
            return Some(Ending::loss(mover, Termination::ResignAdjudication));
        }
        if let Some(rule) = self.rules.draw
            && self.agrees_to_draw(rule, after, score)
        {
            return Some(Ending::draw(Termination::DrawAdjudication));
        }
        let most = self.rules.max_moves.map(|moves| u64::from(moves) * 2);
        most.filter(|&plies| after.engine_plies() as u64 >= plies)
            .map(|_| Ending::draw(Termination::MaxPlies))
    }

    fn resigns(&mut self, rule: ResignRule, mover: Color, score: Option<i64>) -> bool {
        let threshold = i64::from(rule.score_cp);
        let (us, them) = mover.fold_wb((0, 1), (1, 0));
        self.lost[us] = longer(self.lost[us], score.is_some_and(|score| score <= -threshold));
        self.won[us] = longer(self.won[us], score.is_some_and(|score| score >= threshold));
        self.lost[us] >= rule.move_count && (!rule.two_sided || self.won[them] >= rule.move_count)
    }

    fn agrees_to_draw(&mut self, rule: DrawRule, after: &GameState, score: Option<i64>) -> bool {
        if after.position().halfmoves() == 0 {
            self.even = 0;
        }
        let near_zero = |score: i64| score.unsigned_abs() <= u64::from(rule.score_cp);
        self.even = if score.is_some_and(near_zero) { self.even + 1 } else { 0 };
        after.position().fullmoves().get() > rule.move_number
            && self.even >= u64::from(rule.move_count) * 2
    }
}

/// The length of a run after one more move.
fn longer(run: u32, goes_on: bool) -> u32 {
    if goes_on { run.saturating_add(1) } else { 0 }
}

#[cfg(test)]
mod tests;
