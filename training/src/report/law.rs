//! What is known of the search's errors, and whether its chances come true.

use super::chart::{Axis, Chart, Marks, Point, Series};
use super::errors::Errors;
use super::page::Section;
use super::sources::Tuning;
use crate::console::table::Table;
use crate::tune::fit::Report;
use crate::tune::interval::Interval;
use crate::tune::pairs::{Pair, pairs};

/// Chances below this are drawn at it: none can be drawn on a logarithmic axis.
const LEAST_SHARE: f64 = 1e-4;

fn errors(pairs: &[Pair], fit: &Report, is_seen: bool) -> Chart {
    let Errors { seen, fitted, shipped } = Errors::of(pairs, fit, is_seen);
    let what = if is_seen { "Moves that were searched" } else { "Moves that were never searched" };
    Chart {
        caption: format!("{what}: error by missing depth"),
        x: Axis::log("missing depth, plies"),
        y: Axis::log("median error of the gap, points"),
        series: vec![
            Series::new("seen, 95 %", Marks::Dots, seen),
            Series::new("fitted law", Marks::Line, fitted),
            Series::new("shipped tunables", Marks::Dashed, shipped),
        ],
    }
}

fn overtakes(fit: &Report) -> Chart {
    let ends = [LEAST_SHARE, 1.0];
    let bins = fit.reliability.iter().map(|bin| {
        let (low, high) = bin.interval;
        let interval = (low.max(LEAST_SHARE), high);
        Point::within(bin.promised, bin.happened.max(LEAST_SHARE), interval)
    });
    Chart {
        caption: "How often a move overtakes the best one".to_owned(),
        x: Axis::log("chance promised"),
        y: Axis::log("share that did, 95 %"),
        series: vec![
            Series::new("as promised", Marks::Reference, ends.map(|x| Point::new(x, x)).to_vec()),
            Series::new("positions kept out", Marks::Dots, bins.collect()),
        ],
    }
}

fn transform(fit: &Report) -> Chart {
    let even = vec![Point::new(0.0, 1.0), Point::new(1.0, 1.0)];
    Chart {
        caption: "Where errors fall in the law's distribution (flat is right)".to_owned(),
        x: Axis::new("quantile of the error").including(&[0.0, 1.0]),
        y: Axis::new("density").including(&[0.0]),
        series: vec![
            Series::new("right", Marks::Reference, even),
            Series::density("fitted law", &fit.pit.histogram),
            Series::density("the numbers before", &fit.pit_before.histogram),
        ],
    }
}

fn laws(fit: &Report) -> Table {
    let mut table = Table::new(&["number"], &["fitted, 95 %"]);
    let mut push = |name: &str, Interval { value, low, high }: Interval| {
        table.push([name.to_owned(), format!("{value:.4} [{low:.4}, {high:.4}]")]);
    };
    push("branching", fit.branching);
    push("a of: later gap = a · gap + b", fit.slope);
    push("b", fit.offset);
    fit.law.intervals().into_iter().for_each(|(name, interval)| push(name, interval));
    table.push(["policy_floor".to_owned(), format!("{:.4}", fit.promotion.floor)]);
    table.push(["policy_trust".to_owned(), format!("{:.4}", fit.promotion.trust)]);
    table
}

fn families(fit: &Report) -> Table {
    let mut table = Table::new(&["family, at its best law"], &["nats a pair, fitted", "kept out"]);
    for family in &fit.families {
        let [fitted, kept_out] = [family.fitted, family.kept_out].map(|nats| format!("{nats:.4}"));
        table.push([family.name.clone(), fitted, kept_out]);
    }
    table
}

fn quality(fit: &Report) -> Table {
    let mut table = Table::new(&["on positions kept out"], &["fitted", "the numbers before"]);
    let mut push = |name: &str, fitted: f64, before: Option<f64>| {
        let before = before.map_or_else(String::new, |number| format!("{number:.4}"));
        table.push([name.to_owned(), format!("{fitted:.4}"), before]);
    };
    push(
        "Kolmogorov-Smirnov distance of the errors",
        fit.pit.distance,
        Some(fit.pit_before.distance),
    );
    push("its p", fit.pit.p_value, Some(fit.pit_before.p_value));
    let (before, after) = fit.promotion_likelihood;
    push("nats a pair of what overtook", after, Some(before));
    let points = |share: f64| 100.0 * share;
    let (after, before) = (fit.calibration_error, fit.calibration_error_before);
    push("chances off on average, points", points(after), Some(points(before)));
    push("CRPS saved against one scale for all, %", points(fit.crps_skill), None);
    table
}

/// A section for each tuning.
pub(super) fn sections(tunings: &[Tuning]) -> Vec<Section> {
    let title = |tuning: &Tuning| match tunings {
        [_] => "The search's errors".to_owned(),
        _ => format!("The search's errors: {}", tuning.name),
    };
    let section = |tuning: &Tuning| {
        let fit = &tuning.fit;
        let mut section = Section::new(&title(tuning));
        section.text(format!(
            "{} pairs of a move and the best one in trees from {} positions, {} of which were kept \
             out of the fits. The error is by how much the gap between the two turned out \
             otherwise when each was searched by itself as deep as its parent wanted.",
            fit.pairs, fit.positions.0, fit.positions.1
        ));
        let pairs = pairs(&tuning.observations);
        section.chart(errors(&pairs, fit, true));
        section.chart(errors(&pairs, fit, false));
        section.chart(overtakes(fit));
        section.chart(transform(fit));
        section.table("The law", laws(fit));
        section.table("Families of distributions", families(fit));
        section.table("How well it holds", quality(fit));
        section
    };
    tunings.iter().map(section).collect()
}
