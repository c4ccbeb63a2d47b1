//! Counting what was solved, whole and by groups.

use std::collections::HashMap;

use clap::ValueEnum;

use super::record::{AnswerRecord, Record, TaskLabel};
use super::verdict::Detail;
use crate::statistics::wilson::{ShareInterval, Z_95, wilson};

/// Width of a band of puzzle ratings, Elo.
const RATING_BAND: u32 = 200;

/// How records are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Grouping {
    /// All in one.
    Whole,
    /// By the suite's own themes: the id without its number, as `STS(v1.0) Undermine.003`.
    Theme,
    /// Puzzles by rating, in bands of 200.
    Rating,
    /// Puzzles by theme; a puzzle counts in each of its themes.
    PuzzleTheme,
    /// Mates by distance.
    Mate,
}

/// A group of records, counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The group's name.
    pub label: String,
    /// Number of records.
    pub items: usize,
    /// How many are solved.
    pub solved: usize,
    /// How many got no legal move.
    pub no_move: usize,
    /// Nodes searched.
    pub nodes: u64,
    /// Time used, milliseconds.
    pub time_ms: u64,
    /// Of items with points.
    pub points: Option<Points>,
    /// Of mates.
    pub mates: Option<Mates>,
    /// Of puzzles: how many have the first move right.
    pub first_right: Option<usize>,
}

/// Points of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Points {
    /// Points earned.
    pub sum: f64,
    /// Points to be had.
    pub max: f64,
    /// Mean share of an item's points, `0..=1`.
    pub mean: f64,
    /// Normal interval of that mean, cut to `0..=1`; none for a single item.
    pub interval: Option<ShareInterval>,
}

/// Mates of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mates {
    /// Moves shown to be right.
    pub moves_right: usize,
    /// Moves that could be checked.
    pub moves_checked: usize,
    /// Mates announced, with nothing shown against it.
    pub announced: usize,
}

impl Summary {
    /// Interval of the share solved, `0..=1`.
    pub fn interval(&self) -> ShareInterval {
        wilson(self.solved, self.items)
    }

    fn of(label: String, records: &[&Record]) -> Summary {
        let count = |f: fn(&Record) -> bool| records.iter().filter(|r| f(r)).count();
        let total = |f: fn(&AnswerRecord) -> u64| {
            records.iter().flat_map(|r| &r.answers).map(f).fold(0, u64::saturating_add)
        };
        let puzzles = count(|r| matches!(r.task, TaskLabel::Puzzle { .. }));
        Summary {
            label,
            items: records.len(),
            solved: count(|r| r.verdict.solved),
            no_move: count(|r| r.verdict.detail == Detail::NoMove),
            nodes: total(|a| a.nodes),
            time_ms: total(|a| a.time_ms),
            points: points(records),
            mates: mates(records),
            first_right: (puzzles > 0).then(|| {
                count(|r| matches!(r.verdict.detail, Detail::Puzzle { first_right: true, .. }))
            }),
        }
    }
}

fn points(records: &[&Record]) -> Option<Points> {
    let scored: Vec<_> = records
        .iter()
        .filter(|r| r.task == TaskLabel::Points)
        .map(|r| (r.verdict.points, r.verdict.max))
        .collect();
    if scored.is_empty() {
        return None;
    }
    let shares: Vec<f64> = scored.iter().map(|(points, max)| points / max).collect();
    let n = shares.len() as f64;
    let mean = shares.iter().sum::<f64>() / n;
    let squares: f64 = shares.iter().map(|s| (s - mean).powi(2)).sum();
    let half = Z_95 * (squares / (n - 1.0) / n).sqrt();
    Some(Points {
        sum: scored.iter().map(|(points, _)| points).sum(),
        max: scored.iter().map(|(_, max)| max).sum(),
        mean,
        interval: (shares.len() > 1)
            .then(|| ShareInterval { low: (mean - half).max(0.0), high: (mean + half).min(1.0) }),
    })
}

fn mates(records: &[&Record]) -> Option<Mates> {
    use super::mate::MoveCheck;
    if !records.iter().any(|r| matches!(r.task, TaskLabel::Mate(_))) {
        return None;
    }
    let verdicts: Vec<_> = records
        .iter()
        .filter_map(|r| if let Detail::Mate(v) = r.verdict.detail { Some(v) } else { None })
        .collect();
    Some(Mates {
        moves_right: verdicts.iter().filter(|v| v.move_check == MoveCheck::Right).count(),
        moves_checked: verdicts.iter().filter(|v| v.move_check != MoveCheck::Unknown).count(),
        announced: verdicts.iter().filter(|v| v.announced()).count(),
    })
}

/// Groups and counts. Bands and distances are in their natural order, other groups in that of
/// their first record; records that do not fit a grouping (no puzzle, no rating) are left out.
pub fn summarize(records: &[Record], grouping: Grouping) -> Vec<Summary> {
    let mut groups: Vec<(i64, String, Vec<&Record>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for record in records {
        for (order, label) in labels(record, grouping) {
            let place = *places.entry(label.clone()).or_insert(groups.len());
            if place == groups.len() {
                groups.push((order, label, Vec::new()));
            }
            groups[place].2.push(record);
        }
    }
    groups.sort_by_key(|(order, ..)| *order);
    groups.into_iter().map(|(_, label, records)| Summary::of(label, &records)).collect()
}

/// The groups of a record, with their order.
fn labels(record: &Record, grouping: Grouping) -> Vec<(i64, String)> {
    match (grouping, &record.task) {
        (Grouping::Whole, _) => vec![(0, "all".to_owned())],
        (Grouping::Theme, TaskLabel::Puzzle { .. }) => Vec::new(), // their ids mean nothing
        (Grouping::Theme, _) => vec![(0, theme(&record.id).to_owned())],
        (Grouping::Rating, TaskLabel::Puzzle { rating: Some(rating), .. }) => {
            let low = rating / RATING_BAND * RATING_BAND;
            vec![(i64::from(low), format!("{low}\u{2013}{}", low.saturating_add(RATING_BAND - 1)))]
        }
        (Grouping::PuzzleTheme, TaskLabel::Puzzle { themes, .. }) => {
            themes.iter().map(|theme| (0, theme.clone())).collect()
        }
        (Grouping::Mate, TaskLabel::Mate(n)) => {
            let moves = n.unsigned_abs();
            let label = if *n > 0 { "mate in" } else { "mated in" };
            let side = i64::from(*n < 0);
            vec![(i64::from(moves) * 2 + side, format!("{label} {moves}"))]
        }
        _ => Vec::new(),
    }
}

/// The id without its running number; the whole id if it has none.
fn theme(id: &str) -> &str {
    let name = id.trim_end_matches(|c: char| c.is_ascii_digit());
    let name = name.trim_end_matches(['.', ' ', '-', '_', '#', ':']);
    if name.is_empty() || name.ends_with('(') { id } else { name }
}

#[cfg(test)]
mod tests {
    use super::super::mate::{Claim, MateVerdict, MoveCheck, PvCheck};
    use super::super::verdict::Grade;
    use super::*;

    fn record(id: &str, task: TaskLabel, points: f64, max: f64, detail: Detail) -> Record {
        Record {
            id: id.to_owned(),
            fen: String::new(),
            task,
            answers: Vec::new(),
            verdict: Grade { solved: points >= max, points, max, detail },
            failure: None,
        }
    }

    #[test]
    fn groups_by_theme_in_the_order_of_the_file() {
        let id = |id| record(id, TaskLabel::Points, 5.0, 10.0, Detail::Played);
        let records =
            [id("STS(v2.0) Open.001"), id("STS(v1.0) Under.002"), id("STS(v2.0) Open.010")];
        let groups = summarize(&records, Grouping::Theme);
        let found: Vec<_> = groups.iter().map(|g| (g.label.as_str(), g.items)).collect();
        assert_eq!(found, [("STS(v2.0) Open", 2), ("STS(v1.0) Under", 1)]);
        for (id, name) in [
            ("WAC.001", "WAC"),
            ("CCR01", "CCR"),
            ("L.Kaufman CCR Test No.7", "L.Kaufman CCR Test No"),
            ("Saavedra", "Saavedra"),
            ("17", "17"),
        ] {
            assert_eq!(theme(id), name);
        }
    }

    #[test]
    fn points_have_sum_mean_and_interval() {
        let records: Vec<_> = [10.0, 0.0, 5.0, 5.0]
            .map(|p| record("a.1", TaskLabel::Points, p, 10.0, Detail::Played))
            .into();
        let all = &summarize(&records, Grouping::Whole)[0];
        let points = all.points.unwrap();
        assert_eq!((all.solved, points.sum, points.max, points.mean), (1, 20.0, 40.0, 0.5));
        // standard deviation of the shares sqrt(1/6), of their mean half that
        let interval = points.interval.unwrap();
        assert!((interval.high - 0.5 - 1.96 * (1.0f64 / 24.0).sqrt()).abs() < 1e-4);
        assert!(summarize(&records[..1], Grouping::Whole)[0].points.unwrap().interval.is_none());
    }

    #[test]
    fn puzzles_fall_into_bands_and_themes() {
        let puzzle = |rating, themes: &[&str], solved: bool| {
            let themes = themes.iter().map(|&t| t.to_owned()).collect();
            let detail = Detail::Puzzle { first_right: true, right: 1, of: 2 };
            let points = f64::from(u8::from(solved));
            record("p", TaskLabel::Puzzle { rating, themes }, points, 1.0, detail)
        };
        let records = [
            puzzle(Some(1600), &["fork", "short"], true),
            puzzle(Some(799), &["fork"], false),
            puzzle(None, &[], true),
            puzzle(Some(600), &[], true),
        ];
        let label = |grouping| -> Vec<_> {
            summarize(&records, grouping)
                .into_iter()
                .map(|g| (g.label, g.solved, g.items, g.first_right))
                .collect()
        };
        assert_eq!(
            label(Grouping::Rating),
            [("600\u{2013}799".into(), 1, 2, Some(2)), ("1600\u{2013}1799".into(), 1, 1, Some(1))]
        );
        assert_eq!(
            label(Grouping::PuzzleTheme),
            [("fork".into(), 1, 2, Some(2)), ("short".into(), 1, 1, Some(1))]
        );
        for other in [Grouping::Mate, Grouping::Theme] {
            assert!(summarize(&records, other).is_empty());
        }
    }

    #[test]
    fn mates_go_by_distance_with_both_measures() {
        let mate = |n, claim, move_check| {
            let verdict = MateVerdict { claim, move_check, pv: PvCheck::Open };
            let points = f64::from(u8::from(verdict.solved()));
            record("m", TaskLabel::Mate(n), points, 1.0, Detail::Mate(verdict))
        };
        let records = [
            mate(10, Claim::Exact, MoveCheck::Unknown),
            mate(2, Claim::None, MoveCheck::Right),
            mate(-2, Claim::Exact, MoveCheck::Wrong),
            record("m", TaskLabel::Mate(2), 0.0, 1.0, Detail::NoMove),
        ];
        let groups = summarize(&records, Grouping::Mate);
        let found: Vec<_> = groups
            .iter()
            .map(|g| {
                let m = g.mates.unwrap();
                (g.label.as_str(), g.solved, m.moves_right, m.moves_checked, m.announced, g.no_move)
            })
            .collect();
        assert_eq!(
            found,
            [
                ("mate in 2", 1, 1, 1, 0, 1),
                ("mated in 2", 0, 0, 1, 0, 0),
                ("mate in 10", 1, 0, 0, 1, 0)
            ]
        );
    }
}
