//! What `tune spsa` found: where its knobs began, and where they are.

use std::path::Path as FilePath;

use anyhow::{Result, ensure};
use serde_json::from_value;

use super::chart::{Axis, COLOURS, Chart, Marks, Point, Series};
use super::heads::{Program, damaged};
use super::page::Section;
use crate::console::table::Table;
use crate::disk::journal::Journal;
use crate::game::limit::Limit;
use crate::matches::config::MatchConfig;
use crate::tune::spsa::{PairResult, Path, Schedule};

/// A run of `tune spsa`, finished or not.
#[derive(Debug)]
pub(super) struct Tuned {
    pub(super) name: String,
    schedule: Schedule,
    path: Path,
    /// Pairs of games played.
    played: usize,
    limit: Limit,
    /// What plays, beside its options.
    pub(super) program: Program,
}

impl Tuned {
    /// The run whose journal this is.
    pub(super) fn read(journal: &FilePath, name: String) -> Result<Self> {
        let (head, results) = Journal::<PairResult>::read_with_match(journal)?;
        let games = &head["games"];
        let schedule: Schedule = from_value(head["schedule"].clone()).map_err(damaged(journal))?;
        let start: Vec<f64> = from_value(head["start"].clone()).map_err(damaged(journal))?;
        let config: MatchConfig = from_value(games["config"].clone()).map_err(damaged(journal))?;
        ensure!(start.len() == schedule.knobs.len(), damaged(journal)("each knob needs a start"));
        let path = Path::of(&schedule, start, &results);
        let limit = config.side.first().map(|side| side.limit).unwrap_or_default();
        let program = Program::of(games, &config.side).into_iter().next().unwrap_or_default();
        Ok(Self { name, schedule, path, played: results.len(), limit, program })
    }

    /// The way of each knob from its start, in its steps, so that all are on one scale. Of many,
    /// those that went furthest: more lines than colours cannot be told apart.
    fn way(&self) -> Chart {
        let Self { schedule, path, .. } = self;
        let (start, settled) = (&path.points[0], path.settled());
        let steps = |at: &[f64], knob: usize| (at[knob] - start[knob]) / schedule.knobs[knob].step;
        let mut drawn: Vec<usize> = (0..schedule.knobs.len()).collect();
        drawn.sort_by(|&one, &other| {
            let [one, other] = [one, other].map(|knob| steps(&settled, knob).abs());
            other.total_cmp(&one)
        });
        drawn.truncate(COLOURS.len());
        let series = drawn.iter().map(|&knob| {
            let point = |(batch, at): (u64, &Vec<f64>)| {
                let pairs = schedule.pairs_of(batch).start.min(schedule.pairs);
                Point::new(pairs as f64, steps(at, knob))
            };
            let points = (0..).zip(&path.points).map(point).filter(|point| point.y.is_finite());
            Series::new(&schedule.knobs[knob].name, Marks::Line, points.collect())
        });
        let caption = if drawn.len() < schedule.knobs.len() {
            format!("The way of the {} knobs that went furthest", drawn.len())
        } else {
            "The way of the knobs".to_owned()
        };
        Chart {
            caption,
            x: Axis::new("pairs of games").including(&[0.0]),
            y: Axis::new("from the start, steps").including(&[0.0]),
            series: series.collect(),
        }
    }

    fn knobs(&self) -> Table {
        let mut table = Table::new(&["knob"], &["step", "start", "now", "settled at"]);
        let (start, now, settled) = (&self.path.points[0], self.path.point(), self.path.settled());
        for (number, knob) in self.schedule.knobs.iter().enumerate() {
            let places = [start[number], now[number], settled[number]];
            let cells = places.map(|at| format!("{at:.4}"));
            table.push([knob.name.clone(), knob.step.to_string()].into_iter().chain(cells));
        }
        table
    }
}

/// A section for each run that has played.
pub(super) fn sections(all: &[Tuned]) -> Vec<Section> {
    let section = |run: &Tuned| {
        let Schedule { pairs, batch, .. } = run.schedule;
        let mut section = Section::new(&match all {
            [_] => "Tuned by games".to_owned(),
            _ => format!("Tuned by games: {}", run.name),
        });
        section.text(format!(
            "{} of {pairs} pairs of games at {}, by SPSA. Each is played between two points on \
             either side of the present one, which moves the winners' way after each batch of \
             {batch}. It settles at the mean of the last quarter of its way.",
            run.played, run.limit
        ));
        if run.path.batches() > 0 {
            section.chart(run.way());
        }
        section.table("The knobs", run.knobs());
        section
    };
    all.iter().filter(|run| run.played > 0).map(section).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tune::spsa::Knob;

    #[test]
    fn as_many_ways_are_drawn_as_there_are_colours() {
        let way = |count: usize| {
            let knobs = (0..count).map(|knob| Knob { name: knob.to_string(), step: 1.0 }).collect();
            let sign = |knob: usize| if knob.is_multiple_of(2) { 1.0 } else { -1.0 };
            let end: Vec<f64> = (0..count).map(|knob| sign(knob) * knob as f64).collect();
            let schedule = Schedule { knobs, pairs: 2, batch: 1, rate: 0.002, seed: 1 };
            let path = Path { points: vec![vec![0.0; count], end], open: Vec::new() };
            let (program, limit) = (Program::default(), Limit::default());
            Tuned { name: String::new(), schedule, path, played: 2, limit, program }.way()
        };
        let all = way(3);
        assert_eq!((all.caption.as_str(), all.series.len()), ("The way of the knobs", 3));
        let some = way(9);
        assert!(some.caption.contains("the 7 knobs that went furthest"), "{}", some.caption);
        let names: Vec<&str> = some.series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(names, ["8", "7", "6", "5", "4", "3", "2"]);
    }
}
