//! What networks are worth on games and puzzles.

use super::chart::{Axis, Chart, Marks, Point, Series};
use super::page::Section;
use crate::console::table::{Table, told};
use crate::evaluate::Evaluated;
use crate::evaluate::puzzles::{self, Band};
use crate::evaluate::{GROUPS, Group, Measures, Report, STALENESS};

/// What a cell says of measures.
type Cell<'a> = &'a dyn Fn(&Measures) -> String;

/// A network by name, with its figures on games.
type Named<'a> = (String, &'a Report);

/// A network's name, and the file's too where two files have that name.
fn name(networks: &[(String, Evaluated)], (file, figures): &(String, Evaluated)) -> String {
    let name = &figures.network;
    let is_alone = networks.iter().filter(|(_, other)| other.network == *name).count() == 1;
    if is_alone { name.clone() } else { format!("{name} ({file})") }
}

/// The networks with figures on games.
fn named(networks: &[(String, Evaluated)]) -> Vec<Named<'_>> {
    let learnt = |games: &Report| match games.learnt_games {
        Some(0) => "",
        Some(_) => ", learnt games",
        None => ", perhaps learnt games",
    };
    let games = networks.iter().filter_map(|of| Some((of, of.1.games.as_ref()?)));
    games.map(|(of, games)| (name(networks, of) + learnt(games), games)).collect()
}

fn measures(networks: &[Named<'_>]) -> Table {
    let names: Vec<&str> = networks.iter().map(|(name, _)| name.as_str()).collect();
    let mut table = Table::new(&["positions, whole encodes"], &names);
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    let rows: [(&str, Cell<'_>); 15] = [
        ("positions", &|m| m.positions.to_string()),
        ("variance of the score explained", &|m| format!("{:.4}", m.variance_explained)),
        ("RMSE, points", &|m| format!("{:.2}", m.rmse_points)),
        ("mean error, points", &|m| format!("{:.2}", m.mean_error_points)),
        ("calibration error, points", &|m| format!("{:.2}", m.calibration_error_points)),
        ("policy, nats", &|m| told(m.policy_nats, 4)),
        ("policy top-1", &|m| percent(m.policy_top_1)),
        ("policy top-3", &|m| percent(m.policy_top_3)),
        ("policy top-5", &|m| percent(m.policy_top_5)),
        ("action accuracy", &|m| percent(m.action_accuracy)),
        ("action value RMSE, points", &|m| format!("{:.2}", m.action_rmse_points)),
        ("Kendall's tau of the pairs of moves", &|m| told(m.kendall_tau, 3)),
        ("scores in the error head's 50 % band", &|m| percent(m.within_50)),
        ("scores in its 90 % band", &|m| percent(m.within_90)),
        ("its Kolmogorov-Smirnov distance", &|m| told(m.pit_distance, 3)),
    ];
    for (name, of) in rows {
        let cells = networks.iter().map(|(_, report)| of(&report.whole));
        table.push(std::iter::once(name.to_owned()).chain(cells));
    }
    table
}

fn reliability(networks: &[Named<'_>]) -> Chart {
    let mut series = vec![Series::new(
        "as promised",
        Marks::Reference,
        vec![Point::new(0.0, 0.0), Point::new(100.0, 100.0)],
    )];
    series.extend(networks.iter().map(|(name, report)| {
        let bins = report.whole.reliability.iter().filter(|bin| bin.positions > 0);
        let point = |x: f64, y: f64| Point::new(100.0 * x, 100.0 * y);
        Series::new(name, Marks::DotsAndLine, bins.map(|bin| point(bin.value, bin.score)).collect())
    }));
    Chart {
        caption: "Value: what it promises and what the teacher says".to_owned(),
        x: Axis::new("mean value, points").including(&[0.0, 100.0]),
        y: Axis::new("mean score, points").including(&[0.0, 100.0]),
        series,
    }
}

fn transform(networks: &[Named<'_>]) -> Chart {
    let series = networks.iter().map(|(name, report)| Series::density(name, &report.whole.pit));
    let even =
        Series::new("right", Marks::Reference, vec![Point::new(0.0, 1.0), Point::new(1.0, 1.0)]);
    Chart {
        caption: "Error head: where scores fall in its distributions (flat is right)".to_owned(),
        x: Axis::new("quantile of the score").including(&[0.0, 1.0]),
        y: Axis::new("density").including(&[0.0]),
        series: std::iter::once(even).chain(series).collect(),
    }
}

/// A measure by plies since the anchor: by group for one network, of all positions for several.
fn staleness(
    networks: &[Named<'_>],
    caption: &str,
    label: &str,
    of: impl Fn(&Measures) -> f64,
) -> Chart {
    let line = |name: &str, report: &Report, group: Group| {
        let rows = report.by_staleness.iter();
        let rows = rows.filter(|row| row.group == group && row.measures.positions > 0);
        let points = rows.map(|row| Point::new(row.staleness as f64, of(&row.measures)));
        Series::new(name, Marks::DotsAndLine, points.collect())
    };
    let series = match networks {
        [(_, report)] => {
            GROUPS.iter().map(|&group| line(&group.to_string(), report, group)).collect()
        }
        many => many.iter().map(|(name, report)| line(name, report, Group::All)).collect(),
    };
    let oldest = STALENESS[STALENESS.len() - 1] as f64;
    let x = Axis::new("plies since the anchor").including(&[0.0, oldest]);
    Chart { caption: caption.to_owned(), x, y: Axis::new(label), series }
}

/// Middle of a band of ratings such as `1200-1399`.
pub(super) fn middle(label: &str) -> Option<f64> {
    let numbers = label.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty());
    let ends: Vec<f64> = numbers.filter_map(|part| part.parse().ok()).collect();
    let [low, high] = ends[..] else { return None };
    Some(f64::midpoint(low, high))
}

fn solved(name: &str, figures: &Evaluated) -> Chart {
    let series = figures.puzzles.iter().map(|player| {
        let point = |band: &Band| {
            let share = 100.0 * band.solved as f64 / band.items.max(1) as f64;
            Some(Point::within(middle(&band.label)?, share, (100.0 * band.low, 100.0 * band.high)))
        };
        let points = player.bands.iter().filter_map(point);
        Series::new(&player.player, Marks::DotsAndLine, points.collect())
    });
    Chart {
        caption: format!("Puzzles solved by rating, 95 % intervals: {name}"),
        x: Axis::new("rating of the puzzles"),
        y: Axis::new("solved, %").including(&[0.0, 100.0]),
        series: series.collect(),
    }
}

/// The section, if there are networks.
pub(super) fn section(networks: &[(String, Evaluated)]) -> Option<Section> {
    if networks.is_empty() {
        return None;
    }
    let mut section = Section::new("Networks");
    let games = named(networks);
    if !games.is_empty() {
        section.text(
            "Against the teacher's labels of games that the networks have not learnt from, unless \
             it is said. A point is a hundredth of the expected score. A position is encoded \
             whole, or from its parent's: then the pieces that did not move are as old as the \
             line since the anchor.",
        );
        section.chart(reliability(&games));
        section.chart(transform(&games));
        section.chart(staleness(&games, "Value by staleness", "RMSE, points", |m| m.rmse_points));
        section.chart(staleness(&games, "Policy by staleness", "top-1, %", |m| {
            100.0 * m.policy_top_1
        }));
        section.table("Games", measures(&games));
    }
    for network in networks.iter().filter(|(_, figures)| !figures.puzzles.is_empty()) {
        let (name, figures) = (name(networks, network), &network.1);
        section.chart(solved(&name, figures));
        let caption = format!("Puzzles solved, in percent with 95 % intervals: {name}");
        section.table(caption, puzzles::table(&figures.puzzles));
    }
    Some(section)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_have_a_middle() {
        assert_eq!(middle("1200\u{2013}1399"), Some(1299.5));
        assert_eq!(middle("all"), None);
    }
}
