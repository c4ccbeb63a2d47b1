//! The options a peer offers.

use super::lines::shown;

/// One `option` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Offer {
    /// As the peer spells it.
    pub(super) name: String,
    kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Check,
    /// An absent or unreadable bound is no bound.
    Spin {
        min: Option<i64>,
        max: Option<i64>,
    },
    Combo(Vec<String>),
    Button,
    /// A string, or a type that UCI does not know.
    Text,
}

impl Offer {
    /// Reads what follows the word `option`. `None` when it names no option.
    pub(super) fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let mut fields: Vec<(&str, Vec<&str>)> = Vec::new();
        for word in words {
            let in_name = fields.last().is_some_and(|(key, _)| *key == "name");
            let opens = match word {
                "name" => fields.is_empty(),
                "type" => in_name,
                "default" | "min" | "max" | "var" => !in_name,
                _ => false,
            };
            match fields.last_mut() {
                Some((_, value)) if !opens => value.push(word),
                None if !opens => {}
                _ => fields.push((word, Vec::new())),
            }
        }
        let text = |key: &str| {
            fields.iter().find(|(name, _)| *name == key).map(|(_, value)| value.join(" "))
        };
        let bound = |key: &str| text(key)?.parse().ok();
        let name = text("name").filter(|name| !name.is_empty())?;
        let kind = match text("type")?.as_str() {
            "check" => Kind::Check,
            "spin" => Kind::Spin { min: bound("min"), max: bound("max") },
            "button" => Kind::Button,
            "combo" => {
                let choices = fields.iter().filter(|(key, _)| *key == "var");
                Kind::Combo(choices.map(|(_, value)| value.join(" ")).collect())
            }
            _ => Kind::Text,
        };
        Some(Self { name, kind })
    }

    /// Whether this is the option `name`; UCI names have no case.
    pub(super) fn is(&self, name: &str) -> bool {
        self.name.to_lowercase() == name.trim().to_lowercase()
    }

    /// The `setoption` line for `value`.
    ///
    /// # Errors
    /// A sentence when the value is not allowed.
    pub(super) fn line(&self, value: &str) -> Result<String, String> {
        let value = value.trim();
        if value.chars().any(char::is_control) {
            return Err("the value has control characters; write it on one line".to_owned());
        }
        let value = match &self.kind {
            Kind::Button if value.is_empty() => return Ok(format!("setoption name {}", self.name)),
            Kind::Button => return Err("it is a button and takes no value".to_owned()),
            Kind::Check => match value.to_lowercase().as_str() {
                word @ ("true" | "false") => word.to_owned(),
                _ => return Err(format!("it takes `true` or `false`, not `{value}`")),
            },
            Kind::Spin { min, max } => spin(value, *min, *max)?,
            Kind::Combo(choices) => choices
                .iter()
                .find(|choice| choice.to_lowercase() == value.to_lowercase())
                .cloned()
                .ok_or_else(|| {
                    let choices = shown(&choices.join("`, `"), 600);
                    format!("it takes one of `{choices}`, not `{value}`")
                })?,
            // UCI's word for the empty string.
            Kind::Text if value.is_empty() => "<empty>".to_owned(),
            Kind::Text => value.to_owned(),
        };
        Ok(format!("setoption name {} value {value}", self.name))
    }
}

fn spin(value: &str, min: Option<i64>, max: Option<i64>) -> Result<String, String> {
    let Ok(number) = value.parse::<i64>() else {
        return Err(format!("it takes a whole number, not `{value}`"));
    };
    if min.is_some_and(|min| number < min) || max.is_some_and(|max| number > max) {
        let side = |bound: Option<i64>| bound.map_or("any".to_owned(), |bound| bound.to_string());
        let (min, max) = (side(min), side(max));
        return Err(format!("it takes a number from {min} to {max}, not {number}"));
    }
    Ok(number.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offer(line: &str) -> Offer {
        Offer::parse(line.split_whitespace().skip(1)).unwrap()
    }

    #[test]
    fn checks_numbers() {
        let hash = offer("option name Hash type spin default 16 min 1 max 1024");
        assert_eq!(hash.line("64").unwrap(), "setoption name Hash value 64");
        assert_eq!(hash.line("0").unwrap_err(), "it takes a number from 1 to 1024, not 0");
        assert_eq!(hash.line("1025").unwrap_err(), "it takes a number from 1 to 1024, not 1025");
        assert_eq!(hash.line("big").unwrap_err(), "it takes a whole number, not `big`");
        assert!(offer("option name Seed type spin default 0").line("-5").is_ok());
    }

    #[test]
    fn checks_the_other_types() {
        let ponder = offer("option name Ponder type check default false");
        assert_eq!(ponder.line("True").unwrap(), "setoption name Ponder value true");
        assert!(ponder.line("1").is_err());
        let clear = offer("option name Clear Hash type button");
        assert_eq!(clear.line("").unwrap(), "setoption name Clear Hash");
        assert!(clear.line("now").is_err());
        let style = offer("option name Style type combo default Solid var Solid var Very Risky");
        assert_eq!(style.line("very risky").unwrap(), "setoption name Style value Very Risky");
        assert!(style.line("Risky").unwrap_err().contains("`Solid`, `Very Risky`"));
        let path = offer("option name Syzygy Path type string default <empty>");
        assert_eq!(path.line("/a b").unwrap(), "setoption name Syzygy Path value /a b");
        assert_eq!(path.line("").unwrap(), "setoption name Syzygy Path value <empty>");
        assert!(path.line("a\nquit").is_err());
    }

    #[test]
    fn names_may_hold_the_words_of_the_line() {
        let odd = offer("option name min default var type spin min 3");
        assert!(odd.is("MIN default var"));
        assert!(odd.line("2").is_err());
    }

    #[test]
    fn refuses_what_names_no_option() {
        for line in ["", "name", "name type spin", "type spin", "name Hash", "default 3"] {
            assert_eq!(Offer::parse(line.split_whitespace()), None, "{line}");
        }
    }
}
