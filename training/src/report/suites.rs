//! What was solved of suites of positions with known answers.

use super::chart::{Axis, Chart, Marks, Point, Series};
use super::network::middle;
use super::page::Section;
use super::sources::Examined;
use crate::console::table::Table;
use crate::suite::{Grouping, Summary, estimate_rating, puzzle_results, summarize};

/// Those of one suite under one name: side and limit, with the network where that is not all.
fn names(answers: &[&Examined]) -> Vec<String> {
    let short: Vec<String> =
        answers.iter().map(|one| format!("{} ({})", one.side.name, one.side.limit)).collect();
    let name = |(one, name): (&&Examined, &String)| {
        let is_alone = short.iter().filter(|other| *other == name).count() == 1;
        match one.program.network.as_ref().filter(|_| !is_alone) {
            Some(network) => format!("{name}, {network}"),
            None => name.clone(),
        }
    };
    answers.iter().zip(&short).map(name).collect()
}

fn solved(suite: &str, answers: &[(String, &Examined)]) -> Chart {
    let point = |group: &Summary| {
        let interval = group.interval();
        let share = 100.0 * group.solved as f64 / group.items.max(1) as f64;
        Some(Point::within(
            middle(&group.label)?,
            share,
            (100.0 * interval.low, 100.0 * interval.high),
        ))
    };
    let series = answers.iter().map(|(name, one)| {
        let bands = summarize(&one.records, Grouping::Rating);
        Series::new(name, Marks::DotsAndLine, bands.iter().filter_map(point).collect())
    });
    Chart {
        caption: format!("Solved by rating, 95 % intervals: {suite}"),
        x: Axis::new("rating of the puzzles"),
        y: Axis::new("solved, %").including(&[0.0, 100.0]),
        series: series.filter(|series| !series.points.is_empty()).collect(),
    }
}

/// The section, if suites were answered.
pub(super) fn section(all: &[Examined]) -> Option<Section> {
    let mut suites: Vec<&str> = all.iter().map(|one| one.suite.as_str()).collect();
    suites.sort_unstable();
    suites.dedup();
    if suites.is_empty() {
        return None;
    }
    let mut section = Section::new("Suites");
    section.text("Positions with known answers: how many each side solved, with 95 % intervals.");
    for suite in suites {
        let answers: Vec<&Examined> = all.iter().filter(|one| one.suite == suite).collect();
        let answers: Vec<(String, &Examined)> = names(&answers).into_iter().zip(answers).collect();
        section.chart(solved(suite, &answers));
        let whole = answers.iter().flat_map(|(name, one)| {
            let groups = summarize(&one.records, Grouping::Whole).into_iter();
            groups.map(|group| Summary { label: name.clone(), ..group })
        });
        section.table(suite.to_owned(), Table::of_summaries(&whole.collect::<Vec<_>>()));
        for (name, one) in &answers {
            let puzzles = puzzle_results(&one.records);
            if !puzzles.is_empty() {
                section.text(format!("{name}: puzzle rating {}.", estimate_rating(&puzzles)));
            }
        }
    }
    Some(section)
}
