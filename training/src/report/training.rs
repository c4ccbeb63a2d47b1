//! How training went.

use super::chart::{Axis, Chart, Marks, Point, Series};
use super::page::Section;
use super::sources::Run;
use crate::console::table::Table;
use crate::train::trainer::LogLine;

/// A chart of one number of all runs.
fn curve(runs: &[Run], caption: &str, y: Axis, of: impl Fn(&LogLine) -> Option<f64>) -> Chart {
    let series = runs.iter().map(|run| {
        let point = |line: &LogLine| Some(Point::new(line.positions as f64, of(line)?));
        Series::new(&run.name, Marks::Line, run.lines.iter().filter_map(point).collect())
    });
    let x = Axis::new("supervised positions").including(&[0.0]);
    Chart { caption: caption.to_owned(), x, y, series: series.collect() }
}

/// Mean over the last tenth of the lines.
fn late(run: &Run, of: impl Fn(&LogLine) -> f64) -> f64 {
    let few = run.lines.len().div_ceil(10).max(1);
    let last = &run.lines[run.lines.len().saturating_sub(few)..];
    last.iter().map(of).sum::<f64>() / last.len().max(1) as f64
}

fn table(runs: &[Run]) -> Table {
    let mut table = Table::new(
        &["run", "network", "device, precision"],
        &[
            "steps",
            "positions",
            "value",
            "policy",
            "action",
            "RMSE, points",
            "positions/s",
            "idle",
            "steps left out",
        ],
    );
    for run in runs {
        let Some(last) = run.lines.last() else { continue };
        let config = run.config.as_ref();
        let text = |of: &dyn Fn(&crate::train::config::TrainConfig) -> String| {
            config.map_or_else(|| "?".to_owned(), of)
        };
        table.push([
            run.name.clone(),
            text(&|config| config.model.name.clone()),
            text(&|config| format!("{}, {}", config.device, config.precision)),
            last.step.to_string(),
            last.positions.to_string(),
            format!("{:.4}", late(run, |line| line.value)),
            format!("{:.4}", late(run, |line| line.policy)),
            format!("{:.4}", late(run, |line| line.action)),
            format!("{:.2}", late(run, |line| line.rmse_points)),
            format!("{:.0}", late(run, |line| line.positions_per_second)),
            match late(run, |line| line.idle.unwrap_or(f64::NAN)) {
                idle if idle.is_nan() => "?".to_owned(),
                idle => format!("{:.2} %", 100.0 * idle),
            },
            last.skipped.map_or_else(|| "?".to_owned(), |steps| steps.to_string()),
        ]);
    }
    table
}

/// How good the networks were on games that they did not learn from, where it was measured.
fn held_out(section: &mut Section, runs: &[Run]) {
    if runs.iter().flat_map(|run| &run.lines).any(|line| line.valid_rmse_points.is_some()) {
        section.chart(curve(
            runs,
            "Value: error on held-out games",
            Axis::new("RMSE, points"),
            |line| line.valid_rmse_points,
        ));
        section.chart(curve(
            runs,
            "Policy: the best move has the highest prior, on held-out games",
            Axis::new("share, %"),
            |line| line.valid_top_1.map(|share| 100.0 * share),
        ));
    }
}

/// The section, if there are runs.
pub(super) fn section(runs: &[Run]) -> Option<Section> {
    if runs.iter().all(|run| run.lines.is_empty()) {
        return None;
    }
    let mut section = Section::new("Training");
    section.text(
        "Losses on the positions that were learnt from, means over 50 steps; where there were \
         held-out games, their figures as the run went on. More of them says evaluate.",
    );
    held_out(&mut section, runs);
    section.chart(curve(
        runs,
        "Value: error on the games learnt from",
        Axis::new("RMSE, points"),
        |line| Some(line.rmse_points),
    ));
    section.chart(curve(
        runs,
        "Policy: how surprising the teacher's move is",
        Axis::new("cross entropy, nats"),
        |line| Some(line.policy),
    ));
    section.chart(curve(
        runs,
        "Value: cross entropy of the 64 bins",
        Axis::new("cross entropy, nats"),
        |line| Some(line.value),
    ));
    section.chart(curve(runs, "Action values", Axis::new("loss"), |line| Some(line.action)));
    section.chart(curve(
        runs,
        "Error head: how surprising the value's errors are",
        Axis::new("nats"),
        |line| Some(line.error),
    ));
    section.chart(curve(runs, "Learning rate", Axis::new("rate").including(&[0.0]), |line| {
        Some(line.rate)
    }));
    section.chart(curve(runs, "Pace", Axis::new("positions/s").including(&[0.0]), |line| {
        Some(line.positions_per_second)
    }));
    section.chart(curve(
        runs,
        "Time in which the workers had no data",
        Axis::new("share, %").including(&[0.0]),
        |line| line.idle.map(|share| 100.0 * share),
    ));
    section.table("The runs; losses are means over the last tenth", table(runs));
    Some(section)
}
