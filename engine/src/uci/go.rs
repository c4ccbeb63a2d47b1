//! Parses `go …` into limits; a `SearchJob` holds them for the session.

use std::iter::Peekable;
use std::str::SplitWhitespace;
use std::time::Duration;

use shakmaty::{Chess, Color, Position};

use crate::chess::notation::parse_move;
use crate::search::{Clock, Limits};

/// What a `go` command asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Go {
    /// When to end.
    pub limits: Limits,
    /// Think on the opponent's time: no limit until `ponderhit`.
    pub ponder: bool,
    /// Count lines of this length instead of searching.
    pub perft: Option<u32>,
    /// What was ignored, in one sentence, where something was.
    pub remark: Option<String>,
}

/// Why nothing is searched: guessing a number could lose a game or never end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{word} needs a number after it, not '{value}'; nothing is searched")]
pub struct NotANumber {
    word: String,
    value: String,
}

/// One side's clock; any part may be missing.
#[derive(Clone, Copy, Debug, Default)]
struct HalfClock {
    time: Option<Duration>,
    increment: Option<Duration>,
}

/// Longer times are as good as none (about 30 years).
const LONGEST_MS: u64 = 1_000_000_000_000;

/// The words that end a list of moves.
const WORDS: [&str; 13] = [
    "wtime",
    "btime",
    "winc",
    "binc",
    "movestogo",
    "movetime",
    "nodes",
    "depth",
    "mate",
    "infinite",
    "ponder",
    "perft",
    "searchmoves",
];

/// Reads what follows `go`, in any order; unknown words are ignored, with a remark.
///
/// # Errors
/// When a number is missing or unreadable.
pub fn parse(text: &str, position: &Chess) -> Result<Go, NotANumber> {
    let mut go = Go::default();
    let (mut white, mut black) = (HalfClock::default(), HalfClock::default());
    let mut moves_to_go = None;
    let mut odd: Vec<&str> = Vec::new();
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let mut number = || number(word, words.next());
        match word {
            "wtime" => white.time = Some(milliseconds(number()?)),
            "btime" => black.time = Some(milliseconds(number()?)),
            "winc" => white.increment = Some(milliseconds(number()?)),
            "binc" => black.increment = Some(milliseconds(number()?)),
            "movestogo" => moves_to_go = Some(small(number()?)).filter(|&moves| moves > 0),
            "movetime" => go.limits.move_time = Some(milliseconds(number()?)),
            "nodes" => go.limits.nodes = Some(number()?.max(1)),
            "depth" => go.limits.depth = Some(small(number()?).max(1)),
            "mate" => go.limits.mate = Some(small(number()?).max(1)),
            "perft" => go.perft = Some(small(number()?)),
            "infinite" => go.limits.infinite = true,
            "ponder" => go.ponder = true,
            "searchmoves" => odd.extend(search_moves(&mut words, position, &mut go.limits)),
            _ => odd.push(word),
        }
    }
    let (us, them) = match position.turn() {
        Color::White => (white, black),
        Color::Black => (black, white),
    };
    go.limits.clock = clock(us, them, moves_to_go);
    let limits = &go.limits;
    let counted = limits.nodes.is_some() || limits.depth.is_some() || limits.mate.is_some();
    let timed = limits.clock.is_some() || limits.move_time.is_some();
    go.limits.infinite |= !(counted || timed || go.ponder);
    if !odd.is_empty() {
        go.remark = Some(format!("ignored in go: {}", odd.join(" ")));
    }
    Ok(go)
}

/// Takes moves up to the next word of `go`; answers with those that cannot be played.
fn search_moves<'a>(
    words: &mut Peekable<SplitWhitespace<'a>>,
    position: &Chess,
    limits: &mut Limits,
) -> Vec<&'a str> {
    let mut illegal = Vec::new();
    while let Some(text) = words.next_if(|word| !WORDS.contains(word)) {
        match parse_move(text, position) {
            Ok(played) => limits.search_moves.push(played),
            Err(_) => illegal.push(text),
        }
    }
    illegal
}

/// Our clock. Where only the opponent's is given, ours is taken to be like it.
fn clock(us: HalfClock, them: HalfClock, moves_to_go: Option<u32>) -> Option<Clock> {
    let given = |half: HalfClock| half.time.is_some() || half.increment.is_some();
    let half = [us, them].into_iter().find(|&half| given(half))?;
    let increment = half.increment.unwrap_or_default();
    // An increment without a time: it is all we know to be there.
    Some(Clock { remaining: half.time.unwrap_or(increment), increment, moves_to_go })
}

/// A number as GUIs send it: negative ones (a clock that ran over) count as 0, fractions are cut.
fn number(word: &str, value: Option<&str>) -> Result<u64, NotANumber> {
    let text = value.unwrap_or("nothing");
    let whole =
        text.parse::<i128>().ok().map(|number| number.clamp(0, i128::from(u64::MAX)) as u64);
    // The conversion saturates, and a NaN is refused.
    let parsed =
        whole.or_else(|| text.parse::<f64>().ok().filter(|x| !x.is_nan()).map(|x| x as u64));
    parsed.ok_or_else(|| NotANumber { word: word.to_owned(), value: text.to_owned() })
}

fn milliseconds(number: u64) -> Duration {
    Duration::from_millis(number.min(LONGEST_MS))
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Go {
        parse(text, &Chess::default()).unwrap()
    }

    #[test]
    fn clocks() {
        let ms = Duration::from_millis;
        let clock = |text| read(text).limits.clock;
        let wanted = Clock { remaining: ms(1000), increment: ms(20), moves_to_go: Some(7) };
        assert_eq!(clock("binc 9 winc 20 movestogo 7 btime 5 wtime 1000"), Some(wanted));
        assert_eq!(clock("wtime -5").map(|clock| clock.remaining), Some(ms(0)));
        assert_eq!(clock("wtime 99.7").map(|clock| clock.remaining), Some(ms(99)));
        assert_eq!(clock("wtime 1e300").map(|clock| clock.remaining), Some(ms(LONGEST_MS)));
        assert_eq!(clock("wtime 340282366920938463463").map(|c| c.remaining), Some(ms(LONGEST_MS)));
        assert_eq!(clock("btime 300").map(|clock| clock.remaining), Some(ms(300)));
        assert_eq!(clock("winc 300").map(|clock| clock.remaining), Some(ms(300)));
        assert_eq!(clock("wtime 10 movestogo 0").and_then(|clock| clock.moves_to_go), None);
        assert_eq!(clock("depth 3"), None);
    }

    #[test]
    fn limits_and_modes() {
        let go = read("nodes 100 depth 5 mate 2 searchmoves e2e4 d2d4 movetime 50");
        assert_eq!(go.limits.search_moves.len(), 2);
        assert_eq!(
            (go.limits.nodes, go.limits.depth, go.limits.mate),
            (Some(100), Some(5), Some(2))
        );
        assert!(!go.limits.infinite && go.remark.is_none());
        assert!(read("").limits.infinite && read("infinite").limits.infinite);
        assert!(read("searchmoves e2e4").limits.infinite);
        assert!(read("ponder wtime 5").ponder && !read("ponder").limits.infinite);
        assert_eq!(read("perft 3").perft, Some(3));
    }

    #[test]
    fn odd_words_are_passed_over_and_numbers_are_needed() {
        let go = read("quickly depth 3 searchmoves e2e5 e2e4 nodes 7 please");
        assert_eq!(go.remark.as_deref(), Some("ignored in go: quickly e2e5 please"));
        assert_eq!(go.limits.nodes, Some(7));
        for text in ["wtime", "wtime soon", "nodes depth 3", "depth x", "movetime NaN"] {
            assert!(parse(text, &Chess::default()).is_err(), "{text}");
        }
    }
}
