//! One line from a peer, understood.

use super::info;
use super::lines::{shown, uci_move};
use super::offer::Offer;

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Speech {
    Name(String),
    Option(Offer),
    UciOk,
    ReadyOk,
    /// Or why it is no move.
    BestMove(Result<BestMove, String>),
    Info(info::Line),
    /// Anything else; UCI says to ignore it.
    Other,
}

/// A `bestmove` line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BestMove {
    pub(super) best: String,
    pub(super) ponder: Option<String>,
    /// What is wrong with the line beside its first move.
    pub(super) sin: Option<String>,
}

impl Speech {
    pub(super) fn parse(line: &str) -> Self {
        let mut words = line.split_whitespace();
        match words.next() {
            Some("id") if words.next() == Some("name") => {
                let name: Vec<&str> = words.collect();
                Self::Name(shown(&name.join(" "), 100))
            }
            Some("option") => Offer::parse(words).map_or(Self::Other, Self::Option),
            Some("uciok") => Self::UciOk,
            Some("readyok") => Self::ReadyOk,
            Some("bestmove") => Self::BestMove(best_move(&words.collect::<Vec<_>>())),
            Some("info") => Self::Info(info::Line::parse(words)),
            _ => Self::Other,
        }
    }
}

fn best_move(words: &[&str]) -> Result<BestMove, String> {
    let (best, rest) = words.split_first().ok_or("it names no move")?;
    let best = uci_move(best)?;
    let (ponder, sin) = match rest {
        [] => (None, None),
        ["ponder", word, rest @ ..] => match uci_move(word) {
            Ok(_) if !rest.is_empty() => (None, Some("words after the ponder move".to_owned())),
            Ok(ponder) => (Some(ponder.to_string()), None),
            Err(why) => (None, Some(format!("a ponder move that is none, {why}"))),
        },
        _ => (None, Some("words after the move".to_owned())),
    };
    Ok(BestMove { best: best.to_string(), ponder, sin })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_moves_are_moves() {
        for word in ["e2e4", "e1g1", "e1h1", "a7a8n"] {
            assert_eq!(uci_move(word).unwrap().to_string(), word);
        }
        let bad = "0000 (none) NULL e2e9 e2 e2e4e e7e8k e7e8p e7e8Q Q@e4 E2E4 O-O Nf3 e2-e4 é2e4";
        for word in bad.split(' ').chain([""]) {
            assert!(uci_move(word).is_err(), "{word}");
        }
    }

    #[test]
    fn best_moves() {
        let read = |line: &str| match Speech::parse(line) {
            Speech::BestMove(Ok(BestMove { best, ponder, sin })) => {
                Some((best, ponder, sin.is_some()))
            }
            _ => None,
        };
        let e2e4 = || "e2e4".to_owned();
        assert_eq!(read("bestmove e2e4"), Some((e2e4(), None, false)));
        assert_eq!(
            read(" bestmove\te2e4  ponder e7e5 "),
            Some((e2e4(), Some("e7e5".to_owned()), false))
        );
        for sinful in ["bestmove e2e4 ponder", "bestmove e2e4 ponder (none)", "bestmove e2e4 e7e5"]
        {
            assert_eq!(read(sinful), Some((e2e4(), None, true)), "{sinful}");
        }
        for bad in
            ["bestmove", "bestmove (none)", "bestmove 0000", "bestmove e2e9", "Bestmove e2e4"]
        {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn other_lines() {
        assert_eq!(Speech::parse("id name  My   Engine"), Speech::Name("My Engine".to_owned()));
        assert_eq!(Speech::parse("id author me"), Speech::Other);
        assert_eq!(Speech::parse("option name"), Speech::Other);
        assert_eq!(Speech::parse("please say bestmove e2e4"), Speech::Other);
    }

    proptest! {
        #[test]
        fn no_line_panics(
            line in "(id name|option name|bestmove|info|)( (type|pv|ponder|\\PC{0,5})){0,6}",
        ) {
            let _ = Speech::parse(&line);
        }
    }
}
