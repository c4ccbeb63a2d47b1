//! `info` lines: what a peer says of its search.

use std::collections::BTreeMap;
use std::time::Duration;

use super::lines::uci_move;
use crate::game::score::UciScore;

/// How a score is to be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bound {
    /// As it stands.
    #[default]
    Exact,
    /// The true score is at least this.
    Lower,
    /// The true score is at most this.
    Upper,
}

/// What a peer said of one search; what it did not say is `None` or empty.
///
/// Depths, score and variation are of one line: the last with an exact score, else the last with
/// a score, else the last with a depth or a variation. Of several variations (`multipv`) it is the
/// first; the others are [`Info::others`]. The other fields are the last that came on any line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Plies.
    pub depth: Option<u32>,
    /// Plies of the longest line.
    pub seldepth: Option<u32>,
    /// The score.
    pub score: Option<UciScore>,
    /// How the score is to be read.
    pub bound: Bound,
    /// The last score of the best variation, a bound too: what the peer thought when it stopped.
    pub latest: Option<UciScore>,
    /// Nodes searched.
    pub nodes: Option<u64>,
    /// Nodes per second.
    pub nps: Option<u64>,
    /// The peer's own measure of its time.
    pub time: Option<Duration>,
    /// Full part of the hash table, permille.
    pub hashfull: Option<u32>,
    /// Principal variation in UCI notation. It was not tried on a board.
    pub pv: Vec<String>,
    /// First moves of the other variations (`multipv` 2, 3 …), in UCI notation and in their order,
    /// each with the last exact score. None is `pv`'s, none comes twice.
    pub others: Vec<(String, UciScore)>,
}

/// An `info` line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) info: Info,
    /// Number of the variation; below 2 = the best.
    variation: u32,
    /// Just text, which engines may print at any time.
    pub(super) only_text: bool,
    /// What does not parse.
    pub(super) sin: Option<String>,
}

impl Line {
    /// Reads what follows the word `info`. Unknown words are skipped, as UCI wants.
    pub(super) fn parse<'a>(words: impl IntoIterator<Item = &'a str>) -> Self {
        let mut words = words.into_iter().peekable();
        let mut line = Self { only_text: words.peek() == Some(&"string"), ..Self::default() };
        let Self { info, variation, sin, .. } = &mut line;
        while let Some(word) = words.next() {
            let mut value = || words.next().unwrap_or_default();
            match word {
                "depth" => info.depth = number(word, value(), sin),
                "seldepth" => info.seldepth = number(word, value(), sin),
                "nodes" => info.nodes = number(word, value(), sin),
                "nps" => info.nps = number(word, value(), sin),
                "hashfull" => info.hashfull = number(word, value(), sin),
                "time" => info.time = number(word, value(), sin).map(Duration::from_millis),
                "multipv" => *variation = number(word, value(), sin).unwrap_or_default(),
                "cp" => info.score = number(word, value(), sin).map(UciScore::Cp),
                "mate" => info.score = number(word, value(), sin).map(UciScore::Mate),
                "lowerbound" => info.bound = Bound::Lower,
                "upperbound" => info.bound = Bound::Upper,
                "pv" => {
                    while let Some(word) = words.next_if(|word| uci_move(word).is_ok()) {
                        info.pv.push(word.to_owned());
                    }
                    let stranger = words.peek().filter(|word| !KEYWORDS.contains(word));
                    if let Some(word) = stranger {
                        sin.get_or_insert_with(|| format!("`{word}` in the pv is no move"));
                    } else if info.pv.is_empty() {
                        sin.get_or_insert_with(|| "the pv is empty".to_owned());
                    }
                }
                // Everything to the end is text.
                "string" => break,
                _ => {}
            }
        }
        line
    }

    /// How much the line tells of the best move.
    fn rank(&self) -> Option<u8> {
        let info = &self.info;
        match (info.score, info.bound) {
            _ if self.variation > 1 => None,
            (Some(_), Bound::Exact) => Some(2),
            (Some(_), _) => Some(1),
            _ if info.depth.is_some() || !info.pv.is_empty() => Some(0),
            _ => None,
        }
    }
}

/// The words that may follow a variation.
const KEYWORDS: [&str; 19] = [
    "depth",
    "seldepth",
    "time",
    "nodes",
    "pv",
    "multipv",
    "score",
    "currmove",
    "currmovenumber",
    "hashfull",
    "nps",
    "tbhits",
    "sbhits",
    "cpuload",
    "string",
    "refutation",
    "currline",
    "wdl",
    "movesleft",
];

fn number<T: std::str::FromStr>(key: &str, text: &str, sin: &mut Option<String>) -> Option<T> {
    let number = text.parse().ok();
    if number.is_none() {
        sin.get_or_insert_with(|| format!("`{text}` is no number for `{key}`"));
    }
    number
}

/// Gathers the lines of one search.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    info: Info,
    rank: Option<u8>,
    /// By the number of the variation: its first move and exact score.
    others: BTreeMap<u32, (String, UciScore)>,
}

impl Gathered {
    pub(super) fn add(&mut self, line: Line) {
        let (rank, variation) = (line.rank(), line.variation);
        let Info { depth, seldepth, score, bound, nodes, nps, time, hashfull, pv, .. } = line.info;
        let info = &mut self.info;
        info.latest = score.filter(|_| rank.is_some()).or(info.latest);
        info.nodes = nodes.or(info.nodes);
        info.nps = nps.or(info.nps);
        info.time = time.or(info.time);
        info.hashfull = hashfull.or(info.hashfull);
        if rank.is_some() && rank >= self.rank {
            self.rank = rank;
            *info = Info { depth, seldepth, score, bound, pv, ..std::mem::take(info) };
        } else if variation > 1
            && bound == Bound::Exact
            && let (Some(score), Some(first)) = (score, pv.into_iter().next())
        {
            self.others.insert(variation, (first, score));
        }
    }

    pub(super) fn finish(self) -> Info {
        let mut info = self.info;
        // Where the last iteration was cut short, a move may be on two of the lines: the better
        // place is the newer one.
        for (first, score) in self.others.into_values() {
            let is_known = info.others.iter().any(|(known, _)| *known == first);
            if !is_known && info.pv.first() != Some(&first) {
                info.others.push((first, score));
            }
        }
        info
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Line {
        Line::parse(text.split_whitespace().skip(1))
    }

    fn gather(lines: &[&str]) -> Info {
        let mut gathered = Gathered::default();
        for line in lines {
            gathered.add(parse(line));
        }
        gathered.finish()
    }

    #[test]
    fn reads_a_full_line() {
        let line = parse(
            "info depth 20 seldepth 31 multipv 1 score cp -13 wdl 10 900 90 upperbound nodes \
             9000000000 nps 1200000 hashfull 17 tbhits 0 time 7500 pv e2e4 e7e8q",
        );
        let expected = Info {
            depth: Some(20),
            seldepth: Some(31),
            score: Some(UciScore::Cp(-13)),
            bound: Bound::Upper,
            nodes: Some(9_000_000_000),
            nps: Some(1_200_000),
            time: Some(Duration::from_millis(7500)),
            hashfull: Some(17),
            pv: vec!["e2e4".to_owned(), "e7e8q".to_owned()],
            ..Info::default()
        };
        assert_eq!(line, Line { info: expected, variation: 1, ..Line::default() });
    }

    #[test]
    fn words_after_string_are_text() {
        let line = parse("info string score cp x pv");
        assert!(line.only_text && line.sin.is_none() && line.info == Info::default());
        let line = parse("info depth 3 string depth x");
        assert!(!line.only_text && line.sin.is_none() && line.info.depth == Some(3));
    }

    #[test]
    fn tells_what_does_not_parse_and_reads_the_rest() {
        for (text, sin) in [
            ("info depth -1 nodes 5", "`-1` is no number for `depth`"),
            ("info score cp 12.5 nodes 5", "`12.5` is no number for `cp`"),
            ("info score cp 99999999999 nodes 5", "`99999999999` is no number for `cp`"),
            ("info pv e2e4 e5 nodes 5", "`e5` in the pv is no move"),
            ("info pv nodes 5", "the pv is empty"),
            ("info nodes 5 time", "`` is no number for `time`"),
        ] {
            let line = parse(text);
            assert_eq!(line.sin.as_deref(), Some(sin));
            assert_eq!(line.info.nodes, Some(5), "{text}");
        }
        assert_eq!(parse("info lucky 7 pv e2e4 nodes 5").sin, None);
    }

    #[test]
    fn an_exact_score_beats_a_later_bound() {
        let info = gather(&[
            "info depth 4 score cp 1 pv e2e4 nodes 10",
            "info depth 5 score mate 3 pv d2d4",
            "info depth 6 score cp 90 lowerbound nodes 30",
            "info depth 5 multipv 2 score cp 500 pv a2a3",
            "info currmove h2h3 nodes 40",
        ]);
        assert_eq!((info.depth, info.score), (Some(5), Some(UciScore::Mate(3))));
        assert_eq!((info.bound, info.nodes), (Bound::Exact, Some(40)));
        assert_eq!(info.latest, Some(UciScore::Cp(90)));
        assert_eq!(info.pv, ["d2d4"]);
    }

    #[test]
    fn the_other_variations_are_kept_by_their_last_exact_score() {
        let info = gather(&[
            "info depth 5 multipv 1 score cp 30 pv e2e4 e7e5",
            "info depth 5 multipv 2 score cp 20 pv d2d4",
            "info depth 5 multipv 3 score cp 10 pv c2c4",
            "info depth 5 multipv 4 score cp 5 pv a2a3",
            "info depth 6 multipv 1 score cp 25 pv d2d4",
            "info depth 6 multipv 2 score cp 24 pv c2c4",
            "info depth 6 multipv 3 score cp 9 lowerbound pv g1f3",
            "info depth 6 multipv 5 score cp 1",
        ]);
        assert_eq!(info.pv, ["d2d4"]);
        let others = [("c2c4", 24), ("a2a3", 5)];
        let others = others.map(|(first, score)| (first.to_owned(), UciScore::Cp(score)));
        assert_eq!(info.others, others);
    }

    #[test]
    fn the_last_bound_serves_when_nothing_is_exact() {
        let info = gather(&["info score cp 9 upperbound", "info score cp 7 lowerbound"]);
        assert_eq!((info.score, info.bound), (Some(UciScore::Cp(7)), Bound::Lower));
        assert_eq!(gather(&["info depth 7", "info nodes 3"]).depth, Some(7));
    }

    proptest! {
        #[test]
        fn no_line_panics(words in prop::collection::vec(
            prop_oneof![
                prop::sample::select(KEYWORDS.to_vec()).prop_map(str::to_owned),
                prop::sample::select(vec!["cp", "mate", "lowerbound", "e2e4", "0000", "-1", "7"])
                    .prop_map(str::to_owned),
                "\\PC{0,6}",
            ],
            0..20,
        )) {
            let mut gathered = Gathered::default();
            gathered.add(Line::parse(words.iter().map(String::as_str)));
            gathered.finish();
        }
    }
}
