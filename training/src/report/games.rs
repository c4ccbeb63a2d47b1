//! What games say: ratings, and how they grow with the evaluations.

use super::chart::{Axis, Chart, Marks, Point, Series};
use super::origin::days;
use super::page::Section;
use super::players::{Meeting, Players, Pool, options};
use super::sources::Played;
use crate::console::table::Table;
use crate::game::limit::Limit;
use crate::statistics::elo::Trinomial;
use crate::statistics::estimate::Estimate;

/// The evaluations of a limit that is nothing else.
fn evaluations(limit: &Limit) -> Option<f64> {
    let nodes = limit.nodes?;
    (*limit == Limit { nodes: Some(nodes), ..Limit::default() }).then_some(nodes as f64)
}

/// A mark for an estimate; none where an end is open.
fn mark(x: f64, estimate: &Estimate) -> Option<Point> {
    let value = estimate.value.filter(|value| value.is_finite())?;
    let is_closed = estimate.low.is_finite() && estimate.high.is_finite();
    Some(Point {
        interval: is_closed.then_some((estimate.low, estimate.high)),
        ..Point::new(x, value)
    })
}

fn by_x(mut points: Vec<Point>) -> Vec<Point> {
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    points
}

/// Ratings of a pool by evaluations, a line for each configuration that has two limits at least.
fn growth(players: &Players, pool: &Pool) -> Chart {
    let rated = pool.rated();
    let series = players.lines.iter().enumerate().filter_map(|(line, name)| {
        let points = rated.iter().filter_map(|(player, rating)| {
            let player = &players.all[*player];
            (player.line == line).then_some(())?;
            mark(evaluations(&player.limit)?, rating)
        });
        let points = by_x(points.collect());
        (points.len() > 1).then(|| Series::new(name, Marks::DotsAndLine, points))
    });
    Chart {
        caption: "Elo by evaluations, 95 % intervals; 0 is the players' mean".to_owned(),
        x: Axis::log("evaluations a move (nodes, for alpha-beta)"),
        y: Axis::new("Elo"),
        series: series.collect(),
    }
}

/// By how much one configuration is stronger than another at equal evaluations.
fn leads(players: &Players) -> Chart {
    let mut series: Vec<Series> = Vec::new();
    for meeting in &players.meetings {
        let [one, other] = [meeting.first, meeting.second].map(|player| &players.all[player]);
        let (Some(x), true) = (evaluations(&one.limit), one.limit == other.limit) else { continue };
        // Whoever came first in a match, the series is one.
        let (one, other, elo) = if one.line > other.line {
            (other, one, meeting.elo().reversed())
        } else {
            (one, other, meeting.elo())
        };
        let Some(point) = mark(x, &elo) else { continue };
        let name = meeting.between(&players.lines[one.line], &players.lines[other.line]);
        match series.iter_mut().find(|series| series.name == name) {
            Some(series) => series.points.push(point),
            None => series.push(Series::new(&name, Marks::DotsAndLine, vec![point])),
        }
    }
    for one in &mut series {
        one.points = by_x(std::mem::take(&mut one.points));
    }
    series.retain(|series| series.points.len() > 1);
    Chart {
        caption: "Lead at equal evaluations, 95 % intervals".to_owned(),
        x: Axis::log("evaluations a move, both sides"),
        y: Axis::new("Elo").including(&[0.0]),
        series,
    }
}

fn percent(points: f64, games: u64) -> String {
    format!("{:.1} %", 100.0 * points / games.max(1) as f64)
}

fn limits(players: &Players, meeting: &Meeting) -> String {
    let [one, other] = [meeting.first, meeting.second].map(|player| players.all[player].limit);
    let text = if one == other { one.to_string() } else { format!("{one} \u{2212} {other}") };
    // In one line, however long the names beside it are.
    text.replace(' ', "\u{a0}")
}

fn meetings(players: &Players) -> Table {
    let mut table = Table::new(
        &["pairing", "limit"],
        // What everybody looks for is first, as a phone shows no more without scrolling.
        &["Elo, 95 %", "games", "+", "=", "\u{2212}", "score", "pairs 0/½/1/1½/2"],
    );
    for meeting in &players.meetings {
        let Trinomial { wins, draws, losses } = meeting.games;
        let [one, other] = [meeting.first, meeting.second].map(|player| players.name(player));
        table.push([
            meeting.between(one, other),
            limits(players, meeting),
            format!("{:.1}", meeting.elo()),
            meeting.games.games().to_string(),
            wins.to_string(),
            draws.to_string(),
            losses.to_string(),
            percent(meeting.games.points(), meeting.games.games()),
            meeting.pairs.pairs.map(|count| count.to_string()).join("/"),
        ]);
    }
    table
}

fn ratings(players: &Players, pool: &Pool) -> Table {
    let mut table = Table::new(&["player", "limit"], &["Elo, 95 %"]);
    for (player, rating) in pool.rated() {
        let limit = players.all[player].limit.to_string();
        table.push([players.name(player).to_owned(), limit, format!("{rating:.1}")]);
    }
    table
}

fn matches(all: &[Played]) -> Table {
    let mut table = Table::new(
        &["match", "played", "side", "limit", "options"],
        &["games", "nodes a move", "lost by failure"],
    );
    for played in all {
        for (side, counts) in played.config.side.iter().zip(&played.tally.sides) {
            table.push([
                played.name.clone(),
                played.ended.map_or_else(String::new, days),
                side.name.clone(),
                side.limit.to_string(),
                options(side),
                counts.games.to_string(),
                format!("{:.0}", counts.nodes_per_move()),
                counts.failures.values().sum::<u64>().to_string(),
            ]);
        }
    }
    table
}

/// Most results that the headline tells.
const TOLD: usize = 3;

/// A difference in Elo for a sentence; where all games went one way there is only a bound.
fn in_words(elo: &Estimate) -> String {
    let text = match elo.value {
        Some(value) if value.is_infinite() && value > 0.0 => {
            format!("at least {:+.0} Elo", elo.low)
        }
        Some(value) if value.is_infinite() => format!("at most {:+.0} Elo", elo.high),
        _ => format!("{elo:.0} Elo"),
    };
    text.replace('-', "\u{2212}")
}

/// The pairings with the most games, in words, for the top of the page.
pub(super) fn headlines(all: &[Played]) -> Vec<String> {
    let players = Players::of(all);
    let mut meetings: Vec<&Meeting> = players.meetings.iter().collect();
    meetings.sort_by_key(|meeting| std::cmp::Reverse(meeting.games.games()));
    let told = meetings.into_iter().take(TOLD).map(|meeting| {
        let [one, other] = [meeting.first, meeting.second].map(|player| players.name(player));
        let (elo, games) = (meeting.elo(), meeting.games);
        let verdict = if meeting.is_of_one() {
            format!("{one} against itself")
        } else if elo.low > 0.0 {
            format!("{one} beats {other}")
        } else if elo.high < 0.0 {
            format!("{other} beats {one}")
        } else {
            format!("{one} and {other}: undecided")
        };
        let Trinomial { wins, draws, losses } = games;
        let limits = limits(&players, meeting);
        let elo = in_words(&elo);
        let whose = if meeting.is_of_one() { "the first side" } else { one };
        format!("{verdict} ({limits}): +{wins} ={draws} \u{2212}{losses} for {whose}, {elo}.")
    });
    told.collect()
}

/// The section, if games were played.
pub(super) fn section(all: &[Played]) -> Option<Section> {
    let players = Players::of(all);
    if players.meetings.is_empty() {
        return None;
    }
    let mut section = Section::new("Games");
    section.text(
        "Results of all matches together. A player is a configuration with a limit; Elo is by \
         pairs of games from one opening, ratings are one Bradley-Terry fit to all players that \
         games connect, with intervals by bootstrap over the pairs.",
    );
    let pools = players.pools();
    for pool in &pools {
        section.chart(growth(&players, pool));
    }
    section.chart(leads(&players));
    section.table("Results", meetings(&players));
    for pool in pools.iter().filter(|pool| pool.players.len() > 2) {
        section.table("Ratings (mean of the players: 0)", ratings(&players, pool));
    }
    section.table("Who played", matches(all));
    Some(section)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_without_an_end_is_a_bound() {
        let of = |value, low, high| in_words(&Estimate { value: Some(value), low, high });
        assert_eq!(of(f64::INFINITY, 276.6, f64::INFINITY), "at least +277 Elo");
        assert_eq!(of(f64::NEG_INFINITY, f64::NEG_INFINITY, -9.0), "at most \u{2212}9 Elo");
        assert_eq!(of(24.4, -46.0, 94.8), "+24 ± 70 Elo");
    }
}
