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
    /// What was ignored, in sentences, where something was.
    pub remark: Option<String>,
}

/// Words of a `go` on their way, and what is wrong with them.
#[derive(Debug)]
struct Words<'a> {
    left: Peekable<SplitWhitespace<'a>>,
    odd: Vec<&'a str>,
    /// Sentences on numbers that are missing.
    faults: Vec<String>,
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

/// Reads what follows `go`, in any order. Unknown words, and those whose number is missing, are
/// ignored with a remark: a GUI waits for a `bestmove` whatever it has sent. Where no limit is left
/// then, one evaluation is.
pub fn parse(text: &str, position: &Chess) -> Go {
    let mut go = Go::default();
    let (mut white, mut black) = (HalfClock::default(), HalfClock::default());
    let mut moves_to_go = None;
    let left = text.split_whitespace().peekable();
    let mut words = Words { left, odd: Vec::new(), faults: Vec::new() };
    while let Some(word) = words.left.next() {
        let mut number = || words.number(word);
        let limits = &mut go.limits;
        match word {
            "wtime" => white.time = number().map(milliseconds),
            "btime" => black.time = number().map(milliseconds),
            "winc" => white.increment = number().map(milliseconds),
            "binc" => black.increment = number().map(milliseconds),
            "movestogo" => moves_to_go = number().map(small).filter(|&moves| moves > 0),
            "movetime" => limits.move_time = number().map(milliseconds),
            "nodes" => limits.nodes = words.positive(word),
            "depth" => limits.depth = words.positive(word).map(small),
            "mate" => limits.mate = words.positive(word).map(small),
            "perft" => go.perft = number().map(small),
            "infinite" => limits.infinite = true,
            "ponder" => go.ponder = true,
            "searchmoves" => words.search_moves(position, limits),
            _ => words.odd.push(word),
        }
    }
    let (us, them) = match position.turn() {
        Color::White => (white, black),
        Color::Black => (black, white),
    };
    let limits = &mut go.limits;
    limits.clock = clock(us, them, moves_to_go);
    let counted = limits.nodes.is_some() || limits.depth.is_some() || limits.mate.is_some();
    // Beside another limit, zeros are from a GUI that sends every field.
    let is_limited = counted || limits.move_time.is_some();
    limits.clock = limits.clock.filter(|clock| !(is_limited && clock.is_empty()));
    let timed = limits.clock.is_some() || limits.move_time.is_some();
    if !(counted || timed || go.ponder || limits.infinite) {
        if words.faults.is_empty() && words.odd.is_empty() {
            limits.infinite = true;
        } else {
            limits.nodes = Some(1);
        }
    }
    go.remark = words.remark();
    go
}

impl Words<'_> {
    /// The number behind `word`.
    fn number(&mut self, word: &str) -> Option<u64> {
        let text = self.left.next_if(|next| !WORDS.contains(next));
        let number = text.and_then(number);
        if number.is_none() {
            let text = text.unwrap_or("nothing");
            self.faults.push(format!("{word} needs a number after it, not '{text}'"));
        }
        number
    }

    /// The number behind `word`, one at least.
    fn positive(&mut self, word: &str) -> Option<u64> {
        let number = self.number(word)?;
        if number == 0 {
            self.faults.push(format!("{word} is from 1 on; 1 is used"));
        }
        Some(number.max(1))
    }

    /// Takes moves up to the next word of `go`; those that cannot be played are odd.
    fn search_moves(&mut self, position: &Chess, limits: &mut Limits) {
        while let Some(text) = self.left.next_if(|word| !WORDS.contains(word)) {
            match parse_move(text, position) {
                Ok(played) => limits.search_moves.push(played),
                Err(_) => self.odd.push(text),
            }
        }
    }

    fn remark(mut self) -> Option<String> {
        if !self.odd.is_empty() {
            self.faults.push(format!("ignored in go: {}", self.odd.join(" ")));
        }
        (!self.faults.is_empty()).then(|| self.faults.join("; "))
    }
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
fn number(text: &str) -> Option<u64> {
    let whole =
        text.parse::<i128>().ok().map(|number| number.clamp(0, i128::from(u64::MAX)) as u64);
    // The conversion saturates, and a NaN is refused.
    whole.or_else(|| text.parse::<f64>().ok().filter(|x| !x.is_nan()).map(|x| x as u64))
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
        parse(text, &Chess::default())
    }

    /// A clock that ran over is one, unless something else ends the search.
    #[test]
    fn zeros_beside_another_limit_are_no_clock() {
        for other in ["depth 10", "nodes 5", "mate 2", "movetime 500"] {
            let go = read(&format!("{other} wtime 0 btime 0 winc 0 binc 0"));
            assert_eq!(go.limits.clock, None, "{other}");
            assert!(read(&format!("{other} wtime 0 winc 9")).limits.clock.is_some(), "{other}");
        }
        assert!(read("wtime 0 btime 0").limits.clock.is_some());
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
        for (text, remark) in [
            ("node 100", "ignored in go: node 100"),
            ("wtime", "wtime needs a number after it, not 'nothing'"),
            ("movetime NaN", "movetime needs a number after it, not 'NaN'"),
            ("depth x y", "depth needs a number after it, not 'x'; ignored in go: y"),
        ] {
            let go = read(text);
            assert_eq!(go.remark.as_deref(), Some(remark));
            assert!(go.limits.nodes == Some(1) && !go.limits.infinite, "{text}");
        }
        let zero = read("nodes 0 depth -3 mate 2");
        let remark = "nodes is from 1 on; 1 is used; depth is from 1 on; 1 is used";
        assert_eq!(zero.remark.as_deref(), Some(remark));
        assert_eq!((zero.limits.nodes, zero.limits.depth), (Some(1), Some(1)));
        // What can be read still counts.
        let go = read("nodes depth 3");
        assert_eq!((go.limits.nodes, go.limits.depth), (None, Some(3)));
        let go = read("wtime 100000 btime winc 50");
        assert_eq!(go.limits.nodes, None);
        assert_eq!(go.limits.clock.map(|clock| clock.remaining), Some(Duration::from_secs(100)));
        assert!(read("infinite depth x").limits.infinite && read("ponder wtime").ponder);
    }
}
