//! `UCI_Opponent`: whom we play. It has no effect on play.

use std::fmt;
use std::str::FromStr;

/// What a GUI says of the opponent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opponent {
    /// GM, IM, FM, WGM, WIM, …; `None` = none.
    pub title: Option<String>,
    /// Rating; `None` = unknown.
    pub rating: Option<u32>,
    /// An engine, not a human.
    pub is_computer: bool,
    /// In the GUI's words, perhaps empty.
    pub name: String,
}

/// Why the opponent stays who it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "UCI_Opponent needs a title or none, a rating or none, computer or human, and a name, for \
     example 'GM 2800 human Anna Muzychuk', not '{0}'"
)]
pub struct NotAnOpponent(String);

impl FromStr for Opponent {
    type Err = NotAnOpponent;

    fn from_str(text: &str) -> Result<Self, NotAnOpponent> {
        let mut words = text.split_whitespace();
        let mut next = || words.next().ok_or_else(|| NotAnOpponent(text.to_owned()));
        let given =
            |word: &str| Some(word.to_owned()).filter(|word| !word.eq_ignore_ascii_case("none"));
        let (title, rating, kind) = (given(next()?), given(next()?), next()?);
        let wrong = || NotAnOpponent(text.to_owned());
        let rating = rating.map(|word| word.parse().map_err(|_| wrong())).transpose()?;
        let is_computer = match kind.to_ascii_lowercase().as_str() {
            "computer" => true,
            "human" => false,
            _ => return Err(wrong()),
        };
        Ok(Self { title, rating, is_computer, name: words.collect::<Vec<_>>().join(" ") })
    }
}

impl fmt::Display for Opponent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_computer { "computer" } else { "human" };
        let title = self.title.as_deref().unwrap_or("without a title");
        let name = if self.name.is_empty() { "unnamed" } else { &self.name };
        match self.rating {
            Some(rating) => write!(f, "{name}, {kind}, {title}, rated {rating}"),
            None => write!(f, "{name}, {kind}, {title}, unrated"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_examples_are_understood() {
        let told = |text: &str| text.parse::<Opponent>().map(|opponent| opponent.to_string()).ok();
        let wanted = "Gary Kasparov, human, GM, rated 2800";
        assert_eq!(told("GM 2800 human Gary Kasparov").as_deref(), Some(wanted));
        let wanted = "Shredder, computer, without a title, unrated";
        assert_eq!(told("none none computer Shredder").as_deref(), Some(wanted));
        assert!(told("none 2400 human").is_some_and(|text| text.starts_with("unnamed")));
        for wrong in ["", "GM", "GM 2800", "GM strong human A", "GM 2800 martian A"] {
            assert_eq!(told(wrong), None, "{wrong}");
        }
    }
}
