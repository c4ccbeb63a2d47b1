//! Ending a game by the engines' own scores, with the rules of fastchess (and cutechess, where
//! said).
//!
//! Ask the rules of chess first ([`GameState::outcome`]); adjudication comes after them. A
//! mate score counts as huge. A move without a score counts for nothing and sets the mover's
//! counters back, as a book move does in cutechess.

use std::fmt;
use std::str::FromStr;

use anyhow::{Result, bail};
use serde::{Deserialize, Serialize};
use shakmaty::{Color, Position};

use super::ending::{Ending, Termination};
use super::state::GameState;
use crate::console::options::shown_as_displayed;
use crate::console::pairs::from_pairs;
use crate::game::score::UciScore;

/// Draw when both engines see an even game.
///
/// Text form: `movenumber=40,movecount=8,score=10`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DrawRule {
    /// Full moves that must be over, counted as the FEN of the start position counts.
    #[serde(alias = "movenumber")]
    pub move_number: u32,
    /// Consecutive moves of each side with a score near zero. A capture or a pawn move starts
    /// the count afresh, with itself as the first.
    #[serde(alias = "movecount")]
    pub move_count: u32,
    /// Largest absolute score that is near zero, in centipawns.
    #[serde(alias = "score")]
    pub score_cp: u32,
}

/// Loss when an engine sees its own game lost.
///
/// Text form: `movecount=4,score=600,twosided=true`; `twosided` may be left out and is false then.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResignRule {
    /// Consecutive moves with a lost score.
    #[serde(alias = "movecount")]
    pub move_count: u32,
    /// A score of minus this or less is lost, in centipawns.
    #[serde(alias = "score")]
    pub score_cp: u32,
    /// Ask the winner too: its last `move_count` scores must all be won, as in cutechess.
    #[serde(default, alias = "twosided")]
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
    /// Draw after this many moves of each engine; the opening's do not count.
    #[serde(default)]
    pub max_moves: Option<u32>,
}

impl Adjudication {
    /// Refuses rules that would end every game at once.
    ///
    /// # Errors
    /// A sentence that names the number.
    pub fn check(&self) -> Result<()> {
        let numbers = [
            ("draw's movecount", self.draw.map(|rule| rule.move_count)),
            ("resign's movecount", self.resign.map(|rule| rule.move_count)),
            ("resign's score", self.resign.map(|rule| rule.score_cp)),
            ("max_moves", self.max_moves),
        ];
        if let Some((name, _)) = numbers.iter().find(|(_, number)| *number == Some(0)) {
            bail!("{name} is 0, which would end every game at once; make it 1 or more");
        }
        Ok(())
    }
}

impl FromStr for DrawRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rule = from_pairs(text, "movenumber=40,movecount=8,score=10");
        rule.map_err(|error| with_typed_keys(&error))
    }
}

impl FromStr for ResignRule {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rule = from_pairs(text, "movecount=4,score=600,twosided=true");
        rule.map_err(|error| with_typed_keys(&error))
    }
}

/// A refusal that calls a missing key by the name that the command line uses, as fastchess does.
fn with_typed_keys(refusal: &str) -> String {
    [("move_number", "movenumber"), ("move_count", "movecount"), ("score_cp", "score")].iter().fold(
        refusal.to_owned(),
        |text, (field, key)| {
            text.replace(&format!("missing field `{field}`"), &format!("missing field `{key}`"))
        },
    )
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

impl UciScore {
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
    pub fn observe(&mut self, after: &GameState, score: Option<UciScore>) -> Option<Ending> {
        let mover = !after.position().turn();
        let score = score.map(UciScore::huge_mates);
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
